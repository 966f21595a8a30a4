//! Queue disciplines of a bottleneck, one a file.

mod codel;
mod fair;
mod policer;
mod red;

pub(crate) use policer::Bucket;
pub use policer::{ParsePolicerError, Policer};

use codel::CodelQueue;
use fair::{FairQueue, Within};
use pcc::units::{Bytes, Timestamp};
use red::Red;
use std::collections::VecDeque;

/// A queue discipline. The buffer that the path begins with bounds each of them in bytes: that of each flow with
/// [`Queue::Fair`]. Only the drop-tail queue follows a schedule that changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queue {
    /// First in, first out; what does not fit is dropped.
    #[default]
    DropTail,
    /// The same, and marks what comes while more than so many bytes wait: what DCTCP's switches do (RFC 8257 §3.1).
    Marking(Bytes),
    /// The same, and marks every so-manieth packet whatever waits: marks that tell nothing.
    MarkingEvery(u32),
    /// A drop-tail queue for each flow, served in turn, byte by byte (deficit round robin).
    Fair,
    /// `CoDel` (RFC 8289).
    Codel,
    /// `CoDel` for each flow, served in turn (RFC 8290).
    FqCodel,
    /// Random early detection, gentle, with thresholds at a sixth and a half of the buffer.
    Red,
}

impl Queue {
    /// All disciplines by name; marks need a threshold and have none.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("droptail", Self::DropTail),
        ("fq", Self::Fair),
        ("codel", Self::Codel),
        ("fq_codel", Self::FqCodel),
        ("red", Self::Red),
    ];

    /// The discipline of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, queue)| *queue)
    }

    /// Its name, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Self::NAMES.iter().find(|(_, queue)| *queue == self).map(|(name, _)| *name)
    }
}

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) flow: u32,
    pub(crate) number: u64,
    pub(crate) size: u64,
    pub(crate) came: Timestamp,
    /// Whether it may be marked instead of dropped.
    pub(crate) ecn: bool,
    pub(crate) marked: bool,
}

/// A queue at work.
pub(crate) trait Discipline {
    /// A packet comes; how many were dropped, it or others.
    fn enqueue(&mut self, packet: Packet) -> u64;
    /// The packet to be sent now, and how many were dropped meanwhile.
    fn dequeue(&mut self, now: Timestamp) -> (Option<Packet>, u64);
    /// Bytes that wait.
    fn backlog(&self) -> u64;
}

/// The discipline with so much buffer; none for the drop-tail queue, which a link has of its own.
pub(crate) fn discipline(queue: Queue, buffer: Bytes, seed: u64) -> Option<Box<dyn Discipline>> {
    let buffer = buffer.get();
    match queue {
        Queue::DropTail => None,
        Queue::Marking(above) => Some(Box::new(Marking { fifo: Fifo::new(buffer), above: above.get() })),
        Queue::MarkingEvery(every) => Some(Box::new(MarkingEvery { fifo: Fifo::new(buffer), every, came: 0 })),
        Queue::Fair => Some(Box::new(FairQueue::new(buffer, Within::DropTail))),
        Queue::Codel => Some(Box::new(CodelQueue::new(buffer))),
        Queue::FqCodel => Some(Box::new(FairQueue::new(buffer, Within::Codel))),
        Queue::Red => Some(Box::new(Red::new(buffer, seed))),
    }
}

/// Packets in their order, and their bytes.
#[derive(Debug)]
pub(crate) struct Fifo {
    packets: VecDeque<Packet>,
    bytes: u64,
    limit: u64,
}

impl Fifo {
    pub(crate) const fn new(limit: u64) -> Self {
        Self { packets: VecDeque::new(), bytes: 0, limit }
    }

    /// False if there is no room.
    pub(crate) fn push(&mut self, packet: Packet) -> bool {
        if self.bytes + packet.size > self.limit {
            return false;
        }
        self.bytes += packet.size;
        self.packets.push_back(packet);
        true
    }

    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.size;
        Some(packet)
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }
}

/// A drop-tail queue that marks above a threshold.
struct Marking {
    fifo: Fifo,
    above: u64,
}

impl Discipline for Marking {
    fn enqueue(&mut self, mut packet: Packet) -> u64 {
        packet.marked |= packet.ecn && self.fifo.bytes() > self.above;
        u64::from(!self.fifo.push(packet))
    }

    fn dequeue(&mut self, _: Timestamp) -> (Option<Packet>, u64) {
        (self.fifo.pop(), 0)
    }

    fn backlog(&self) -> u64 {
        self.fifo.bytes()
    }
}

/// A drop-tail queue that marks by counting.
struct MarkingEvery {
    fifo: Fifo,
    every: u32,
    came: u32,
}

impl Discipline for MarkingEvery {
    fn enqueue(&mut self, mut packet: Packet) -> u64 {
        self.came = (self.came + 1) % self.every.max(1);
        packet.marked |= packet.ecn && self.came == 0;
        u64::from(!self.fifo.push(packet))
    }

    fn dequeue(&mut self, _: Timestamp) -> (Option<Packet>, u64) {
        (self.fifo.pop(), 0)
    }

    fn backlog(&self) -> u64 {
        self.fifo.bytes()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn packet(flow: u32, number: u64, millis: u64) -> Packet {
        let came = Timestamp::from_nanos(millis * 1_000_000);
        Packet { flow, number, size: 1500, came, ecn: false, marked: false }
    }

    #[test]
    fn a_marking_queue_marks_arrivals_above_the_threshold() {
        let mut queue = Marking { fifo: Fifo::new(15_000), above: 3000 };
        for number in 0..10 {
            assert_eq!(queue.enqueue(Packet { ecn: number != 5, ..packet(0, number, 0) }), 0);
        }
        assert_eq!(queue.enqueue(packet(0, 10, 0)), 1, "full");
        let marked = (0..10).map(|_| queue.dequeue(Timestamp::ZERO).0.unwrap().marked);
        assert_eq!(marked.collect::<Vec<_>>(), [false, false, false, true, true, false, true, true, true, true]);
    }

    #[test]
    fn every_so_manieth_packet_is_marked_whatever_waits() {
        for (every, expected) in [(1, [true; 4]), (2, [false, true, false, true])] {
            let mut queue = MarkingEvery { fifo: Fifo::new(15_000), every, came: 0 };
            let mut mark = |number| {
                queue.enqueue(Packet { ecn: true, ..packet(0, number, 0) });
                queue.dequeue(Timestamp::ZERO).0.unwrap().marked
            };
            assert_eq!([0, 1, 2, 3].map(&mut mark), expected);
        }
    }
}
