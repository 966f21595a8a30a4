//! Whose losses and marks are: ours, since they answer to our rate, or nobody's, which come whatever we send.
//!
//! A probability tells their price, not a verdict. Before any evidence a loss is the likelier nobody's the rarer losses are, and the
//! shorter the queue: what overflows is full. Then the rates that we sent at tell how losses answer, and RTTs whether they come with
//! a queue. Losses are priced by the probability that they are not nobody's. Sources: Bayes' theorem over a few slopes, and Schwarz's criterion.

use super::pair::{Pair, WEIGHT, achieved, packet_variance};
use crate::control::response::{ERRORS, Estimate};

/// Slopes d L / d ln x of losses that answer to our rate: of one of 33 senders, of ten, of three, and of a lone one. Nobody's have 0.
const SLOPES: [f64; 4] = [0.03, 0.1, 0.3, 1.0];
/// Odds that losses, and marks, are nobody's, before anything is known: 4 in 5, and 99 in 100, since a queue that marks us answers
/// within a few pairs. With 9 in 10 for marks, marks on every second packet take half of the rate.
const NOBODYS: f64 = 4.0;
const NOBODYS_MARKS: f64 = 99.0;
/// Loss rate by which nobody's losses are an e-fold rarer.
const RARE: f64 = 0.1;
/// Lost, or marked, packets that are remembered, while some are.
const REMEMBERED: f64 = 2500.0;
/// Weight of the probes of late when another comes: those of twenty pairs. Where nothing is lost any more,
/// all evidence fades as fast.
const RECENT: f64 = 0.975;
/// So many times less likely than all else it is, before any evidence, that losses come with a queue that only others fill.
const OTHERS: f64 = 4.0;
/// No evidence counts for more, in ln of the odds.
const CERTAIN: f64 = 50.0;
crate::shared::shared_with_c!("LOSS_" []
    NOBODYS, NOBODYS_MARKS, RARE, REMEMBERED, RECENT, OTHERS, CERTAIN,
    SLOPE_OF_33 = SLOPES[0], SLOPE_OF_10 = SLOPES[1], SLOPE_OF_3 = SLOPES[2], SLOPE_OF_1 = SLOPES[3]
);

/// How losses go with something else. Each probe is compared with those of late, so that what others change meanwhile counts for
/// little. Nothing is forgotten when the rate changes: a sender of few packets an RTT learns more from the rate's own moves than
/// from probes. Sums of squares and products, by the inverse of the variance.
#[derive(Clone, Copy, Debug, Default)]
struct LossRegression {
    /// Sums over the probes of late: packets, lost ones, runs of those, and what each packet was sent at.
    packets: f64,
    lost: f64,
    bursts: f64,
    x: f64,
    xx: f64,
    xy: f64,
    yy: f64,
    samples: f64,
}

impl LossRegression {
    /// Takes in a probe of so many packets that was sent at this.
    fn take(&mut self, packets: f64, lost: f64, bursts: u32, x: f64) {
        let bursts = self.bursts + f64::from(bursts);
        if self.packets > 0.0 && packets > 0.0 {
            let kept = if lost > 0.0 { REMEMBERED / (REMEMBERED + lost) } else { RECENT };
            let variance = packet_variance(self.packets + packets, self.lost + lost, bursts);
            let weight = 1.0 / (variance * (1.0 / packets + 1.0 / self.packets));
            let (x, y) = (x - self.x / self.packets, lost / packets - self.lost / self.packets);
            self.xx = kept * self.xx + weight * x * x;
            self.xy = kept * self.xy + weight * x * y;
            self.yy = kept * self.yy + weight * y * y;
            self.samples = kept * self.samples + 1.0;
        }
        self.bursts = RECENT * bursts;
        for (sum, new) in [(&mut self.packets, packets), (&mut self.lost, lost), (&mut self.x, packets * x)] {
            *sum = RECENT * (*sum + new);
        }
    }

    /// By how much samples scatter more than their own variance says, as beside other senders.
    fn scatter(&self) -> f64 {
        let unexplained = if self.xx > 0.0 { self.yy - self.xy * self.xy / self.xx } else { 0.0 };
        (unexplained / (self.samples - 1.0).max(1.0)).max(1.0)
    }

    /// Whether losses certainly rise (97.5 %), were no other sender there to scatter them.
    fn certainly_rise(&self) -> bool {
        self.xy > ERRORS * self.xx.sqrt()
    }

    /// By how much likelier what was seen is if losses answer than if they do not, by the mean of the slopes.
    fn answers(&self) -> f64 {
        let scatter = self.scatter();
        let likelier = |slope: f64| (slope * (self.xy - slope * self.xx / 2.0) / scatter).min(CERTAIN).exp();
        SLOPES.map(likelier).iter().sum::<f64>() / SLOPES.len() as f64
    }

    /// The same where any slope above zero will do (Schwarz), less 1.
    fn rises(&self) -> f64 {
        let xy = self.xy.max(0.0);
        let evidence = if self.xx > 0.0 { xy * xy / (2.0 * self.xx) } else { 0.0 };
        (evidence.min(CERTAIN).exp() - 1.0) / (1.0 + self.samples / 2.0).sqrt()
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loss {
    /// Losses along ln of the rate, and along the RTT.
    losses: LossRegression,
    overflows: LossRegression,
    /// Marks along ln of the rate.
    marks: LossRegression,
    /// ln of the first pair's rate, from which others are counted; `None` before it.
    origin: Option<f64>,
    /// Loss rate that does not certainly answer to ours. Its part that may be somebody's has a price.
    pub(super) random: f64,
}

impl Loss {
    /// Takes in a pair, behind a queue of which the longest of late was so full. The share of its packets that the rate lost, as is
    /// to be expected.
    pub(super) fn update(&mut self, pair: &Pair, fullness: f64) -> f64 {
        let loss = pair.loss();
        let origin = *self.origin.get_or_insert(pair.rate().ln());
        for probe in [&*pair.first, &*pair.second] {
            let x = achieved(probe).ln() - origin;
            let packets = f64::from(probe.packets);
            let lost = packets * probe.undelivered();
            self.losses.take(packets, lost, probe.loss_bursts, x);
            if let Some(rtt) = probe.rtt {
                self.overflows.take(packets, lost, probe.loss_bursts, rtt.as_secs_f64());
            }
            self.marks.take(packets, probe.packets_marked.into(), probe.packets_marked, x);
        }
        let ours = 1.0 - self.is_nobodys(fullness);
        let (_, low) = pair.high_and_low();
        let (certain, random) = (self.losses.certainly_rise(), self.random);
        // What the slower probe lost bounds what is random.
        let change = if certain { (low.undelivered() - random).min(0.0) } else { loss.mean - random };
        self.random += WEIGHT * change;
        let more = Estimate { mean: (loss.mean - self.random).max(0.0), ..loss };
        if certain { more.mean } else { ours * more.wiener() }
    }

    /// By how much more than what is random was lost.
    pub(super) fn above_random(&self, pair: &Pair) -> Estimate {
        let loss = pair.loss();
        Estimate { mean: loss.mean - self.random, ..loss }
    }

    /// Probability that losses are nobody's, where the longest queue of late is so full, above 0 and below 1. What comes with a
    /// longer queue is somebody's overflow, however little ours.
    fn is_nobodys(&self, fullness: f64) -> f64 {
        let odds = NOBODYS * (-self.random / RARE).exp() * (1.0 - fullness) / fullness;
        let overflows = self.overflows.rises() / (OTHERS * (1.0 + odds));
        1.0 / ((1.0 + self.losses.answers() / odds) * (1.0 + overflows))
    }

    /// The loss rate that has a price.
    pub(super) fn priced(&self, fullness: f64) -> f64 {
        (1.0 - self.is_nobodys(fullness)) * self.random
    }

    /// The share of marks that has a price.
    pub(super) fn priced_marks(&self, marked: f64) -> f64 {
        let answers = self.marks.answers();
        answers / (NOBODYS_MARKS + answers) * marked
    }
}

#[cfg(test)]
mod tests {
    use super::super::pair::tests::pair;
    use super::*;
    use crate::units::Bytes;

    /// How full the longest queue is where nothing is known of queues.
    const UNKNOWN: f64 = 0.5;

    /// Pairs on a path of 100 Mbit/s that loses 1 % at random and what is too much; what was ours of the last one.
    fn own(loss: &mut Loss, rate: f64, pairs: u64) -> f64 {
        let lost = |rate: f64| 0.01 + (1.0 - 100.0 / rate).max(0.0);
        (0..pairs).map(|at| loss.update(&pair(at, rate, lost, |_| 0.0), UNKNOWN)).last().unwrap_or(0.0)
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
        let loss_above_random = loss.above_random(&lossy);
        assert!(
            (loss_above_random.mean - 0.04).abs() < 2e-4
                && (loss_above_random.variance - lossy.loss().variance).abs() < 1e-12
        );
        let random = loss.random;
        loss.update(&lossy, UNKNOWN);
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
            let found = loss.update(&few(at, rate, lost), UNKNOWN);
            if at >= 16 && lost > 0 {
                ours = f64::max(ours, found);
            }
        }
        assert!(ours > 0.1 && loss.random < 0.05, "{ours} of {loss:?}");
    }

    #[test]
    fn losses_in_a_row_are_hardly_ours() {
        // The same moves; a fifth of the packets, at a high rate once and then at a low one, or by one burst of ten.
        let fifth = |at: u64| u32::from(at.is_multiple_of(3)) * 4;
        let burst = |at: u64| u32::from(at == 23) * 10;
        for (lost, most) in [(&fifth as &dyn Fn(u64) -> u32, 0.2), (&burst, 0.5)] {
            let mut loss = Loss::default();
            let found = (0..24).map(|at| {
                let mut pair = few(at, 60.0 * 2.0_f64.powf((at % 8) as f64 / 7.0), lost(at));
                for probe in [&mut pair.first, &mut pair.second] {
                    probe.loss_bursts = probe.loss_bursts.min(1);
                }
                loss.update(&pair, UNKNOWN)
            });
            let found = found.fold(0.0, f64::max);
            assert!(found < most / 6.0, "{found} of {loss:?}");
        }
    }

    #[test]
    fn the_edge_of_the_capacity_is_found_by_the_probes_alone() {
        let mut loss = Loss::default();
        own(&mut loss, 90.0, 30);
        assert!(own(&mut loss, 100.0, 10) > 0.005, "the faster probe loses 2 % more");
    }

    #[test]
    fn a_slope_is_certain_from_two_errors_on() {
        // 1 / √xx is the error of xy / xx.
        for (xy, certain) in [(19.9, false), (20.1, true)] {
            let regression = LossRegression { xx: 100.0, xy, yy: 1e9, samples: 3.0, ..LossRegression::default() };
            assert_eq!(regression.certainly_rise(), certain, "{xy}, however much it scatters");
        }
        assert!(!LossRegression::default().certainly_rise());
    }

    #[test]
    fn the_slower_probe_s_loss_bounds_random_loss() {
        for (lost, random, ours) in [(0.01, 0.046, 0.0), (0.09, 0.05, 0.04)] {
            // Losses certainly rise, whatever one more pair says.
            let losses = LossRegression { xx: 1e9, xy: 1e9, samples: 1e3, ..LossRegression::default() };
            let mut loss = Loss { random: 0.05, losses, ..Loss::default() };
            let found = loss.update(&pair(0, 50.0, |_| lost, |_| 0.0), UNKNOWN);
            assert!((found - ours).abs() < 1e-9 && (loss.random - random).abs() < 1e-9, "{found} of {loss:?}");
        }
    }

    /// Pairs that lose as `lost` says, each tenth at half of the rate.
    fn at_two_rates(pairs: u64, lost: impl Fn(f64) -> f64) -> Loss {
        let mut loss = Loss::default();
        (0..pairs).for_each(|at| {
            let mbit = if at % 10 == 0 { 25.0 } else { 50.0 };
            loss.update(&pair(at, mbit, &lost, |_| 0.0), UNKNOWN);
        });
        loss
    }

    #[test]
    fn what_comes_at_any_rate_has_hardly_a_price() {
        let priced = |pairs| {
            let loss = at_two_rates(pairs, |_| 0.03);
            loss.priced(UNKNOWN) / loss.random
        };
        assert!(priced(1) > 0.05, "one pair tells little: {}", priced(1));
        assert!(priced(60) < 0.01, "{}", priced(60));
    }

    #[test]
    fn what_follows_the_rate_has_its_whole_price() {
        // As of one of ten senders.
        let loss = at_two_rates(60, |rate| 0.1 + 0.1 * (rate / 50.0).ln());
        assert!(loss.is_nobodys(0.8) < 1e-3, "{loss:?}");
        assert!(loss.priced(UNKNOWN) > 0.99 * loss.random && loss.random > 0.0, "{loss:?}");
    }

    #[test]
    fn losses_behind_a_full_queue_are_hardly_nobodys() {
        let loss = Loss { random: 0.05, ..Loss::default() };
        let priced = [0.1, 0.5, 0.9].map(|fullness| loss.priced(fullness));
        assert!(priced.is_sorted() && priced[0] < 0.3 * priced[1] && priced[2] > 1.5 * priced[1], "{priced:?}");
    }

    #[test]
    fn many_losses_are_rarely_nobodys() {
        let odds = |random| {
            let loss = Loss { random, ..Loss::default() };
            let nobodys = 1.0 - loss.priced(UNKNOWN) / random;
            nobodys / (1.0 - nobodys)
        };
        assert!((odds(1e-6) / 4.0 - 1.0).abs() < 1e-3 && (odds(0.1) * 1.0_f64.exp() / 4.0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn marks_are_taken_for_nobodys_until_they_follow_the_rate() {
        for (marked, is_priced) in [([1.0, 1.0], false), ([0.5, 0.5], false), ([0.02, 0.12], true)] {
            let mut loss = Loss::default();
            for at in 0..40 {
                let slow = at % 10 == 0;
                let mut both = pair(at, if slow { 25.0 } else { 50.0 }, |_| 0.0, |_| 0.0);
                for probe in [&mut both.first, &mut both.second] {
                    probe.packets_marked = (f64::from(probe.packets) * marked[usize::from(!slow)]) as u32;
                }
                loss.update(&both, UNKNOWN);
            }
            assert_eq!(loss.priced_marks(0.1) > 0.05, is_priced, "{marked:?}: {loss:?}");
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
            loss.update(&pair, UNKNOWN);
        }
        loss
    }

    #[test]
    fn losses_that_come_with_a_longer_queue_are_somebodys() {
        let of_three = |at: u64, much| if at.is_multiple_of(3) { much } else { 0.0 };
        let is_free = |more: &dyn Fn(u64) -> (f64, f64)| whatever_we_send(more).is_nobodys(0.8) > 0.5;
        assert!(is_free(&|at| (0.0, of_three(at, 0.01))), "a queue alone is no overflow");
        assert!(is_free(&|at| (of_three(at, 0.02), 0.0)), "nor are more losses at times");
        assert!(!is_free(&|at| (of_three(at, 0.02), of_three(at, 0.01))), "both at once are");
        assert!(is_free(&|at| (of_three(at, 0.02), of_three(at + 1, 0.01))), "and at different times they are not");
    }

    #[test]
    fn the_evidence_is_bayes() {
        // Of a slope of 0.1 ± 0.1, nothing else scatters.
        let regression = LossRegression { xx: 100.0, xy: 10.0, yy: 1.0, samples: 3.0, ..LossRegression::default() };
        let likelier = |slope: f64| (slope * 10.0 - slope * slope * 50.0).exp();
        let mean = [0.03, 0.1, 0.3, 1.0].map(likelier).iter().sum::<f64>() / 4.0;
        assert!((regression.answers() - mean).abs() < 1e-12);
        assert!((regression.rises() - (0.5_f64.exp() - 1.0) / 2.5_f64.sqrt()).abs() < 1e-12);
        // Nine samples that scatter twice as much as they say tell half as much.
        let scattered = LossRegression { yy: 1.0 + 2.0 * 8.0, samples: 9.0, ..regression };
        assert!(
            (scattered.answers() - SLOPES.map(|slope| likelier(slope).sqrt()).iter().sum::<f64>() / 4.0).abs() < 1e-12
        );
        let falling = LossRegression { xy: -10.0, ..regression };
        assert!(falling.answers() < 0.7 && falling.rises().abs() < 1e-12, "{falling:?}");
        let nothing = LossRegression::default();
        assert!((nothing.answers() - 1.0).abs() < 1e-12 && nothing.rises().abs() < 1e-12);
    }

    #[test]
    fn a_probe_is_compared_with_those_of_late() {
        let mut regression = LossRegression::default();
        regression.take(100.0, 10.0, 5, 0.0);
        assert!(regression.xx <= 0.0 && regression.samples <= 0.0, "the first one has none before it: {regression:?}");
        regression.take(100.0, 20.0, 5, 0.5);
        regression.take(100.0, 40.0, 5, 0.5);
        let near =
            |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
        // Of the sums with the new probe in them, each loss of so many in a row.
        let weight = |late: f64, lost: f64, bursts: f64| {
            let loss = (lost + 1.0) / (late + 102.0);
            1.0 / (loss * (1.0 - loss) * lost / bursts * (0.01 + 1.0 / late))
        };
        let late = [97.5, 0.975 * 197.5];
        let first = weight(late[0], 29.75, 9.875);
        let second = weight(late[1], 0.975 * 29.75 + 40.0, 0.975 * 9.875 + 5.0);
        let (x, y) = (0.5 - 0.975 * 50.0 / late[1], 0.4 - 0.975 * 29.75 / late[1]);
        let kept = 2500.0 / 2540.0;
        near(regression.xx, kept * first * 0.25 + second * x * x);
        near(regression.xy, kept * first * 0.05 + second * x * y);
        near(regression.yy, kept * first * 0.01 + second * y * y);
        near(regression.samples, kept + 1.0);
    }

    #[test]
    fn what_is_known_counts_by_the_losses_since() {
        let mut regression = LossRegression::default();
        for (lost, samples) in [(0.0, 0.0), (0.0, 1.0), (0.0, 1.0 + RECENT), (2500.0, 1.5 + RECENT / 2.0)] {
            regression.take(10_000.0, lost, 3, 0.0);
            assert!((regression.samples - samples).abs() < 1e-9, "{regression:?}");
        }
        let bursts = [1, 2, 3, 4].map(|times| 3.0 * RECENT.powi(times)).iter().sum::<f64>();
        assert!((regression.bursts - bursts).abs() < 1e-9, "{regression:?}");
    }

    #[test]
    fn a_queue_of_others_is_as_likely_as_its_evidence() {
        // Schwarz: e² − 1 over the root of 1 + 2/2.
        let queue = LossRegression { xx: 1.0, xy: 2.0, yy: 4.0, samples: 2.0, ..LossRegression::default() };
        let loss = Loss { overflows: queue, ..Loss::default() };
        let overflows = (2.0_f64.exp() - 1.0) / 2.0_f64.sqrt() / 20.0;
        assert!((loss.is_nobodys(UNKNOWN) - 0.8 / (1.0 + overflows)).abs() < 1e-12);
    }

    #[test]
    fn no_evidence_is_endless_and_no_probe_without_packets_tells() {
        let regression = LossRegression { xx: 1.0, xy: 1e6, yy: 1e12, samples: 100.0, ..LossRegression::default() };
        let most = CERTAIN.exp();
        assert!(regression.rises() <= most && regression.answers() <= most, "{regression:?}");
        let mut regression = LossRegression::default();
        for packets in [0, 0, 100, 0, 100, 100] {
            regression.take(packets.into(), f64::from(packets) / 10.0, packets / 10, 0.0);
        }
        assert!((regression.answers() - 1.0).abs() < 1e-9 && regression.samples > 1.0, "{regression:?}");
    }

    #[test]
    fn a_probe_without_an_rtt_tells_of_no_queue() {
        let mut loss = Loss::default();
        let mut blind = pair(0, 50.0, |_| 0.1, |_| 0.0);
        blind.first.rtt = None;
        loss.update(&blind, UNKNOWN);
        let packets = |regression: LossRegression| regression.packets / 10_000.0;
        assert!((packets(loss.overflows) - 0.975).abs() < 1e-9);
        assert!((packets(loss.losses) - 0.975 * 1.975).abs() < 1e-9);
    }
}
