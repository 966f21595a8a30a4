//! The level of the queue: the RTT above the base RTT. This file owns the base RTT.
//!
//! The base RTT is the least that was seen. A path that became longer, or a radio that holds every packet back, looks like a
//! queue that never empties. An experiment tells: where the rate fell and the level did not, one pair is sent at half the rate.
//! A queue falls then, or rises where somebody else fills it. A delay that stays is the path's from then on, until the level is
//! seen below it. A level that certainly responds to our rate is tested too, unless it is all ours: in a crowd all see it stand while
//! their rates fall, and the tests drain it.

use super::pair::{Pair, RESOLUTION, WEIGHT};
use crate::control::response::{ERRORS, Estimate};
use crate::interval::ACHIEVED_SHARE;

/// A test is due when the rate has fallen below this share of the reference's rate, while the level has not fallen below
/// [`STILL_THERE`] of the reference's level.
const SUSPICIOUS_FALL: f64 = 0.93;
/// Share of the reference's level; see [`SUSPICIOUS_FALL`].
const STILL_THERE: f64 = 0.7;
/// A queue of fewer of our own packets is not seen.
pub(super) const TELLING_PACKETS: f64 = 3.0;
/// A longer level is tested, however large packets are: about the queue that `fair` keeps alone on 100 Mbit/s. Unit: s.
pub(super) const TELLING: f64 = 0.0005;
/// By so many standard errors a level moved in a test.
const CERTAIN: f64 = 3.0;
/// Errors below which a level is too short for a test of it to tell anything. Other values: `docs/sweeps/loss-tells.md`. Without an end
/// the rate of a path that changes every 5 s falls from 0.85 to 0.57 (row 5 of the score).
const TELLABLE: f64 = 12.0;
/// Loss rate of a queue that overflows, which a radio's delay does not. Other values, for crowds and for one sender:
/// `docs/sweeps/loss-tells.md`.
const OVERFLOWS: f64 = 0.01;
/// Two errors of a reading: more than this is a radio's, not a host's or a wire's. Unit: s.
const NOISY: f64 = 0.005;
/// A queue of this, or of one RTT where that is less, is hardly told from none. Unit: s.
const EMPTY: f64 = 0.002;
/// From test to test it takes so long whatever the RTT is: who tests more often gives way more often, and flows of 10 and 100 ms
/// share 1.5 : 1 by a test as soon as it is due. They share 1.1 : 1 by 0.2, 0.3 and 0.4 s (row 4 of the score). In 1 BDP 32 senders
/// lose 1.9 % by 0.1 s and 2.8 % by 0.2 s in the worst seed (row 41). Unit: s.
const REST: f64 = 0.2;
/// The longest queue is forgotten by this each pair: half of it after 700.
const FORGETTING: f64 = 0.999;
crate::shared::shared_with_c!("LEVEL_" []
    SUSPICIOUS_FALL, STILL_THERE, TELLING_PACKETS, TELLING, CERTAIN, TELLABLE, OVERFLOWS, NOISY, EMPTY, REST, FORGETTING
);

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Doubt {
    #[default]
    None,
    /// The next pair shall be a test of this level.
    Wanted(f64),
    /// The pair that begins with this probe is one.
    Testing(f64, u8),
}

/// What the RTT says of the queue. Unit: s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reading {
    /// The queueing delay as far as it stands out of the noise.
    pub(super) level: f64,
    /// Two errors of a reading.
    pub(super) noise: f64,
}

impl Reading {
    /// How far the level may be noise, 0 to 1: n²/(n² + q²) where readings are as noisy as a radio's, else 0.
    pub(super) fn doubt(&self) -> f64 {
        let (noise, level) = (self.noise * self.noise, self.level * self.level);
        if self.noise > NOISY { noise / (noise + level) } else { 0.0 }
    }
}

/// All times in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    /// The least RTT.
    least: f64,
    /// What a test found to be the path's own beyond that.
    base_offset: f64,
    /// Mean absolute difference between a reading and the forecast from the reading before and the growth since.
    noise: f64,
    /// Number of those differences, up to the mean's memory.
    differences: f64,
    /// The latest RTT above the least.
    last: f64,
    /// The longest of late.
    longest: f64,
    /// When that was. `None` after a pause: the queue may have changed, which is no error of a reading.
    read_at: Option<f64>,
    /// The rate and the level that the present ones are compared with.
    reference: (f64, f64),
    doubt: Doubt,
    /// When the latest test was sent.
    tested_at: f64,
}

impl Level {
    /// The queue above a path of this RTT.
    pub(super) fn above(least: f64) -> Self {
        Self { least, ..Self::default() }
    }

    /// RTT of the path without a queue.
    pub(super) fn base(&self) -> f64 {
        self.least + self.base_offset
    }

    /// A pair begins with this probe. The share of the rate to send it at: half for a test.
    pub(super) fn begin_pair(&mut self, probe: u8) -> f64 {
        let Doubt::Wanted(level) = self.doubt else { return 1.0 };
        self.doubt = Doubt::Testing(level, probe);
        0.5
    }

    /// Two errors of a reading. Unit: s.
    pub(super) fn noise(&self) -> f64 {
        ERRORS * self.noise
    }

    /// The next reading does not follow the latest one.
    pub(super) const fn interrupt(&mut self) {
        self.read_at = None;
    }

    /// Ends a test without a result.
    pub(super) const fn forget_test(&mut self) {
        self.doubt = Doubt::None;
    }

    /// The level at the end of a pair through which the queue grew so fast.
    pub(super) fn read(&mut self, pair: &Pair, growth: f64) -> Option<Reading> {
        let least = pair.least_rtt()?;
        let lowest = pair.first.rtt_least.map_or(least, |first| first.as_secs_f64().min(least));
        self.least = self.least.min(lowest);
        // The queue grew through the interval: its least was at the beginning.
        let above = (least - self.least + growth.max(0.0) * pair.second.duration.as_secs_f64()).max(0.0);
        let at = pair.second.started.as_secs_f64();
        let residual = pair.second.rtt_residual.as_secs_f64();
        if let Some(then) = self.read_at.replace(at) {
            let unexpected = (above - self.last - growth * (at - then)).abs();
            // The first ones count alike, or a mean that starts at 0 would be too sure.
            self.differences = (self.differences + 1.0).min(1.0 / WEIGHT);
            self.noise += (unexpected.max(residual) - self.noise) / self.differences;
        }
        self.last = above;
        self.longest = (FORGETTING * self.longest).max(above);
        let noise = self.noise();
        // A level that is certainly below the offset shows that the offset was none of the path's.
        self.base_offset = self.base_offset.min(above + noise);
        let level = Estimate { mean: (above - self.base_offset).max(0.0), variance: noise * noise }.wiener();
        Some(Reading { level, noise })
    }

    /// The level as it was read, noise and all. Unit: s.
    pub(super) fn raw(&self) -> f64 {
        (self.last - self.base_offset).max(0.0)
    }

    /// How full the longest queue of late is, above 0 and below 1; half where neither is told from an empty one. Counted from
    /// the least RTT, since a queue that others keep full stands in a test, and would be the path's.
    pub(super) fn fullness(&self) -> f64 {
        let empty = EMPTY.min(self.base());
        (self.last + empty) / (self.longest + 2.0 * empty)
    }

    /// Asks for a test if the rate fell and the level, if it is not nothing, did not.
    pub(super) fn request_test(&mut self, pair: &Pair) {
        let (rate, now) = (pair.rate(), self.raw());
        let rested = pair.second.started.as_secs_f64() > self.tested_at + REST;
        let (before, level) = self.reference;
        if now < STILL_THERE * level || now < negligible(pair) || rate > before {
            self.reference = (rate, now);
        } else if rate < SUSPICIOUS_FALL * before && self.doubt == Doubt::None && rested {
            self.doubt = Doubt::Wanted(now);
        }
    }

    /// Whether the pair that began with this probe was a test. What stands in one is the path's; where packets are so few that
    /// nothing can be told, losses tell.
    pub(super) fn on_tested(&mut self, probe: u8, pair: &Pair, random_loss: f64) -> bool {
        let Doubt::Testing(before, tested) = self.doubt else { return false };
        if tested != probe {
            // A later pair: nothing of the test came back.
            if probe.wrapping_sub(tested) < u8::MAX / 2 {
                self.forget_test();
            }
            return false;
        }
        self.doubt = Doubt::None;
        self.tested_at = pair.second.started.as_secs_f64();
        let after = pair.least_rtt().map_or(before, |least| least - self.base());
        let overflows = random_loss > OVERFLOWS && before < TELLABLE * self.noise;
        if overflows || (before - after).abs() > (CERTAIN * self.noise).max(RESOLUTION) {
            self.reference = (2.0 * pair.rate(), after.max(0.0));
        } else if pair.rate() >= ACHIEVED_SHARE * pair.target() {
            // Where less was sent, a window held the sender back, and a window keeps its queue at any rate.
            self.base_offset += before;
            self.reference = (pair.rate(), 0.0);
        }
        true
    }
}

/// A level below this changes no rate, and is not tested. A higher one must be, or a path that became longer would be a queue for
/// ever. Unit: s.
fn negligible(pair: &Pair) -> f64 {
    (TELLING_PACKETS * pair.packet_time()).min(TELLING)
}

#[cfg(test)]
mod readings;

#[cfg(test)]
mod tests {
    use super::super::pair::tests::{RTT, pair};
    use super::*;
    use crate::interval::Report;

    const STEP: f64 = 0.03;

    impl Level {
        /// Whether the base RTT is more than the least RTT.
        pub(in super::super) fn is_raised(&self) -> bool {
            self.base_offset > 0.0
        }

        /// Whether the next reading follows the latest one.
        pub(in super::super) fn follows(&self) -> bool {
            self.read_at.is_some()
        }
    }

    /// So many pairs at this rate behind this queue; sent at half of it where a test is asked for, through which the queue
    /// is as `tested` says of what it was.
    pub(super) fn pairs(
        level: &mut Level,
        at: &mut u64,
        rate: f64,
        queue: f64,
        tested: impl Fn(f64) -> f64,
    ) -> Reading {
        let mut reading = Reading { level: 0.0, noise: 0.0 };
        for _ in 0..20 {
            let probe = 2 * *at as u8;
            let share = level.begin_pair(probe);
            let queue = if share < 1.0 { tested(queue) } else { queue };
            let pair = pair(*at, rate * share, |_| 0.0, |_| queue);
            *at += 1;
            reading = level.read(&pair, 0.0).unwrap();
            if !level.on_tested(probe, &pair, 0.0) {
                level.request_test(&pair);
            }
        }
        reading
    }

    #[test]
    fn the_level_is_what_is_above_the_least_rtt() {
        let mut level = Level::above(RTT);
        let reading = pairs(&mut level, &mut 0, 100.0, 0.002, |queue| queue);
        assert!((reading.level - 0.002).abs() < 1e-4, "{reading:?}");
        assert!((level.base() - RTT).abs() < 1e-9 && !level.is_raised());
    }

    #[test]
    fn a_level_that_stays_although_the_rate_fell_is_the_path_s() {
        let (mut level, mut at) = (Level::above(RTT), 0);
        pairs(&mut level, &mut at, 100.0, 0.02, |queue| queue);
        pairs(&mut level, &mut at, 80.0, 0.02, |queue| queue);
        assert!((level.base() - RTT - 0.02).abs() < 1e-3 && level.is_raised(), "{level:?}");
        let reading = pairs(&mut level, &mut at, 80.0, 0.023, |queue| queue);
        assert!((reading.level - 0.003).abs() < 1e-3, "what comes on top is a queue again: {reading:?}");
    }

    #[test]
    fn few_readings_tell_their_noise_as_well_as_many() {
        for readings in [3, 8, 60] {
            let mut level = Level::above(RTT);
            for at in 0..readings {
                let queue = if at % 2 == 0 { 0.02 } else { 0.022 };
                level.read(&pair(at, 100.0, |_| 0.0, |_| queue), 0.0);
            }
            assert!((level.noise - 0.002).abs() < 2e-4, "{} after {readings}", level.noise);
        }
    }

    #[test]
    fn a_level_that_falls_at_half_of_the_rate_is_a_queue() {
        let (mut level, mut at) = (Level::above(RTT), 0);
        pairs(&mut level, &mut at, 100.0, 0.02, |queue| queue);
        let reading = pairs(&mut level, &mut at, 80.0, 0.02, |queue| queue - STEP / 4.0);
        assert!(!level.is_raised() && reading.level > 0.015, "{level:?} {reading:?}");
    }

    #[test]
    fn who_fills_what_we_leave_an_rtt_later_is_told_from_the_path() {
        // A pair of ten RTT at an eighth of what all send: the queue falls by what an RTT at half of that leaves, no more.
        let mut level = Level::above(RTT);
        level.noise = 1e-4;
        level.doubt = Doubt::Testing(0.02, 6);
        let slow = pair(0, 40.0, |_| 0.0, |_| 0.02 - RTT / 16.0);
        let long = Pair {
            first: Box::new(Report { duration: 10 * slow.first.duration, ..(*slow.first).clone() }),
            second: Box::new(Report { duration: 10 * slow.second.duration, ..(*slow.second).clone() }),
        };
        assert!(level.on_tested(6, &long, 0.0));
        assert!(!level.is_raised(), "{level:?}");
    }

    #[test]
    fn losses_tell_what_a_test_of_few_packets_does_not() {
        for (random_loss, noise, is_the_path_s) in [(0.011, 0.002, false), (0.009, 0.002, true), (0.011, 0.0015, true)]
        {
            let mut level = Level { noise, doubt: Doubt::Testing(0.02, 6), ..Level::above(RTT) };
            assert!(level.on_tested(6, &pair(0, 40.0, |_| 0.0, |_| 0.02), random_loss));
            assert_eq!(level.is_raised(), is_the_path_s, "{random_loss} lost, readings within {noise} s");
            assert_eq!(level.reference.1 > 0.0, !is_the_path_s, "a queue is compared with from then on: {level:?}");
        }
    }

    #[test]
    fn nothing_is_tested_while_the_rate_stays() {
        for (rate, is_tested) in [(80.0, true), (94.0, false)] {
            let mut level = Level::above(RTT);
            let shares = (0..40).map(|at| {
                let pair = pair(at, if at < 20 { 100.0 } else { rate }, |_| 0.0, |_| 0.02);
                let share = level.begin_pair(0);
                level.read(&pair, 0.0);
                level.request_test(&pair);
                share
            });
            assert_eq!(shares.fold(1.0, f64::min) < 0.9, is_tested, "rate {rate}");
        }
    }

    #[test]
    fn from_test_to_test_it_takes_the_same_time_at_any_rtt() {
        for spacing in [1, 2] {
            let (mut level, mut tests) = (Level::above(RTT), Vec::new());
            for at in 0..200 {
                let pair = pair(spacing * at, 100.0 * 0.97_f64.powf(at as f64), |_| 0.0, |_| 0.02);
                if level.begin_pair(0) < 1.0 {
                    tests.push(pair.second.started.as_secs_f64());
                }
                level.read(&pair, 0.0);
                level.on_tested(0, &pair, 0.0);
                (level.base_offset, level.reference) = (0.0, (12.5e6, 0.02));
                level.request_test(&pair);
            }
            let apart = tests.windows(2).map(|two| two[1] - two[0]).fold(f64::MAX, f64::min);
            assert!(tests.len() > 5 && (REST..REST + 0.12).contains(&apart), "{apart} s apart: {tests:?}");
        }
    }

    #[test]
    fn a_path_that_becomes_shorter_ends_the_offset() {
        let (mut level, mut at) = (Level::above(RTT), 0);
        pairs(&mut level, &mut at, 100.0, 0.02, |queue| queue);
        pairs(&mut level, &mut at, 80.0, 0.02, |queue| queue);
        for _ in 0..3 {
            pairs(&mut level, &mut at, 80.0, 0.0, |queue| queue);
        }
        assert!(level.base() - RTT < 1e-3, "{level:?}");
    }

    #[test]
    fn a_level_that_rises_at_half_of_the_rate_is_somebody_else_s() {
        let (mut level, mut at) = (Level::above(RTT), 0);
        pairs(&mut level, &mut at, 100.0, 0.02, |queue| queue);
        let reading = pairs(&mut level, &mut at, 80.0, 0.02, |queue| queue + STEP / 4.0);
        assert!(!level.is_raised() && reading.level > 0.015, "{level:?} {reading:?}");
    }

    #[test]
    fn a_test_is_judged_by_its_own_pair() {
        let mut level = Level::above(RTT);
        level.doubt = Doubt::Wanted(0.02);
        assert_eq!(level.begin_pair(6).to_bits(), 0.5_f64.to_bits());
        let before = pair(0, 80.0, |_| 0.0, |_| 0.02);
        assert!(!level.on_tested(4, &before, 0.0), "it left before");
        assert!(!level.is_raised() && level.begin_pair(8).to_bits() == 1.0_f64.to_bits());
        assert!(level.on_tested(6, &pair(1, 40.0, |_| 0.0, |_| 0.02), 0.0));
        assert!(level.is_raised(), "{level:?}");
    }
}
