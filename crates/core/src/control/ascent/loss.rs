//! Which of the losses and marks are ours: those that answer to our rate. Others happen whatever we send.

use super::pair::{Pair, WEIGHT, achieved, packet_variance};
use crate::control::response::{ERRORS, Estimate, MEMORY};
use crate::interval::Report;
use core::time::Duration;

/// Losses with a slope d L / d ln x certainly below this are no overflow of ours. A lone sender's slope is 1, that of n equal
/// senders 1/n each: 0.05 is twenty's.
const FREE: f64 = 0.05;
/// Packets that causes are remembered for. So many tell a slope of zero from [`FREE`] where a third is lost or half is marked, if
/// each [`ASKED`](super::ASKED)th pair leaves at half of the rate. With 10,000 a loss of 10 % costs half of 20 Mbit/s.
const REMEMBERED: f64 = 25_000.0;
/// Weight of the probes of late when another comes: those of twenty pairs, as many as [`MEMORY`] has.
const RECENT: f64 = 0.975;
/// Random loss above this is asked about. Less has no price (`NSDI 2015` §2.1, the cap of `safe`).
const MUCH: f64 = 0.05;
crate::shared::shared_with_c!("LOSS_" [] FREE, REMEMBERED, RECENT, MUCH);

/// The line of loss rates over ln of the rates, each probe by its packets. Nothing is forgotten when the rate changes: a sender of
/// few packets an RTT learns more from the rate's own moves than from probes. Sums, of which older ones weigh less.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    packets: f64,
    lost: f64,
    bursts: f64,
    x: f64,
    xx: f64,
    xy: f64,
}

impl Line {
    fn fade(&mut self) {
        for sum in [&mut self.packets, &mut self.lost, &mut self.bursts, &mut self.x, &mut self.xx, &mut self.xy] {
            *sum *= MEMORY;
        }
    }

    /// Takes in a probe of this rate, in ln x.
    fn take(&mut self, probe: &Report, x: f64) {
        let packets = f64::from(probe.packets);
        let lost = packets * probe.undelivered();
        self.packets += packets;
        self.lost += lost;
        self.bursts += f64::from(probe.loss_bursts);
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
}

/// Packets, and how many of them were lost, or marked, in how many runs.
#[derive(Clone, Copy, Debug)]
struct Count {
    packets: f64,
    lost: f64,
    bursts: f64,
}

/// How losses go with something else. Each sample is compared with those shortly before it, so that what others change meanwhile
/// counts for little. What that tells is remembered for long.
#[derive(Clone, Copy, Debug, Default)]
struct Along {
    /// Sums over the samples of late: packets, lost ones, and what each packet was sent at.
    packets: f64,
    lost: f64,
    x: f64,
    /// Squares and products of how far each sample was from those.
    xx: f64,
    xy: f64,
}

impl Along {
    /// Takes in packets that were sent at this. Before another, those of late count as much less as `recent` says.
    fn take(&mut self, Count { packets, lost, .. }: Count, x: f64, recent: f64) {
        if self.packets > 0.0 {
            let (weight, kept) = (packets * self.packets / (packets + self.packets), kept(packets));
            let (x, y) = (x - self.x / self.packets, lost / packets - self.lost / self.packets);
            self.xx = kept * self.xx + weight * x * x;
            self.xy = kept * self.xy + weight * x * y;
        }
        for (sum, new) in [(&mut self.packets, packets), (&mut self.lost, lost), (&mut self.x, packets * x)] {
            *sum = recent * (*sum + new);
        }
    }
}

/// The part of what is known that so many more packets leave.
fn kept(packets: f64) -> f64 {
    REMEMBERED / (REMEMBERED + packets)
}

/// What losses, or marks, come with: a rate of ours, or a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cause {
    packets: f64,
    lost: f64,
    bursts: f64,
    rate: Along,
    queue: Along,
}

impl Cause {
    /// Takes in both probes of a pair at a rate in ln x. What is lost at one RTT and not at the other tells of a queue; what differs
    /// by the probes' rates tells next to nothing.
    fn take(&mut self, probes: [(Count, Option<Duration>); 2], x: f64) {
        for (count, rtt) in probes {
            if let Some(rtt) = rtt.filter(|_| count.packets > 0.0) {
                self.queue.take(count, rtt.as_secs_f64(), RECENT);
            }
        }
        let [(a, _), (b, _)] = probes;
        let all = Count { packets: a.packets + b.packets, lost: a.lost + b.lost, bursts: a.bursts + b.bursts };
        if all.packets > 0.0 {
            self.rate.take(all, x, MEMORY);
        }
        let kept = kept(all.packets);
        for (sum, new) in [(&mut self.packets, all.packets), (&mut self.lost, all.lost), (&mut self.bursts, all.bursts)]
        {
            *sum = kept * *sum + new;
        }
    }

    /// Whether what is lost, or marked, certainly is none of ours. What certainly comes with a longer queue is somebody's overflow,
    /// however little ours.
    pub(super) fn is_free(&self) -> bool {
        let variance = packet_variance(self.packets, self.lost, self.bursts);
        let error = |along: &Along| (variance * along.xx).sqrt();
        let overflows = self.queue.xy > ERRORS * error(&self.queue);
        self.rate.xy + ERRORS * error(&self.rate) < FREE * self.rate.xx && !overflows
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loss {
    own: Line,
    pub(super) losses: Cause,
    pub(super) marks: Cause,
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
        let probes = [&*pair.first, &*pair.second];
        self.own.fade();
        probes.iter().for_each(|probe| self.own.take(probe, achieved(probe).ln() - origin));
        let count = |probe: &Report, lost: f64, bursts: u32| {
            (Count { packets: probe.packets.into(), lost, bursts: bursts.into() }, probe.rtt)
        };
        let x = pair.rate().ln() - origin;
        self.losses.take(
            probes.map(|probe| count(probe, f64::from(probe.packets) * probe.undelivered(), probe.loss_bursts)),
            x,
        );
        self.marks.take(probes.map(|probe| count(probe, probe.packets_marked.into(), probe.packets_marked)), x);
        if self.own.slope().is_above(0.0) {
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
            let own = Line { packets: 1e9, lost: 1e8, bursts: 1e8, x: 0.0, xx: 1e9, xy: 1e9 };
            let mut loss = Loss { random: 0.05, own, ..Loss::default() };
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
            packets.is_some_and(|packets| (0.3 * REMEMBERED..REMEMBERED).contains(&packets)),
            "{packets:?}: {loss:?}"
        );
    }

    #[test]
    fn marks_on_all_packets_are_free() {
        for (marked, is_free) in [([1.0, 1.0], true), ([0.02, 0.12], false)] {
            let mut loss = Loss::default();
            for at in 0..40 {
                let slow = at % 10 == 0;
                let mut both = pair(at, if slow { 25.0 } else { 50.0 }, |_| 0.0, |_| 0.0);
                for probe in [&mut both.first, &mut both.second] {
                    probe.packets_marked = (f64::from(probe.packets) * marked[usize::from(!slow)]) as u32;
                }
                loss.update(&both);
            }
            assert_eq!(loss.marks.is_free(), is_free, "{marked:?}: {loss:?}");
        }
    }

    /// A tenth is lost whatever our rate, but for what `more` says of a pair: of losses, and of a queue in seconds.
    fn whatever_we_send(more: impl Fn(u64) -> (f64, f64)) -> Loss {
        let mut loss = Loss::default();
        for at in 0..200 {
            let (lost, queue) = more(at);
            let mut pair = pair(at, if at % 10 == 0 { 25.0 } else { 50.0 }, |_| 0.1 + lost, |_| queue);
            for probe in [&mut pair.first, &mut pair.second] {
                (probe.packets, probe.packets_lost) = (200, probe.packets_lost / 50);
                probe.loss_bursts = probe.packets_lost;
            }
            loss.update(&pair);
        }
        loss
    }

    #[test]
    fn losses_that_come_with_a_longer_queue_are_not_free() {
        let of_three = |at: u64, much| if at.is_multiple_of(3) { much } else { 0.0 };
        let free = |more: &dyn Fn(u64) -> (f64, f64)| whatever_we_send(more).losses.is_free();
        assert!(free(&|at| (0.0, of_three(at, 0.01))), "a queue alone is no overflow");
        assert!(free(&|at| (of_three(at, 0.02), 0.0)), "nor are more losses at times");
        assert!(!free(&|at| (of_three(at, 0.02), of_three(at, 0.01))), "both at once are");
        assert!(free(&|at| (of_three(at, 0.02), of_three(at + 1, 0.01))), "and at different times they are not");
    }

    #[test]
    fn a_cause_is_as_sure_as_its_packets_make_it() {
        let of = |rate, queue| Cause {
            packets: 998.0,
            lost: 99.0,
            bursts: 33.0,
            rate: Along { xx: 1000.0, xy: rate, ..Along::default() },
            queue: Along { xx: 10.0, xy: queue, ..Along::default() },
        };
        // A tenth by Laplace's rule, in runs of three: errors of sqrt(0.27 xx), 16.43 and 1.643.
        let (most, queue) = (0.05 * 1000.0 - 2.0 * 16.43, 2.0 * 1.643);
        assert!(of(most - 0.1, queue - 0.01).is_free());
        assert!(!of(most + 0.1, 0.0).is_free() && !of(0.0, queue + 0.01).is_free());
        assert!(!Cause::default().is_free(), "of nothing nothing is known");
    }

    #[test]
    fn a_sample_is_compared_with_those_before_it() {
        let mut along = Along::default();
        let count = |lost| Count { packets: 100.0, lost, bursts: lost };
        along.take(count(10.0), 0.0, 0.9);
        assert!(along.xx <= 0.0, "the first one has none before it: {along:?}");
        along.take(count(20.0), 0.5, 0.9);
        along.take(count(40.0), 0.5, 0.9);
        let near =
            |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
        // As many packets of either, of which those before count a tenth less each time.
        let (first, second, kept) = (100.0 * 90.0 / 190.0, 100.0 * 171.0 / 271.0, REMEMBERED / (REMEMBERED + 100.0));
        let (x, y) = (0.5 - 45.0 / 171.0, 0.4 - (0.81 * 10.0 + 0.9 * 20.0) / 171.0);
        near(along.xx, kept * first * 0.25 + second * x * x);
        near(along.xy, kept * first * 0.05 + second * x * y);
    }

    #[test]
    fn packets_count_by_how_many_came_after_them() {
        let mut cause = Cause::default();
        let count = |lost| (Count { packets: 50.0, lost, bursts: 1.0 }, None);
        cause.take([count(3.0), count(7.0)], 0.0);
        cause.take([count(8.0), count(12.0)], 0.0);
        let kept = REMEMBERED / (REMEMBERED + 100.0);
        assert!((cause.lost - 10.0 * kept - 20.0).abs() < 1e-9 && (cause.packets - 100.0 * kept - 100.0).abs() < 1e-9);
        assert!((cause.bursts - 2.0 * kept - 2.0).abs() < 1e-9, "{cause:?}");
    }

    #[test]
    fn a_probe_without_an_rtt_tells_of_no_queue() {
        let mut loss = Loss::default();
        let mut blind = pair(0, 50.0, |_| 0.1, |_| 0.0);
        blind.first.rtt = None;
        loss.update(&blind);
        let Cause { rate, queue, .. } = loss.losses;
        assert!((queue.packets - 0.975 * 10_000.0).abs() < 1e-6 && (rate.packets - 0.95 * 20_000.0).abs() < 1e-6);
    }
}
