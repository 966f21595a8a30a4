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
crate::shared::shared_with_c!("RTT_" []
    ASSUMED = ASSUMED_RTT, MOST_ACK_DELAY = MAX_ACK_DELAY, HALF_WINDOW = MIN_RTT_WINDOW / 2,
    SPREAD_MEMORY = Duration::from_secs_f64(SPREAD_MEMORY), SPREAD_WINDOW, MOST_SPREAD
);

/// No sample: above every one.
const NONE: u64 = u64::MAX;
/// No sample is taken for longer, so that eight of them are a number still. Unit: ns.
const LONGEST: u64 = u64::MAX / 16;

/// A sample of the RTT.
#[derive(Clone, Copy, Debug)]
pub struct RttSample {
    /// From the packet's departure until its acknowledgement was read.
    pub rtt: Duration,
    /// The acknowledgement's wait on its way back, as far as the peer says when it left. Less than the RTT.
    pub waited: Duration,
}

impl RttSample {
    /// The RTT as it would have been without a queue on the way back.
    pub const fn forward(self) -> Duration {
        self.rtt.saturating_sub(self.waited)
    }
}

/// A sample of which nobody knows what its acknowledgement waited.
impl From<Duration> for RttSample {
    fn from(rtt: Duration) -> Self {
        Self { rtt, waited: Duration::ZERO }
    }
}

/// RTT statistics of one path; samples include what the peer's acknowledgement delay adds. In whole nanoseconds, since all of it
/// is computed anew for each acknowledgement.
///
/// The wait of acknowledgements on their way back is in the smoothed RTT, in all that follows from it, and in how far RTTs scatter:
/// that much has to be awaited. It is not in the minimum and in the queue, which tell of the data's way.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// 0 before the first sample.
    smoothed: u64,
    variation: u64,
    /// Minimum of the running half window and of the one before it.
    minima: [u64; 2],
    half_started: Timestamp,
    spread: Spread,
    /// The latest sample's. Unit: ns.
    waited: u64,
}

impl Default for RttEstimator {
    fn default() -> Self {
        let spread = Spread {
            mean: 0.0,
            deviation: 0.0,
            updated: Timestamp::ZERO,
            least: [NONE; 2],
            window_began: Timestamp::ZERO,
        };
        Self { smoothed: 0, variation: 0, minima: [NONE; 2], half_started: Timestamp::ZERO, spread, waited: 0 }
    }
}

/// How far RTTs lie above the least of late: mean, and mean deviation from it. Unit: s.
#[derive(Clone, Copy, Debug)]
struct Spread {
    mean: f64,
    deviation: f64,
    updated: Timestamp,
    /// The least of the running window, and of the one before it. Unit: ns.
    least: [u64; 2],
    window_began: Timestamp,
}

impl Spread {
    fn update(&mut self, now: Timestamp, sample: u64, window: u64) {
        if nanos(now.since(self.window_began)) > window {
            (self.least, self.window_began) = ([NONE, self.least[0]], now);
        }
        self.least[0] = self.least[0].min(sample);
        let least = self.least[0].min(self.least[1]);
        let above = seconds((sample - least).min(nanos(MOST_SPREAD)));
        let weight = (seconds(nanos(now.since(self.updated))) / SPREAD_MEMORY).min(0.5);
        self.updated = now;
        self.mean += weight * (above - self.mean);
        self.deviation += weight * ((above - self.mean).abs() - self.deviation);
    }
}

const fn nanos(time: Duration) -> u64 {
    let nanos = time.as_nanos();
    if nanos < LONGEST as u128 { nanos as u64 } else { LONGEST }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

impl RttEstimator {
    /// Takes in a sample of RTT made at `now`.
    pub fn update(&mut self, now: Timestamp, sample: impl Into<RttSample>) {
        let sample: RttSample = sample.into();
        let (forward, waited) = (nanos(sample.forward()).max(1), nanos(sample.waited));
        let sample = nanos(sample.rtt).max(1);
        self.waited = waited;
        let usual = if self.smoothed == 0 { sample } else { self.smoothed };
        self.spread.update(now, sample, nanos(SPREAD_WINDOW).max(usual));
        if self.smoothed == 0 {
            (self.smoothed, self.variation) = (sample, sample / 2);
        } else {
            self.variation = (3 * self.variation + self.smoothed.abs_diff(sample)) / 4;
            self.smoothed = (7 * self.smoothed + sample) / 8;
        }
        let half = now.since(self.half_started);
        if half > MIN_RTT_WINDOW / 2 {
            self.minima = [NONE, if half <= MIN_RTT_WINDOW { self.minima[0] } else { NONE }];
            self.half_started = now;
        }
        self.minima[0] = self.minima[0].min(forward);
    }

    /// Smoothed RTT; `None` before the first sample.
    pub const fn smoothed(&self) -> Option<Duration> {
        if self.smoothed == 0 { None } else { Some(Duration::from_nanos(self.smoothed)) }
    }

    /// Smoothed RTT, or what is assumed before the first sample.
    pub fn smoothed_or_assumed(&self) -> Duration {
        self.smoothed().unwrap_or(ASSUMED_RTT)
    }

    /// Smallest RTT of the last 5 to 10 seconds; `None` before the first sample.
    pub fn min(&self) -> Option<Duration> {
        let least = self.minima[0].min(self.minima[1]);
        (least != NONE).then(|| Duration::from_nanos(least))
    }

    /// The latest acknowledgement's wait on its way back.
    pub const fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited)
    }

    /// How much longer data is under way than at least.
    pub fn queue(&self) -> Duration {
        let smoothed = self.smoothed_or_assumed();
        smoothed.saturating_sub(self.waited()).saturating_sub(self.min().unwrap_or(smoothed))
    }

    /// How long the path holds packets back now and then, as a radio does: the mean of RTTs above the least of a moment, and two
    /// mean deviations; 100 ms at most.
    pub fn spread(&self) -> Duration {
        let spread = self.spread.mean + 2.0 * self.spread.deviation;
        Duration::from_nanos((spread * 1e9 + 0.5) as u64).min(MOST_SPREAD)
    }

    /// Probe time-out: how long to wait for an acknowledgement before asking again (RFC 9002 §6.2.1).
    pub fn pto(&self) -> Duration {
        Duration::from_nanos(self.pto_nanos())
    }

    fn pto_nanos(&self) -> u64 {
        let (smoothed, variation) = self.smoothed_and_variation();
        smoothed + (4 * variation).max(1_000_000) + nanos(MAX_ACK_DELAY)
    }

    /// Both in ns.
    fn smoothed_and_variation(&self) -> (u64, u64) {
        let assumed = nanos(ASSUMED_RTT);
        if self.smoothed == 0 { (assumed, assumed / 2) } else { (self.smoothed, self.variation) }
    }

    /// How long to wait for an acknowledgement before the path counts as stalled.
    /// Source: `NSDI 2018` (4 RTT), and at least two probe time-outs, so that the transport has asked.
    pub(crate) fn stall_period(&self) -> Duration {
        let (smoothed, _) = self.smoothed_and_variation();
        Duration::from_nanos((4 * smoothed).max(2 * self.pto_nanos()))
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
    fn what_acknowledgements_wait_is_awaited_and_no_queue() {
        let mut rtt = RttEstimator::default();
        (0..100).for_each(|i| rtt.update(at(10 * i), RttSample { rtt: ms(30), waited: Duration::ZERO }));
        (100..200).for_each(|i| rtt.update(at(10 * i), RttSample { rtt: ms(94), waited: ms(60) }));
        assert_eq!((rtt.min(), rtt.waited()), (Some(ms(30)), ms(60)));
        assert!(rtt.smoothed() > Some(ms(93)) && rtt.pto() > ms(94));
        assert!(rtt.queue().abs_diff(ms(4)) < Duration::from_micros(10), "{:?}", rtt.queue());
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
