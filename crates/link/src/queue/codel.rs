//! `CoDel`: packets that waited longer than a target for a whole interval are dropped, ever faster, until they don't.
//! Source: RFC 8289 §5, with the names of its pseudocode.

use super::{Discipline, Fifo, Packet};
use core::time::Duration;
use pcc::units::Timestamp;

/// A queue that never empties within an interval may be so long (RFC 8289 §4.3).
const TARGET: Duration = Duration::from_millis(5);
/// A worst-case round trip (§4.2).
const INTERVAL: Duration = Duration::from_millis(100);
/// A queue with no more than a full packet is good, however long it took (§5.4).
const MAXPACKET: u64 = 1514;

/// `CoDel`'s memory of a queue.
#[derive(Debug, Default)]
pub(super) struct Codel {
    first_above_time: Option<Timestamp>,
    drop_next: Timestamp,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

impl Codel {
    /// Takes the next packet from the queue.
    pub(super) fn dequeue(&mut self, now: Timestamp, fifo: &mut Fifo, dropped: &mut Vec<Packet>) -> Option<Packet> {
        let (mut packet, mut ok_to_drop) = self.do_dequeue(now, fifo);
        if packet.is_none() {
            self.dropping = false;
        } else if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                let is_marked = mark(packet.as_mut());
                if !is_marked {
                    dropped.extend(packet);
                    (packet, ok_to_drop) = self.do_dequeue(now, fifo);
                    self.dropping = ok_to_drop;
                }
                // At the end it stays at the last drop: how long ago that was says whether `count` still means something.
                if self.dropping {
                    self.drop_next = control_law(self.drop_next, INTERVAL, self.count);
                }
                if is_marked {
                    break;
                }
            }
        } else if ok_to_drop {
            if !mark(packet.as_mut()) {
                dropped.extend(packet);
                (packet, _) = self.do_dequeue(now, fifo);
            }
            self.dropping = true;
            // If it left this state a short time ago, the rate that controlled the queue then is close to right.
            let delta = self.count.saturating_sub(self.lastcount);
            let recent = now.since(self.drop_next) < 16 * INTERVAL;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = control_law(now, INTERVAL, self.count);
            self.lastcount = self.count;
        }
        packet
    }

    fn do_dequeue(&mut self, now: Timestamp, fifo: &mut Fifo) -> (Option<Packet>, bool) {
        let Some(packet) = fifo.pop() else {
            self.first_above_time = None;
            return (None, false);
        };
        if now.since(packet.came) < TARGET || fifo.bytes() <= MAXPACKET {
            self.first_above_time = None;
            return (Some(packet), false);
        }
        let above = *self.first_above_time.get_or_insert(now + INTERVAL);
        (Some(packet), now >= above)
    }
}

/// Drops come at intervals that shrink with the root of their number (§5.3).
pub(super) fn control_law(from: Timestamp, interval: Duration, count: u32) -> Timestamp {
    from + interval.div_f64(f64::from(count.max(1)).sqrt())
}

/// Marks a packet instead of dropping it, if it may be.
fn mark(packet: Option<&mut Packet>) -> bool {
    packet.is_some_and(Packet::mark)
}

/// One queue for all.
pub(super) struct CodelQueue {
    fifo: Fifo,
    codel: Codel,
}

impl CodelQueue {
    pub(super) fn new(limit: u64) -> Self {
        Self { fifo: Fifo::new(limit), codel: Codel::default() }
    }
}

impl Discipline for CodelQueue {
    fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>) {
        self.fifo.push(packet, dropped);
    }

    fn dequeue(&mut self, now: Timestamp, dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.codel.dequeue(now, &mut self.fifo, dropped)
    }

    fn backlog(&self) -> u64 {
        self.fifo.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{capable, dequeue, enqueue, ms, packet};
    use super::*;

    /// A packet comes each millisecond for so long, and one leaves each millisecond, `behind` packets later; at which
    /// times something was dropped or marked.
    fn drops(behind: u64, millis: u64, ecn: bool) -> (Vec<u64>, Vec<u64>) {
        let mut queue = CodelQueue::new(u64::MAX);
        let (mut dropped, mut marked) = (Vec::new(), Vec::new());
        for now in 0..millis {
            // The queue is kept at its length: CoDel is watched, not what it does to senders.
            while queue.fifo.len() < behind as usize {
                let came = now.saturating_sub(behind - queue.fifo.len() as u64);
                let packet = packet(0, now, came);
                enqueue(&mut queue, if ecn { capable(packet) } else { packet });
            }
            let (packet, drops) = dequeue(&mut queue, ms(now));
            dropped.extend((0..drops).map(|_| now));
            marked.extend(packet.filter(|packet| packet.marked).map(|_| now));
        }
        (dropped, marked)
    }

    #[test]
    fn a_queue_below_the_target_loses_nothing() {
        assert_eq!(drops(4, 5000, false), (vec![], vec![]));
    }

    #[test]
    fn a_burst_shorter_than_an_interval_loses_nothing() {
        let mut queue = CodelQueue::new(u64::MAX);
        for number in 0..90 {
            enqueue(&mut queue, packet(0, number, 0));
        }
        // 90 ms of queue, gone before the interval of 100 ms is over.
        assert!((0..90).all(|now| dequeue(&mut queue, ms(now)).1 == 0));
    }

    #[test]
    fn a_standing_queue_drops_faster_by_the_root_of_the_count() {
        let (dropped, _) = drops(20, 2000, false);
        let gaps: Vec<_> = dropped.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        assert!((100..=130).contains(&dropped[0]), "after the first interval: {}", dropped[0]);
        for (number, gap) in (1..).zip(gaps).take(10) {
            let expected = 100.0 / f64::from(number).sqrt();
            assert!((gap - expected).abs() <= 2.0, "gap {number} is {gap} ms, the law says {expected:.1}");
        }
    }

    #[test]
    fn packets_that_may_be_marked_are_not_dropped() {
        let (dropped, marked) = drops(20, 2000, true);
        assert!(dropped.is_empty());
        assert_eq!(marked.len(), drops(20, 2000, false).0.len());
    }

    #[test]
    fn drop_that_ends_queue_is_last_one_and_no_next_one_is_planned() {
        let mut queue = CodelQueue::new(u64::MAX);
        (0..10).for_each(|number| assert_eq!(enqueue(&mut queue, packet(0, number, 0)), 0));
        assert_eq!(dequeue(&mut queue, ms(10)).1, 0, "from here on the queue is too long");
        assert_eq!(dequeue(&mut queue, ms(110)).1, 1, "for an interval");
        let next = queue.codel.drop_next;
        assert_eq!(next, ms(210));
        // The first of three packets is dropped, the second leaves, and the third alone is no queue.
        while queue.fifo.len() > 3 {
            queue.fifo.pop();
        }
        assert_eq!((dequeue(&mut queue, next).1, queue.codel.dropping), (1, false));
        assert_eq!(queue.codel.drop_next, next);
    }

    #[test]
    fn one_full_packet_may_wait_however_long() {
        assert_eq!(drops(2, 5000, false).0.len(), 0);
    }
}
