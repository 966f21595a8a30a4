//! Packets under way, by number.

use std::collections::BTreeMap;

/// The number of packets under way that are known; the oldest make room. 100,000 of 1200 bytes are 1 Gbit/s for a second.
const MOST: usize = 100_000;

/// The number of lost ones that are remembered, in case they come late.
const MOST_LOST: usize = 10_000;

/// A path, and a packet's number on it.
pub(crate) type Key = (u64, u64);

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sent {
    /// Unit: s.
    pub(crate) at: f64,
    pub(crate) bytes: f64,
}

/// The result of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Acked {
    /// Bytes that arrived, those of late packets too.
    pub(crate) bytes: f64,
    /// Packets that were declared lost before.
    pub(crate) late: u32,
    /// When the newest of the packets was sent, if it was under way. Unit: s.
    pub(crate) newest: Option<f64>,
}

/// Packets that ask for an acknowledgement and have none.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    under_way: BTreeMap<Key, Sent>,
    lost: BTreeMap<Key, Sent>,
    bytes: f64,
}

impl Flight {
    /// Unit: bytes.
    pub(crate) fn bytes(&self) -> f64 {
        if self.under_way.is_empty() { 0.0 } else { self.bytes }
    }

    pub(crate) fn sent(&mut self, key: Key, sent: Sent) {
        self.bytes += sent.bytes;
        let replaced = self.under_way.insert(key, sent);
        let oldest = if self.under_way.len() > MOST { self.under_way.pop_first() } else { None };
        for gone in replaced.into_iter().chain(oldest.map(|(_, oldest)| oldest)) {
            self.bytes -= gone.bytes;
        }
    }

    /// Packets in these runs of numbers, of which each has its first and its last.
    pub(crate) fn acked(&mut self, path: u64, runs: impl Iterator<Item = (u64, u64)>) -> Acked {
        let mut acked = Acked::default();
        let mut newest = 0;
        for (first, last) in runs.filter(|(first, last)| first <= last) {
            while let Some((&key, &sent)) = self.under_way.range((path, first)..=(path, last)).next_back() {
                self.under_way.remove(&key);
                self.bytes -= sent.bytes;
                acked.bytes += sent.bytes;
                if key.1 >= newest {
                    (newest, acked.newest) = (key.1, Some(sent.at));
                }
            }
            while let Some((&key, &sent)) = self.lost.range((path, first)..=(path, last)).next() {
                self.lost.remove(&key);
                acked.bytes += sent.bytes;
                acked.late += 1;
            }
        }
        acked
    }

    /// A packet that is declared lost; `None` if it was not under way.
    pub(crate) fn lost(&mut self, key: Key) -> Option<Sent> {
        let sent = self.under_way.remove(&key)?;
        self.bytes -= sent.bytes;
        self.lost.insert(key, sent);
        if self.lost.len() > MOST_LOST {
            self.lost.pop_first();
        }
        Some(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_is_under_way_arrived_or_lost() {
        let mut flight = Flight::default();
        for number in 0..10 {
            flight.sent((0, number), Sent { at: number as f64, bytes: 100.0 });
        }
        assert_eq!(flight.lost((0, 2)), Some(Sent { at: 2.0, bytes: 100.0 }));
        assert_eq!(flight.lost((1, 3)), None, "the other path has no such packet");
        let acked = flight.acked(0, [(5, 6), (0, 1), (9, 8)].into_iter());
        assert_eq!((acked, flight.bytes()), (Acked { bytes: 400.0, late: 0, newest: Some(6.0) }, 500.0));
        let late = flight.acked(0, [(0, u64::MAX)].into_iter());
        assert_eq!((late, flight.bytes()), (Acked { bytes: 600.0, late: 1, newest: Some(9.0) }, 0.0));
    }

    #[test]
    fn packets_without_an_answer_are_bounded() {
        let mut flight = Flight::default();
        for number in 0..2 * MOST as u64 {
            flight.sent((0, number), Sent { at: 0.0, bytes: 1.0 });
        }
        assert_eq!((flight.under_way.len(), flight.bytes()), (MOST, MOST as f64));
        for number in 0..2 * MOST as u64 {
            flight.lost((0, number));
        }
        assert_eq!((flight.lost.len(), flight.bytes()), (MOST_LOST, 0.0));
    }
}
