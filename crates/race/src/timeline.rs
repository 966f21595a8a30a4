//! Samples as lines to draw: rate, RTT and loss over time.

use super::course::Course;
use super::trace::{Sample, Trace};
use core::time::Duration;
use serde::Serialize;

/// Points of a line; a screen shows no more.
const POINTS: usize = 400;

/// Goodput and loss are taken over at least so much time, so that single packets do not make the line jump. Losses are
/// noticed in bunches, an RTT after the packets were sent.
const LEAST: Duration = Duration::from_millis(500);
const LEAST_FOR_LOSS: Duration = Duration::from_secs(2);

/// No share is told of fewer packets: one lost of two is no half.
const LEAST_PACKETS: u64 = 50;

/// One runner over time; all lines have a value for each of `t`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Timeline {
    /// Who.
    pub algorithm: &'static str,
    /// Seconds since the request.
    pub t: Vec<f64>,
    /// File bytes that arrived, Mbit/s.
    pub goodput: Vec<f64>,
    /// The rate that PCC tried, Mbit/s of UDP payload.
    pub rate: Vec<Option<f64>>,
    /// Smoothed RTT, milliseconds.
    pub rtt: Vec<Option<f64>>,
    /// Packets declared lost of those sent, percent; none where hardly any were sent.
    pub loss: Vec<Option<f64>>,
    /// States of PCC and their beginnings.
    pub states: Vec<(f64, &'static str)>,
}

impl Timeline {
    /// Thins the samples of a runner out.
    pub fn of(trace: &Trace) -> Self {
        let mut line = Self { algorithm: trace.algorithm, ..Self::default() };
        let step = (trace.time / POINTS as u32).max(Duration::from_millis(50));
        let mut next = Duration::ZERO;
        let mut rates = trace.rates.iter().peekable();
        let mut rate = None;
        for sample in &trace.samples {
            if sample.at < next {
                continue;
            }
            next = sample.at + step;
            while let Some((_, tried)) = rates.next_if(|(at, _)| *at <= sample.at) {
                rate = Some(round(tried * 1e-6));
            }
            let before = |time: Duration| earlier(&trace.samples, sample.at.saturating_sub(time));
            let Some(first) = before(LEAST.max(step * 2)).filter(|first| first.at < sample.at) else { continue };
            line.t.push(round(sample.at.as_secs_f64()));
            line.goodput.push(goodput(first, sample));
            line.rate.push(rate);
            line.rtt.push((!sample.rtt.is_zero()).then(|| round(sample.rtt.as_secs_f64() * 1e3)));
            line.loss.push(before(LEAST_FOR_LOSS.max(step * 2)).and_then(|first| loss(first, sample)));
        }
        line.states = trace.states.iter().map(|(at, state)| (round(at.as_secs_f64()), *state)).collect();
        line
    }
}

/// The first sample that is not before `since`.
fn earlier(samples: &[Sample], since: Duration) -> Option<&Sample> {
    samples.get(samples.partition_point(|sample| sample.at < since))
}

fn goodput(first: &Sample, last: &Sample) -> f64 {
    let arrived = last.arrived.saturating_sub(first.arrived) as f64;
    round(arrived * 8e-6 / (last.at - first.at).as_secs_f64())
}

fn loss(first: &Sample, last: &Sample) -> Option<f64> {
    let sent = last.sent_packets.saturating_sub(first.sent_packets);
    let lost = last.lost_packets.saturating_sub(first.lost_packets);
    (sent >= LEAST_PACKETS).then(|| round((lost as f64 * 100.0 / sent as f64).min(100.0)))
}

/// The rate of a perfect sender over time, in Mbit/s of file bytes: seconds, and the rate from then on.
pub fn capacity(course: &Course, end: Duration) -> Vec<(f64, f64)> {
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
        let expected = 10.0;
        assert!(line.goodput.iter().all(|rate| (rate - expected).abs() < 0.01));
        assert!(line.loss.iter().flatten().count() > 300 && line.loss.iter().flatten().all(|loss| *loss == 1.0));
        assert!(line.rtt.iter().all(Option::is_none));
    }

    #[test]
    fn a_constant_capacity_is_one_point_and_a_blackout_more() {
        let line = |written: &str| capacity(&Course::parse(written, 1).unwrap(), Duration::from_secs(15));
        assert_eq!(line("clean").len(), 1);
        assert!(line("blackout").iter().any(|(_, rate)| *rate == 0.0));
    }
}
