use super::args::{ObjectArgs, SelectionArgs};
use crate::exit::misuse;
use anyhow::anyhow;
use pcc_bpf::rows::{Row, Rows};
use pcc_bpf::table::table;
use pcc_bpf::variant::{FindError, Variant, name};
use pcc_bpf::watch::{Connection, Watcher};
use pcc_bpf::{HostError, prometheus, rights, totals};
use serde_json::{Value, json};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

/// Watch the connections that have PCC: rate, goodput, RTT, loss, state, utility
///
/// Connections of all network namespaces are shown. Rates and losses are of the time since the last look; the utility
/// is that of the last interval. The first line has the sums. A terminal shows as many rows and columns as fit.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  pcc kernel top pcc_bulk --port 873 --sort loss\n  pcc kernel top --json -n 1\n  pcc kernel top --prometheus /var/lib/prometheus/node-exporter/pcc.prom --interval 15s"
)]
pub(super) struct Args {
    /// Show only the connections of these variants
    #[arg(value_parser = name)]
    names: Vec<String>,
    #[command(flatten)]
    selection: SelectionArgs,
    /// How often to look
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = crate::written::duration)]
    interval: Duration,
    /// Stop after this number of looks
    #[arg(short = 'n', long, value_name = "NUMBER")]
    count: Option<u64>,
    /// Print one JSON object a line, each time
    #[arg(long)]
    json: bool,
    /// Write the totals of each variant and network namespace to this file each time, for the textfile collector of
    /// Prometheus's node_exporter, and show nothing; `-` for standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    prometheus: Option<PathBuf>,
    /// With --prometheus: also this number of connections one by one, the first by --sort
    #[arg(long, value_name = "NUMBER", requires = "prometheus", value_parser = clap::value_parser!(u32).range(1..=1000))]
    connections: Option<u32>,
    #[command(flatten)]
    source: ObjectArgs,
}

/// Faster than this shows nothing: there is one interval in a round trip or two.
const SHORTEST: Duration = Duration::from_millis(10);
/// The option that shows connections that only receive.
const UNSEEN: &str = "--all";
/// The lines above the rows: the sums, and the columns' heads. The cursor stands below them.
const AROUND: usize = 3;

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    if args.interval < SHORTEST {
        return Err(misuse!("--interval: not below 10ms"));
    }
    match &args.prometheus {
        Some(file) => tell(args, file),
        None => show(args),
    }
}

fn show(args: &Args) -> anyhow::Result<()> {
    let mut watcher = Watcher::of(&args.names, &args.source.source()).map_err(|error| match error {
        FindError::Host(error) => explained(error),
        other => other.into(),
    })?;
    let (mut before, mut looks) = (watcher.look().map_err(explained)?, 0);
    while args.count.is_none_or(|count| looks < count) {
        sleep(args.interval);
        let now = watcher.look().map_err(explained)?;
        let terminal = if args.json { None } else { size() };
        let fit = terminal.map_or(usize::MAX, |(_, lines)| lines.saturating_sub(AROUND).max(1));
        let rows =
            Rows::of(&args.selection.selection(), args.selection.rows.map_or(fit, |rows| rows as usize), &before, &now);
        let mut out = io::stdout().lock();
        match terminal {
            _ if args.json => writeln!(out, "{}", json(&rows))?,
            // From the upper left corner on, over what was there.
            Some((columns, _)) => write!(out, "\x1b[H\x1b[2J{}", table(&rows, columns, UNSEEN))?,
            None => write!(out, "{}", table(&rows, usize::MAX, UNSEEN))?,
        }
        out.flush()?;
        before = now;
        looks += 1;
    }
    Ok(())
}

/// With the option that helps.
fn explained(error: HostError) -> anyhow::Error {
    match error {
        HostError::OtherVersion(_) => {
            anyhow!("{error}: `pcc kernel load --replace` puts this one in its place")
        }
        other => other.into(),
    }
}

/// Columns and lines of the terminal that this is shown on.
fn size() -> Option<(usize, usize)> {
    let out = io::stdout();
    let size = out.is_terminal().then(|| rustix::termios::tcgetwinsize(&out).ok()).flatten()?;
    (size.ws_col > 0).then_some((size.ws_col.into(), size.ws_row.into()))
}

/// The totals need no look at each connection, which some kernels allow to nobody.
fn tell(args: &Args, file: &std::path::Path) -> anyhow::Result<()> {
    rights::check()?;
    let most = args.connections.unwrap_or(0) as usize;
    let watched = || Watcher::of_whatever_comes(&args.names, &args.source.source());
    let mut watcher = (most > 0).then(watched).transpose().map_err(explained)?;
    let (mut before, mut looks): (Vec<Connection>, _) = (Vec::new(), 0);
    if let Some(watcher) = &mut watcher {
        // Rates are of the time between two looks.
        before = watcher.look().map_err(explained)?;
        sleep(args.interval);
    }
    while args.count.is_none_or(|count| looks < count) {
        let mut variants = Variant::all()?;
        variants.retain(|one| args.names.is_empty() || args.names.contains(&one.name));
        let now = watcher.as_mut().map_or_else(|| Ok(Vec::new()), Watcher::look).map_err(explained)?;
        let rows = Rows::of(&args.selection.selection(), most, &before, &now);
        let loaded: Vec<_> = variants.iter().filter(|one| one.is_registered).map(|one| one.name.as_str()).collect();
        prometheus::write(file, &prometheus::text(&loaded, &totals::all(&variants)?, &rows))?;
        before = now;
        looks += 1;
        if args.count != Some(looks) {
            sleep(args.interval);
        }
    }
    Ok(())
}

fn json(rows: &Rows<'_>) -> Value {
    json!({
        "connections": rows.shown.iter().map(connection).collect::<Vec<_>>(),
        "totals": {
            "connections": rows.wanted,
            "receivers": rows.receivers,
            "rate_bps": rows.rate,
            "goodput_bps": rows.goodput,
            "loss": rows.loss,
        },
    })
}

fn connection(row: &Row<'_>) -> Value {
    let now = row.now;
    json!({
        "name": now.name,
        "netns": now.netns,
        "local": now.local.to_string(),
        "remote": now.remote.to_string(),
        "rate_bps": row.rate,
        "goodput_bps": row.goodput,
        "pacing_bps": now.pacing.saturating_mul(8),
        "rtt_ms": now.rtt.as_secs_f64() * 1e3,
        "loss": row.loss,
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

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_bpf::rows::Selection;

    /// A connection that has sent so much at that time.
    fn example(seconds: u64, sent: u64, acked: u64, packets: (u32, u32)) -> Connection {
        Connection {
            name: "pcc".into(),
            local: ([192, 0, 2, 1], 5001).into(),
            remote: ([192, 0, 2, 1], 443).into(),
            at: Duration::from_secs(seconds),
            sent,
            acked,
            packets_sent: packets.0,
            packets_lost: packets.1,
            rtt: Duration::from_millis(40),
            window: 17,
            pacing: 1_250_000,
            state: "Probing",
            utility: Some(1.5),
            loss: None,
            limited_by: "application",
            intervals: 9,
            silences: 0,
            panics: 0,
            netns: 7,
        }
    }

    #[test]
    fn json_has_the_sums_and_each_connection() {
        let (before, now) = ([example(1, 1000, 500, (10, 0))], [example(3, 251_000, 125_500, (110, 5))]);
        let told = json(&Rows::of(&Selection::default(), 9, &before, &now));
        assert_eq!(
            told["totals"],
            json!({ "connections": 1, "receivers": 0, "rate_bps": 1e6, "goodput_bps": 0.5e6, "loss": 0.05 })
        );
        let one = &told["connections"][0];
        assert_eq!((&one["state"], &one["utility_value"], &one["netns"]), (&json!("Probing"), &json!(1.5), &json!(7)));
    }
}
