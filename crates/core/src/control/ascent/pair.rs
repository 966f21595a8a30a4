//! Two neighbouring probes, one above the rate and one below, and what they say together.

use crate::control::response::Estimate;
use crate::interval::Report;

/// Two probes, in the order in which they were sent.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) first: Box<Report>,
    pub(super) second: Box<Report>,
}

/// A line through the means of two intervals knows their common slope √3 times as well as a line through one interval knows
/// its own: of n even samples over time D the slope's variance is 12 σ²/(n D²), and of two means D apart 2 σ²/(n D²).
const MEANS_WEIGHT: f64 = 6.0;

impl Pair {
    /// Geometric mean of the rates achieved. Unit: byte/s.
    pub(super) fn rate(&self) -> f64 {
        (achieved(&self.first) * achieved(&self.second)).sqrt()
    }

    /// How long a packet takes at that rate. Unit: s.
    pub(super) fn packet_time(&self) -> f64 {
        self.second.sent.get() as f64 / f64::from(self.second.packets.max(1)) / self.rate()
    }

    /// Geometric mean of the rates asked for. Unit: byte/s.
    pub(super) fn target(&self) -> f64 {
        (self.first.target.bytes_per_sec() * self.second.target.bytes_per_sec()).sqrt()
    }

    /// The probe that was meant to be faster, and the other.
    pub(super) fn high_and_low(&self) -> (&Report, &Report) {
        if self.first.target > self.second.target { (&self.first, &self.second) } else { (&self.second, &self.first) }
    }

    /// By how much the faster one was faster, in ln x.
    pub(super) fn step(&self) -> f64 {
        let (high, low) = self.high_and_low();
        (achieved(high) / achieved(low)).ln()
    }

    /// How long both lasted. Unit: s.
    pub(super) fn seconds(&self) -> f64 {
        self.first.duration.as_secs_f64() + self.second.duration.as_secs_f64()
    }

    /// How fast the RTT grew over both, in seconds a second: the two slopes, and the line through the two means, each by
    /// its weight. What the two rates did to it cancels out. `None` with too few samples.
    pub(super) fn growth(&self) -> Option<Estimate> {
        let (a, b) = (&self.first, &self.second);
        let apart = b.started.since(a.started).as_secs_f64();
        if apart <= 0.0 {
            return None;
        }
        let between = (b.rtt?.as_secs_f64() - a.rtt?.as_secs_f64()) / apart;
        let variance = self.slope_variance()?;
        let weights = 2.0 + MEANS_WEIGHT;
        let mean = (a.rtt_gradient? + b.rtt_gradient? + MEANS_WEIGHT * between) / weights;
        Some(Estimate { mean, variance: variance / weights })
    }

    /// By how much faster the RTT grew in the faster probe.
    pub(super) fn growth_step(&self) -> Option<Estimate> {
        let (high, low) = self.high_and_low();
        Some(Estimate { mean: high.rtt_gradient? - low.rtt_gradient?, variance: 2.0 * self.slope_variance()? })
    }

    /// Variance of the slope within one of the two.
    fn slope_variance(&self) -> Option<f64> {
        let variance = (self.first.rtt_gradient_error.powi(2) + self.second.rtt_gradient_error.powi(2)) / 2.0;
        variance.is_finite().then_some(variance)
    }

    /// Loss rate of both.
    pub(super) fn loss(&self) -> Estimate {
        let (a, b) = (&self.first, &self.second);
        let time = self.seconds().max(1e-9);
        let mean = (a.loss() * a.duration.as_secs_f64() + b.loss() * b.duration.as_secs_f64()) / time;
        Estimate { mean, variance: (loss_variance(a) + loss_variance(b)) / 4.0 }
    }

    /// By how much more the faster probe lost.
    pub(super) fn loss_step(&self) -> Estimate {
        let (high, low) = self.high_and_low();
        Estimate { mean: high.loss() - low.loss(), variance: loss_variance(high) + loss_variance(low) }
    }

    /// The least RTT at the end of the pair. Unit: s.
    pub(super) fn least_rtt(&self) -> Option<f64> {
        self.second.rtt_least.or(self.first.rtt_least).map(|rtt| rtt.as_secs_f64())
    }
}

fn achieved(report: &Report) -> f64 {
    report.achieved.bytes_per_sec().max(1.0)
}

/// Of the loss rate of an interval. One packet in two more than there were stands for what was not seen (Laplace's rule of
/// succession), and packets lost in a row say no more than one.
fn loss_variance(report: &Report) -> f64 {
    let (n, lost) = (f64::from(report.packets.max(1)), f64::from(report.packets_refused()));
    let loss = ((lost + 1.0) / (n + 2.0)).min(1.0);
    let in_a_row = lost / f64::from(report.loss_bursts.saturating_add(report.packets_marked).max(1));
    loss * (1.0 - loss) / n * in_a_row.max(1.0)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::units::{Bytes, Rate, Timestamp};
    use crate::utility::tests::report;
    use core::time::Duration;

    /// How long a probe lasts, and the path's RTT.
    pub(in super::super) const LENGTH: Duration = Duration::from_millis(15);
    pub(in super::super) const RTT: f64 = 0.03;

    /// The `at`-th pair of probes around a rate in Mbit/s, the faster one first in every other; each loses what `lost` says
    /// of its rate and stands in the queue that `queue`, in seconds, says of a moment in seconds.
    pub(in super::super) fn pair(at: u64, mbit: f64, lost: impl Fn(f64) -> f64, queue: impl Fn(f64) -> f64) -> Pair {
        let probe = |number: u64, high: bool| {
            let rate = mbit * if high { 1.02 } else { 0.98 };
            let started = LENGTH.as_secs_f64() * (2 * at + number) as f64;
            let ended = started + LENGTH.as_secs_f64();
            let packets = 10_000;
            let loss = lost(rate);
            let gone = (loss * f64::from(packets)).round();
            let rtt = |queue: f64| Some(Duration::from_secs_f64(RTT + queue));
            Report {
                started: Timestamp::from_nanos((started * 1e9) as u64),
                duration: LENGTH,
                target: Rate::from_mbit(rate),
                achieved: Rate::from_mbit(rate),
                packets,
                packets_lost: gone as u32,
                loss_bursts: gone as u32,
                sent: Bytes::new(1_000_000),
                lost: Bytes::new((1e6 * loss).round() as u64),
                rtt: rtt((queue(started) + queue(ended)) / 2.0),
                rtt_least: rtt(queue(started).min(queue(ended))),
                rtt_gradient: Some((queue(ended) - queue(started)) / LENGTH.as_secs_f64()),
                rtt_gradient_error: 1e-4,
                ..report(rate, 0.0)
            }
        };
        let high = at.is_multiple_of(2);
        Pair { first: Box::new(probe(0, high)), second: Box::new(probe(1, !high)) }
    }

    #[test]
    fn the_growth_of_a_queue_is_that_of_both_probes_and_of_what_is_between() {
        let growth = pair(0, 100.0, |_| 0.0, |at| 0.1 * at).growth().unwrap();
        assert!((growth.mean - 0.1).abs() < 1e-6, "{growth:?}");
        assert!((growth.error() - 1e-4 / 8_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn the_faster_probe_is_found_whichever_came_first() {
        for at in 0..2 {
            let pair = pair(at, 100.0, |rate| if rate > 100.0 { 0.05 } else { 0.01 }, |_| 0.0);
            let (high, low) = pair.high_and_low();
            assert!(high.target > low.target);
            assert!((pair.step() - (1.02_f64 / 0.98).ln()).abs() < 1e-9);
            assert!((pair.loss_step().mean - 0.04).abs() < 1e-6 && (pair.loss().mean - 0.03).abs() < 1e-6);
            assert!((pair.rate() * 8e-6 - 100.0).abs() < 0.03);
        }
    }

    #[test]
    fn no_loss_of_few_packets_is_less_sure_than_of_many() {
        let few = Report { packets: 50, packets_lost: 0, loss_bursts: 0, ..report(10.0, 0.0) };
        let many = Report { packets: 5000, ..few.clone() };
        let error = |report: &Report| loss_variance(report).sqrt();
        assert!(error(&few) > 0.01 && error(&many) < 0.001, "{} and {}", error(&few), error(&many));
        let in_a_row = Report { packets: 5000, packets_lost: 100, loss_bursts: 10, ..few };
        let apart = Report { loss_bursts: 100, ..in_a_row.clone() };
        assert!((error(&in_a_row) / error(&apart) - 10_f64.sqrt()).abs() < 0.01);
    }

    #[test]
    fn what_two_probes_differ_by_and_have_in_common_is_as_uncertain_as_they_are() {
        let mut pair = pair(0, 100.0, |rate| if rate > 100.0 { 0.1 } else { 0.3 }, |_| 0.0);
        (pair.first.rtt_gradient, pair.second.rtt_gradient) = (Some(0.3), Some(0.1));
        (pair.first.rtt_gradient_error, pair.second.rtt_gradient_error) = (3e-3, 4e-3);
        let step = pair.growth_step().unwrap();
        assert!((step.mean - 0.2).abs() < 1e-9 && (step.error() - 5e-3).abs() < 1e-9, "{step:?}");
        pair.second.duration = 3 * LENGTH;
        assert!((pair.loss().mean - 0.25).abs() < 1e-6, "{:?}: longer probes weigh more", pair.loss());
        // Nine of 98 are ten of a hundred by Laplace's rule, and three runs say as much as three packets.
        let few = Report { packets: 98, packets_lost: 9, loss_bursts: 3, ..report(10.0, 0.0) };
        assert!((loss_variance(&few) - 0.1 * 0.9 / 98.0 * 3.0).abs() < 1e-12);
        (pair.first, pair.second) = (Box::new(few.clone()), Box::new(few));
        assert!((pair.loss().variance - loss_variance(&pair.first) / 2.0).abs() < 1e-12);
        assert!((pair.loss_step().variance - loss_variance(&pair.first) * 2.0).abs() < 1e-12);
    }

    #[test]
    fn without_samples_there_is_no_growth() {
        let mut pair = pair(0, 100.0, |_| 0.0, |_| 0.0);
        pair.second.rtt_gradient = None;
        assert!(pair.growth().is_none() && pair.growth_step().is_none());
        pair.second.rtt_gradient = Some(0.0);
        pair.second.rtt_gradient_error = f64::INFINITY;
        assert!(pair.growth().is_none());
    }
}
