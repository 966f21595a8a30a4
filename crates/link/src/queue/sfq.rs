//! Stochastic fairness queueing: flows are hashed into queues, which are served in turn. Source: McKenney, INFOCOM 1990, with
//! deficit round robin (Shreedhar and Varghese, SIGCOMM 1995) and the constants of Linux's `sch_sfq`.

use super::{Discipline, Fifo, Packet};
use crate::rng::Rng;
use pcc::units::Timestamp;
use std::collections::VecDeque;

/// Queues that flows are hashed into.
const DIVISOR: usize = 1024;
/// Packets that wait of one of them, at most.
const DEPTH: usize = 127;
/// Bytes of a turn: a full Ethernet packet.
const QUANTUM: i64 = 1514;

struct Slot {
    fifo: Fifo,
    credit: i64,
}

/// Flows with the same hash share a queue, as long as the path lasts: Linux draws a new hash only if it is told to.
pub(super) struct Sfq {
    slots: Vec<Slot>,
    /// The slots in which packets wait, in the order of their turns.
    round: VecDeque<usize>,
    limit: u64,
    bytes: u64,
    seed: u64,
}

impl Sfq {
    pub(super) fn new(limit: u64, seed: u64) -> Self {
        let slots = (0..DIVISOR).map(|_| Slot { fifo: Fifo::new(u64::MAX), credit: 0 }).collect();
        Self { slots, round: VecDeque::new(), limit, bytes: 0, seed: seed ^ 0x53_4651 }
    }

    fn slot_of(&self, flow: u32) -> usize {
        Rng::new(self.seed ^ u64::from(flow) << 32).next_u64() as usize % DIVISOR
    }

    /// Drops what came last to the longest queue, until all fit.
    fn make_room(&mut self, dropped: &mut Vec<Packet>) {
        while self.bytes > self.limit {
            let Some(longest) = self.round.iter().copied().max_by_key(|place| self.slots[*place].fifo.len()) else {
                break;
            };
            let Some(packet) = self.slots[longest].fifo.pop_last() else { break };
            self.bytes -= packet.size.get();
            dropped.push(packet);
            if self.slots[longest].fifo.len() == 0 {
                self.round.retain(|place| *place != longest);
            }
        }
    }
}

impl Discipline for Sfq {
    fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>) {
        let place = self.slot_of(packet.flow);
        let slot = &mut self.slots[place];
        if slot.fifo.len() >= DEPTH {
            return dropped.push(packet);
        }
        if slot.fifo.len() == 0 {
            slot.credit = QUANTUM;
            self.round.push_back(place);
        }
        self.bytes += packet.size.get();
        slot.fifo.push(packet, dropped);
        self.make_room(dropped);
    }

    fn dequeue(&mut self, _: Timestamp, _: &mut Vec<Packet>) -> Option<Packet> {
        loop {
            let place = *self.round.front()?;
            let slot = &mut self.slots[place];
            if slot.credit <= 0 {
                slot.credit += QUANTUM;
                self.round.rotate_left(1);
                continue;
            }
            let packet = slot.fifo.pop()?;
            self.bytes -= packet.size.get();
            slot.credit -= packet.size.get() as i64;
            if slot.fifo.len() == 0 {
                self.round.pop_front();
            }
            return Some(packet);
        }
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{after_a_newcomer, enqueue, packet, take};
    use super::*;
    use pcc::units::Bytes;

    #[test]
    fn flows_with_packets_of_different_sizes_get_equal_bytes() {
        let mut queue = Sfq::new(u64::MAX, 1);
        let mut bytes = [0.0; 2];
        for number in 0..6000 {
            enqueue(&mut queue, packet(0, number, 0));
            for _ in 0..5 {
                enqueue(&mut queue, Packet { size: Bytes::new(300), ..packet(1, number, 0) });
            }
            for flow in take(&mut queue, 3) {
                bytes[flow as usize] += [1500.0, 300.0][flow as usize];
            }
        }
        assert!((0.95..1.05).contains(&(bytes[0] / bytes[1])), "{bytes:?}");
    }

    #[test]
    fn a_flow_has_127_packets_waiting_at_most() {
        let mut queue = Sfq::new(u64::MAX, 1);
        let dropped: u64 = (0..200).map(|number| enqueue(&mut queue, packet(0, number, 0))).sum();
        assert_eq!(dropped, 200 - 127);
        assert_eq!(enqueue(&mut queue, packet(1, 0, 0)), 0);
    }

    #[test]
    fn a_full_buffer_takes_what_came_last_to_the_longest() {
        let mut queue = Sfq::new(30_000, 1);
        (0..19).for_each(|number| assert_eq!(enqueue(&mut queue, packet(0, number, 0)), 0));
        assert_eq!(enqueue(&mut queue, packet(1, 0, 0)), 0);
        let mut dropped = Vec::new();
        queue.enqueue(packet(1, 1, 0), &mut dropped);
        assert_eq!(dropped.iter().map(|one| (one.flow, one.number)).collect::<Vec<_>>(), [(0, 18)]);
        assert_eq!(queue.backlog(), 30_000);
    }

    #[test]
    fn a_flow_that_comes_anew_waits_for_its_turn() {
        let next = after_a_newcomer(&mut Sfq::new(u64::MAX, 1));
        assert!(next[0] != 2 && next.contains(&2), "{next:?}");
    }

    #[test]
    fn flows_collide_as_hashes_of_1024_do() {
        // 256 flows are in 1024 x (1 - (1023/1024)^256) = 226.4 queues on average.
        let used = |seed| {
            let queue = Sfq::new(1, seed);
            let mut places: Vec<_> = (0..256).map(|flow| queue.slot_of(flow)).collect();
            places.sort_unstable();
            places.dedup();
            places.len() as f64
        };
        let mean = (0..100).map(used).sum::<f64>() / 100.0;
        assert!((225.0..228.0).contains(&mean), "{mean}");
        assert!(used(1) != used(2), "the seed draws the hash");
    }
}
