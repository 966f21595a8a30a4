//! CAKE with one tin and fairness between flows, as `tc qdisc replace dev eth0 root cake bandwidth RATE besteffort flows`
//! makes it. The link behind the queue is its shaper. Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE", LANMAN
//! 2018, with the constants of Linux's `sch_cake`.

use super::codel::control_law;
use super::{Discipline, Fifo, Packet};
use crate::rng::Rng;
use core::time::Duration;
use pcc::units::{Bytes, Rate, Timestamp};
use std::collections::VecDeque;

/// Queues, and how many of them a flow may choose from.
const QUEUES: usize = 1024;
const WAYS: usize = 8;
/// A full Ethernet packet: the largest turn, and what a slow link's target is made of. Unit: bytes.
const FULL: u64 = 1514;
/// The smallest turn. Unit: bytes.
const LEAST_TURN: i64 = 300;
/// `CoDel`'s target and interval, for paths of the Internet.
const TARGET: Duration = Duration::from_millis(5);
const INTERVAL: Duration = Duration::from_millis(100);
/// By how much BLUE's drop probability grows when a flow fills the buffer, and falls when its queue is empty.
const UP: f64 = 1.0 / 256.0;
const DOWN: f64 = 1.0 / 4096.0;

/// The constants at the rate of the shaper.
#[derive(Clone, Copy)]
struct Scale {
    turn: i64,
    target: Duration,
    interval: Duration,
    /// A packet that waits no longer than the target, or than four take to leave, is on time.
    tolerated: Duration,
}

impl Scale {
    fn of(rate: Rate) -> Self {
        let packet = rate.time_for(Bytes::new(FULL));
        let target = TARGET.max(packet * 3 / 2);
        let turn = ((rate.bytes_per_sec() / 4096.0) as i64).clamp(LEAST_TURN, FULL as i64);
        let interval = (INTERVAL + target - TARGET).max(target * 2);
        Self { turn, target, interval, tolerated: target.max(packet * 4) }
    }
}

/// `CoDel` for the flows that answer, and BLUE for those that do not.
#[derive(Default)]
struct Cobalt {
    dropping: bool,
    count: u32,
    drop_next: Timestamp,
    /// BLUE's drop probability, and when it changed.
    share: f64,
    changed: Timestamp,
}

impl Cobalt {
    /// Whether a packet that leaves now is dropped; otherwise it may be marked.
    fn drops(&mut self, now: Timestamp, packet: &mut Packet, scale: &Scale, rng: &mut Rng) -> bool {
        let is_due = self.count > 0 && now >= self.drop_next;
        if now.since(packet.came) > scale.tolerated {
            if !self.dropping {
                (self.dropping, self.drop_next) = (true, control_law(now, scale.interval, self.count));
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut drops = false;
        if is_due && self.dropping {
            drops = !packet.mark();
            self.count = self.count.saturating_add(1);
            self.drop_next = control_law(self.drop_next, scale.interval, self.count);
        }
        if !self.dropping {
            self.calm(now, scale);
        }
        drops |= rng.chance(self.share);
        if self.count == 0 {
            self.drop_next = now + scale.interval;
        } else if now > self.drop_next && !drops {
            self.drop_next = now;
        }
        drops
    }

    /// The buffer is full, by this flow.
    fn overflows(&mut self, now: Timestamp, scale: &Scale) {
        if now.since(self.changed) > scale.target {
            (self.share, self.changed) = ((self.share + UP).min(1.0), now);
        }
        (self.dropping, self.drop_next, self.count) = (true, now, self.count.max(1));
    }

    /// The queue was empty until now.
    fn rests(&mut self, now: Timestamp, scale: &Scale) {
        if self.share > 0.0 {
            let steps = now.since(self.changed).as_secs_f64() / scale.target.as_secs_f64();
            (self.share, self.changed) = ((self.share - DOWN * steps.floor()).max(0.0), now);
        }
        self.dropping = false;
        self.calm(now, scale);
    }

    /// Forgets a drop for each moment of one that passed in peace.
    fn calm(&mut self, now: Timestamp, scale: &Scale) {
        while self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = control_law(self.drop_next, scale.interval, self.count);
        }
    }
}

/// A queue, of the flow that came to it last.
struct Slot {
    owner: Option<u32>,
    fifo: Fifo,
    cobalt: Cobalt,
    credit: i64,
    /// Whether it stands in one of the lists.
    listed: bool,
}

impl Slot {
    const fn new() -> Self {
        let cobalt =
            Cobalt { dropping: false, count: 0, drop_next: Timestamp::ZERO, share: 0.0, changed: Timestamp::ZERO };
        Self { owner: None, fifo: Fifo::new(u64::MAX), cobalt, credit: 0, listed: false }
    }
}

/// Deficit round robin between queues, with priority for those that come anew.
pub(super) struct Cake {
    slots: Vec<Slot>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    limit: u64,
    bytes: u64,
    scale: Scale,
    seed: u64,
    rng: Rng,
}

impl Cake {
    pub(super) fn new(limit: u64, rate: Rate, seed: u64) -> Self {
        let slots = (0..QUEUES).map(|_| Slot::new()).collect();
        let (scale, seed) = (Scale::of(rate), seed ^ 0x4341_4b45);
        Self { slots, new: VecDeque::new(), old: VecDeque::new(), limit, bytes: 0, scale, seed, rng: Rng::new(seed) }
    }

    /// The flow's queue: the one that it had, else a free one of its eight, else it shares one.
    fn slot_of(&mut self, flow: u32) -> usize {
        let home = Rng::new(self.seed ^ u64::from(flow) << 32).next_u64() as usize % QUEUES;
        let ways = (0..WAYS).map(|step| home - home % WAYS + (home + step) % WAYS);
        let own = ways.clone().find(|place| self.slots[*place].owner == Some(flow));
        let place = own.or_else(|| ways.clone().find(|place| !self.slots[*place].listed)).unwrap_or(home);
        self.slots[place].owner = Some(flow);
        place
    }

    /// Drops from the head of the longest queue until all fit.
    fn make_room(&mut self, now: Timestamp, dropped: &mut Vec<Packet>) {
        while self.bytes > self.limit {
            let listed = self.new.iter().chain(&self.old).copied();
            let Some(longest) = listed.max_by_key(|place| self.slots[*place].fifo.bytes()) else { break };
            let slot = &mut self.slots[longest];
            let Some(packet) = slot.fifo.pop() else { break };
            slot.cobalt.overflows(now, &self.scale);
            self.bytes -= packet.size.get();
            dropped.push(packet);
        }
    }
}

impl Discipline for Cake {
    fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>) {
        let place = self.slot_of(packet.flow);
        let slot = &mut self.slots[place];
        if !slot.listed {
            slot.cobalt.rests(packet.came, &self.scale);
            (slot.listed, slot.credit) = (true, self.scale.turn);
            self.new.push_back(place);
        }
        self.bytes += packet.size.get();
        slot.fifo.push(packet, dropped);
        self.make_room(packet.came, dropped);
    }

    fn dequeue(&mut self, now: Timestamp, dropped: &mut Vec<Packet>) -> Option<Packet> {
        loop {
            let list = if self.new.is_empty() { &mut self.old } else { &mut self.new };
            let place = list.pop_front()?;
            let slot = &mut self.slots[place];
            if slot.credit <= 0 {
                slot.credit += self.scale.turn;
                self.old.push_back(place);
                continue;
            }
            let Some(mut packet) = slot.fifo.pop() else {
                slot.listed = false;
                continue;
            };
            list.push_front(place);
            self.bytes -= packet.size.get();
            let drops = slot.cobalt.drops(now, &mut packet, &self.scale, &mut self.rng);
            // The last packet of a queue may be marked, and is not dropped.
            if drops && slot.fifo.len() > 0 {
                dropped.push(packet);
                continue;
            }
            slot.credit -= packet.size.get() as i64;
            return Some(packet);
        }
    }

    fn backlog(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{after_a_newcomer, capable, enqueue, ms, packet, ratio_of_bytes};
    use super::*;

    fn cake(mbit: f64, limit: u64) -> Cake {
        Cake::new(limit, Rate::from_mbit(mbit), 1)
    }

    /// Packets dropped and marked after each second, of a flow that sends one a millisecond where half as many leave.
    fn flooded(ecn: bool, seconds: u64) -> Vec<(u64, u64)> {
        let (mut queue, mut dropped, mut marked, mut counts) = (cake(6.0, u64::MAX), Vec::new(), 0, Vec::new());
        for now in 0..seconds * 1000 {
            let packet = packet(0, now, now);
            queue.enqueue(if ecn { capable(packet) } else { packet }, &mut dropped);
            if now % 2 == 0 {
                let left = queue.dequeue(ms(now), &mut dropped);
                marked += u64::from(left.is_some_and(|packet| packet.marked));
            }
            if now % 1000 == 999 {
                counts.push((dropped.len() as u64, marked));
            }
        }
        counts
    }

    #[test]
    fn constants_follow_the_rate_of_the_shaper() {
        let told = |mbit| {
            let scale = Scale::of(Rate::from_mbit(mbit));
            (scale.turn, scale.target.as_micros(), scale.interval.as_micros(), scale.tolerated.as_micros())
        };
        assert_eq!(told(100.0), (1514, 5000, 100_000, 5000));
        assert_eq!(told(20.0), (610, 5000, 100_000, 5000));
        // A full packet takes 12.112 ms.
        assert_eq!(told(1.0), (300, 18_168, 113_168, 48_448));
    }

    #[test]
    fn flows_with_packets_of_different_sizes_get_equal_bytes() {
        let ratio = ratio_of_bytes(&mut cake(100.0, u64::MAX));
        assert!((0.95..1.05).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_flow_that_comes_anew_is_served_first() {
        assert_eq!(after_a_newcomer(&mut cake(100.0, u64::MAX))[0], 2);
    }

    #[test]
    fn eight_ways_keep_hundreds_of_flows_apart() {
        // Where hashes alone decide, 256 flows are in 226 queues of 1024.
        let mut queue = cake(100.0, u64::MAX);
        (0..256).for_each(|flow| assert_eq!(enqueue(&mut queue, packet(flow, 0, 0)), 0));
        assert_eq!(queue.new.len(), 256);
        let again: VecDeque<_> = (0..256).map(|flow| queue.slot_of(flow)).collect();
        assert_eq!(again, queue.new, "a flow keeps its queue");
    }

    #[test]
    fn a_full_buffer_takes_from_the_longest_and_turns_blue_on() {
        let mut queue = cake(100.0, 30_000);
        (0..19).for_each(|number| assert_eq!(enqueue(&mut queue, packet(0, number, 10)), 0));
        enqueue(&mut queue, packet(1, 0, 10));
        let mut dropped = Vec::new();
        queue.enqueue(packet(1, 1, 10), &mut dropped);
        assert_eq!(dropped.iter().map(|one| (one.flow, one.number)).collect::<Vec<_>>(), [(0, 0)]);
        let shares = [0, 1].map(|flow| queue.slot_of(flow)).map(|place| queue.slots[place].cobalt.share);
        assert_eq!(shares, [UP, 0.0]);
        queue.slots[queue.new[0]].cobalt.rests(ms(16), &Scale::of(Rate::from_mbit(100.0)));
        assert_eq!(queue.slots[queue.new[0]].cobalt.share, UP - DOWN, "one step for each 5 ms of rest");
    }

    #[test]
    fn drops_come_faster_until_the_flow_answers() {
        let counts = flooded(false, 8);
        for (second, (dropped, marked)) in (1..).zip(counts) {
            // The n-th drop comes after 100 ms (1 + 1/√2 + .. + 1/√n), some 200 ms √n - 146 ms.
            let expected = f64::powi((f64::from(second) * 1e3 + 146.0) / 200.0, 2);
            assert!((0.9..1.02).contains(&(dropped as f64 / expected)) && marked == 0, "{second} s: {dropped}");
        }
    }

    #[test]
    fn packets_that_allow_it_are_marked_and_not_dropped() {
        let counts = flooded(true, 4);
        assert!(counts[3].0 == 0 && counts[3].1 > 50, "{counts:?}");
    }
}
