//! Tells which RTT samples belong to a burst. A radio or a host that held acknowledgements back releases them at once,
//! and their wait says nothing about the path's queue. Source: `SIGCOMM 2020` (PCC Proteus).
//!
//! Where the time between two acknowledgements is so many times longer or shorter than the one before it, samples are left
//! out until one is below the mean. Deviates: the authors' program compares with the mean ratio of gaps, which is
//! infinite from the first two acknowledgements at one instant on, so that it leaves out nothing any more.

use crate::units::Timestamp;
use core::time::Duration;

/// Weight of a sample in the mean RTT (RFC 9002 §5.3).
const WEIGHT: f64 = 0.125;

/// Detects bursts of acknowledgements; with a ratio of 0 nothing is one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bursts {
    ratio: f64,
    /// When the latest acknowledgement came.
    latest: Option<Timestamp>,
    /// How long after the one before it. Unit: s.
    gap: Option<f64>,
    /// Unit: s.
    mean_rtt: Option<f64>,
    inside: bool,
}

impl Bursts {
    /// Two acknowledgements at one instant are so far apart. Unit: s.
    const INSTANT: f64 = 1e-9;

    /// The ratio of two gaps in a row that shows a burst.
    pub(crate) const fn with_ratio(ratio: f64) -> Self {
        Self { ratio, latest: None, gap: None, mean_rtt: None, inside: false }
    }

    #[cfg(test)]
    pub(crate) const fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Takes in an acknowledgement: whether its sample is one of the path.
    pub(crate) fn is_of_the_path(&mut self, now: Timestamp, rtt: Duration) -> bool {
        if self.ratio <= 0.0 {
            return true;
        }
        let rtt = rtt.as_secs_f64();
        let mean = self.mean_rtt.unwrap_or(rtt);
        self.mean_rtt = Some(mean + WEIGHT * (rtt - mean));
        let gap = self.latest.replace(now).map(|latest| now.since(latest).as_secs_f64().max(Self::INSTANT));
        let before = core::mem::replace(&mut self.gap, gap);
        let ratio = gap.zip(before).map_or(1.0, |(gap, before)| (gap / before).max(before / gap));
        self.inside = ratio > self.ratio || (self.inside && rtt >= mean);
        !self.inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Acknowledgements after so many µs each, with these RTTs in µs; which of them are of the path.
    fn seen(ratio: f64, acks: &[(u64, u64)]) -> Vec<bool> {
        let (mut bursts, mut now) = (Bursts::with_ratio(ratio), Timestamp::ZERO);
        let mut one = |&(gap, rtt): &(u64, u64)| {
            now = now + Duration::from_micros(gap);
            bursts.is_of_the_path(now, Duration::from_micros(rtt))
        };
        acks.iter().map(&mut one).collect()
    }

    #[test]
    fn a_long_gap_leaves_samples_out_until_one_is_low() {
        let acks =
            [(0, 30_000), (100, 30_000), (100, 30_000), (5001, 35_000), (100, 34_000), (100, 32_000), (100, 30_000)];
        // The mean is 30.6, 31.0 and 31.2 ms by then.
        assert_eq!(seen(50.0, &acks), [true, true, true, false, false, false, true]);
    }

    #[test]
    fn a_gap_fifty_times_shorter_is_a_burst_too() {
        for gap in [0, 1] {
            assert_eq!(seen(50.0, &[(0, 30_000), (100, 30_000), (gap, 30_000)]), [true, true, false], "{gap} µs");
        }
        assert_eq!(seen(50.0, &[(0, 30_000), (100, 30_000), (3, 30_000)]), [true; 3]);
    }

    #[test]
    fn gaps_that_change_less_are_path_s_and_without_ratio_all_are() {
        assert_eq!(seen(50.0, &[(0, 30_000), (100, 30_000), (4999, 35_000), (101, 35_000)]), [true; 4]);
        assert_eq!(seen(0.0, &[(0, 30_000), (100, 30_000), (500_000, 35_000), (0, 35_000)]), [true; 4]);
    }
}
