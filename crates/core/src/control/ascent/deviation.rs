//! How much the RTT deviates because of others.
//!
//! A utility may ask for the standard deviation of an interval's RTT samples: `scavenger` does, since others make the RTT vary
//! before they lose packets. Probes are too short to see that: a sawtooth of CUBIC has seconds, a probe 25 ms at the most. An
//! interval long enough would see what the RTTs of many probes deviate by; and as much is foreseen of the next, at any rate, since
//! what others do is not changed by our next step.
//!
//! What varies with our own part of the queue is our own doing, and where all that ever goes through is ours, so is all that
//! varies: or a lone sender would give way to itself, to a radio or to its host. Of the queue we have at most what its growth
//! answers to our rate by, two errors above the mean; of what goes through it, what is carried for us.

/// So long is remembered. Unit: s. With 3 s a sawtooth of CUBIC, 7 s at 100 Mbit/s and 30 ms, counts throughout; and who finds
/// himself alone is himself again after some ten.
const MEMORY: f64 = 3.0;
crate::shared::shared_with_c!("DEVIATION_" [] MEMORY);

/// Of others' part of the queue: its mean, when it was taken in last, and by how much it differs from the mean in the mean.
/// Unit: s.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deviation {
    last: Option<(f64, f64)>,
    /// Whether the next look follows that one: time of which nothing was seen counts for none.
    follows: bool,
    mean: f64,
}

impl Deviation {
    /// Takes in others' part of the queue at this time. Both in seconds.
    pub(super) fn learn(&mut self, at: f64, theirs: f64) {
        let (mean, then) = self.last.unwrap_or((theirs, at));
        let then = if self.follows { then } else { at };
        let weight = ((at - then) / MEMORY).clamp(0.0, 1.0);
        self.mean += weight * ((theirs - mean).abs() - self.mean);
        (self.last, self.follows) = (Some((mean + weight * (theirs - mean), at)), true);
    }

    /// The next look does not follow the latest one.
    pub(super) const fn interrupt(&mut self) {
        self.follows = false;
    }

    pub(super) const fn seconds(&self) -> f64 {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many seconds of pairs, ten a second.
    fn seconds(deviation: &mut Deviation, from: u32, to: u32, theirs: impl Fn(f64) -> f64) -> f64 {
        for at in (10 * from..10 * to).map(|tenths| f64::from(tenths) / 10.0) {
            deviation.learn(at, theirs(at));
        }
        deviation.seconds()
    }

    /// From 12 to 30 ms of queue in seven seconds, over and over.
    fn sawtooth(at: f64) -> f64 {
        0.012 + 0.018 * (at / 7.0).fract()
    }

    #[test]
    fn a_sawtooth_of_others_counts() {
        let found = seconds(&mut Deviation::default(), 0, 60, sawtooth);
        assert!((0.002..0.006).contains(&found), "{found}");
    }

    #[test]
    fn it_is_forgotten_where_nothing_varies_any_more() {
        let mut deviation = Deviation::default();
        seconds(&mut deviation, 0, 60, sawtooth);
        let (soon, late) = (seconds(&mut deviation, 60, 63, |_| 0.0), seconds(&mut deviation, 63, 80, |_| 0.0));
        assert!(soon > 0.002 && late < 0.0002, "{soon} {late}");
    }

    #[test]
    fn after_a_pause_one_look_is_not_the_mean() {
        for (interrupted, is_kept) in [(true, true), (false, false)] {
            let mut deviation = Deviation::default();
            let before = seconds(&mut deviation, 0, 60, sawtooth);
            if interrupted {
                deviation.interrupt();
            }
            deviation.learn(70.0, 0.05);
            assert_eq!((deviation.seconds() - before).abs() < 1e-12, is_kept, "{before}: {deviation:?}");
            deviation.learn(70.1, 0.05);
            assert!((deviation.seconds() - before).abs() > 1e-5, "the next one follows it");
        }
    }

    #[test]
    fn how_often_it_is_looked_at_changes_little() {
        let often = seconds(&mut Deviation::default(), 0, 60, sawtooth);
        let mut seldom = Deviation::default();
        (0..60).for_each(|at| seldom.learn(f64::from(at), sawtooth(f64::from(at))));
        assert!((often / seldom.seconds() - 1.0).abs() < 0.4, "{often} {}", seldom.seconds());
    }
}
