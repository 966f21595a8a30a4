//! The server's reports: lines of JSON on a stream of their own.

use super::protocol::{REPORT_INTERVAL, REPORT_LIMIT};
use super::side::{Meter, STREAMS_LISTED, Side};
use noq::{Connection, RecvStream};
use std::sync::Arc;
use tokio::sync::watch;

/// Sends reports until the connection ends.
pub(super) async fn send(connection: Connection, meter: Arc<Meter>) -> anyhow::Result<()> {
    let mut stream = connection.open_uni().await?;
    // Before any test data, which would otherwise hold up the news about itself.
    stream.set_priority(1)?;
    let mut ticks = tokio::time::interval(REPORT_INTERVAL);
    // A blocked stream must not be followed by a burst of old news.
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let mut line = serde_json::to_vec(&meter.read(&connection))?;
        line.push(b'\n');
        stream.write_all(&line).await?;
    }
}

/// Receives reports until the connection ends; the latest one is shown to whoever watches.
pub(super) async fn receive(mut stream: RecvStream, latest: watch::Sender<Option<Side>>) -> anyhow::Result<()> {
    let mut lines = Lines::default();
    while let Some(chunk) = stream.read_chunk(REPORT_LIMIT).await? {
        for side in lines.feed(&chunk)? {
            latest.send_replace(Some(side));
        }
    }
    Ok(())
}

/// Cuts a stream into reports.
#[derive(Default)]
struct Lines(Vec<u8>);

impl Lines {
    /// The reports completed by `chunk`.
    fn feed(&mut self, chunk: &[u8]) -> anyhow::Result<Vec<Side>> {
        self.0.extend_from_slice(chunk);
        let mut sides = Vec::new();
        while let Some(end) = self.0.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.0.drain(..=end).collect();
            sides.push(trusted(serde_json::from_slice(&line)?));
        }
        anyhow::ensure!(self.0.len() < REPORT_LIMIT, "the server's report has no end");
        Ok(sides)
    }
}

/// A report comes from the network, and its words go to a terminal.
fn trusted(mut side: Side) -> Side {
    side.streams.truncate(STREAMS_LISTED);
    let words = side.pcc.iter_mut().flat_map(|pcc| [&mut pcc.state, &mut pcc.limited_by]);
    for word in words.chain([&mut side.algorithm]) {
        *word = word.chars().filter(|c| c.is_ascii_alphanumeric() || *c == ' ').take(32).collect();
    }
    side
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_cut_at_line_ends_wherever_packets_end() {
        let mut lines = Lines::default();
        let text = b"{\"received\":1}\n{\"received\":2}\n{\"rec";
        let (first, second) = text.split_at(9);
        assert!(lines.feed(first).unwrap().is_empty());
        let sides = lines.feed(second).unwrap();
        assert_eq!(sides.iter().map(|side| side.received).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(lines.feed(b"eived\":3}\n").unwrap()[0].received, 3);
    }

    #[test]
    fn a_report_without_end_and_nonsense_are_refused() {
        let mut lines = Lines::default();
        lines.feed(&[b' '; 3000]).unwrap();
        assert!(lines.feed(&[b' '; 3000]).is_err());
        assert!(Lines::default().feed(b"GET / HTTP/1.1\n").is_err());
    }

    #[test]
    fn a_report_cannot_steer_the_terminal() {
        let line = b"{\"algorithm\":\"\\u001b[2Jcubic\",\"pcc\":{\"state\":\"a\\nb\"}}\n";
        let side = Lines::default().feed(line).unwrap().remove(0);
        assert_eq!(side.algorithm, "2Jcubic");
        assert_eq!(side.pcc.unwrap().state, "ab");
    }
}
