//! Drop-tail queues that mark: above a threshold, or by counting.

use super::{Discipline, Fifo, Packet};
use pcc::units::Timestamp;

/// A drop-tail queue that marks above a threshold.
pub(super) struct Marking {
    fifo: Fifo,
    above: u64,
}

impl Marking {
    pub(super) const fn new(limit: u64, above: u64) -> Self {
        Self { fifo: Fifo::new(limit), above }
    }
}

impl Discipline for Marking {
    fn enqueue(&mut self, mut packet: Packet, dropped: &mut Vec<Packet>) {
        if self.fifo.bytes() > self.above {
            packet.mark();
        }
        self.fifo.push(packet, dropped);
    }

    fn dequeue(&mut self, _: Timestamp, _: &mut Vec<Packet>) -> Option<Packet> {
        self.fifo.pop()
    }

    fn backlog(&self) -> u64 {
        self.fifo.bytes()
    }
}

/// A drop-tail queue that marks by counting.
pub(super) struct MarkingEvery {
    fifo: Fifo,
    every: u32,
    came: u32,
}

impl MarkingEvery {
    pub(super) const fn new(limit: u64, every: u32) -> Self {
        Self { fifo: Fifo::new(limit), every, came: 0 }
    }
}

impl Discipline for MarkingEvery {
    fn enqueue(&mut self, mut packet: Packet, dropped: &mut Vec<Packet>) {
        self.came = (self.came + 1) % self.every.max(1);
        if self.came == 0 {
            packet.mark();
        }
        self.fifo.push(packet, dropped);
    }

    fn dequeue(&mut self, _: Timestamp, _: &mut Vec<Packet>) -> Option<Packet> {
        self.fifo.pop()
    }

    fn backlog(&self) -> u64 {
        self.fifo.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{capable, dequeue, enqueue, packet};
    use super::*;

    #[test]
    fn a_marking_queue_marks_arrivals_above_the_threshold() {
        let mut queue = Marking::new(15_000, 3000);
        for number in 0..10 {
            let packet = packet(0, number, 0);
            assert_eq!(enqueue(&mut queue, if number == 5 { packet } else { capable(packet) }), 0);
        }
        assert_eq!(enqueue(&mut queue, packet(0, 10, 0)), 1, "full");
        let marked = (0..10).map(|_| dequeue(&mut queue, Timestamp::ZERO).0.unwrap().marked);
        assert_eq!(marked.collect::<Vec<_>>(), [false, false, false, true, true, false, true, true, true, true]);
    }

    #[test]
    fn every_so_manieth_packet_is_marked_whatever_waits() {
        for (every, expected) in [(1, [true; 4]), (2, [false, true, false, true])] {
            let mut queue = MarkingEvery::new(15_000, every);
            let mut mark = |number| {
                enqueue(&mut queue, capable(packet(0, number, 0)));
                dequeue(&mut queue, Timestamp::ZERO).0.unwrap().marked
            };
            assert_eq!([0, 1, 2, 3].map(&mut mark), expected);
        }
    }
}
