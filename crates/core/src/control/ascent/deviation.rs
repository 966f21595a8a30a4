//! How much the RTT deviates because of others.
//!
//! A utility may ask for the standard deviation of an interval's RTT samples: `scavenger` does, since others make the RTT vary
//! before they lose packets. Probes are too short to see that: a sawtooth of CUBIC has seconds, a probe 25 ms at the most. An
//! interval long enough would see what the RTTs of many probes deviate by; and as much is foreseen of the next, at any rate, since
//! what others do is not changed by our next step. What varies while the queue is all our own is our own doing.

/// So long is remembered. Unit: s. With 3 s a sawtooth of CUBIC, 7 s at 100 Mbit/s and 30 ms, counts throughout; and who finds
/// himself alone is himself again after some ten.
const MEMORY: f64 = 3.0;

/// Of the least RTT of pairs, which noise hardly raises: its mean, when it was taken in last, and by how much it differs from the
/// mean in the mean. Unit: s.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deviation {
    last: Option<(f64, f64)>,
    mean: f64,
}

impl Deviation {
    /// Takes in an RTT of that time, of a queue that is all ours or not.
    pub(super) fn learn(&mut self, rtt: f64, at: f64, is_ours: bool) {
        let (mean, then) = self.last.unwrap_or((rtt, at));
        let mean = if is_ours { rtt } else { mean };
        let weight = ((at - then) / MEMORY).clamp(0.0, 1.0);
        self.mean += weight * ((rtt - mean).abs() - self.mean);
        self.last = Some((mean + weight * (rtt - mean), at));
    }

    pub(super) const fn seconds(&self) -> f64 {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many seconds of pairs, ten a second.
    fn seconds(deviation: &mut Deviation, from: u32, to: u32, rtt: impl Fn(f64) -> f64, is_ours: bool) -> f64 {
        for at in (10 * from..10 * to).map(|tenths| f64::from(tenths) / 10.0) {
            deviation.learn(rtt(at), at, is_ours);
        }
        deviation.seconds()
    }

    /// From 12 to 30 ms of queue in seven seconds, over and over.
    fn sawtooth(at: f64) -> f64 {
        0.042 + 0.018 * (at / 7.0).fract()
    }

    #[test]
    fn a_sawtooth_of_others_counts_and_one_of_our_own_does_not() {
        for (is_ours, expected) in [(false, 0.002..0.006), (true, 0.0..1e-12)] {
            let found = seconds(&mut Deviation::default(), 0, 60, sawtooth, is_ours);
            assert!(expected.contains(&found), "{found}");
        }
    }

    #[test]
    fn it_is_forgotten_where_nothing_varies_any_more() {
        let mut deviation = Deviation::default();
        seconds(&mut deviation, 0, 60, sawtooth, false);
        let (soon, late) =
            (seconds(&mut deviation, 60, 63, |_| 0.03, false), seconds(&mut deviation, 63, 80, |_| 0.03, false));
        assert!(soon > 0.002 && late < 0.0002, "{soon} {late}");
    }

    #[test]
    fn how_often_it_is_looked_at_changes_little() {
        let often = seconds(&mut Deviation::default(), 0, 60, sawtooth, false);
        let mut seldom = Deviation::default();
        (0..60).for_each(|at| seldom.learn(sawtooth(f64::from(at)), f64::from(at), false));
        assert!((often / seldom.seconds() - 1.0).abs() < 0.4, "{often} {}", seldom.seconds());
    }
}
