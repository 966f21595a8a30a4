//! Round-trip time of the path: latest, smoothed, variation, minimum. Source: RFC 9002 §5.

use crate::units::Timestamp;
use core::time::Duration;

/// The longest a peer may sit on an acknowledgement (RFC 9000 §18.2, `max_ack_delay`'s default).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// The assumed RTT before the first sample; the user-space prototypes' value.
pub(crate) const ASSUMED_RTT: Duration = Duration::from_millis(100);
/// How far RTTs scatter is that of the last three seconds, above the least of this time or of an RTT: a queue that stands longer is
/// no scatter.
const SPREAD_MEMORY: f64 = 3.0;
const SPREAD_WINDOW: Duration = Duration::from_millis(200);
/// No more than this is taken for scatter: what is longer is an outage's, whose queue is ours. With 150 ms bad Wi-Fi moves a tenth
/// more, and the queue of sixty radio links is half as long again (`sweep links`).
const MOST_SPREAD: Duration = Duration::from_millis(100);
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
    spread: Spread,
}

/// How far RTTs lie above the least of late: mean, and mean deviation from it. Unit: s.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    mean: f64,
    deviation: f64,
    updated: Timestamp,
    /// The least of the running window, and of the one before it.
    least: [Option<Duration>; 2],
    window_began: Timestamp,
}

impl Spread {
    fn update(&mut self, now: Timestamp, sample: Duration, window: Duration) {
        if now.since(self.window_began) > window {
            (self.least, self.window_began) = ([None, self.least[0]], now);
        }
        self.least[0] = Some(self.least[0].map_or(sample, |least| least.min(sample)));
        let least = self.least.into_iter().flatten().min().unwrap_or(sample);
        let above = (sample - least).min(MOST_SPREAD).as_secs_f64();
        let weight = (now.since(self.updated).as_secs_f64() / SPREAD_MEMORY).min(0.5);
        self.updated = now;
        self.mean += weight * (above - self.mean);
        self.deviation += weight * ((above - self.mean).abs() - self.deviation);
    }
}

impl RttEstimator {
    /// Takes in a sample of RTT made at `now`.
    pub fn update(&mut self, now: Timestamp, sample: Duration) {
        let sample = sample.max(Duration::from_nanos(1));
        self.spread.update(now, sample, SPREAD_WINDOW.max(self.smoothed.unwrap_or(sample)));
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

    /// How long the path holds packets back now and then, as a radio does: the mean of RTTs above the least of a moment, and two
    /// mean deviations; 100 ms at most.
    pub fn spread(&self) -> Duration {
        let spread = self.spread.mean + 2.0 * self.spread.deviation;
        Duration::try_from_secs_f64(spread).unwrap_or_default().min(MOST_SPREAD)
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
    fn first_sample_sets_average_and_later_ones_move_it_by_eighth() {
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
    fn a_minimum_is_forgotten_after_a_pause_of_ten_seconds() {
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

    #[test]
    fn the_spread_is_what_a_radio_holds_back_and_no_standing_queue() {
        // Clumps: every tenth RTT is 80 ms longer. A queue: all are, from the first second on.
        let spread = |longer: &dyn Fn(u64) -> u64| {
            let mut rtt = RttEstimator::default();
            (0..1000).for_each(|i| rtt.update(at(10 * i), ms(20 + longer(i))));
            rtt.spread().as_secs_f64()
        };
        let clumps = spread(&|i| if i % 10 == 0 { 80 } else { 0 });
        assert!((0.02..0.06).contains(&clumps), "{clumps}");
        assert!(spread(&|i| if i > 100 { 80 } else { 0 }) < 0.01, "what stands is a queue");
        assert!(spread(&|_| 0) < 1e-9);
        assert!((spread(&|i| if i % 2 == 0 { 5_000 } else { 0 }) - 0.1).abs() < 1e-9, "an outage is none");
    }
}
