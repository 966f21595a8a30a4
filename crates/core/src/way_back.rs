//! How long acknowledgements wait on their way back, where the peer says when they left.

use crate::units::Timestamp;
use core::time::Duration;

/// Two clocks part by one part of so many of the time that passes: 100 ppm, since a crystal is right within 50. A queue that never
/// empties on the way back is taken for the path's by so much.
const DRIFT: u64 = 10_000;

/// How much longer than its least the latest acknowledgement was under way. The clocks are not set alike: only what the
/// difference of their readings grows by is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WayBack {
    /// The least difference of the past and when it was looked at; it grows with the time since then. Unit: ns.
    least: Option<(i64, Timestamp)>,
    /// The acknowledgement being read: this moment less that of its leaving, each by its own clock. Unit: ns.
    difference: Option<i64>,
}

const fn nanos(time: Timestamp) -> i64 {
    let nanos = time.as_nanos();
    if nanos > i64::MAX as u64 { i64::MAX } else { nanos as i64 }
}

impl WayBack {
    /// An acknowledgement is read `now` that left at that time of the peer's clock.
    pub(crate) fn on_left(&mut self, now: Timestamp, left: Timestamp) {
        let difference = nanos(now) - nanos(left);
        let least = self.least.map_or(difference, |(least, at)| {
            let parted = (now.since(at).as_nanos() / u128::from(DRIFT)) as i64;
            least.saturating_add(parted).min(difference)
        });
        (self.least, self.difference) = (Some((least, now)), Some(difference));
    }

    /// The wait of the acknowledgement that this RTT was taken from; zero where the peer does not say.
    pub(crate) fn waited(&mut self, rtt: Duration) -> Duration {
        let Some((difference, (least, at))) = self.difference.take().zip(self.least) else { return Duration::ZERO };
        let waited = Duration::from_nanos(difference.saturating_sub(least).unsigned_abs());
        if waited < rtt {
            return waited;
        }
        // Nothing waits longer than the RTT. The peer's clock stood still, as that of a host that slept.
        self.least = Some((difference, at));
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_secs(1);

    const fn at(us: u64) -> Timestamp {
        Timestamp::from_nanos(us * 1000)
    }

    /// The wait of each acknowledgement, in us, of those that left and were read at these times.
    fn waited<const N: usize>(acks: [(u64, u64); N]) -> [u128; N] {
        let mut way_back = WayBack::default();
        acks.map(|(left, read)| {
            way_back.on_left(at(read), at(left));
            way_back.waited(RTT).as_nanos().div_ceil(1000)
        })
    }

    #[test]
    fn who_hears_of_no_departure_knows_of_no_wait() {
        assert_eq!(WayBack::default().waited(RTT), Duration::ZERO);
    }

    #[test]
    fn an_ack_waited_by_what_its_way_is_longer_than_the_least() {
        assert_eq!(waited([(0, 50), (100, 190), (200, 245), (300, 350)]), [0, 40, 0, 5]);
    }

    #[test]
    fn an_ack_that_says_nothing_waited_for_nothing_known() {
        let mut way_back = WayBack::default();
        way_back.on_left(at(50), at(0));
        way_back.on_left(at(190), at(100));
        assert_eq!([way_back.waited(RTT), way_back.waited(RTT)].map(|waited| waited > Duration::ZERO), [true, false]);
    }

    #[test]
    fn no_clock_needs_to_be_set() {
        assert_eq!(waited([(7_000_000, 50), (7_000_100, 190), (7_000_200, 250)]), [0, 40, 0]);
    }

    #[test]
    fn a_queue_that_stands_is_forgotten_as_fast_as_clocks_part() {
        let stands = |second: u64| (1_000_000 * second, 1_000_000 * second + 60_000);
        assert_eq!(waited([(0, 10_000), stands(1), stands(101), stands(1001)]), [0, 49_895, 39_895, 0]);
    }

    #[test]
    fn clocks_that_part_by_100_ppm_make_no_wait() {
        let read = |second: u64| (1_000_000 * second, 1_000_100 * second + 10_000);
        assert_eq!(waited([read(0), read(1), read(50), read(5000)]), [0; 4]);
    }

    #[test]
    fn a_clock_that_stood_still_is_begun_anew() {
        let slept = 3_600_000_000;
        assert_eq!(waited([(0, 50), (100, 150), (200, slept + 250), (300, slept + 390)]), [0, 0, 0, 40]);
    }

    #[test]
    fn a_peer_may_say_what_it_likes() {
        let mut way_back = WayBack::default();
        for (now, left) in [(0, u64::MAX), (u64::MAX, 0), (5, 0), (0, 7), (u64::MAX, u64::MAX)] {
            way_back.on_left(Timestamp::from_nanos(now), Timestamp::from_nanos(left));
            assert!(way_back.waited(RTT) < RTT);
        }
    }
}
