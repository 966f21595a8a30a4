//! How much the RTT deviates because of others.
//!
//! A utility may ask for the standard deviation of an interval's RTT samples. `scavenger` does, since others make the RTT vary
//! before they lose packets. A probe of at most 25 ms is too short to see a CUBIC's sawtooth of seconds. So the deviation is
//! taken over the RTTs of many probes, and forecast for the next one at any rate: others do not change by our next step.
//!
//! Our own part of the queue does not count, or a lone sender would give way to itself, to a radio or to its host. Our part of
//! the queue is at most the response of its growth to our rate, two errors above the mean. Our part of the traffic is what was
//! carried for us, of the most that was ever seen to go through.

use super::pair::WEIGHT;

/// Time constant of both means. Unit: s. CUBIC's sawtooth has 7 s at 100 Mbit/s and 30 ms, and counts throughout; a sender that
/// is alone again is undisturbed after some 10 s.
const MEMORY: f64 = 3.0;
crate::shared::shared_with_c!("DEVIATION_" [] MEMORY);

/// What a pair says of others. Times in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// How long after the pair before it; 0 after a pause, since time of which nothing was seen counts for none.
    pub(super) since: f64,
    /// The RTT above the path's own.
    pub(super) above: f64,
    /// What was carried for us.
    pub(super) carried: f64,
    /// Our part of the queue is no more than this.
    pub(super) ours: f64,
    /// There certainly is a queue, and not all of it is ours.
    pub(super) shared: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deviation {
    /// Mean of others' part of the queue. Unit: s.
    theirs: Option<f64>,
    /// Mean absolute difference from it. Unit: s.
    pub(super) mean: f64,
    /// What goes through the queue, ours and theirs, as far as it was seen. Unit: byte/s.
    pub(super) total_throughput: f64,
}

impl Deviation {
    /// Takes in a pair.
    pub(super) fn learn(&mut self, sample: Sample) {
        let Sample { since, above, carried, ours, shared } = sample;
        self.total_throughput = self.total_throughput.max(carried);
        if shared {
            self.total_throughput += WEIGHT * (carried / ours - self.total_throughput).max(0.0);
        }
        // Others have at most the rest of the queue, and at most the rest of the traffic.
        let theirs = above * (1.0 - ours.max(carried / self.total_throughput)).max(0.0);
        let mean = self.theirs.unwrap_or(theirs);
        let weight = (since / MEMORY).clamp(0.0, 1.0);
        self.mean += weight * ((theirs - mean).abs() - self.mean);
        self.theirs = Some(mean + weight * (theirs - mean));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many seconds of pairs, ten a second, of a sender that has this part of the queue at the most, and of 100 byte/s.
    fn seconds(deviation: &mut Deviation, from: u32, to: u32, above: impl Fn(f64) -> f64, part: (f64, f64)) -> f64 {
        for at in (10 * from..10 * to).map(|tenths| f64::from(tenths) / 10.0) {
            deviation.learn(sample(0.1, above(at), part));
        }
        deviation.mean
    }

    fn sample(since: f64, above: f64, (ours, carried): (f64, f64)) -> Sample {
        Sample { since, above, carried, ours, shared: ours < 0.75 }
    }

    /// From 12 to 30 ms of queue in seven seconds, over and over.
    fn sawtooth(at: f64) -> f64 {
        0.012 + 0.018 * (at / 7.0).fract()
    }

    const LITTLE: (f64, f64) = (0.1, 10.0);

    #[test]
    fn a_sawtooth_of_others_counts_and_one_of_our_own_does_not() {
        for (part, expected) in [(LITTLE, 0.002..0.006), ((0.5, 50.0), 0.001..0.003), ((1.0, 100.0), 0.0..1e-12)] {
            let found = seconds(&mut Deviation::default(), 0, 60, sawtooth, part);
            assert!(expected.contains(&found), "{part:?}: {found}");
        }
    }

    #[test]
    fn who_carries_all_there_ever_was_is_told_of_nobody_by_a_radio() {
        let radio = |at: f64| if ((10.0 * at) as u32).is_multiple_of(2) { 0.001 } else { 0.003 };
        let mut deviation = Deviation::default();
        let full = Sample { shared: false, ..sample(0.1, 0.0, (0.1, 100.0)) };
        for at in (0..600).map(|tenths| f64::from(tenths) / 10.0) {
            deviation.learn(Sample { above: radio(at), ..full });
        }
        assert!(deviation.mean < 1e-12, "{deviation:?}");
        let idle = seconds(&mut deviation, 60, 70, radio, LITTLE);
        assert!(idle > 5e-4, "one who has a tenth cannot know: {idle}");
    }

    #[test]
    fn it_is_forgotten_where_nothing_varies_any_more() {
        let mut deviation = Deviation::default();
        seconds(&mut deviation, 0, 60, sawtooth, LITTLE);
        let (soon, late) =
            (seconds(&mut deviation, 60, 63, |_| 0.0, LITTLE), seconds(&mut deviation, 63, 80, |_| 0.0, LITTLE));
        assert!(soon > 0.002 && late < 0.0002, "{soon} {late}");
    }

    #[test]
    fn a_queue_that_we_drained_ourselves_is_no_deviation() {
        let mut deviation = Deviation::default();
        seconds(&mut deviation, 0, 10, |_| 0.005, (1.0, 100.0));
        let drained = seconds(&mut deviation, 10, 20, |_| 0.0, LITTLE);
        assert!(drained < 1e-12, "{drained}");
    }

    #[test]
    fn after_a_pause_one_look_is_not_the_mean() {
        for (since, is_kept) in [(0.0, true), (10.0, false)] {
            let mut deviation = Deviation::default();
            let before = seconds(&mut deviation, 0, 60, sawtooth, LITTLE);
            deviation.learn(sample(since, 0.05, LITTLE));
            assert_eq!((deviation.mean - before).abs() < 1e-12, is_kept, "{before}: {deviation:?}");
        }
    }

    #[test]
    fn how_often_it_is_looked_at_changes_little() {
        let often = seconds(&mut Deviation::default(), 0, 60, sawtooth, LITTLE);
        let mut seldom = Deviation::default();
        (0..60).for_each(|at| seldom.learn(sample(1.0, sawtooth(f64::from(at)), LITTLE)));
        assert!((often / seldom.mean - 1.0).abs() < 0.4, "{often} {}", seldom.mean);
    }

    #[test]
    fn others_part_of_the_queue_is_learnt_slowly() {
        let mut deviation = Deviation::default();
        deviation.learn(Sample { shared: false, ..sample(0.0, 0.0, (1.0, 200.0)) });
        // A quarter of what goes through is 100.
        deviation.learn(sample(0.0, 0.0, (0.25, 100.0)));
        assert!((deviation.total_throughput - 200.0 - WEIGHT * 200.0).abs() < 1e-9, "{deviation:?}");
    }
}
