//! Two neighbouring probes, one above the rate and one below, and what they say together.

use crate::control::response::Estimate;
use crate::interval::Report;

/// Two probes, in the order in which they were sent.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) first: Box<Report>,
    pub(super) second: Box<Report>,
}

/// No RTT is known better than this. Unit: s.
pub(super) const RESOLUTION: f64 = 1e-6;
/// Growth below this is none (`docs/sweeps/links.md`). Unit: s/s.
pub(super) const TELLING_GROWTH: f64 = 0.002;
/// Weight of a pair in a mean: ten pairs are remembered.
pub(super) const WEIGHT: f64 = 0.1;
crate::shared::shared_with_c!("PAIR_" [] WEIGHT, RESOLUTION, TELLING_GROWTH);

impl Pair {
    /// Geometric mean of the rates achieved. Unit: byte/s.
    pub(super) fn rate(&self) -> f64 {
        (achieved(&self.first) * achieved(&self.second)).sqrt()
    }

    /// How long a packet takes at that rate. Unit: s.
    pub(super) fn packet_time(&self) -> f64 {
        self.second.sent.get() as f64 / f64::from(self.second.packets.max(1)) / self.rate()
    }

    /// Packets of both.
    pub(super) fn packets(&self) -> f64 {
        f64::from(self.first.packets) + f64::from(self.second.packets.max(1))
    }

    /// Geometric mean of the rates asked for. Unit: byte/s.
    pub(super) fn target(&self) -> f64 {
        (self.first.target.bytes_per_sec() * self.second.target.bytes_per_sec()).sqrt()
    }

    /// The probe that was meant to be faster, and the other.
    pub(super) fn high_and_low(&self) -> (&Report, &Report) {
        if self.first.target > self.second.target { (&self.first, &self.second) } else { (&self.second, &self.first) }
    }

    /// ln of the faster probe's rate over the slower one's.
    pub(super) fn step(&self) -> f64 {
        let (high, low) = self.high_and_low();
        (achieved(high) / achieved(low)).ln()
    }

    /// How long both lasted. Unit: s.
    pub(super) fn seconds(&self) -> f64 {
        self.first.duration.as_secs_f64() + self.second.duration.as_secs_f64()
    }

    /// How long both would have lasted at the rates asked for, without pauses of a host. Unit: s.
    pub(super) fn seconds_asked(&self) -> f64 {
        let seconds = |probe: &Report| probe.sent.get() as f64 / probe.target.bytes_per_sec().max(1.0);
        seconds(&self.first) + seconds(&self.second)
    }

    /// How fast the queue grew over both probes, whose steps up and down cancel out. Unit: s/s. `None` with too few samples.
    pub(super) fn growth(&self) -> Option<Estimate> {
        Some(combined(self.fits()?.map(|fit| fit.overall())))
    }

    /// What was carried while RTT samples came. With too few samples it is unknown: all that was sent, perhaps.
    pub(super) fn carried(&self) -> Carried {
        let unknown = |mean| Estimate { mean, variance: 1.0 };
        self.fits().map_or_else(
            || Carried { growth: unknown(0.0), ln_rate: unknown(self.rate().ln()) },
            |fits| Carried {
                growth: combined(fits.map(|fit| fit.growth)),
                ln_rate: combined(fits.map(|fit| fit.carried())),
            },
        )
    }

    /// The two slopes, and the line through the two means.
    fn fits(&self) -> Option<[GrowthFit; 3]> {
        let (a, b) = (&self.first, &self.second);
        let apart = b.started.since(a.started).as_secs_f64();
        let (seen_a, seen_b) = (a.rtt_seen().as_secs_f64(), b.rtt_seen().as_secs_f64());
        if apart <= 0.0 || seen_a <= 0.0 || seen_b <= 0.0 {
            return None;
        }
        // The variance of a slope is this by the square of the time that its samples span; that of a mean is a twelfth of this. So
        // the line through the means of two whole probes is √3 times as exact as each probe's own.
        let variance = ((a.rtt_gradient_error * seen_a).powi(2) + (b.rtt_gradient_error * seen_b).powi(2)) / 2.0;
        let variance = variance.max(RESOLUTION * RESOLUTION);
        let within = |report: &Report, seen: f64| {
            let coverage = (seen / report.duration.as_secs_f64()).min(1.0);
            let growth = Estimate { mean: report.rtt_gradient?, variance: variance / (seen * seen) };
            Some(GrowthFit { growth, rate: achieved(report) / coverage, coverage, midpoint_variance: 0.0 })
        };
        // Samples of a part of an interval: it is not known to which moment of the interval their mean belongs.
        let unseen = |report: &Report, seen: f64| (report.duration.as_secs_f64() - seen).max(0.0);
        let midpoint_variance = (unseen(a, seen_a).powi(2) + unseen(b, seen_b).powi(2)) / (12.0 * apart * apart);
        let mean = (b.rtt?.as_secs_f64() - a.rtt?.as_secs_f64()) / apart;
        let growth = Estimate { mean, variance: variance / (6.0 * apart * apart) + mean * mean * midpoint_variance };
        let means = GrowthFit { growth, rate: self.rate(), coverage: 1.0, midpoint_variance };
        variance.is_finite().then_some([within(a, seen_a)?, within(b, seen_b)?, means])
    }

    /// The queue's growth in the faster probe less that in the slower one. Unit: s/s.
    pub(super) fn growth_step(&self) -> Option<Estimate> {
        let [a, b, _] = self.fits()?.map(|fit| fit.overall());
        let step = if self.first.target > self.second.target { a.mean - b.mean } else { b.mean - a.mean };
        Some(Estimate { mean: step, variance: a.variance + b.variance })
    }

    /// Loss rate of both. Marked packets have arrived; marks have a price of their own.
    pub(super) fn loss(&self) -> Estimate {
        let (a, b) = (&self.first, &self.second);
        let time = self.seconds().max(1e-9);
        let mean = (a.undelivered() * a.duration.as_secs_f64() + b.undelivered() * b.duration.as_secs_f64()) / time;
        Estimate { mean, variance: (loss_variance(a) + loss_variance(b)) / 4.0 }
    }

    /// The least RTT at the end of the pair. Unit: s.
    pub(super) fn least_rtt(&self) -> Option<f64> {
        self.second.rtt_least.or(self.first.rtt_least).map(|rtt| rtt.as_secs_f64())
    }
}

/// What a pair says of the bottleneck.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    /// How fast the queue grew while samples came. Unit: s/s.
    pub(super) growth: Estimate,
    /// ln of the rate that left the bottleneck then, if it was busy. Unit: ln byte/s.
    pub(super) ln_rate: Estimate,
}

/// A line through RTTs on the time of sending.
#[derive(Clone, Copy, Debug)]
struct GrowthFit {
    growth: Estimate,
    /// At which packets were sent meanwhile. Unit: byte/s.
    rate: f64,
    /// The part of its time in which samples came.
    coverage: f64,
    /// Variance of ln of its length in time.
    midpoint_variance: f64,
}

impl GrowthFit {
    /// How fast the queue grew over all of the time. Where nothing was sent, nothing was sampled, and a queue falls by 0 to 1 s/s:
    /// the mean square of such a slope is 1/3.
    fn overall(&self) -> Estimate {
        let (coverage, Estimate { mean, variance }) = (self.coverage, self.growth);
        Estimate { mean: coverage * mean, variance: coverage * coverage * variance + (1.0 - coverage).powi(2) / 3.0 }
    }

    fn carried(&self) -> Estimate {
        let grown = 1.0 + self.growth.mean.max(-0.5);
        Estimate {
            mean: (self.rate / grown).ln(),
            variance: (self.growth.variance + self.midpoint_variance) / (grown * grown),
        }
    }
}

/// The mean, each weighted by the inverse of its variance.
fn combined(estimates: [Estimate; 3]) -> Estimate {
    let weights = estimates.map(|estimate| 1.0 / estimate.variance);
    let all: f64 = weights.iter().sum();
    let mean = estimates.iter().zip(weights).map(|(estimate, weight)| weight * estimate.mean).sum::<f64>() / all;
    Estimate { mean, variance: 1.0 / all }
}

/// At which a probe's packets left. Unit: byte/s.
pub(super) fn achieved(report: &Report) -> f64 {
    report.achieved.bytes_per_sec().max(1.0)
}

/// Variance of an interval's loss rate.
fn loss_variance(report: &Report) -> f64 {
    let packets = f64::from(report.packets.max(1));
    packet_variance(packets, report.packets_lost.into(), report.loss_bursts.into()) / packets
}

/// Variance of one packet's loss, where `lost` of `packets` were lost in `bursts` runs. The loss rate is by Laplace's rule of
/// succession: one more lost, of two more. A run of losses counts as one.
pub(super) fn packet_variance(packets: f64, lost: f64, bursts: f64) -> f64 {
    let loss = ((lost + 1.0) / (packets + 2.0)).min(1.0);
    loss * (1.0 - loss) * (lost / bursts.max(1.0)).max(1.0)
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
    fn a_queue_s_growth_is_of_both_probes_and_the_time_between() {
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
            assert!((pair.loss().mean - 0.03).abs() < 1e-6);
            assert!((pair.rate() * 8e-6 - 100.0).abs() < 0.03);
        }
    }

    #[test]
    fn what_was_marked_was_not_lost() {
        let mut marked = pair(0, 100.0, |_| 0.02, |_| 0.0);
        for probe in [&mut marked.first, &mut marked.second] {
            probe.packets_marked = probe.packets - probe.packets_lost;
        }
        let unmarked = pair(0, 100.0, |_| 0.02, |_| 0.0);
        assert_eq!(marked.loss(), unmarked.loss());
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
    fn a_pair_s_error_is_that_of_its_probes() {
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
    }

    /// At 100 Mbit/s: probes of a host that stops, whose packets leave within so many milliseconds at the end of a probe of 15.
    fn stopped(seen_ms: u64, within: f64) -> Pair {
        let mut pair = pair(0, 100.0, |_| 0.0, |_| 0.001);
        for probe in [&mut pair.first, &mut pair.second] {
            probe.achieved = Rate::from_mbit(100.0);
            (probe.rtt_span, probe.rtt_pause) = (Duration::from_millis(seen_ms), Duration::ZERO);
            (probe.rtt_gradient, probe.rtt_gradient_error) = (Some(within), 0.01);
        }
        pair
    }

    #[test]
    fn a_burst_tells_the_capacity_and_little_of_the_growth() {
        // Fifteen times as fast for a fifteenth of the time, through 100 Mbit/s.
        let pair = stopped(1, 14.0);
        let carried = pair.carried();
        assert!(
            (carried.ln_rate.mean.exp() * 8e-6 - 100.0).abs() < 1.0 && carried.ln_rate.error() < 0.01,
            "{carried:?}"
        );
        assert!(carried.growth.mean > 10.0 * carried.growth.error(), "the queue stood meanwhile");
        let growth = pair.growth().unwrap();
        assert!(growth.mean < 0.2, "{growth:?}: a queue of 14 ms in all, which had 14 ms to drain");
        let (step, steady) = (pair.growth_step().unwrap(), stopped(15, 0.0).growth_step().unwrap());
        assert!(step.error() > 0.5 && steady.error() < 0.05, "{step:?} and {steady:?}");
    }

    #[test]
    fn what_is_sent_evenly_is_looked_at_all_the_time() {
        let (whole, trains) = (stopped(15, 0.2), {
            // Three trains, five milliseconds apart.
            let mut trains = stopped(10, 0.2);
            (trains.first.rtt_pause, trains.second.rtt_pause) = (Duration::from_millis(5), Duration::from_millis(5));
            trains
        });
        for (one, other) in [
            (whole.growth().unwrap(), trains.growth().unwrap()),
            (whole.carried().growth, trains.carried().growth),
            (whole.carried().ln_rate, trains.carried().ln_rate),
        ] {
            assert!((one.mean - other.mean).abs() < 1e-9 && (one.variance - other.variance).abs() < 1e-9);
        }
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

    #[test]
    fn probes_that_began_at_once_tell_nothing() {
        for change in [
            |pair: &mut Pair| pair.first.rtt_span = Duration::ZERO,
            |pair: &mut Pair| pair.second.rtt_span = Duration::ZERO,
            |pair: &mut Pair| pair.second.started = pair.first.started,
        ] {
            let mut pair = pair(0, 100.0, |_| 0.0, |_| 0.0);
            (pair.first.rtt_pause, pair.second.rtt_pause) = (Duration::ZERO, Duration::ZERO);
            assert!(pair.growth().is_some());
            change(&mut pair);
            assert!(pair.growth().is_none());
        }
    }

    #[test]
    fn the_line_through_two_means_has_their_errors() {
        let mut pair = pair(0, 100.0, |_| 0.0, |_| 0.0);
        // Nine and twelve of fifteen milliseconds, to an error of a hundredth; the means are 3 ms apart.
        for (probe, seen_ms, rtt_ms) in [(&mut pair.first, 9, 30), (&mut pair.second, 12, 33)] {
            (probe.rtt_span, probe.rtt_pause) = (Duration::from_millis(seen_ms), Duration::ZERO);
            (probe.rtt, probe.rtt_gradient_error) = (Some(Duration::from_millis(rtt_ms)), 0.01);
        }
        let [_, _, means] = pair.fits().unwrap();
        let (midpoint_variance, mean) = ((6.0_f64.powi(2) + 3.0_f64.powi(2)) / (12.0 * 15.0 * 15.0), 0.2);
        assert!((means.midpoint_variance / midpoint_variance - 1.0).abs() < 1e-9, "{means:?}");
        let readings = (0.09_f64.powi(2) + 0.12_f64.powi(2)) / 2.0 / (6.0 * 15.0 * 15.0);
        assert!((means.growth.variance / (readings + mean * mean * midpoint_variance) - 1.0).abs() < 1e-6, "{means:?}");
    }

    #[test]
    fn a_line_seen_in_part_tells_of_the_rest_as_much_as_can_be() {
        let growth = Estimate { mean: 0.5, variance: 0.09 };
        let fit = GrowthFit { growth, rate: 3e6, coverage: 0.6, midpoint_variance: 0.045 };
        let (all, carried) = (fit.overall(), fit.carried());
        assert!((all.mean - 0.3).abs() < 1e-12 && (all.variance - (0.36 * 0.09 + 0.16 / 3.0)).abs() < 1e-12);
        assert!((carried.mean.exp() - 2e6).abs() < 1e-3 && (carried.variance - 0.135 / 2.25).abs() < 1e-12);
    }

    #[test]
    fn probes_are_compared_by_rate_whichever_came_first() {
        for (at, first, second) in [(0, 0.3, 0.1), (1, 0.1, 0.3)] {
            let mut pair = pair(at, 100.0, |_| 0.0, |_| 0.0);
            (pair.first.rtt_gradient, pair.second.rtt_gradient) = (Some(first), Some(second));
            assert!((pair.growth_step().unwrap().mean - 0.2).abs() < 1e-9, "{:?}", pair.growth_step());
        }
    }
}
