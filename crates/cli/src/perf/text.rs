//! Results for people.

use pcc::units::{Bytes, Rate};
use pcc_net::escape_for_terminal;
use pcc_perf::client::{Interval, Outcome};
use pcc_perf::compare::Comparison;
use pcc_perf::cpu::Cpu;
use pcc_perf::flow::{Counted, Flow, Way};
use pcc_perf::load::Until;
use pcc_perf::run::{Run, Test, Turn};
use pcc_perf::side::Side;
use std::fmt::Write;
use std::time::Duration;

/// The plan.
pub(super) fn start(test: &Test) -> String {
    let load = &test.plan.load;
    let what = match load.ways.as_slice() {
        [Way::Up] => "upload",
        [Way::Down] => "download",
        _ => "upload and download",
    };
    let until = match load.until {
        Until::Time(time) => format!("for {time:?}"),
        Until::Volume(bytes) => format!("of {}", Bytes::new(bytes)),
    };
    let streams = if load.streams == 1 { String::new() } else { format!(" in {} streams", load.streams) };
    let mut text = format!("{}: {what} {until}{streams}, {}\n", test.peer, test.names().join(", "));
    if test.algorithms.len() > 1 {
        let rounds = if test.rounds == 1 { "one round".to_owned() } else { format!("{} rounds", test.rounds) };
        let _ = writeln!(text, "The algorithms take turns, {rounds}.");
    }
    text
}

/// Above the interval lines of one run.
pub(super) fn head(test: &Test, turn: Turn) -> String {
    let mut text = String::new();
    if test.algorithms.len() > 1 {
        let _ = writeln!(text, "\nRound {} of {}: {}", turn.round, test.rounds, turn.algorithm);
    }
    if !test.plan.interval.is_zero() {
        let way = if test.plan.load.ways.len() > 1 { "way  " } else { "" };
        let _ = writeln!(
            text,
            "{:>11} {way}{:>7} {:>11} {:>7} {:>7}  state, limited by",
            "seconds", "data", "goodput", "loss", "RTT"
        );
    }
    text
}

/// One interval: a row of at most 80 columns for each direction, as terminals have.
pub(super) fn interval(interval: &Interval, verbose: bool) -> String {
    let mut text = String::new();
    let both = interval.flows.len() > 1;
    for (way, flow) in &interval.flows {
        let _ = writeln!(
            text,
            "{:>11} {}{:>7} {:>11} {:>7} {:>7}  {}",
            span(interval),
            if both { format!("{:<4} ", arrow(*way)) } else { String::new() },
            Bytes::new(flow.bytes).to_string(),
            goodput(flow),
            percent(flow.loss()),
            milliseconds(flow.rtt.as_secs_f64() * 1e3),
            remark(flow, interval.omitted),
        );
        if let (true, Some(pcc)) = (verbose, &flow.pcc) {
            let _ = writeln!(
                text,
                "{:>11} MI {} at {}, utility {}",
                "",
                pcc.mi_id,
                Rate::from_bytes_per_sec(pcc.rate_bps / 8.0),
                pcc.utility_value.map_or_else(unknown, |value| format!("{value:.3}"))
            );
        }
    }
    if verbose && interval.streams.len() > 1 {
        for (stream, bytes) in &interval.streams {
            let name = format!("stream {}", stream.id);
            let _ = writeln!(text, "{name:>11} {:<4} {:>7}", arrow(stream.way), Bytes::new(*bytes).to_string());
        }
    }
    text
}

/// From when to when, with the digits that there is room for.
fn span(interval: &Interval) -> String {
    let digits = match interval.end {
        ..100.0 => 2,
        100.0..1000.0 => 1,
        _ => 0,
    };
    format!("{:.digits$}-{:.digits$}", interval.start, interval.end)
}

/// Where PCC stands and what limits it, or that the interval does not count.
fn remark(flow: &Flow, omitted: bool) -> String {
    let limited = flow.pcc.as_ref().map(|pcc| match pcc.limited_by.as_str() {
        "" => "network",
        "receiver window" => "receiver",
        "application" => "app",
        other => other,
    });
    let limited = if omitted { Some("omitted") } else { limited };
    let words = [flow.pcc.as_ref().map(|pcc| pcc.state.as_str()), limited];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The result of one run.
pub(super) fn summary(run: &Run) -> String {
    let outcome = &run.outcome;
    let mut text = String::new();
    for (way, flow) in &outcome.flows {
        let algorithm = flow.algorithm.as_deref().unwrap_or("server");
        let counted = match flow.counted {
            Counted::Receiver => "received",
            Counted::Sender => "sent and not lost",
        };
        let _ = writeln!(
            text,
            "{algorithm} {}: {} ({} {counted} in {:.2} s)",
            if *way == Way::Up { "up" } else { "down" },
            goodput(flow),
            Bytes::new(flow.bytes),
            flow.seconds
        );
        let _ = writeln!(
            text,
            "  loss {}, waste {}, RTT {} idle, {} loaded{}",
            percent(flow.loss()),
            ratio(flow.waste()),
            milliseconds(outcome.idle_rtt.as_secs_f64() * 1e3),
            outcome.loaded_rtt.map_or_else(unknown, |rtt| milliseconds(rtt.median)),
            outcome.loaded_rtt.map_or_else(String::new, |rtt| format!(" (95 %: {})", milliseconds(rtt.p95))),
        );
    }
    let _ = writeln!(text, "  CPU {}", cpu(outcome));
    if let Some(reason) = &outcome.cut_short {
        let _ = writeln!(text, "  cut short: {}", escape_for_terminal(&reason.told()));
    }
    text
}

/// The server's count of it.
pub(super) fn server_output(run: &Run) -> String {
    match &run.outcome.there {
        Some(side) => format!("  server: {}\n", counts(side)),
        None => "  server: it does not report; `pcc perf -s` would\n".to_owned(),
    }
}

/// All that one end counted.
pub(super) fn counts(side: &Side) -> String {
    let loss = if side.sent_packets > 0 { side.lost_packets as f64 / side.sent_packets as f64 } else { 0.0 };
    format!(
        "received {}, sent {} ({}, loss {:.2} %) in {:.2} s",
        Bytes::new(side.received),
        Bytes::new(side.sent),
        side.algorithm,
        loss * 100.0,
        side.at_us as f64 * 1e-6
    )
}

/// All algorithms side by side: what each moved, and what that cost.
pub(super) fn comparison(runs: &[Run]) -> String {
    let rows = Comparison::of(runs).rows;
    let first = rows.first().map_or("first", |row| row.algorithm);
    let rate = |bits: f64| Rate::from_bytes_per_sec(bits / 8.0).to_string();
    let mut text = format!(
        "\n{:<9} {:>11} {:<28} {}\n",
        "algorithm",
        "goodput",
        "(min to max)",
        format_args!("ratio to {first} (min to max)"),
    );
    for row in &rows {
        let _ = writeln!(
            text,
            "{:<9} {:>11} {:<28} {}",
            row.algorithm,
            row.bits_per_second.map_or_else(unknown, |spread| rate(spread.median)),
            row.bits_per_second.map_or_else(String::new, |spread| format!(
                "({} to {})",
                rate(spread.min),
                rate(spread.max)
            )),
            row.ratio_to_first
                .map_or_else(unknown, |ratio| format!("{:.3} ({:.3} to {:.3})", ratio.median, ratio.min, ratio.max)),
        );
    }
    let _ = writeln!(text, "\n{:<9} {:>11} {:>9} {:>10} {:>7}", "algorithm", "loss", "waste", "RTT added", "CPU");
    for row in &rows {
        let _ = writeln!(
            text,
            "{:<9} {:>11} {:>9} {:>10} {:>7}",
            row.algorithm,
            percent(row.loss),
            ratio(row.waste),
            row.rtt_added_ms.map_or_else(unknown, milliseconds),
            row.cpu_percent.map_or_else(unknown, |percent| format!("{percent:.0} %")),
        );
    }
    text
}

fn arrow(way: Way) -> &'static str {
    match way {
        Way::Up => "up",
        Way::Down => "down",
    }
}

fn goodput(flow: &Flow) -> String {
    Rate::from_bytes_per_sec(flow.bits_per_second() / 8.0).to_string()
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(unknown, |share| format!("{:.2} %", share * 100.0))
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(unknown, |ratio| format!("{ratio:.3}"))
}

/// With three digits.
fn milliseconds(ms: f64) -> String {
    let digits = match ms {
        ..9.995 => 2,
        9.995..99.95 => 1,
        _ => 0,
    };
    format!("{ms:.digits$} ms")
}

fn unknown() -> String {
    "-".to_owned()
}

fn cpu(outcome: &Outcome) -> String {
    let percent = |(cpu, time): (Cpu, Duration)| 100.0 * cpu.total_us() as f64 / (time.as_micros().max(1) as f64);
    let there = outcome.cpu_there.map_or_else(String::new, |there| format!(", {:.0} % there", percent(there)));
    format!("{:.0} % of a core here{there}", percent(outcome.cpu_here))
}

#[cfg(test)]
mod tests;
