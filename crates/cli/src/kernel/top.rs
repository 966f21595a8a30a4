use super::load::name;
use super::object::Source;
use super::prometheus;
use super::watch::{Connection, Watcher};
use crate::exit::Failure;
use anyhow::anyhow;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::thread::sleep;
use std::time::Duration;

/// Watch the connections that have PCC: rate, goodput, RTT, loss, state, utility
///
/// Of all network namespaces. What is shown is of the time since the last look; the utility is that of the last interval.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Only those of these variants
    #[arg(value_parser = name)]
    names: Vec<String>,
    /// How often to look
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = humantime::parse_duration)]
    interval: Duration,
    /// Stop after so many looks
    #[arg(short = 'n', long, value_name = "NUMBER")]
    count: Option<u64>,
    /// Print one JSON object a line, each time
    #[arg(long)]
    json: bool,
    /// Instead of showing anything: answer those who ask here over HTTP, in Prometheus's text format, like 127.0.0.1:9402
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["json", "count", "interval"])]
    prometheus: Option<SocketAddr>,
    #[command(flatten)]
    source: Source,
}

/// Faster than this shows nothing: there is one interval in a round trip or two.
const SHORTEST: Duration = Duration::from_millis(10);

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    if args.interval < SHORTEST {
        return Err(anyhow!("--interval: not below 10ms").context(Failure::Usage));
    }
    if let Some(address) = args.prometheus {
        return prometheus::serve(address, Watcher::of_whatever_comes(&args.names, &args.source)?);
    }
    let mut watcher = Watcher::of(&args.names, &args.source)?;
    let (mut before, mut looks) = (watcher.look()?, 0);
    let clears = io::stdout().is_terminal();
    while args.count.is_none_or(|count| looks < count) {
        sleep(args.interval);
        let now = watcher.look()?;
        let rows = rows(&before, &now);
        let mut out = io::stdout().lock();
        if args.json {
            writeln!(out, "{}", json!({ "connections": rows.iter().map(Row::json).collect::<Vec<_>>() }))?;
        } else {
            // From the upper left corner on, over what was there.
            let clear = if clears { "\x1b[H\x1b[2J" } else { "" };
            write!(out, "{clear}{}", table(&rows))?;
        }
        out.flush()?;
        before = now;
        looks += 1;
    }
    Ok(())
}

/// A connection, and what it did since the last look.
struct Row<'a> {
    now: &'a Connection,
    /// Rates of what was sent and of what arrived. Unit: bit/s.
    rate: f64,
    goodput: f64,
    /// Lost packets, of those sent.
    loss: Option<f64>,
}

/// In the same order; connections that began since have nothing to be compared with.
fn rows<'a>(before: &[Connection], now: &'a [Connection]) -> Vec<Row<'a>> {
    let before: HashMap<_, _> = before.iter().map(|one| ((one.local, one.remote, &one.name), one)).collect();
    let row = |now: &'a Connection| {
        let was = before.get(&(now.local, now.remote, &now.name));
        // The same addresses again may be another connection, which counts from zero.
        let was = was.filter(|was| was.sent <= now.sent && was.acked <= now.acked);
        let time = was.map_or(0.0, |was| now.at.saturating_sub(was.at).as_secs_f64());
        let rate = |now: u64, was: u64| if time > 0.0 { (now - was) as f64 * 8.0 / time } else { 0.0 };
        let loss = was.and_then(|was| {
            let sent = now.packets_sent.wrapping_sub(was.packets_sent);
            (sent > 0).then(|| f64::from(now.packets_lost.wrapping_sub(was.packets_lost)) / f64::from(sent))
        });
        Row {
            now,
            rate: was.map_or(0.0, |was| rate(now.sent, was.sent)),
            goodput: was.map_or(0.0, |was| rate(now.acked, was.acked)),
            loss,
        }
    };
    now.iter().map(row).collect()
}

impl Row<'_> {
    fn json(&self) -> Value {
        let now = self.now;
        json!({
            "name": now.name,
            "local": now.local.to_string(),
            "remote": now.remote.to_string(),
            "rate_bps": self.rate,
            "goodput_bps": self.goodput,
            "pacing_bps": now.pacing.saturating_mul(8),
            "rtt_ms": now.rtt.as_secs_f64() * 1e3,
            "loss": self.loss,
            "window_packets": now.window,
            "state": now.state,
            "limited_by": now.limited_by,
            "utility_value": now.utility,
            "interval_loss": now.loss,
            "intervals": now.intervals,
            "silences": now.silences,
            "panics": now.panics,
        })
    }
}

fn table(rows: &[Row<'_>]) -> String {
    let ends: Vec<_> = rows.iter().map(|row| (row.now.local.to_string(), row.now.remote.to_string())).collect();
    let width =
        |end: fn(&(String, String)) -> &String| ends.iter().map(|ends| end(ends).len()).max().unwrap_or(0).max(6);
    let (from, to) = (width(|ends| &ends.0), width(|ends| &ends.1));
    let names = rows.iter().map(|row| row.now.name.len()).max().unwrap_or(0).max(4);
    let mut text = format!(
        "{:names$}  {:from$}  {:to$}  {:>9}  {:>9}  {:>8}  {:>6}  {:<8}  {:<11}  {:>9}\n",
        "name", "local", "remote", "Mbit/s", "goodput", "RTT ms", "loss %", "state", "limited by", "utility"
    );
    for (row, (local, remote)) in rows.iter().zip(&ends) {
        let now = row.now;
        let dash = || "-".to_owned();
        let loss = row.loss.map_or_else(dash, |loss| format!("{:.2}", loss * 100.0));
        let utility = now.utility.map_or_else(dash, |utility| format!("{utility:.4}"));
        let _ = writeln!(
            text,
            "{:names$}  {local:from$}  {remote:to$}  {:>9.2}  {:>9.2}  {:>8.2}  {loss:>6}  {:<8}  {:<11}  {utility:>9}",
            now.name,
            row.rate / 1e6,
            row.goodput / 1e6,
            now.rtt.as_secs_f64() * 1e3,
            now.state,
            now.limited_by,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::watch::tests::example;
    use super::*;

    #[test]
    fn what_was_done_since_the_last_look_is_told() {
        let (before, now) = ([example(1, 1000, 500, (10, 0))], [example(3, 251_000, 125_500, (110, 5))]);
        let rows = rows(&before, &now);
        assert_eq!((rows[0].rate, rows[0].goodput, rows[0].loss), (1e6, 0.5e6, Some(0.05)));
        let told = rows[0].json();
        assert_eq!((&told["state"], &told["utility_value"]), (&json!("Probing"), &json!(1.5)));
        let text = table(&rows);
        let last: Vec<_> = text.lines().last().unwrap().split_whitespace().collect();
        let expected = [
            "pcc",
            "192.0.2.1:5001",
            "192.0.2.1:443",
            "1.00",
            "0.50",
            "40.00",
            "5.00",
            "Probing",
            "application",
            "1.5000",
        ];
        assert_eq!(last, expected);
    }

    #[test]
    fn a_new_connection_with_old_addresses_is_not_compared_with_the_old_one() {
        let rows = |before: &[Connection], now: &[Connection]| {
            rows(before, now).iter().map(|row| (row.rate, row.loss)).collect::<Vec<_>>()
        };
        assert_eq!(rows(&[example(1, 9000, 9000, (9, 0))], &[example(2, 10, 0, (1, 0))]), [(0.0, None)]);
        assert_eq!(rows(&[], &[example(2, 10, 0, (1, 0))]), [(0.0, None)]);
        assert_eq!(rows(&[example(1, 5, 5, (1, 0))], &[]), []);
    }
}
