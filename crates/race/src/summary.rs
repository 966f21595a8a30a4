//! The results of a race: the runners with their scores, as figures and as JSON.

use super::course::Course;
use super::score::Score;
use super::source::Source;
use super::trace::Trace;
use core::time::Duration;
use serde::Serialize;
use serde_json::{Value, json};

/// The race when it is over.
#[derive(Debug)]
pub struct Summary<'a> {
    /// The path.
    pub course: &'a Course,
    /// The file.
    pub source: &'a Source,
    /// A score for each of `traces`.
    pub scores: &'a [Score],
    /// The trace of each runner.
    pub traces: &'a [Trace],
}

/// One algorithm in the JSON document.
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
    pub fn runners(&self) -> impl Iterator<Item = (&Trace, &Score)> {
        self.traces.iter().zip(self.scores)
    }

    /// The JSON document of a race; docs/json.md describes it.
    pub fn json(&self) -> Value {
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

    /// The strongest of PCC's peers, and PCC's goodput by its; none if PCC or all others did not run.
    pub fn strongest_peer(&self) -> Option<(&'static str, f64)> {
        let ran = |(trace, score): &(&Trace, &Score)| trace.error.is_none() && score.goodput_mbps > 0.0;
        let (_, pcc) = self.runners().filter(ran).find(|(trace, _)| trace.algorithm == "pcc")?;
        let others = self.runners().filter(ran).filter(|(trace, _)| trace.algorithm != "pcc");
        let (peer, score) = others.max_by(|(_, a), (_, b)| a.goodput_mbps.total_cmp(&b.goodput_mbps))?;
        Some((peer.algorithm, pcc.goodput_mbps / score.goodput_mbps))
    }

    /// How late packets left, if that made the path another than the one asked for: by a tenth of its RTT, or where that
    /// is less by a millisecond, which no timer of an ordinary system misses by.
    pub fn host_too_slow(&self) -> Option<Duration> {
        let late = self.traces.iter().filter_map(|trace| trace.late).max()?;
        (late > (self.course.path.rtt() / 10).max(Duration::from_millis(1))).then_some(late)
    }

    /// The same in words.
    pub fn doubt(&self) -> Option<String> {
        let ms = self.host_too_slow()?.as_secs_f64() * 1e3;
        Some(format!(
            "The computer was too busy: one packet of 100 left {ms:.0} ms late or more, so these figures are its own, not the path's."
        ))
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

#[cfg(test)]
#[path = "example.rs"]
pub(crate) mod example;

#[cfg(test)]
mod tests {
    use super::example::race;
    use super::*;

    #[test]
    fn the_one_number_names_the_strongest_of_the_others() {
        let strongest = |goodputs: &[(&'static str, f64)], expected| {
            race(goodputs, None, |summary| assert_eq!(summary.strongest_peer(), expected));
        };
        strongest(&[("pcc", 20.0), ("cubic", 1.0), ("tcp-bbr", 25.0)], Some(("tcp-bbr", 0.8)));
        strongest(&[("pcc", 20.0)], None);
        strongest(&[("cubic", 20.0), ("bbr", 1.0)], None);
    }

    #[test]
    fn a_race_whose_path_the_computer_could_not_be_says_so() {
        for (late, told) in [(Some(79), false), (Some(1234), true), (None, false)] {
            race(&[("pcc", 0.1), ("cubic", 0.9)], late.map(Duration::from_millis), |summary| {
                assert_eq!(summary.json()["host_too_slow"], told, "{late:?} of 800 ms");
            });
        }
    }
}
