//! A queue for each flow, served in turn. With `CoDel` inside it is FQ-CoDel (RFC 8290) with a queue for each flow in
//! place of hashes, so no two flows ever share one. With PIE inside it is Linux's `sch_fq_pie`, which turns likewise.

use super::codel::Codel;
use super::pie::Pie;
use super::{Discipline, Fifo, Packet};
use crate::rng::Rng;
use pcc::units::Timestamp;
use std::collections::VecDeque;

/// Bytes of a turn: a full Ethernet packet (RFC 8290 §5.2.4).
const QUANTUM: i64 = 1514;

/// The discipline within a flow's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// The whole buffer belongs to each flow.
    DropTail,
    /// The buffer is shared; when it is full the longest queue loses its head (RFC 8290 §4.1).
    Codel,
    /// The buffer is shared; when it is full the packet that comes is dropped.
    Pie,
}

/// The manager of one flow's queue.
enum Manager {
    Nobody,
    Codel(Codel),
    Pie(Pie),
}

struct FlowQueue {
    fifo: Fifo,
    manager: Manager,
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
    rng: Rng,
}

impl FairQueue {
    pub(super) const fn new(limit: u64, within: Within, seed: u64) -> Self {
        let rng = Rng::new(seed ^ 0x46_5150_4945);
        Self { flows: Vec::new(), new: VecDeque::new(), old: VecDeque::new(), limit, bytes: 0, within, rng }
    }

    /// The queue of that flow, of which nothing may have come yet.
    fn see_to_flow(&mut self, place: usize) {
        while self.flows.len() <= place {
            let (limit, manager) = match self.within {
                Within::DropTail => (self.limit, Manager::Nobody),
                Within::Codel => (u64::MAX, Manager::Codel(Codel::default())),
                Within::Pie => (u64::MAX, Manager::Pie(Pie::new())),
            };
            self.flows.push(FlowQueue { fifo: Fifo::new(limit), manager, credit: 0, active: false });
        }
    }

    /// Drops from the head of the longest queue until all fit.
    fn make_room(&mut self, dropped: &mut Vec<Packet>) {
        while self.within == Within::Codel && self.bytes > self.limit {
            let Some(longest) = self.flows.iter_mut().max_by_key(|flow| flow.fifo.bytes()) else { break };
            let Some(packet) = longest.fifo.pop() else { break };
            self.bytes -= packet.size.get();
            dropped.push(packet);
        }
    }
}

impl Discipline for FairQueue {
    fn enqueue(&mut self, mut packet: Packet, dropped: &mut Vec<Packet>) {
        let place = packet.flow as usize;
        self.see_to_flow(place);
        let flow = &mut self.flows[place];
        if let Manager::Pie(pie) = &mut flow.manager {
            let backlog = flow.fifo.bytes();
            pie.update(packet.came, backlog);
            let fits = self.bytes + packet.size.get() <= self.limit;
            if !(fits && pie.admits(&mut packet, backlog, &mut self.rng)) {
                return dropped.push(packet);
            }
        }
        if !flow.fifo.push(packet, dropped) {
            return;
        }
        self.bytes += packet.size.get();
        if !flow.active {
            (flow.active, flow.credit) = (true, QUANTUM);
            self.new.push_back(place);
        }
        self.make_room(dropped);
    }

    fn dequeue(&mut self, now: Timestamp, dropped: &mut Vec<Packet>) -> Option<Packet> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let &place = list.front()?;
            let flow = &mut self.flows[place];
            if flow.credit <= 0 {
                flow.credit += QUANTUM;
                list.pop_front();
                self.old.push_back(place);
                continue;
            }
            let before = flow.fifo.bytes();
            let packet = match &mut flow.manager {
                Manager::Nobody => flow.fifo.pop(),
                Manager::Codel(codel) => codel.dequeue(now, &mut flow.fifo, dropped),
                Manager::Pie(pie) => pie.dequeue(now, &mut flow.fifo),
            };
            self.bytes -= before - flow.fifo.bytes();
            if let Some(packet) = packet {
                flow.credit -= packet.size.get() as i64;
                return Some(packet);
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
    use super::super::tests::{after_a_newcomer, dequeue, enqueue, ms, packet, ratio_of_bytes};
    use super::*;

    #[test]
    fn flows_with_packets_of_different_sizes_get_equal_bytes() {
        let ratio = ratio_of_bytes(&mut FairQueue::new(u64::MAX, Within::DropTail, 1));
        assert!((0.95..1.05).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_flow_that_fills_its_buffer_costs_the_others_nothing() {
        let mut queue = FairQueue::new(15_000, Within::DropTail, 1);
        let dropped: u64 = (0..100).map(|number| enqueue(&mut queue, packet(0, number, 0))).sum();
        assert_eq!(dropped, 90);
        assert_eq!(enqueue(&mut queue, packet(1, 0, 0)), 0);
    }

    #[test]
    fn a_flow_that_comes_anew_is_served_before_those_that_wait() {
        assert_eq!(after_a_newcomer(&mut FairQueue::new(u64::MAX, Within::Codel, 1))[0], 2);
    }

    #[test]
    fn a_full_buffer_takes_from_the_longest_queue() {
        let mut queue = FairQueue::new(30_000, Within::Codel, 1);
        for number in 0..19 {
            enqueue(&mut queue, packet(0, number, 0));
        }
        assert_eq!(enqueue(&mut queue, packet(1, 0, 0)), 0);
        assert_eq!(enqueue(&mut queue, packet(1, 1, 0)), 1);
        assert_eq!((queue.flows[0].fifo.len(), queue.flows[1].fifo.len()), (18, 2));
        assert_eq!(queue.backlog(), 30_000);
    }

    #[test]
    fn pie_within_drops_of_the_flow_whose_queue_is_long() {
        let mut queue = FairQueue::new(u64::MAX, Within::Pie, 1);
        let mut dropped = [0, 0];
        // Flow 0 sends as much as passes, flow 1 a tenth of that.
        for now in 0..20_000 {
            dropped[0] += enqueue(&mut queue, packet(0, now, now));
            if now % 10 == 0 {
                dropped[1] += enqueue(&mut queue, packet(1, now, now));
            }
            dequeue(&mut queue, ms(now));
        }
        assert!(dropped[0] > 500 && dropped[1] == 0, "{dropped:?}");
    }
}
