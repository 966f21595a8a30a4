//! The results as a table, as JSON, and as files.

use super::course::Course;
use super::runner::{Ended, Update};
use super::score::Score;
use super::source::Source;
use super::trace::Trace;
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
            "results": results,
        })
    }

    /// What people read.
    pub(super) fn table(&self) -> String {
        let mut text = format!(
            "\n{:<10}{:>11}{:>14}{:>8}{:>9}{:>8}{:>12}{:>7}  {}\n",
            "algorithm", "time", "goodput", "share", "started", "loss", "RTT added", "waste", "copy"
        );
        for (trace, score) in self.runners() {
            let name = trace.algorithm;
            let line = match &trace.error {
                Some(error) => writeln!(text, "{name:<10}  could not run: {error}"),
                None => writeln!(
                    text,
                    "{name:<10}{:>9.1} s{:>7.2} Mbit/s{:>6.1} %{:>7.1} %{:>6.2} %{:>9.1} ms{:>7.3}  {}",
                    trace.time.as_secs_f64(),
                    score.goodput_mbps,
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
        text.push_str("share: of what a perfect sender would move; started: the same once it ran at half speed\n");
        self.notes(&mut text);
        text
    }

    /// Whether the copy is good, and how far it got.
    pub(super) fn copy(&self, trace: &Trace) -> String {
        let verified = if trace.verified { "verified" } else { "DAMAGED" };
        if trace.finished {
            return verified.to_owned();
        }
        let (moved, all) = (trace.bytes as f64 / 1e6, self.source.bytes as f64 / 1e6);
        format!("unfinished: {moved:.1} of {all:.1} MB, {verified}")
    }

    fn notes(&self, text: &mut String) {
        let leader = self.runners().find(|(trace, _)| trace.algorithm == "pcc");
        if let Some((_, pcc)) = leader.filter(|(trace, _)| trace.error.is_none()) {
            for (trace, score) in self.runners().filter(|(trace, _)| trace.algorithm != "pcc" && trace.error.is_none())
            {
                if score.goodput_mbps > 0.0 {
                    let _ = writeln!(text, "pcc / {}: {:.2}", trace.algorithm, pcc.goodput_mbps / score.goodput_mbps);
                }
            }
        }
        let dropped: u64 = self.traces.iter().map(|trace| trace.dropped_host).sum();
        if dropped > 0 {
            let _ = writeln!(
                text,
                "this computer itself dropped {dropped} packets, which no path did: --serial races one after another"
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
