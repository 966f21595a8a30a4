//! The receiver's side: what has arrived, and when an acknowledgement is due. Source: RFC 9000 §13.2.

use crate::ranges::{Ranges, Seen};
use crate::scenario::Acks;
use core::time::Duration;
use pcc::rng::Rng;
use pcc::units::Timestamp;

/// Packets that an acknowledgement tells of where nobody asks for more or fewer (RFC 9000 §13.2.2).
pub(crate) const USUAL: u32 = 2;

/// An acknowledgement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ack {
    pub(crate) ranges: Ranges,
    /// How long the receiver held it back.
    pub(crate) delay: Duration,
    /// Packets that arrived marked so far: an acknowledgement that is lost takes none of them with it.
    pub(crate) marked: u32,
    /// When it reached the sender's host, which may attend to it later.
    pub(crate) came: Option<Timestamp>,
    /// When it left, if the receiver says so.
    pub(crate) left: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    policy: Acks,
    rng: Rng,
    seen: Box<Seen>,
    ranges: Ranges,
    largest_at: Timestamp,
    unacknowledged: u32,
    marked: u32,
    /// Packets that the application awaits, of a transfer that ends.
    awaited: Option<u64>,
    /// When an acknowledgement is due; `None` if none is owed.
    pub(crate) ack_at: Option<Timestamp>,
}

impl Receiver {
    /// For a transfer of so many packets, if it ends: the application answers the last of them, and the acknowledgement goes with
    /// that.
    pub(crate) fn new(policy: Acks, seed: u64, awaited: Option<u64>) -> Self {
        let (seen, ranges, rng) = (Box::default(), Ranges::default(), Rng::new(seed ^ 0x61_636b));
        let largest_at = Timestamp::ZERO;
        Self { policy, rng, seen, ranges, largest_at, unacknowledged: 0, marked: 0, awaited, ack_at: None }
    }

    /// A packet arrived; true if for the first time. Its sender asks for an acknowledgement for so many packets. Here the
    /// receiver knows half an RTT early. That number changes in steps of two, and an RTT changes it little.
    pub(crate) fn on_packet(&mut self, now: Timestamp, number: u64, is_marked: bool, asked: u32) -> bool {
        let in_order = self.ranges.largest().map_or(number == 0, |largest| number == largest + 1);
        if self.ranges.largest().is_none_or(|largest| number > largest) {
            self.largest_at = now;
        }
        let new = self.seen.insert(number);
        if new {
            self.ranges.insert(number);
        }
        self.unacknowledged += 1;
        self.marked += u32::from(is_marked);
        self.awaited = self.awaited.map(|awaited| awaited.saturating_sub(u64::from(new)));
        // The first packet is the handshake's: answered at once. So is a mark (RFC 9000 §13.2.1).
        let at_once = self.awaited == Some(0)
            || !in_order
            || self.unacknowledged >= self.policy.every.unwrap_or(asked)
            || number == 0
            || is_marked;
        let due = if at_once { now } else { now + self.policy.max_delay };
        self.ack_at = Some(self.ack_at.map_or(due, |at| at.min(due)));
        new
    }

    /// Whether an acknowledgement is due by now. Whoever asks sends it.
    pub(crate) fn takes_ack(&mut self, now: Timestamp) -> bool {
        let is_due = self.ack_at.take_if(|at| *at <= now).is_some();
        if is_due {
            self.unacknowledged = 0;
        }
        is_due
    }

    /// Writes down what an acknowledgement says now.
    pub(crate) fn write(&self, now: Timestamp, ack: &mut Ack) {
        ack.ranges.assign(&self.ranges);
        (ack.delay, ack.marked, ack.came) = (now.since(self.largest_at), self.marked, None);
        ack.left = self.policy.timed.then_some(now);
    }

    /// Whether the network loses an acknowledgement; without such loss nothing is drawn.
    pub(crate) fn loses_ack(&mut self) -> bool {
        self.policy.loss > 0.0 && self.rng.unit() < self.policy.loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    /// The packets that cause an acknowledgement at once, of fifty in order.
    fn acknowledged(policy: Acks) -> Vec<u64> {
        let mut receiver = Receiver::new(policy, 1, None);
        let mut answers = |number: u64| {
            receiver.on_packet(at(number), number, false, 2);
            receiver.takes_ack(at(number))
        };
        (0..50).filter(|number| answers(*number)).collect()
    }

    #[test]
    fn every_so_manieth_packet_is_acknowledged() {
        let tenth = Acks { every: Some(10), max_delay: Duration::from_secs(1), ..Acks::default() };
        assert_eq!(acknowledged(tenth), [0, 10, 20, 30, 40]);
        assert_eq!(acknowledged(Acks::default()).len(), 25);
    }

    #[test]
    fn a_held_acknowledgement_is_due_after_the_longest_delay() {
        let mut receiver = Receiver::new(Acks::default(), 1, None);
        receiver.on_packet(at(0), 0, false, 2);
        assert!(receiver.takes_ack(at(0)));
        receiver.on_packet(at(1), 1, false, 2);
        assert_eq!(receiver.ack_at, Some(at(26)));
    }

    #[test]
    fn the_last_packet_of_a_transfer_is_acknowledged_at_once() {
        let mut receiver = Receiver::new(Acks::default(), 1, Some(4));
        let mut at_once = |number: u64| {
            receiver.on_packet(at(number), number, false, 2);
            receiver.takes_ack(at(number))
        };
        // The first, as the handshake's; the third, as a second one; the fourth is the odd one.
        assert_eq!([0, 1, 2, 3].map(&mut at_once), [true, false, true, true]);
    }

    #[test]
    fn a_gap_and_a_mark_are_told_at_once() {
        let mut receiver = Receiver::new(Acks { every: Some(100), ..Acks::default() }, 1, None);
        for (number, is_marked, at_once) in [(0, false, true), (1, false, false), (3, false, true), (4, true, true)] {
            receiver.on_packet(at(number), number, is_marked, 2);
            assert_eq!(receiver.takes_ack(at(number)), at_once, "{number}");
        }
    }
}
