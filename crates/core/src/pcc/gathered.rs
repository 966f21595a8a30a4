//! What is acknowledged at once though it was not sent at once: somebody on the way held it back.
//!
//! A busy host that stops the receiver, or a radio that sends when it is its turn, answers for many milliseconds in one
//! moment, and for nothing in between. For the rate to go on meanwhile, so much more must be in flight. A queue holds
//! nothing back: however long it is, it lets one packet go after the other, at the path's rate. Source: BBR draft §5.5.9,
//! `extra_acked`.

use super::silence::HOST_PAUSE;
use crate::units::{Bytes, Rate, Timestamp};
use core::time::Duration;

/// The most of the last five to ten RTT, or of 50 to 100 ms if those are shorter, by which what was acknowledged ran ahead
/// of the rate: two halves of a window, the older one dropped at each turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gathered {
    /// Told of by the acknowledgement that is being reported.
    told: Bytes,
    /// The latest packet of it.
    packet: Bytes,
    /// When what was acknowledged was last not ahead of the rate, and how much was since.
    since: Timestamp,
    acked: Bytes,
    most: [Bytes; 2],
    half_started: Timestamp,
}

impl Gathered {
    /// An acknowledgement tells of a packet.
    pub(super) fn on_ack(&mut self, packet: Bytes) {
        self.told += packet;
        self.packet = packet;
    }

    /// That was all of it; `rate` is the highest at which the path may deliver one packet after the other.
    pub(super) fn on_end_acks(&mut self, now: Timestamp, rate: Rate, rtt: Duration) {
        let mut due = rate * now.since(self.since);
        if now > self.since && self.acked <= due {
            // It begins with a packet for which nobody waited.
            (self.since, self.acked, due) = (now, Bytes::ZERO, Bytes::ZERO);
            self.told = self.told.saturating_sub(self.packet);
        }
        self.acked += core::mem::take(&mut self.told);
        if now.since(self.half_started) > 5 * rtt.max(HOST_PAUSE) {
            self.most = [Bytes::ZERO, self.most[0]];
            self.half_started = now;
        }
        self.most[0] = self.most[0].max(self.acked.saturating_sub(due));
    }

    pub(super) fn most(&self) -> Bytes {
        self.most[0].max(self.most[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes::new(1000);

    /// Packets of 1000 bytes, one sent each millisecond, acknowledged at these times in ms.
    fn after(acked_at: impl IntoIterator<Item = u64>) -> u64 {
        let mut gathered = Gathered::default();
        for ms in acked_at {
            gathered.on_ack(PACKET);
            gathered.on_end_acks(
                Timestamp::from_nanos((1 + ms) * 1_000_000),
                Rate::from_mbit(8.0),
                Duration::from_millis(1),
            );
        }
        gathered.most().get()
    }

    #[test]
    fn a_path_that_lets_one_packet_go_after_the_other_gathers_nothing_whatever_its_queue() {
        assert_eq!(after(0..200), 0);
        assert_eq!(after((0..200).map(|n| 2 * n)), 0, "at half of the rate, so that a queue grows");
        assert_eq!(after((0..100).chain(150..250)), 0, "nothing came for 50 ms, and then one after the other");
    }

    #[test]
    fn what_comes_at_once_after_a_pause_was_gathered_in_it() {
        assert_eq!(after((0..200).map(|n| n / 40 * 40)), 39_000);
        // The second burst of a pair is 5 ms late, in which the rate sends five packets.
        assert_eq!(after((0..200).map(|n| n / 40 * 40 + n % 40 / 20 * 5)), 34_000);
    }

    #[test]
    fn what_was_gathered_is_forgotten_after_a_tenth_of_a_second_of_a_short_path() {
        assert_eq!(after([0; 40].into_iter().chain(40..80)), 39_000);
        assert_eq!(after([0; 40].into_iter().chain(40..200)), 0);
    }
}
