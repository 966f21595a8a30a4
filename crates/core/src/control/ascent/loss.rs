//! Which of the losses and marks are ours: those that answer to our rate. Others happen whatever we send.

use super::pair::{Pair, WEIGHT, achieved, packet_variance};
use crate::control::response::{Estimate, MEMORY};

/// Losses with a slope d L / d ln x certainly below this are no overflow of ours. A lone sender's slope is 1, that of n equal
/// senders 1/n each: 0.05 is twenty's, and a larger crowd may take its own losses for the path's. With 0.1 fifty senders lose 13
/// to 17 %, for 10 to 13 %; with 0.03 random loss of 10 % costs half of the path.
const FREE: f64 = 0.05;
/// Packets that marks are remembered for: as many as tell a slope of zero from [`FREE`] where half of them are marked, if each
/// [`ASKED`](super::ASKED)th pair leaves at half of the rate. Losses are forgotten sooner, after [`MEMORY`]: a crowd's other senders
/// take up in seconds what one of them leaves, and then its losses no longer answer to its own rate.
const REMEMBERED: f64 = 10_000.0;
/// Random loss above this is asked about. Less has no price (`NSDI 2015` §2.1, the cap of `safe`).
const MUCH: f64 = 0.05;
crate::shared::shared_with_c!("LOSS_" [] FREE, REMEMBERED, MUCH);

/// The line of loss rates over ln of the rates, each probe by its packets. Nothing is forgotten when the rate changes: a sender of
/// few packets an RTT learns more from the rate's own moves than from probes. Sums, of which older ones weigh less.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    packets: f64,
    lost: f64,
    bursts: f64,
    x: f64,
    xx: f64,
    xy: f64,
}

impl Line {
    fn fade(&mut self, kept: f64) {
        for sum in [&mut self.packets, &mut self.lost, &mut self.bursts, &mut self.x, &mut self.xx, &mut self.xy] {
            *sum *= kept;
        }
    }

    /// Takes in a probe of this rate, in ln x, of whose packets so many were lost, or marked, in so many runs.
    fn take(&mut self, packets: f64, lost: f64, bursts: f64, x: f64) {
        self.packets += packets;
        self.lost += lost;
        self.bursts += bursts;
        self.x += packets * x;
        self.xx += packets * x * x;
        self.xy += lost * x;
    }

    /// d L / d ln x.
    fn slope(&self) -> Estimate {
        let squares = self.xx - self.x * self.x / self.packets;
        let mean = (self.xy - self.x * self.lost / self.packets) / squares;
        Estimate { mean, variance: packet_variance(self.packets, self.lost, self.bursts) / squares }
    }

    /// Whether what is lost, or marked, certainly is none of ours.
    pub(super) fn is_free(&self) -> bool {
        self.slope().is_below(FREE)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loss {
    pub(super) losses: Line,
    pub(super) marks: Line,
    /// ln of the first pair's rate, from which others are counted; `None` before it.
    origin: Option<f64>,
    /// Loss rate that does not answer to ours.
    pub(super) random: f64,
}

impl Loss {
    /// Takes in a pair: the share of its packets that were lost because of the rate.
    pub(super) fn update(&mut self, pair: &Pair) -> f64 {
        let loss = pair.loss().mean;
        let origin = *self.origin.get_or_insert(pair.rate().ln());
        let packets = f64::from(pair.first.packets) + f64::from(pair.second.packets);
        self.losses.fade(MEMORY);
        self.marks.fade(REMEMBERED / (REMEMBERED + packets));
        for probe in [&pair.first, &pair.second] {
            let (packets, x) = (f64::from(probe.packets), achieved(probe).ln() - origin);
            let marked = f64::from(probe.packets_marked);
            self.losses.take(packets, packets * probe.undelivered(), f64::from(probe.loss_bursts), x);
            self.marks.take(packets, marked, marked, x);
        }
        if self.losses.slope().is_above(0.0) {
            // What the slower probe lost bounds what is random.
            let (_, low) = pair.high_and_low();
            self.random += WEIGHT * (low.undelivered() - self.random).min(0.0);
            return (loss - self.random).max(0.0);
        }
        self.random += WEIGHT * (loss - self.random);
        0.0
    }

    /// By how much more than what is random was lost.
    pub(super) fn beyond_random(&self, pair: &Pair) -> Estimate {
        let loss = pair.loss();
        Estimate { mean: loss.mean - self.random, ..loss }
    }

    /// Whether it is unclear whether marks, or losses that cost us our rate, are ours.
    pub(super) fn is_unclear(&self) -> bool {
        self.marks.lost > 0.0 && !self.marks.is_free() || self.random > MUCH && !self.losses.is_free()
    }
}

#[cfg(test)]
mod tests {
    use super::super::pair::tests::pair;
    use super::*;
    use crate::interval::Report;
    use crate::units::Bytes;

    /// Pairs on a path of 100 Mbit/s that loses 1 % at random and what is too much; what was ours of the last one.
    fn own(loss: &mut Loss, rate: f64, pairs: u64) -> f64 {
        let lost = |rate: f64| 0.01 + (1.0 - 100.0 / rate).max(0.0);
        (0..pairs).map(|at| loss.update(&pair(at, rate, lost, |_| 0.0))).last().unwrap_or(0.0)
    }

    #[test]
    fn random_loss_is_not_ours() {
        let mut loss = Loss::default();
        assert!(own(&mut loss, 50.0, 100) < 0.001, "{loss:?}");
        assert!((loss.random - 0.01).abs() < 0.001);
    }

    #[test]
    fn losses_that_follow_the_rate_are_ours() {
        let mut loss = Loss::default();
        own(&mut loss, 90.0, 30);
        let ours = own(&mut loss, 110.0, 10);
        assert!((ours - 0.09).abs() < 0.01, "{ours} of {loss:?}");
        assert!(loss.random < 0.015, "{loss:?}");
    }

    #[test]
    fn what_is_beyond_the_random_part_is_told_with_its_error() {
        let mut loss = Loss::default();
        own(&mut loss, 50.0, 200);
        assert!((loss.random - 0.01).abs() < 1e-4, "{loss:?}");
        let lossy = pair(0, 50.0, |_| 0.05, |_| 0.0);
        let beyond = loss.beyond_random(&lossy);
        assert!((beyond.mean - 0.04).abs() < 2e-4 && (beyond.variance - lossy.loss().variance).abs() < 1e-12);
        let random = loss.random;
        loss.update(&lossy);
        assert!(loss.random <= random + WEIGHT * 0.041, "{loss:?}");
    }

    /// A pair of twenty packets, as a sender of few an RTT has them, of which so many are lost, each by itself.
    fn few(at: u64, rate: f64, lost: u32) -> Pair {
        let mut pair = pair(at, rate, |_| 0.0, |_| 0.0);
        let (mut left, each) = (lost, Bytes::new(1500));
        for probe in [&mut pair.first, &mut pair.second] {
            let here = left.min(lost.div_ceil(2));
            left -= here;
            (probe.packets, probe.packets_lost, probe.loss_bursts) = (10, here, here);
            (probe.sent, probe.lost) = (Bytes::new(10 * each.get()), Bytes::new(u64::from(here) * each.get()));
        }
        pair
    }

    #[test]
    fn moves_of_the_rate_tell_own_losses_with_few_packets() {
        // Between 60 and 120 on a path of 100 and hardly any buffer.
        let mut loss = Loss::default();
        let mut ours = 0.0;
        for at in 0..24 {
            let rate = 60.0 * 2.0_f64.powf((at % 8) as f64 / 7.0);
            let lost = (20.0 * (1.0 - 100.0 / rate).max(0.0)).round() as u32;
            let found = loss.update(&few(at, rate, lost));
            if at >= 16 && lost > 0 {
                ours = f64::max(ours, found);
            }
        }
        assert!(ours > 0.1 && loss.random < 0.05, "{ours} of {loss:?}");
    }

    #[test]
    fn losses_in_a_row_are_not_ours() {
        // The same moves; a fifth of the packets, at a high rate once and then at a low one, or by one burst of ten.
        for lost in [|at: u64| u32::from(at.is_multiple_of(3)) * 4, |at: u64| u32::from(at == 23) * 10] {
            let mut loss = Loss::default();
            let found = (0..24).map(|at| {
                let mut pair = few(at, 60.0 * 2.0_f64.powf((at % 8) as f64 / 7.0), lost(at));
                for probe in [&mut pair.first, &mut pair.second] {
                    probe.loss_bursts = probe.loss_bursts.min(1);
                }
                loss.update(&pair)
            });
            let found = found.fold(0.0, f64::max);
            assert!(found <= 0.0, "{found} of {loss:?}");
        }
    }

    #[test]
    fn the_edge_of_the_capacity_is_found_by_the_probes_alone() {
        let mut loss = Loss::default();
        own(&mut loss, 90.0, 30);
        assert!(own(&mut loss, 100.0, 10) > 0.005, "the faster probe loses 2 % more");
    }

    #[test]
    fn the_slope_of_losses_is_that_of_least_squares() {
        let line = Line { packets: 100.0, lost: 8.0, bursts: 4.0, x: 10.0, xx: 5.0, xy: 2.0 };
        let slope = line.slope();
        assert!((slope.mean - (2.0 - 10.0 * 0.08) / (5.0 - 1.0)).abs() < 1e-12, "{slope:?}");
        let loss = 9.0 / 102.0;
        assert!((slope.variance - loss * (1.0 - loss) * 2.0 / 4.0).abs() < 1e-12, "{slope:?}");
    }

    #[test]
    fn the_slower_probe_s_loss_bounds_random_loss() {
        for (lost, random, ours) in [(0.01, 0.046, 0.0), (0.09, 0.05, 0.04)] {
            // A line that certainly rises, whatever one more pair says.
            let losses = Line { packets: 1e9, lost: 1e8, bursts: 1e8, x: 0.0, xx: 1e9, xy: 1e9 };
            let mut loss = Loss { random: 0.05, losses, ..Loss::default() };
            let found = loss.update(&pair(0, 50.0, |_| lost, |_| 0.0));
            assert!((found - ours).abs() < 1e-9 && (loss.random - random).abs() < 1e-9, "{found} of {loss:?}");
        }
    }

    #[test]
    fn what_comes_at_any_rate_is_free_once_that_is_certain() {
        let mut loss = Loss::default();
        let any = |at: u64, rate: f64| pair(at, rate, |_| 0.1, |_| 0.0);
        loss.update(&any(0, 50.0));
        assert!(!loss.losses.is_free(), "of one pair nothing is certain: {loss:?}");
        (1..40).for_each(|at| {
            loss.update(&any(at, if at % 10 == 0 { 25.0 } else { 50.0 }));
        });
        assert!(loss.losses.is_free(), "{loss:?}");
        let mut ours = Loss::default();
        own(&mut ours, 90.0, 30);
        own(&mut ours, 110.0, 10);
        assert!(!ours.losses.is_free(), "{ours:?}");
    }

    #[test]
    fn marks_on_every_other_packet_are_free_in_the_end() {
        let mut loss = Loss::default();
        let found = (0..2000).map(|at| {
            let mut pair = few(at, if at % 10 == 0 { 25.0 } else { 50.0 }, 0);
            for probe in [&mut pair.first, &mut pair.second] {
                probe.packets_marked = probe.packets / 2;
            }
            loss.update(&pair);
            loss.marks.is_free()
        });
        let freed = found.collect::<Vec<_>>().iter().position(|is_free| *is_free);
        let packets = freed.map(|at| 20.0 * (at as f64 + 1.0));
        assert!(
            packets.is_some_and(|packets| (0.5 * REMEMBERED..2.5 * REMEMBERED).contains(&packets)),
            "{packets:?}: {loss:?}"
        );
    }

    #[test]
    fn marks_on_all_packets_are_free() {
        for (marked, is_free) in [([1.0, 1.0], true), ([0.02, 0.12], false)] {
            let mut loss = Loss::default();
            for at in 0..40 {
                let mut both = pair(at, 50.0, |_| 0.0, |_| 0.0);
                let first_is_fast = both.first.target > both.second.target;
                let of = |report: &mut Report, share: f64| {
                    report.packets_marked = (f64::from(report.packets) * share) as u32
                };
                of(&mut both.first, marked[usize::from(first_is_fast)]);
                of(&mut both.second, marked[usize::from(!first_is_fast)]);
                loss.update(&both);
            }
            assert_eq!(loss.marks.is_free(), is_free, "{marked:?}: {loss:?}");
        }
    }
}
