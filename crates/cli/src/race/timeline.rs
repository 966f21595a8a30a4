//! Samples as lines to draw: rate, RTT and loss over time.

use super::course::{Course, FILE_SHARE_OF_UDP};
use super::trace::{Sample, Trace};
use core::time::Duration;
use serde::Serialize;

/// Points of a line; a screen shows no more.
const POINTS: usize = 400;

/// Loss and goodput are taken over at least so much time, so that single packets do not make the line jump.
const LEAST: Duration = Duration::from_millis(500);

/// One runner over time; all lines have a value for each of `t`.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Timeline {
    pub(super) algorithm: &'static str,
    /// Seconds since the request.
    pub(super) t: Vec<f64>,
    /// File bytes that arrived, Mbit/s.
    pub(super) goodput: Vec<f64>,
    /// PCC's base rate, Mbit/s of UDP payload.
    pub(super) rate: Vec<Option<f64>>,
    /// Smoothed RTT, milliseconds.
    pub(super) rtt: Vec<Option<f64>>,
    /// Packets declared lost of those sent, percent.
    pub(super) loss: Vec<f64>,
    /// States of PCC and their beginnings.
    pub(super) states: Vec<(f64, &'static str)>,
}

impl Timeline {
    /// Thins the samples of a runner out.
    pub(super) fn of(trace: &Trace) -> Self {
        let mut line = Self { algorithm: trace.algorithm, ..Self::default() };
        let step = (trace.time / POINTS as u32).max(Duration::from_millis(50));
        let mut next = Duration::ZERO;
        let mut behind = trace.samples.iter().peekable();
        for sample in &trace.samples {
            if sample.at < next {
                continue;
            }
            next = sample.at + step;
            let since = sample.at.saturating_sub(LEAST.max(step * 2));
            while behind.next_if(|first| first.at < since).is_some() {}
            if let Some(first) = behind.peek().filter(|first| first.at < sample.at) {
                line.point(first, sample);
            }
        }
        line.states = trace.states.iter().map(|(at, state)| (round(at.as_secs_f64()), *state)).collect();
        line
    }

    fn point(&mut self, first: &Sample, sample: &Sample) {
        let seconds = (sample.at - first.at).as_secs_f64();
        let arrived = sample.arrived.saturating_sub(first.arrived) as f64 * FILE_SHARE_OF_UDP;
        let sent = sample.sent_packets.saturating_sub(first.sent_packets);
        let lost = sample.lost_packets.saturating_sub(first.lost_packets);
        self.t.push(round(sample.at.as_secs_f64()));
        self.goodput.push(round(arrived * 8e-6 / seconds));
        self.rate.push(sample.rate.map(|rate| round(rate * 1e-6)));
        self.rtt.push((!sample.rtt.is_zero()).then(|| round(sample.rtt.as_secs_f64() * 1e3)));
        self.loss.push(round(if sent > 0 { (lost as f64 * 100.0 / sent as f64).min(100.0) } else { 0.0 }));
    }
}

/// What a perfect sender would deliver over time, in Mbit/s of file bytes: seconds, and the rate from then on.
pub(super) fn capacity(course: &Course, end: Duration) -> Vec<(f64, f64)> {
    let step = (end / POINTS as u32).max(Duration::from_millis(50));
    let mut line: Vec<(f64, f64)> = Vec::new();
    let mut at = Duration::ZERO;
    while at < end {
        let rate = round(course.ideal(at, at + step) * 8e-6 / step.as_secs_f64());
        if line.last().is_none_or(|(_, last)| (last - rate).abs() > 0.01 * last.max(0.01)) {
            line.push((round(at.as_secs_f64()), rate));
        }
        at += step;
    }
    line
}

/// Three decimals are more than a screen shows.
fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_flow_is_a_flat_line_of_few_points() {
        let samples = (0..=1200u32).map(|step| Sample {
            at: Duration::from_millis(100) * step,
            arrived: u64::from(step) * 125_000,
            sent_packets: u64::from(step) * 100,
            lost_packets: u64::from(step),
            ..Sample::default()
        });
        let trace = Trace { samples: samples.collect(), time: Duration::from_secs(120), ..Trace::default() };
        let line = Timeline::of(&trace);
        assert!((300..=POINTS + 1).contains(&line.t.len()), "{}", line.t.len());
        let expected = 10.0 * FILE_SHARE_OF_UDP;
        assert!(line.goodput.iter().all(|rate| (rate - expected).abs() < 0.01));
        assert!(line.loss.iter().all(|loss| *loss == 1.0));
        assert!(line.rtt.iter().all(Option::is_none));
    }

    #[test]
    fn a_constant_capacity_is_one_point_and_a_blackout_more() {
        let line = |written: &str| capacity(&Course::parse(written, 1).unwrap(), Duration::from_secs(15));
        assert_eq!(line("clean").len(), 1);
        assert!(line("blackout").iter().any(|(_, rate)| *rate == 0.0));
    }
}
