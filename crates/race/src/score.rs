//! A runner's results, as the numbers of the table.

use super::course::Course;
use super::trace::{Sample, Trace};
use core::time::Duration;

/// Each as docs/race.md defines it.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// File bytes over time, Mbit/s.
    pub goodput_mbps: f64,
    /// The share of the bytes that a perfect sender would have moved in that time.
    pub share: f64,
    /// The same from [`Score::started`] on.
    pub share_started: f64,
    /// When it first ran at half of what the path could carry; the first fifth of its time if it never did.
    pub started: Duration,
    /// Packets declared lost, of those sent.
    pub loss: f64,
    /// UDP bytes sent for each file byte received.
    pub waste: f64,
    /// Mean smoothed RTT beyond that of the empty path, milliseconds.
    pub rtt_added_ms: f64,
}

/// The time over which a runner's speed is looked at to tell whether it has started; at least an RTT.
const WINDOW: Duration = Duration::from_millis(500);

impl Score {
    /// Judges a `trace` of a file of `file` bytes.
    pub fn of(trace: &Trace, course: &Course, file: u64) -> Self {
        let seconds = trace.time.as_secs_f64();
        let moved = trace.bytes as f64;
        let ideal = |from, to| course.ideal(trace.requested + from, trace.requested + to);
        let end = trace.samples.last().copied().unwrap_or_default();
        let started = started(trace, course);
        let until = |sample: &Sample| useful(sample, file);
        let before = trace.samples.iter().rev().find(|sample| sample.at <= started).map_or(0.0, until);
        // If the runner was stopped, bytes beyond a gap count as much as bytes before its start.
        let after = if trace.finished { moved } else { until(&end).max(moved) };
        Self {
            goodput_mbps: ratio(moved * 8e-6, seconds),
            share: ratio(moved, ideal(Duration::ZERO, trace.time)),
            share_started: ratio(after - before, ideal(started, trace.time)),
            started,
            loss: ratio(end.lost_packets as f64, end.sent_packets as f64),
            waste: ratio(end.sent_bytes as f64, moved),
            rtt_added_ms: rtt_added(trace, course),
        }
    }
}

/// File bytes that had arrived, in whatever order, at most all of them. Repetitions count as new, which errs against
/// the runner that caused them.
fn useful(sample: &Sample, file: u64) -> f64 {
    (sample.arrived.max(sample.received).min(file)) as f64
}

fn started(trace: &Trace, course: &Course) -> Duration {
    let window = course.path.rtt().max(WINDOW.min(trace.time / 10));
    let mut behind = trace.samples.iter().peekable();
    // A start with hardly anything after it says nothing about what comes after a start.
    for sample in trace.samples.iter().take_while(|sample| sample.at <= trace.time * 9 / 10) {
        let Some(since) = sample.at.checked_sub(window) else { continue };
        while behind.next_if(|first| first.at < since).is_some() {}
        let Some(first) = behind.peek().filter(|first| first.at < sample.at) else { continue };
        let arrived = sample.arrived.saturating_sub(first.arrived) as f64;
        if arrived >= 0.5 * course.ideal(trace.requested + first.at, trace.requested + sample.at) {
            return sample.at;
        }
    }
    trace.time / 5
}

fn rtt_added(trace: &Trace, course: &Course) -> f64 {
    let rtts: Vec<_> = trace.samples.iter().map(|sample| sample.rtt.as_secs_f64()).filter(|rtt| *rtt > 0.0).collect();
    let Some(least) = rtts.iter().copied().reduce(f64::min) else { return 0.0 };
    let mean = rtts.iter().sum::<f64>() / rtts.len() as f64;
    (mean - least.min(course.path.rtt().as_secs_f64())) * 1e3
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Idle for two seconds, then full speed for eight, over 80 Mbit/s.
    fn trace() -> (Trace, Course) {
        let course = Course::parse("rate=80Mbit,rtt=100ms", 1).unwrap();
        let useful = 1e7 * 1412.0 / 1480.0;
        let mut trace = Trace { algorithm: "pcc", time: Duration::from_secs(10), finished: true, ..Trace::default() };
        for step in 0..=100u32 {
            let busy = f64::from(step.saturating_sub(20)) * 0.1;
            let arrived = (busy * useful) as u64;
            trace.samples.push(Sample {
                at: Duration::from_millis(100) * step,
                arrived,
                received: arrived,
                rtt: Duration::from_millis(110),
                sent_packets: u64::from(step) * 10,
                lost_packets: u64::from(step),
                sent_bytes: arrived * 2,
                ..Sample::default()
            });
        }
        trace.bytes = trace.samples.last().unwrap().received;
        (trace, course)
    }

    #[test]
    fn a_late_starter_has_a_small_share_but_a_full_one_once_started() {
        let (trace, course) = trace();
        let score = Score::of(&trace, &course, trace.bytes);
        assert!((score.share - 0.8).abs() < 0.01, "{score:?}");
        assert!((score.share_started - 1.0).abs() < 0.01, "{score:?}");
        assert!((2.0..2.6).contains(&score.started.as_secs_f64()), "{score:?}");
    }

    #[test]
    fn loss_waste_and_rtt_are_what_the_sender_counted() {
        let (trace, course) = trace();
        let score = Score::of(&trace, &course, trace.bytes);
        assert!((score.loss - 0.1).abs() < 1e-9);
        assert!((score.waste - 2.0).abs() < 1e-3);
        assert!((score.rtt_added_ms - 10.0).abs() < 1e-6);
        assert!((score.goodput_mbps - trace.bytes as f64 * 8e-7).abs() < 1e-6);
    }

    #[test]
    fn a_slow_runner_is_judged_on_its_last_four_fifths() {
        let (mut trace, course) = trace();
        for sample in &mut trace.samples {
            sample.arrived /= 4;
            sample.received /= 4;
        }
        trace.bytes /= 4;
        let score = Score::of(&trace, &course, trace.bytes * 4);
        assert_eq!(score.started, Duration::from_secs(2));
        assert!((score.share_started - 0.25).abs() < 0.01, "{score:?}");
    }

    #[test]
    fn one_that_could_not_run_scores_nothing() {
        let (_, course) = trace();
        let score = Score::of(&Trace::failed("bbr", "no reason".to_owned()), &course, 1000);
        assert_eq!((score.goodput_mbps, score.share, score.waste), (0.0, 0.0, 0.0));
    }
}
