//! DualPI2: two queues, one for scalable senders, which is kept below a millisecond, and one for the others. Drops of
//! the classic queue are coupled to marks of the other one, so that both kinds of senders have about equal rates.
//! Source: RFC 9332, appendix A, with the constants of Linux's `sch_dualpi2`.
//!
//! Deviates: marks and drops are drawn at random, where the RFC adds probabilities up (`recur`), and the step counts however short
//! the queue is. Linux does both.

use super::{Discipline, Ecn, Fifo, Packet};
use crate::rng::Rng;
use core::time::Duration;
use pcc::units::Timestamp;

/// The delay of the classic queue.
const TARGET: Duration = Duration::from_millis(15);
/// The base probability is updated this often.
const UPDATE: Duration = Duration::from_millis(16);
/// How much a delay beyond the target changes the base probability, and how much a growing delay does. Unit: Hz.
const ALPHA: f64 = 0.16;
const BETA: f64 = 3.2;
/// A scalable packet that waited for longer is marked.
const STEP: Duration = Duration::from_millis(1);
/// The coupling factor k: the base probability times this is that of a mark of the scalable queue. At 2 the rates are about equal.
const COUPLING: f64 = 2.0;
/// Shares of the link, of a hundred, while packets of both wait.
const CLASSIC: i64 = 10;
const SCALABLE: i64 = 90;
/// A full Ethernet packet.
const PACKET: u64 = 1514;

/// The scalable queue begins.
const INITIAL_CREDIT: i64 = PACKET as i64 * (CLASSIC - SCALABLE);

/// Both queues, which share the buffer.
pub(super) struct DualPi2 {
    classic: Fifo,
    scalable: Fifo,
    limit: u64,
    /// The base probability: classic packets are dropped with its square.
    base: f64,
    /// The longer of both queueing delays at the last update.
    before: Duration,
    next: Timestamp,
    /// The classic queue's turn has come when this is above zero.
    credit: i64,
    rng: Rng,
}

impl DualPi2 {
    pub(super) fn new(limit: u64, seed: u64) -> Self {
        Self {
            classic: Fifo::new(u64::MAX),
            scalable: Fifo::new(u64::MAX),
            limit,
            base: 0.0,
            before: Duration::ZERO,
            next: Timestamp::ZERO,
            credit: INITIAL_CREDIT,
            rng: Rng::new(seed ^ 0x4455_414c),
        }
    }

    /// Makes the updates that are due by now. Between two events only the delay changes, and each update knows its moment.
    fn update(&mut self, now: Timestamp) {
        while self.next <= now {
            let waits = |fifo: &Fifo| fifo.head_came().map_or(Duration::ZERO, |came| self.next.since(came));
            let delay = waits(&self.classic).max(waits(&self.scalable));
            if self.base == 0.0 && delay.is_zero() && self.before.is_zero() {
                // No update changes anything as long as nothing waits, and nothing comes before now.
                let behind = now.since(self.next).as_nanos() / UPDATE.as_nanos();
                let behind = if self.backlog() == 0 { behind } else { 0 };
                self.next = self.next + UPDATE * u32::try_from(behind).unwrap_or(u32::MAX);
            } else {
                self.calculate(delay);
            }
            self.next = self.next + UPDATE;
        }
    }

    fn calculate(&mut self, delay: Duration) {
        let excess = delay.as_secs_f64() - TARGET.as_secs_f64();
        let growth = delay.as_secs_f64() - self.before.as_secs_f64();
        self.base = (self.base + ALPHA * excess + BETA * growth).clamp(0.0, 1.0);
        self.before = delay;
    }

    /// The next packet by the weights of both queues, and whether it is of the scalable one.
    fn take(&mut self) -> Option<(Packet, bool)> {
        let (classic, scalable) = (self.classic.bytes() > 0, self.scalable.bytes() > 0);
        if scalable && (!classic || self.credit <= 0) {
            let packet = self.scalable.pop()?;
            self.credit += if classic { CLASSIC * packet.size.get() as i64 } else { 0 };
            return Some((packet, true));
        }
        let Some(packet) = self.classic.pop() else {
            self.credit = INITIAL_CREDIT;
            return None;
        };
        self.credit -= if scalable { SCALABLE * packet.size.get() as i64 } else { 0 };
        Some((packet, false))
    }

    /// Whether the packet is sent, marked or not. Beyond half of the base probability every scalable packet is marked, and both
    /// queues drop alike.
    fn passes(&mut self, now: Timestamp, packet: &mut Packet, is_scalable: bool) -> bool {
        let waits = self.backlog() >= 2 * PACKET;
        let (coupled, is_overload) = (COUPLING * self.base, COUPLING * self.base > 1.0);
        let squared = waits && self.rng.chance(self.base) && self.rng.chance(self.base);
        if !is_scalable {
            return !squared || !is_overload && packet.mark();
        }
        if is_overload && squared {
            return false;
        }
        let is_late = now.since(packet.came) > STEP;
        if is_late || waits && self.rng.chance(coupled) {
            packet.mark();
        }
        true
    }
}

impl Discipline for DualPi2 {
    fn enqueue(&mut self, packet: Packet, dropped: &mut Vec<Packet>) {
        self.update(packet.came);
        if self.backlog() + packet.size.get() > self.limit {
            return dropped.push(packet);
        }
        // A packet that is marked already no longer says whose it is.
        let is_scalable = packet.ecn == Ecn::Scalable || packet.marked;
        let fifo = if is_scalable { &mut self.scalable } else { &mut self.classic };
        fifo.push(packet, dropped);
    }

    fn dequeue(&mut self, now: Timestamp, dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.update(now);
        loop {
            let (mut packet, is_scalable) = self.take()?;
            if self.passes(now, &mut packet, is_scalable) {
                return Some(packet);
            }
            dropped.push(packet);
        }
    }

    fn backlog(&self) -> u64 {
        self.classic.bytes() + self.scalable.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{capable, dequeue, enqueue, ms, packet};
    use super::*;

    fn scalable(packet: Packet) -> Packet {
        Packet { ecn: Ecn::Scalable, ..packet }
    }

    /// The shares of packets with this word that are dropped and marked at this base probability, after no wait.
    fn shares(base: f64, ecn: Ecn) -> (f64, f64) {
        let mut queue = DualPi2::new(u64::MAX, 1);
        let (mut dropped, mut marked) = (0, 0);
        for number in 0..40_000 {
            (queue.base, queue.next) = (base, ms(1_000_000));
            while queue.backlog() < 60_000 {
                enqueue(&mut queue, Packet { ecn, ..packet(0, number, 0) });
            }
            let (packet, drops) = dequeue(&mut queue, Timestamp::ZERO);
            dropped += drops;
            marked += u64::from(packet.is_some_and(|packet| packet.marked));
        }
        let all = 40_000.0 + dropped as f64;
        (dropped as f64 / all, marked as f64 / all)
    }

    #[test]
    fn classic_packets_are_hit_by_the_square_and_others_by_the_double() {
        let near = |(dropped, marked): (f64, f64), expected: (f64, f64)| {
            let is_near = |a: f64, b: f64| (a - b).abs() <= 0.06 * b + 0.001;
            assert!(is_near(dropped, expected.0) && is_near(marked, expected.1), "{dropped} {marked} {expected:?}");
        };
        near(shares(0.2, Ecn::NotCapable), (0.04, 0.0));
        near(shares(0.2, Ecn::Classic), (0.0, 0.04));
        near(shares(0.2, Ecn::Scalable), (0.0, 0.4));
        // Overload: nothing is spared, and what is left of the scalable ones is marked.
        near(shares(0.6, Ecn::Classic), (0.36, 0.0));
        near(shares(0.6, Ecn::Scalable), (0.36, 0.64));
    }

    #[test]
    fn a_scalable_packet_is_marked_after_more_than_a_millisecond() {
        for (wait, marked) in [(1, false), (2, true)] {
            let mut queue = DualPi2::new(u64::MAX, 1);
            enqueue(&mut queue, scalable(packet(0, 0, 0)));
            assert_eq!(dequeue(&mut queue, ms(wait)).0.unwrap().marked, marked, "{wait} ms");
            enqueue(&mut queue, capable(packet(0, 0, 100)));
            assert!(!dequeue(&mut queue, ms(100 + wait)).0.unwrap().marked, "the classic queue has no step");
        }
    }

    #[test]
    fn packets_with_ect1_or_a_mark_have_the_scalable_queue() {
        let mut queue = DualPi2::new(u64::MAX, 1);
        let plain = packet(0, 0, 0);
        for one in [plain, capable(plain), scalable(plain), Packet { marked: true, ..capable(plain) }] {
            enqueue(&mut queue, one);
        }
        assert_eq!((queue.classic.len(), queue.scalable.len()), (2, 2));
    }

    #[test]
    fn scalable_packets_come_first_and_the_others_keep_a_tenth() {
        let mut queue = DualPi2::new(u64::MAX, 1);
        for number in 0..2000 {
            enqueue(&mut queue, packet(0, number, 0));
            enqueue(&mut queue, scalable(packet(1, number, 0)));
        }
        let served: Vec<u32> = (0..1000).map(|_| dequeue(&mut queue, Timestamp::ZERO).0.unwrap().flow).collect();
        assert!(served[..8].iter().all(|flow| *flow == 1), "{:?}", &served[..8]);
        let classic = served.iter().filter(|flow| **flow == 0).count();
        assert!((95..=105).contains(&classic), "{classic}");
    }

    #[test]
    fn base_probability_follows_the_longer_delay() {
        // 0.16 Hz x excess + 3.2 Hz x growth, by hand.
        for (base, delay, before, expected) in [
            (0.1, 20, 20, 0.1 + 0.16 * 0.005),
            (0.1, 20, 15, 0.1 + 0.16 * 0.005 + 3.2 * 0.005),
            (0.1, 5, 10, 0.1 - 0.16 * 0.010 - 3.2 * 0.005),
            (0.0, 5, 10, 0.0),
        ] {
            let mut queue = DualPi2 { base, before: Duration::from_millis(before), ..DualPi2::new(u64::MAX, 1) };
            queue.calculate(Duration::from_millis(delay));
            assert!((queue.base - expected).abs() < 1e-12, "{} {expected}", queue.base);
        }
        for ecn in [Ecn::Classic, Ecn::Scalable] {
            let mut queue = DualPi2::new(u64::MAX, 1);
            enqueue(&mut queue, Packet { ecn, ..packet(0, 0, 1) });
            // The update of 32 ms finds a packet that has waited for 31 ms, after 15 at the one before.
            queue.update(ms(40));
            let expected = (3.2 * 0.015) + (0.16 * 0.016 + 3.2 * 0.016);
            assert!((queue.base - expected).abs() < 1e-9, "{ecn:?}: {} {expected}", queue.base);
        }
    }

    #[test]
    fn a_queue_that_rests_for_long_is_caught_up_with_at_once() {
        let mut queue = DualPi2::new(u64::MAX, 1);
        queue.update(ms(3_600_000));
        assert!(queue.next > ms(3_600_000) && queue.next <= ms(3_600_000) + UPDATE && queue.base == 0.0);
    }
}
