//! What the bottleneck carries for us, and how much its buffer holds.

use super::PairReading;
use super::level::TELLING_PACKETS;
use super::pair::{Carried, Pair, TELLING_GROWTH};
use super::scatter::Scatter;
use crate::control::response::{ERRORS, Estimate, MEMORY};
use crate::interval::ACHIEVED_SHARE;

/// Process noise of the filter: relative change of the capacity from pair to pair.
const DRIFT: f64 = 0.03;
/// Losses above this share of the packets fill a buffer.
const TELLING_LOSS: f64 = 0.01;
/// Variance of ln capacity as long as no full bottleneck carried it.
const UNSURE: f64 = 0.01;
/// Weight of a loss in what is known of the buffer.
const WEIGHT: f64 = 0.3;
/// While the rate stays below this share of the capacity, the capacity is forgotten.
const UNUSED: f64 = 0.7;
crate::shared::shared_with_c!("BOTTLENECK_" [] DRIFT, TELLING_LOSS, UNSURE, WEIGHT, UNUSED);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bottleneck {
    /// Unit: byte/s.
    capacity: f64,
    /// Of ln capacity.
    variance: f64,
    /// Of ln of what pairs carry: on a host that sends in bursts they err by more than their slopes say.
    scatter: Scatter,
    /// By how much more is tried when all that was tried was carried.
    headroom: f64,
    /// Half of the queueing delay at which packets are lost. Unit: s.
    pub(super) half_buffer: f64,
}

impl Bottleneck {
    /// One that was seen to carry so much when the queue was so long.
    pub(super) fn new(capacity: f64, queue: f64) -> Self {
        Self { capacity, variance: 0.1, half_buffer: queue / 2.0, ..Self::default() }
    }

    /// Unit: byte/s.
    pub(super) const fn capacity(&self) -> f64 {
        self.capacity
    }

    /// From outside it is known that it carries no more than this.
    pub(super) const fn on_back_off(&mut self, rate: f64) {
        self.capacity = rate;
        self.headroom = 0.0;
    }

    /// The next pair does not follow the latest one.
    pub(super) const fn interrupt(&mut self) {
        self.scatter.interrupt();
    }

    /// A pair was carried. The first step beyond that is `first`, which it also takes for a rate to have been offered. Returns
    /// whether more is tried now.
    pub(super) fn update(&mut self, reading: &PairReading, first: f64) -> bool {
        let PairReading { pair, carried: Carried { growth, ln_rate }, loss_above_random, queue, .. } = reading;
        let (mut raised, rate) = (false, pair.rate());
        let loses = reading.own_loss > TELLING_LOSS;
        if loses {
            self.half_buffer += WEIGHT * (queue.level / 2.0 - self.half_buffer);
        }
        self.half_buffer = self.half_buffer.max(queue.level / 2.0);
        let stands = queue.level > queue.noise.max(TELLING_PACKETS * pair.packet_time());
        let grows = growth.wiener() > ERRORS * growth.error() + TELLING_GROWTH;
        // Whether or not that answers to our rate: all was not carried.
        let loses_more = loss_above_random.is_above(0.0);
        if loses || loses_more || stands || grows {
            // The bottleneck is busy: what it carried is what it can carry.
            let ln_rate =
                if loses || loses_more { overflowing(*ln_rate, rate.ln(), loss_above_random.mean) } else { *ln_rate };
            // A packet at the least: without one there would be no RTT, and no reading of the queue.
            let kept = (1.0 - loss_above_random.mean).max(1.0 / pair.packets());
            let carried = ln_rate.mean.exp() * kept;
            self.scatter.learn(carried.ln());
            self.variance += DRIFT * DRIFT;
            let noise = (ln_rate.variance + loss_above_random.variance).max(self.scatter.variance());
            let gain = self.variance / (self.variance + noise);
            self.variance *= 1.0 - gain;
            self.capacity *= (carried / self.capacity).powf(gain);
            self.headroom *= if loses { 0.0 } else { queue.doubt() };
        } else if reading.after_increase && offered(pair) >= self.capacity * (1.0 - first) {
            // It was not, and carried all: it can carry more. What a host sent late and all at once is no such proof.
            self.capacity = self.capacity.max(rate.min(pair.target())) * (1.0 + self.headroom);
            self.scatter.interrupt();
            self.headroom = (self.headroom.max(first / 2.0) * reading.pairs.exp2()).min(reading.largest_step);
            self.variance = UNSURE;
            raised = true;
        }
        if rate < UNUSED * self.capacity {
            self.capacity *= MEMORY;
        }
        raised
    }
}

/// What was carried, in ln x, where so much was lost of what was sent. What overflows was full: until it was, it grew by no more
/// than what has been lost since, however little few RTTs tell of that.
fn overflowing(carried: Estimate, sent: f64, lost: f64) -> Estimate {
    let most = lost * lost;
    let weight = most / (most + carried.variance);
    Estimate { mean: sent + weight * (carried.mean - sent), variance: weight * carried.variance }
}

/// The rate that the path was offered. A pacer is always a little late: who asked that what was sent be what was asked for would
/// never ask for more, and lose a little with each queue that it meets. What falls far behind shows no more than itself. Unit:
/// byte/s.
fn offered(pair: &Pair) -> f64 {
    let (sent, asked) = (pair.rate(), pair.target());
    if sent < ACHIEVED_SHARE * asked { sent } else { sent.max(asked) }
}

#[cfg(test)]
mod tests {
    use super::super::level::Reading;
    use super::super::pair::tests::pair;
    use super::*;

    impl Bottleneck {
        /// Whether the next pair follows the latest one.
        pub(in super::super) fn follows(&self) -> bool {
            self.scatter.last.is_some()
        }
    }

    const NOTHING: Estimate = Estimate { mean: 0.0, variance: 1e-8 };
    const FIRST: f64 = 0.02;

    fn at(mbit: f64) -> Bottleneck {
        Bottleneck::new(mbit * 1e6 / 8.0, 0.01)
    }

    fn mbit(bottleneck: &Bottleneck) -> f64 {
        bottleneck.capacity() * 8e-6
    }

    /// A pair that left after the last increase, through which the queue grew so fast, and behind so much of it. Returns whether more is tried now.
    fn update(
        bottleneck: &mut Bottleneck,
        pair: &Pair,
        growth: Estimate,
        (own_loss, loss_above_random, queue): (f64, Estimate, f64),
    ) -> bool {
        bottleneck.update(
            &PairReading { after_increase: true, ..reading(pair, growth, own_loss, loss_above_random, queue) },
            FIRST,
        )
    }

    fn reading(pair: &Pair, growth: Estimate, own_loss: f64, loss_above_random: Estimate, queue: f64) -> PairReading {
        let grown = 1.0 + growth.mean;
        let ln_rate = Estimate { mean: (pair.rate() / grown).ln(), variance: growth.variance / (grown * grown) };
        let (carried, queue) = (Carried { growth, ln_rate }, Reading { level: queue, noise: 1e-5 });
        PairReading { pair: pair.clone(), carried, own_loss, loss_above_random, queue, ..PairReading::nothing() }
    }

    #[test]
    fn a_queue_that_grows_tells_the_capacity_at_once() {
        let mut bottleneck = at(100.0);
        let growth = Estimate { mean: 0.25, variance: 1e-8 };
        update(&mut bottleneck, &pair(0, 100.0, |_| 0.0, |_| 0.0), growth, (0.0, NOTHING, 0.002));
        assert!((mbit(&bottleneck) - 80.0).abs() < 0.2, "{bottleneck:?}");
    }

    #[test]
    fn a_growth_that_is_hardly_known_moves_it_little() {
        let mut bottleneck = at(100.0);
        for i in 0..20 {
            let growth = Estimate { mean: if i % 2 == 0 { 0.3 } else { -0.3 }, variance: 0.09 };
            update(&mut bottleneck, &pair(i, 100.0, |_| 0.0, |_| 0.0), growth, (0.0, NOTHING, 0.005));
        }
        assert!((mbit(&bottleneck) - 100.0).abs() < 12.0, "{bottleneck:?}");
    }

    #[test]
    fn scattered_pairs_move_the_capacity_little() {
        let mut bottleneck = at(100.0);
        let mut furthest: f64 = 0.0;
        for i in 0..60 {
            let growth = Estimate { mean: if i % 2 == 0 { 0.2 } else { -0.2 }, variance: 1e-8 };
            update(&mut bottleneck, &pair(i, 100.0, |_| 0.0, |_| 0.0), growth, (0.0, NOTHING, 0.005));
            if i >= 20 {
                furthest = furthest.max((mbit(&bottleneck) - 102.0).abs());
            }
        }
        assert!(furthest < 8.0, "{furthest} Mbit/s off, of readings that are 20 off");
    }

    #[test]
    fn a_pair_that_takes_as_long_as_several_makes_as_many_doublings() {
        for (doublings, expected) in [(1.0, [1.02, 1.04, 1.08, 1.16]), (3.0, [1.08, 1.64, 2.0, 2.0])] {
            let mut bottleneck = at(1.0);
            for (number, expected) in (0..).zip(expected) {
                let pair = pair(number, mbit(&bottleneck), |_| 0.0, |_| 0.0);
                let reading = reading(&pair, NOTHING, 0.0, NOTHING, 0.0);
                bottleneck.update(
                    &PairReading { after_increase: true, pairs: doublings, largest_step: 1.0, ..reading },
                    FIRST,
                );
                let headroom = 1.0 + bottleneck.headroom;
                assert!((headroom - expected).abs() < 1e-9, "{headroom} after {number} pairs of {doublings}");
            }
        }
    }

    #[test]
    fn the_headroom_doubles_once_it_was_sent_and_carried() {
        let mut bottleneck = at(10.0);
        let mut found = Vec::new();
        for i in 0..6 {
            let rate = mbit(&bottleneck);
            update(&mut bottleneck, &pair(i, rate, |_| 0.0, |_| 0.0), NOTHING, (0.0, NOTHING, 0.0));
            found.push(mbit(&bottleneck) / rate - 1.0);
        }
        let expected = [0.0, 0.02, 0.04, 0.08, 0.16, 0.25];
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-3), "{found:?}");
        let before = mbit(&bottleneck);
        let stale = pair(6, before, |_| 0.0, |_| 0.0);
        assert!(!bottleneck.update(&reading(&stale, NOTHING, 0.0, NOTHING, 0.0), FIRST));
        assert!((mbit(&bottleneck) - before).abs() < 1e-6, "what left before more was tried proves nothing");
        update(&mut bottleneck, &pair(6, 0.8 * before, |_| 0.0, |_| 0.0), NOTHING, (0.0, NOTHING, 0.0));
        assert!((mbit(&bottleneck) - before).abs() < 1e-6, "a lower rate proves nothing");
    }

    #[test]
    fn what_a_host_sent_late_and_at_once_is_no_capacity() {
        let mut bottleneck = at(100.0);
        let mut late = pair(0, 130.0, |_| 0.0, |_| 0.0);
        for probe in [&mut late.first, &mut late.second] {
            probe.target = crate::units::Rate::from_mbit(100.0);
        }
        update(&mut bottleneck, &late, NOTHING, (0.0, NOTHING, 0.0));
        assert!((mbit(&bottleneck) - 100.0).abs() < 0.1, "{bottleneck:?}");
    }

    /// A pair that was sent at this share of what was asked for.
    fn sent(at: u64, mbit: f64, share: f64) -> Pair {
        let mut late = pair(at, mbit, |_| 0.0, |_| 0.0);
        for probe in [&mut late.first, &mut late.second] {
            probe.achieved = probe.target * share;
        }
        late
    }

    #[test]
    fn a_late_pacer_does_not_keep_the_rate_from_growing() {
        for (share, grows) in [(0.98, true), (0.95, true), (0.91, true), (0.89, false), (0.5, false)] {
            let mut bottleneck = at(100.0);
            for i in 0..20 {
                let pair = sent(i, mbit(&bottleneck), share);
                update(&mut bottleneck, &pair, NOTHING, (0.0, NOTHING, 0.0));
            }
            assert_eq!(mbit(&bottleneck) > 200.0, grows, "{share}: {bottleneck:?}");
        }
    }

    #[test]
    fn losses_of_ours_tell_the_capacity() {
        let mut bottleneck = at(110.0);
        for i in 0..20 {
            let loss_above_random = Estimate { mean: 0.1, variance: 1e-6 };
            update(&mut bottleneck, &pair(i, 110.0, |_| 0.1, |_| 0.0), NOTHING, (0.1, loss_above_random, 0.004));
        }
        assert!((mbit(&bottleneck) - 99.0).abs() < 0.5, "{bottleneck:?}");
    }

    #[test]
    fn an_overflow_is_known_by_its_loss_with_few_rtts() {
        let mut bottleneck = at(130.0);
        let unknown = Estimate { mean: 0.5, variance: 1.0 };
        for i in 0..5 {
            let loss_above_random = Estimate { mean: 0.2, variance: 0.01 };
            update(&mut bottleneck, &pair(i, 125.0, |_| 0.2, |_| 0.0), unknown, (0.2, loss_above_random, 0.0));
        }
        assert!((98.0..104.0).contains(&mbit(&bottleneck)), "{bottleneck:?}");
        let known = overflowing(Estimate { mean: 2.0, variance: 1e-8 }, 2.3, 0.2);
        assert!(
            (known.mean - 2.0).abs() < 1e-6 && (known.variance - 1e-8).abs() < 1e-12,
            "where it is known, as it is"
        );
    }

    #[test]
    fn a_pair_that_lost_nearly_all_is_recovered_from() {
        let mut bottleneck = at(100.0);
        let lost = Estimate { mean: 1.0, variance: 1e-6 };
        for i in 0..3 {
            let pair = pair(i, 100.0, |_| 1.0, |_| 0.0);
            update(&mut bottleneck, &pair, NOTHING, (1.0, lost, 0.0));
            assert!(mbit(&bottleneck) > 0.5 * 100.0 / pair.packets(), "{bottleneck:?}");
        }
        let rate = mbit(&bottleneck);
        (3..40).for_each(|i| {
            let rate = mbit(&bottleneck);
            update(&mut bottleneck, &pair(i, rate, |_| 0.0, |_| 0.0), NOTHING, (0.0, NOTHING, 0.0));
        });
        assert!(mbit(&bottleneck) > 100.0 * rate, "{bottleneck:?}");
    }

    #[test]
    fn certainly_more_loss_than_usual_is_not_carried() {
        for (variance, finds) in [(1e-6, 90.0..91.0), (0.01, 104.0..200.0)] {
            let mut bottleneck = at(103.0);
            for i in 0..20 {
                let loss_above_random = Estimate { mean: 0.15, variance };
                let pair = pair(i, 106.0, |_| 0.15, |_| 0.0);
                update(&mut bottleneck, &pair, NOTHING, (0.0, loss_above_random, 0.0));
            }
            assert!(finds.contains(&mbit(&bottleneck)), "{variance}: {bottleneck:?}");
        }
    }

    #[test]
    fn what_is_not_used_for_long_is_forgotten() {
        let mut bottleneck = at(100.0);
        for i in 0..60 {
            update(&mut bottleneck, &pair(i, 10.0, |_| 0.0, |_| 0.0), NOTHING, (0.0, NOTHING, 0.0));
        }
        assert!(mbit(&bottleneck) < 20.0, "{bottleneck:?}");
    }

    #[test]
    fn a_given_capacity_lets_steps_begin_anew() {
        let mut bottleneck = at(100.0);
        bottleneck.headroom = 0.1;
        bottleneck.on_back_off(5e6);
        assert!((mbit(&bottleneck) - 40.0).abs() < 1e-9 && bottleneck.headroom <= 0.0, "{bottleneck:?}");
    }

    #[test]
    fn a_growth_of_two_thousandths_fills_no_queue() {
        for (mean, tries) in [(0.001, true), (0.003, false)] {
            let growth = Estimate { mean, variance: 1e-12 };
            let pair = pair(0, 100.0, |_| 0.0, |_| 0.0);
            assert_eq!(update(&mut at(100.0), &pair, growth, (0.0, NOTHING, 0.0)), tries, "{mean} s/s");
        }
    }
}
