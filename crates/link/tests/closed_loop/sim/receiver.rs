//! The receiver's side: what has arrived, and when an acknowledgement is due. Source: RFC 9000 §13.2.

use core::time::Duration;
use pcc::units::Timestamp;

/// The longest a receiver holds an acknowledgement back (RFC 9000 §18.2).
pub(crate) const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// Ranges an acknowledgement carries at most; older ones are forgotten, as stacks do.
const RANGES: usize = 32;

/// Packet numbers that arrived: inclusive ranges, the newest first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ranges {
    list: [(u64, u64); RANGES],
    len: usize,
}

impl Ranges {
    pub(crate) fn as_slice(&self) -> &[(u64, u64)] {
        &self.list[..self.len]
    }

    pub(crate) fn largest(&self) -> Option<u64> {
        self.as_slice().first().map(|range| range.1)
    }

    /// Adds `number`; false if it was there, or is so old that nobody knows.
    fn insert(&mut self, number: u64) -> bool {
        let at = self.as_slice().iter().position(|range| range.0 <= number + 1).unwrap_or(self.len);
        if at < self.len {
            let (low, high) = self.list[at];
            if (low..=high).contains(&number) {
                return false;
            }
            if number == high + 1 {
                self.list[at].1 = number;
                if at > 0 && self.list[at - 1].0 == number + 1 {
                    self.list[at - 1].0 = self.list[at].0;
                    self.list.copy_within(at + 1..self.len, at);
                    self.len -= 1;
                }
                return true;
            }
            if number + 1 == low {
                self.list[at].0 = number;
                if at + 1 < self.len && self.list[at + 1].1 + 1 == number {
                    self.list[at].0 = self.list[at + 1].0;
                    self.list.copy_within(at + 2..self.len, at + 1);
                    self.len -= 1;
                }
                return true;
            }
        }
        if at == RANGES {
            return false;
        }
        let kept = self.len.min(RANGES - 1);
        self.list.copy_within(at..kept, at + 1);
        self.list[at] = (number, number);
        self.len = kept + 1;
        true
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ack {
    pub(crate) ranges: Ranges,
    /// How long the receiver held it back.
    pub(crate) delay: Duration,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Receiver {
    ranges: Ranges,
    largest_at: Timestamp,
    unacknowledged: u32,
    /// When an acknowledgement is due; `None` if none is owed.
    pub(crate) ack_at: Option<Timestamp>,
}

impl Receiver {
    /// A packet arrived; true if for the first time.
    pub(crate) fn on_packet(&mut self, now: Timestamp, number: u64) -> bool {
        let in_order = self.ranges.largest().map_or(number == 0, |largest| number == largest + 1);
        if self.ranges.largest().is_none_or(|largest| number > largest) {
            self.largest_at = now;
        }
        let new = self.ranges.insert(number);
        self.unacknowledged += 1;
        // The first packet is the handshake's: answered at once.
        let at_once = !in_order || self.unacknowledged >= 2 || number == 0;
        let due = if at_once { now } else { now + MAX_ACK_DELAY };
        self.ack_at = Some(self.ack_at.map_or(due, |at| at.min(due)));
        new
    }

    /// The acknowledgement that is due by now.
    pub(crate) fn take_ack(&mut self, now: Timestamp) -> Option<Ack> {
        self.ack_at.take_if(|at| *at <= now)?;
        self.unacknowledged = 0;
        Some(Ack { ranges: self.ranges, delay: now.since(self.largest_at) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_what_arrived_in_whatever_order() {
        let mut ranges = Ranges::default();
        for number in [0, 1, 5, 3, 9, 4, 2, 7, 6] {
            assert!(ranges.insert(number) && !ranges.insert(number), "{number}");
        }
        assert_eq!(ranges.as_slice(), [(9, 9), (0, 7)]);
        assert!(ranges.insert(8));
        assert_eq!(ranges.as_slice(), [(0, 9)]);
    }

    #[test]
    fn the_oldest_ranges_are_forgotten() {
        let mut ranges = Ranges::default();
        for number in 0..100 {
            ranges.insert(2 * number);
        }
        assert_eq!(ranges.as_slice().len(), RANGES);
        assert_eq!(ranges.as_slice()[RANGES - 1], (136, 136));
        assert!(!ranges.insert(1));
    }
}
