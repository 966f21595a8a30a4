//! A queue for each flow, served in turn. With `CoDel` inside it is FQ-CoDel (RFC 8290) with a queue for each flow in
//! place of hashes, so no two flows ever share one.

use super::codel::Codel;
use super::{Discipline, Fifo, Packet};
use pcc::units::Timestamp;
use std::collections::VecDeque;

/// Bytes of a turn: a full Ethernet packet (RFC 8290 §5.2.4).
const QUANTUM: i64 = 1514;

/// What happens within a flow's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// The whole buffer belongs to each flow.
    DropTail,
    /// The buffer is shared; when it is full the longest queue loses its head (RFC 8290 §4.1).
    Codel,
}

struct FlowQueue {
    fifo: Fifo,
    codel: Codel,
    credit: i64,
    /// Whether it stands in one of the lists.
    active: bool,
}

/// Deficit round robin with priority for flows that come anew (RFC 8290 §4.2).
pub(super) struct FairQueue {
    flows: Vec<FlowQueue>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    limit: u64,
    bytes: u64,
    within: Within,
}

impl FairQueue {
    pub(super) const fn new(limit: u64, within: Within) -> Self {
        Self { flows: Vec::new(), new: VecDeque::new(), old: VecDeque::new(), limit, bytes: 0, within }
    }

    /// Drops from the head of the longest queue until all fit.
    fn make_room(&mut self) -> u64 {
        let mut dropped = 0;
        while self.within == Within::Codel && self.bytes > self.limit {
            let Some(longest) = self.flows.iter_mut().max_by_key(|flow| flow.fifo.bytes()) else { break };
            let Some(packet) = longest.fifo.pop() else { break };
            self.bytes -= packet.size;
            dropped += 1;
        }
        dropped
    }
}

impl Discipline for FairQueue {
    fn enqueue(&mut self, packet: Packet) -> u64 {
        let place = packet.flow as usize;
        while self.flows.len() <= place {
            let limit = if self.within == Within::DropTail { self.limit } else { u64::MAX };
            let (fifo, codel) = (Fifo::new(limit), Codel::default());
            self.flows.push(FlowQueue { fifo, codel, credit: 0, active: false });
        }
        let flow = &mut self.flows[place];
        if !flow.fifo.push(packet) {
            return 1;
        }
        self.bytes += packet.size;
        if !flow.active {
            (flow.active, flow.credit) = (true, QUANTUM);
            self.new.push_back(place);
        }
        self.make_room()
    }

    fn dequeue(&mut self, now: Timestamp) -> (Option<Packet>, u64) {
        let mut dropped = 0;
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let Some(&place) = list.front() else { return (None, dropped) };
            let flow = &mut self.flows[place];
            if flow.credit <= 0 {
                flow.credit += QUANTUM;
                list.pop_front();
                self.old.push_back(place);
                continue;
            }
            let before = flow.fifo.bytes();
            let (packet, drops) = match self.within {
                Within::DropTail => (flow.fifo.pop(), 0),
                Within::Codel => flow.codel.dequeue(now, &mut flow.fifo),
            };
            self.bytes -= before - flow.fifo.bytes();
            dropped += drops;
            if let Some(packet) = packet {
                flow.credit -= packet.size as i64;
                return (Some(packet), dropped);
            }
            list.pop_front();
            // A new flow that ran empty has one turn among the old before it may be new again.
            if is_new {
                self.old.push_back(place);
            } else {
                flow.active = false;
            }
        }
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::packet;
    use super::*;

    fn take(queue: &mut FairQueue, count: usize) -> Vec<u32> {
        (0..count).filter_map(|_| queue.dequeue(Timestamp::ZERO).0).map(|packet| packet.flow).collect()
    }

    #[test]
    fn flows_with_packets_of_different_sizes_get_equal_bytes() {
        let mut queue = FairQueue::new(u64::MAX, Within::DropTail);
        for number in 0..3000 {
            queue.enqueue(packet(0, number, 0));
            queue.enqueue(Packet { size: 300, ..packet(1, number, 0) });
        }
        let served = take(&mut queue, 3000);
        let large = served.iter().filter(|flow| **flow == 0).count();
        let ratio = (large * 1500) as f64 / ((served.len() - large) * 300) as f64;
        assert!((0.95..1.05).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_flow_that_fills_its_buffer_costs_the_others_nothing() {
        let mut queue = FairQueue::new(15_000, Within::DropTail);
        let dropped: u64 = (0..100).map(|number| queue.enqueue(packet(0, number, 0))).sum();
        assert_eq!(dropped, 90);
        assert_eq!(queue.enqueue(packet(1, 0, 0)), 0);
    }

    #[test]
    fn a_flow_that_comes_anew_is_served_before_those_that_wait() {
        let mut queue = FairQueue::new(u64::MAX, Within::Codel);
        for number in 0..50 {
            queue.enqueue(packet(0, number, 0));
            queue.enqueue(packet(1, number, 0));
        }
        take(&mut queue, 20);
        queue.enqueue(packet(2, 0, 0));
        assert_eq!(take(&mut queue, 1), [2]);
    }

    #[test]
    fn a_full_buffer_takes_from_the_longest_queue() {
        let mut queue = FairQueue::new(30_000, Within::Codel);
        for number in 0..19 {
            queue.enqueue(packet(0, number, 0));
        }
        assert_eq!(queue.enqueue(packet(1, 0, 0)), 0);
        assert_eq!(queue.enqueue(packet(1, 1, 0)), 1);
        assert_eq!((queue.flows[0].fifo.len(), queue.flows[1].fifo.len()), (18, 2));
        assert_eq!(queue.backlog(), 30_000);
    }
}
