//! Round-trip time of the path: latest, smoothed, variation, minimum. Source: RFC 9002 §5.

use crate::units::Timestamp;
use core::time::Duration;

/// The longest a peer may sit on an acknowledgement (RFC 9000 §18.2, `max_ack_delay`'s default).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// What a path is taken to be before its first sample; the value the user-space prototypes used.
pub(crate) const ASSUMED_RTT: Duration = Duration::from_millis(100);
/// The minimum is looked for in this much of the past (BBR draft §4.1.1, `MinRTTFilterLen`), so that a route change
/// is forgotten.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);

/// RTT statistics of one path; samples include what the peer's acknowledgement delay adds.
#[derive(Clone, Debug, Default)]
pub struct RttEstimator {
    smoothed: Option<Duration>,
    variation: Duration,
    /// Minimum of the running half window and of the one before it.
    minima: [Option<Duration>; 2],
    half_started: Timestamp,
}

impl RttEstimator {
    /// Takes in a sample of RTT made at `now`.
    pub fn update(&mut self, now: Timestamp, sample: Duration) {
        let sample = sample.max(Duration::from_nanos(1));
        match self.smoothed {
            None => (self.smoothed, self.variation) = (Some(sample), sample / 2),
            Some(smoothed) => {
                self.variation = (3 * self.variation + smoothed.abs_diff(sample)) / 4;
                self.smoothed = Some((7 * smoothed + sample) / 8);
            }
        }
        if now.since(self.half_started) > MIN_RTT_WINDOW / 2 {
            let is_of_late = now.since(self.half_started) <= MIN_RTT_WINDOW;
            self.minima = [None, self.minima[0].filter(|_| is_of_late)];
            self.half_started = now;
        }
        self.minima[0] = Some(self.minima[0].map_or(sample, |min| min.min(sample)));
    }

    /// Smoothed RTT; `None` before the first sample.
    pub const fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// Smoothed RTT, or what is assumed before the first sample.
    pub fn smoothed_or_assumed(&self) -> Duration {
        self.smoothed.unwrap_or(ASSUMED_RTT)
    }

    /// Smallest RTT of the last 5 to 10 seconds; `None` before the first sample.
    pub fn min(&self) -> Option<Duration> {
        match self.minima {
            [Some(a), Some(b)] => Some(a.min(b)),
            [a, b] => a.or(b),
        }
    }

    /// Probe time-out: how long to wait for an acknowledgement before asking again (RFC 9002 §6.2.1).
    pub fn pto(&self) -> Duration {
        let smoothed = self.smoothed_or_assumed();
        let variation = if self.smoothed.is_some() { self.variation } else { smoothed / 2 };
        smoothed + (4 * variation).max(Duration::from_millis(1)) + MAX_ACK_DELAY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn the_first_sample_sets_the_average_and_later_ones_move_it_by_an_eighth() {
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.smoothed(), None);
        rtt.update(at(0), ms(80));
        assert_eq!((rtt.smoothed(), rtt.pto()), (Some(ms(80)), ms(80 + 160 + 25)));
        rtt.update(at(1), ms(160));
        assert_eq!((rtt.smoothed(), rtt.min()), (Some(ms(90)), Some(ms(80))));
    }

    #[test]
    fn a_minimum_is_remembered_while_it_is_within_the_window() {
        let mut rtt = RttEstimator::default();
        rtt.update(at(0), ms(10));
        for tenth in 1..=99 {
            rtt.update(at(tenth * 100), ms(100));
            assert_eq!(rtt.min(), Some(ms(10)), "{tenth} tenths of a second later");
        }
        rtt.update(at(9_950), ms(9));
        assert_eq!(rtt.min(), Some(ms(9)));
    }

    #[test]
    fn a_minimum_from_before_a_pause_of_ten_seconds_is_forgotten_at_once() {
        for (pause, left) in [(9_900, 30), (10_100, 100)] {
            let mut rtt = RttEstimator::default();
            rtt.update(at(1), ms(30));
            rtt.update(at(pause), ms(100));
            assert_eq!(rtt.min(), Some(ms(left)), "after {pause} ms");
        }
    }

    #[test]
    fn a_minimum_older_than_ten_seconds_is_forgotten() {
        let mut rtt = RttEstimator::default();
        rtt.update(at(0), ms(10));
        for second in 1..=11 {
            rtt.update(at(second * 1000 + 1), ms(100));
        }
        assert_eq!(rtt.min(), Some(ms(100)));
    }
}
