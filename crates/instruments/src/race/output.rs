//! The results as a table for people, and the lines of `--json` before the final object.

use pcc::units::Rate;
use pcc_race::course::Course;
use pcc_race::entry::{Ended, Update};
use pcc_race::source::Source;
use pcc_race::summary::Summary;
use pcc_race::trace::Trace;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Output for people, in 80 columns.
pub(super) fn table(summary: &Summary<'_>) -> String {
    let mut text = format!(
        "\n{:<9} {:>7} {:>11} {:>5} {:>7} {:>7} {:>9} {:>5}  {}\n",
        "algorithm", "time", "goodput", "share", "started", "loss", "RTT added", "waste", "copy"
    );
    for (trace, score) in summary.runners() {
        let name = trace.algorithm;
        let line = match &trace.error {
            Some(error) => writeln!(text, "{name:<9} could not run: {error}"),
            None => writeln!(
                text,
                "{name:<9} {:>5.1} s {:>11} {:>3.0} % {:>5.0} % {:>5.2} % {:>6.1} ms {:>5.3}  {}",
                trace.time.as_secs_f64(),
                Rate::from_mbit(score.goodput_mbps).to_string(),
                score.share * 100.0,
                score.share_started * 100.0,
                score.loss * 100.0,
                score.rtt_added_ms,
                score.waste,
                copy(summary, trace),
            ),
        };
        let _ = line; // a String takes everything
    }
    text.push_str("share: of what a perfect sender would move; started: once it ran at half speed\n");
    notes(summary, &mut text);
    text
}

/// Whether the copy is good, and how far it got.
fn copy(summary: &Summary<'_>, trace: &Trace) -> String {
    match (trace.verified, trace.finished) {
        (false, _) => "DAMAGED".to_owned(),
        (true, true) => "verified".to_owned(),
        (true, false) => format!("{:.0} % of it", trace.bytes as f64 * 100.0 / summary.source.bytes.max(1) as f64),
    }
}

fn notes(summary: &Summary<'_>, text: &mut String) {
    if let Some((peer, ratio)) = summary.strongest_peer() {
        let _ = writeln!(text, "pcc moved {ratio:.2} times what {peer} did, the strongest of the others");
    }
    if let Some(late) = summary.host_too_slow() {
        let _ = writeln!(
            text,
            "this computer was too busy: one packet of 100 left {:.0} ms late or more,\n\
             so these figures are its own, not the path's; --serial races one after another",
            late.as_secs_f64() * 1e3
        );
    }
    let dropped: u64 = summary.traces.iter().map(|trace| trace.dropped_host).sum();
    if dropped > 0 {
        let _ = writeln!(
            text,
            "this computer itself dropped {dropped} packets, which no path did:\n--serial races one after another"
        );
    }
}

/// The first line of `--json`.
pub(super) fn start(course: &Course, source: &Source, names: &[&str]) -> Value {
    json!({
        "event": "start",
        "preset": course.name,
        "path": course.parameters(),
        "bytes": source.bytes,
        "seed": course.seed,
        "algorithms": names,
    })
}

/// A line of `--json` for every second of a runner, and for its end.
pub(super) fn event(update: &Update) -> Option<Value> {
    let sample = &update.sample;
    let event = match update.ended {
        Some(Ended::Finished) => "finished",
        Some(Ended::Unfinished) => "unfinished",
        Some(Ended::Failed) => "failed",
        None if sample.at.subsec_millis() < 100 => "progress",
        None => return None,
    };
    Some(json!({
        "event": event,
        "algorithm": update.algorithm,
        "seconds": sample.at.as_secs_f64(),
        "bytes": sample.received,
        "rtt_ms": sample.rtt.as_secs_f64() * 1e3,
        "packets_sent": sample.sent_packets,
        "packets_lost": sample.lost_packets,
        "congestion_window": sample.window,
        "rate_bps": sample.rate,
        "state": update.state,
    }))
}

#[cfg(test)]
use pcc_race::score::Score;
#[cfg(test)]
#[path = "../../../race/src/example.rs"]
mod example;

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    fn told(goodputs: &[(&'static str, f64)], late: Option<Duration>) -> String {
        let mut text = String::new();
        example::race(goodputs, late, |summary| text = table(summary));
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
        }
        text
    }

    #[test]
    fn the_table_fits_80_columns_and_names_the_strongest_peer() {
        let table = told(&[("pcc", 20.0), ("tcp-cubic", 0.912), ("newreno", 1234.5)], None);
        assert!(table.contains("0.02 times what newreno did"), "{table}");
        assert!(!table.contains("too busy"), "{table}");
    }

    #[test]
    fn a_race_whose_path_the_computer_could_not_be_says_so() {
        let table = told(&[("pcc", 0.1), ("cubic", 0.9)], Some(Duration::from_millis(1234)));
        assert!(table.contains("too busy") && table.contains("--serial"), "{table}");
    }
}
