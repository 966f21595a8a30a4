//! The results as a table, as JSON, and as files.

use super::course::Course;
use super::entry::{Ended, Update};
use super::score::Score;
use super::source::Source;
use super::trace::Trace;
use core::time::Duration;
use pcc::units::Rate;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The race when it is over.
pub(super) struct Summary<'a> {
    pub(super) course: &'a Course,
    pub(super) source: &'a Source,
    pub(super) scores: &'a [Score],
    pub(super) traces: &'a [Trace],
}

/// One algorithm in the final object of `--json` and in the page.
#[derive(Serialize)]
struct Result {
    algorithm: &'static str,
    finished: bool,
    bytes: u64,
    seconds: f64,
    goodput_mbps: f64,
    share: f64,
    share_started: f64,
    started_seconds: f64,
    loss: f64,
    waste: f64,
    rtt_added_ms: f64,
    verified: bool,
    packets_sent: u64,
    packets_lost: u64,
    dropped_random: u64,
    dropped_buffer: u64,
    dropped_host: u64,
    late_ms: Option<f64>,
    error: Option<String>,
}

impl Summary<'_> {
    /// Runners with their scores.
    pub(super) fn runners(&self) -> impl Iterator<Item = (&Trace, &Score)> {
        self.traces.iter().zip(self.scores)
    }

    /// The final object.
    pub(super) fn json(&self) -> Value {
        let results: Vec<_> = self.runners().map(|(trace, score)| result(trace, score)).collect();
        json!({
            "preset": self.course.name,
            "path": self.course.parameters(),
            "bytes": self.source.bytes,
            "blake3": self.source.digest.to_string(),
            "seed": self.course.seed,
            "version": env!("CARGO_PKG_VERSION"),
            "strongest_peer": self.strongest_peer().map(|(algorithm, ratio)| json!({ "algorithm": algorithm, "ratio": ratio })),
            "host_too_slow": self.host_too_slow().is_some(),
            "results": results,
        })
    }

    /// What people read, in 80 columns.
    pub(super) fn table(&self) -> String {
        let mut text = format!(
            "\n{:<9} {:>7} {:>11} {:>5} {:>7} {:>7} {:>9} {:>5}  {}\n",
            "algorithm", "time", "goodput", "share", "started", "loss", "RTT added", "waste", "copy"
        );
        for (trace, score) in self.runners() {
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
                    self.copy(trace),
                ),
            };
            let _ = line; // a String takes everything
        }
        text.push_str("share: of what a perfect sender would move; started: once it ran at half speed\n");
        self.notes(&mut text);
        text
    }

    /// Whether the copy is good, and how far it got.
    fn copy(&self, trace: &Trace) -> String {
        match (trace.verified, trace.finished) {
            (false, _) => "DAMAGED".to_owned(),
            (true, true) => "verified".to_owned(),
            (true, false) => format!("{:.0} % of it", trace.bytes as f64 * 100.0 / self.source.bytes.max(1) as f64),
        }
    }

    /// The strongest of PCC's peers, and PCC's goodput by its; none if PCC or all others did not run.
    pub(super) fn strongest_peer(&self) -> Option<(&'static str, f64)> {
        let ran = |(trace, score): &(&Trace, &Score)| trace.error.is_none() && score.goodput_mbps > 0.0;
        let (_, pcc) = self.runners().filter(ran).find(|(trace, _)| trace.algorithm == "pcc")?;
        let others = self.runners().filter(ran).filter(|(trace, _)| trace.algorithm != "pcc");
        let (peer, score) = others.max_by(|(_, a), (_, b)| a.goodput_mbps.total_cmp(&b.goodput_mbps))?;
        Some((peer.algorithm, pcc.goodput_mbps / score.goodput_mbps))
    }

    /// How late packets left, if that made the path another than the one asked for: by a tenth of its RTT, or where that
    /// is less by a millisecond, which no timer of an ordinary system misses by.
    fn host_too_slow(&self) -> Option<Duration> {
        let late = self.traces.iter().filter_map(|trace| trace.late).max()?;
        (late > (self.course.path.rtt() / 10).max(Duration::from_millis(1))).then_some(late)
    }

    fn notes(&self, text: &mut String) {
        if let Some((peer, ratio)) = self.strongest_peer() {
            let _ = writeln!(text, "pcc moved {ratio:.2} times what {peer} did, the strongest of the others");
        }
        if let Some(late) = self.host_too_slow() {
            let _ = writeln!(
                text,
                "this computer was too busy: one packet of 100 left {:.0} ms late or more,\n\
                 so these figures are its own, not the path's; --serial races one after another",
                late.as_secs_f64() * 1e3
            );
        }
        let dropped: u64 = self.traces.iter().map(|trace| trace.dropped_host).sum();
        if dropped > 0 {
            let _ = writeln!(
                text,
                "this computer itself dropped {dropped} packets, which no path did:\n--serial races one after another"
            );
        }
    }
}

fn result(trace: &Trace, score: &Score) -> Value {
    let last = trace.samples.last().copied().unwrap_or_default();
    json!(Result {
        algorithm: trace.algorithm,
        finished: trace.finished,
        bytes: trace.bytes,
        seconds: trace.time.as_secs_f64(),
        goodput_mbps: score.goodput_mbps,
        share: score.share,
        share_started: score.share_started,
        started_seconds: score.started.as_secs_f64(),
        loss: score.loss,
        waste: score.waste,
        rtt_added_ms: score.rtt_added_ms,
        verified: trace.verified,
        packets_sent: last.sent_packets,
        packets_lost: last.lost_packets,
        dropped_random: trace.dropped_random,
        dropped_buffer: trace.dropped_buffer,
        dropped_host: trace.dropped_host,
        late_ms: trace.late.map(|late| late.as_secs_f64() * 1e3),
        error: trace.error.clone(),
    })
}

/// The lines of `--json` before the final object.
pub(super) struct Event;

impl Event {
    /// The first line.
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

    /// A line for every second of a runner, and for its end.
    pub(super) fn of(update: &Update) -> Option<Value> {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(goodputs: &[(&'static str, f64)], check: impl FnOnce(&Summary<'_>)) {
        let course = Course::parse("satellite", 1).unwrap();
        let source = Source::open(None, 1_000_000, 1).unwrap();
        let traces: Vec<_> = goodputs
            .iter()
            .map(|(algorithm, _)| Trace {
                algorithm,
                bytes: 123_456,
                time: Duration::from_millis(1_234_500),
                verified: true,
                ..Trace::default()
            })
            .collect();
        let scores: Vec<_> = goodputs
            .iter()
            .map(|(_, mbit)| Score {
                goodput_mbps: *mbit,
                share: 1.0,
                share_started: 1.0,
                started: Duration::ZERO,
                loss: 0.1234,
                waste: 9.999,
                rtt_added_ms: 1234.5,
            })
            .collect();
        check(&Summary { course: &course, source: &source, scores: &scores, traces: &traces });
    }

    #[test]
    fn the_table_fits_80_columns() {
        summary(&[("pcc", 123.4), ("tcp-cubic", 0.912), ("newreno", 1234.5)], |summary| {
            for line in summary.table().lines() {
                assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
            }
        });
    }

    #[test]
    fn the_one_number_names_the_strongest_of_the_others() {
        summary(&[("pcc", 20.0), ("cubic", 1.0), ("tcp-bbr", 25.0)], |summary| {
            assert_eq!(summary.strongest_peer(), Some(("tcp-bbr", 0.8)));
            assert!(summary.table().contains("0.80 times what tcp-bbr did"), "{}", summary.table());
        });
        summary(&[("pcc", 20.0)], |summary| assert_eq!(summary.strongest_peer(), None));
        summary(&[("cubic", 20.0), ("bbr", 1.0)], |summary| assert_eq!(summary.strongest_peer(), None));
    }

    #[test]
    fn a_race_whose_path_the_computer_could_not_be_says_so() {
        for (late, told) in [(Some(79), false), (Some(1234), true), (None, false)] {
            summary(&[("pcc", 0.1), ("cubic", 0.9)], |summary| {
                let mut traces = summary.traces.to_vec();
                traces[0].late = late.map(Duration::from_millis);
                let summary = Summary { traces: &traces, ..*summary };
                let table = summary.table();
                assert_eq!(table.contains("too busy"), told, "{late:?} of 800 ms: {table}");
                assert_eq!(summary.json()["host_too_slow"], told);
                assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
            });
        }
    }
}
