//! The queue that the path is known to hold, and so the trains that it bears.

use crate::interval::{Report, TRAIN};
use core::time::Duration;

/// A train is at most this part of the queue that the path holds: the rest is for what others and the law's probes add.
const QUEUE_PARTS: u32 = 8;
/// A round trip has at least so many departures: intervals, which last about half of one, are judged by how their trains fared.
const DEPARTURES: u32 = 50;
/// No train is longer, as Linux has it for TCP (`sk_pacing_shift`).
const LONGEST_TRAIN: Duration = Duration::from_millis(1);

/// The longest queue of which nothing was lost, as delay: at first none.
///
/// What leaves back to back meets at the bottleneck a queue of its own length. A buffer of a few packets drops its end, and one
/// that was seen to hold more does not.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeldQueue(Duration);

impl HeldQueue {
    /// Of an interval without loss all packets waited for the queue's least length at least. If packets were lost, whatever
    /// dropped them may hold no more than the queue's mean length.
    pub(super) fn on_report(&mut self, report: &Report) {
        let queue = |rtt: Option<Duration>| Some(rtt?.saturating_sub(report.rtt_base?));
        if report.packets_lost > 0 {
            self.0 = self.0.min(queue(report.rtt).unwrap_or_default());
        } else if let Some(least) = queue(report.rtt_least) {
            self.0 = self.0.max(least);
        }
    }

    /// The time at the sender's rate of what may leave back to back.
    pub(super) fn train(&self, rtt: Duration) -> Duration {
        (self.0 / QUEUE_PARTS).min(rtt / DEPARTURES).clamp(TRAIN, LONGEST_TRAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;

    const fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    const RTT: Duration = us(30_000);

    /// Trains after intervals of these losses, each with the least and the mean queue in µs.
    fn train_after(intervals: &[(u32, u64, u64)]) -> Duration {
        let mut held = HeldQueue::default();
        for &(packets_lost, least, mean) in intervals {
            let rtt = |queue| Some(RTT + us(queue));
            held.on_report(&Report {
                packets_lost,
                rtt_base: Some(RTT),
                rtt_least: rtt(least),
                rtt: rtt(mean),
                ..report(100.0, 0.0)
            });
        }
        held.train(RTT)
    }

    #[test]
    fn trains_are_an_eighth_of_the_queue_that_was_held() {
        for (intervals, train) in [
            (&[][..], TRAIN),
            (&[(0, 600, 700)], TRAIN), // six packets at 100 Mbit/s
            (&[(0, 1_600, 3_000)], us(200)),
            (&[(0, 1_600, 3_000), (0, 0, 100)], us(200)),
            (&[(9, 1_600, 3_000)], TRAIN),
            (&[(0, 1_600, 3_000), (9, 0, 1_200)], us(150)),
            (&[(0, 2_000, 3_000), (9, 29_000, 30_000)], us(250)),
        ] {
            assert_eq!(train_after(intervals), train, "{intervals:?}");
        }
    }

    #[test]
    fn a_round_trip_keeps_fifty_trains() {
        let mut held = HeldQueue::default();
        held.on_report(&Report { rtt_base: Some(RTT), rtt_least: Some(RTT * 9), ..report(100.0, 0.0) });
        for (rtt, train) in [(1_000, 100), (15_000, 300), (30_000, 600), (800_000, 1_000)] {
            assert_eq!(held.train(us(rtt)), us(train), "RTT {rtt} µs");
        }
    }

    #[test]
    fn a_path_without_a_known_rtt_gets_no_longer_trains() {
        let mut held = HeldQueue::default();
        held.on_report(&Report { rtt_base: None, rtt_least: Some(RTT), ..report(100.0, 0.0) });
        assert_eq!(held.train(RTT), TRAIN);
    }
}
