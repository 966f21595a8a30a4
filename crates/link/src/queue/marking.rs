//! Drop-tail queues that mark: above a threshold, or by counting.

use super::Packet;
use super::fifo::Rule;

/// Marks above a threshold. Unit: bytes.
pub(super) struct Above(pub(super) u64);

impl Rule for Above {
    fn admits(&mut self, packet: &mut Packet, waiting: u64) -> bool {
        if waiting > self.0 {
            packet.mark();
        }
        true
    }
}

/// Marks by counting.
pub(super) struct Every {
    every: u32,
    came: u32,
}

impl Every {
    pub(super) const fn new(every: u32) -> Self {
        Self { every, came: 0 }
    }
}

impl Rule for Every {
    fn admits(&mut self, packet: &mut Packet, _: u64) -> bool {
        self.came = (self.came + 1) % self.every.max(1);
        if self.came == 0 {
            packet.mark();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::fifo::Ruled;
    use super::super::tests::{capable, dequeue, enqueue, packet};
    use super::*;
    use pcc::units::Timestamp;

    #[test]
    fn a_marking_queue_marks_arrivals_above_the_threshold() {
        let mut queue = Ruled::new(15_000, Above(3000));
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
            let mut queue = Ruled::new(15_000, Every::new(every));
            let mut mark = |number| {
                enqueue(&mut queue, capable(packet(0, number, 0)));
                dequeue(&mut queue, Timestamp::ZERO).0.unwrap().marked
            };
            assert_eq!([0, 1, 2, 3].map(&mut mark), expected);
        }
    }
}
