//! The server's reports: each a line of JSON in a QUIC datagram of its own. Not on a stream: the test's data fills the
//! send buffer that all streams share, and of reports only the latest counts.

use super::protocol::REPORT_INTERVAL;
use super::side::{Meter, STREAMS_LISTED, Side};
use noq::{Connection, SendDatagramError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A report may cost this part of what the test moved since the last one: a slow path is there to be measured, not to
/// carry reports. (600 bytes every 100 ms are 50 kbit/s.)
const COST: u64 = 50;
/// At least one is sent in this time.
const AT_LEAST: Duration = Duration::from_secs(1);

/// Sends reports until the connection ends.
pub(super) async fn send(connection: Connection, meter: Arc<Meter>) -> anyhow::Result<()> {
    let mut ticks = tokio::time::interval(REPORT_INTERVAL);
    // A busy server must not follow up with a burst of old news.
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut last: Option<Side> = None;
    loop {
        ticks.tick().await;
        let side = meter.read(&connection);
        let report = report(&side, connection.max_datagram_size().unwrap_or(0))?;
        if last.as_ref().is_none_or(|last| worth(last, &side, report.len() as u64)) {
            match connection.send_datagram(report.into()) {
                // Too large for this path's packets: there may be larger ones yet, MTU discovery goes on.
                Ok(()) | Err(SendDatagramError::TooLarge) => {}
                Err(error) => return Err(error.into()),
            }
            last = Some(side);
        }
    }
}

/// The report on `side` in at most `most` bytes, or else without what grows with the number of streams.
fn report(side: &Side, most: usize) -> serde_json::Result<Vec<u8>> {
    let whole = serde_json::to_vec(side)?;
    if whole.len() <= most { Ok(whole) } else { serde_json::to_vec(&Side { streams: Vec::new(), ..side.clone() }) }
}

/// Whether it is time for the next report, of that many bytes.
fn worth(last: &Side, now: &Side, bytes: u64) -> bool {
    let moved = |side: &Side| side.received.saturating_add(side.sent);
    now.streams_done != last.streams_done
        || now.at_us.saturating_sub(last.at_us) >= AT_LEAST.as_micros() as u64
        || moved(now).saturating_sub(moved(last)) >= bytes * COST
}

/// Receives reports until the connection ends; the latest one is shown to whoever watches.
pub(super) async fn receive(connection: Connection, latest: watch::Sender<Option<Side>>) -> anyhow::Result<()> {
    loop {
        let side = trusted(serde_json::from_slice(&connection.read_datagram().await?)?);
        latest.send_if_modified(|known| {
            // Datagrams may overtake one another.
            let newer = known.as_ref().is_none_or(|known| known.at_us < side.at_us);
            if newer {
                *known = Some(side);
            }
            newer
        });
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
    fn reports_take_a_small_part_of_a_slow_path() {
        let last = Side { at_us: 5_000_000, received: 10_000, streams_done: 5, ..Side::default() };
        let later = |ms: u64, received| Side { at_us: 5_000_000 + ms * 1000, received, ..last.clone() };
        assert!(!worth(&last, &later(100, 10_700), 600), "56 kbit/s: too little for 600 bytes of report");
        assert!(worth(&last, &later(1000, 17_000), 600), "but once a second");
        assert!(worth(&last, &later(100, 10_000 + 125_000), 600), "10 Mbit/s: every time");
        assert!(worth(&last, &Side { streams_done: 6, ..last.clone() }, 600), "a stream's end is news");
    }

    #[test]
    fn a_report_that_is_too_long_leaves_the_streams_out() {
        let side = Side { received: 7, streams: vec![(400, 7_000_000); 40], ..Side::default() };
        let read = |most| serde_json::from_slice::<Side>(&report(&side, most).unwrap()).unwrap();
        assert_eq!((read(2000).streams.len(), read(500).streams.len()), (40, 0));
        assert_eq!(read(500).received, 7);
    }

    #[test]
    fn a_report_cannot_steer_the_terminal() {
        let report = b"{\"algorithm\":\"\\u001b[2Jcubic\",\"pcc\":{\"state\":\"a\\nb\"}}";
        let side = trusted(serde_json::from_slice(report).unwrap());
        assert_eq!(side.algorithm, "2Jcubic");
        assert_eq!(side.pcc.unwrap().state, "ab");
    }
}
