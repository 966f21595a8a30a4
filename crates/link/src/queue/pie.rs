//! PIE: packets are dropped as they come, with a probability that a proportional-integral controller steers so that the
//! queueing delay is at its target. Source: RFC 8033; where it leaves a choice, Linux's `sch_pie`: the delay is that of the packet
//! that left last, by its time stamp.
//!
//! Deviates: without a queue the probability shrinks by a 64th with each update, as in Linux, where the RFC has a fiftieth.

use super::{Discipline, Fifo, Packet};
use crate::rng::Rng;
use core::time::Duration;
use pcc::units::Timestamp;

/// The queueing delay that it holds (`QDELAY_REF`, RFC 8033 §4.2).
const TARGET: Duration = Duration::from_millis(15);
/// The probability is updated this often (`T_UPDATE`).
const UPDATE: Duration = Duration::from_millis(15);
/// Nothing is dropped for so long after the queue was idle (`MAX_BURST`).
const BURST: Duration = Duration::from_millis(150);
/// How much a delay beyond the target changes the probability, and how much a growing delay does. Unit: Hz.
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// Up to this probability packets that may be marked are (`MAX_ECNTH`, §5.1).
const MARKS_UP_TO: f64 = 0.1;
/// A delay beyond this adds to the probability whatever the controller says: 2 % at a time (§5.5).
const FAR: Duration = Duration::from_millis(250);
const STEP: f64 = 0.02;
/// The probability shrinks to so much of itself with each update while nothing waits (Linux: 63/64; §4.2: 0.98).
const DECAY: f64 = 63.0 / 64.0;
/// A shorter queue loses nothing: two full Ethernet packets.
const SHORT: u64 = 2 * 1514;
/// A packet is dropped by chance only after this much probability was added up since the last one, and at last without chance
/// (de-randomization, §5.4).
const ACCUMULATED: core::ops::Range<f64> = 0.85..8.5;

/// The state of the controller of one queue.
#[derive(Clone, Debug)]
pub(super) struct Pie {
    probability: f64,
    accumulated: f64,
    /// The rest of the time in which nothing is dropped.
    burst: Duration,
    /// The delay of the packet that left last, and the same at the last update.
    delay: Duration,
    before: Duration,
    left: Option<Timestamp>,
    next: Timestamp,
}

impl Pie {
    pub(super) const fn new() -> Self {
        Self {
            probability: 0.0,
            accumulated: 0.0,
            burst: BURST,
            delay: Duration::ZERO,
            before: Duration::ZERO,
            left: None,
            next: Timestamp::ZERO,
        }
    }

    /// Makes the updates that are due by now. Between two events nothing changes but by updates, so those may come late.
    pub(super) fn update(&mut self, now: Timestamp, backlog: u64) {
        while self.next <= now {
            if self.is_at_rest() {
                // No update changes anything.
                let behind = now.since(self.next).as_nanos() / UPDATE.as_nanos();
                self.next = self.next + UPDATE * u32::try_from(behind).unwrap_or(u32::MAX);
            } else {
                self.calculate(backlog);
            }
            self.next = self.next + UPDATE;
        }
    }

    fn is_at_rest(&self) -> bool {
        self.probability == 0.0
            && self.delay.is_zero()
            && self.before.is_zero()
            && self.burst == BURST
            && self.left.is_none()
    }

    /// RFC 8033 §4.2 and §5.
    fn calculate(&mut self, backlog: u64) {
        let excess = self.delay.as_secs_f64() - TARGET.as_secs_f64();
        let growth = self.delay.as_secs_f64() - self.before.as_secs_f64();
        let mut change = (ALPHA * excess + BETA * growth) * gain(self.probability);
        if self.probability >= 0.1 {
            change = change.min(STEP);
        }
        if self.delay > FAR {
            change += STEP;
        }
        self.probability = (self.probability + change).clamp(0.0, 1.0);
        if self.delay.is_zero() && self.before.is_zero() && backlog == 0 {
            self.probability *= DECAY;
        }
        if self.probability == 0.0 && self.delay.max(self.before) < TARGET / 2 {
            (self.burst, self.accumulated, self.left) = (BURST, 0.0, None);
        }
        self.before = self.delay;
    }

    /// Whether a packet that comes now, to so many bytes, gets into the queue, marked or not.
    pub(super) fn admits(&mut self, packet: &mut Packet, backlog: u64, rng: &mut Rng) -> bool {
        if !self.hits(backlog, rng) || self.probability <= MARKS_UP_TO && packet.mark() {
            return true;
        }
        self.accumulated = 0.0;
        false
    }

    fn hits(&mut self, backlog: u64, rng: &mut Rng) -> bool {
        let is_calm = self.delay < TARGET / 2 && self.probability < 0.2;
        if !self.burst.is_zero() || is_calm || backlog < SHORT {
            return false;
        }
        self.accumulated = if self.probability == 0.0 { 0.0 } else { self.accumulated + self.probability };
        if self.accumulated < ACCUMULATED.start {
            return false;
        }
        let hit = self.accumulated >= ACCUMULATED.end || rng.chance(self.probability);
        if hit {
            self.accumulated = 0.0;
        }
        hit
    }

    /// Takes the next packet from the queue.
    pub(super) fn dequeue(&mut self, now: Timestamp, fifo: &mut Fifo) -> Option<Packet> {
        self.update(now, fifo.bytes());
        let packet = fifo.pop()?;
        self.on_departure(now, packet.came, fifo.bytes());
        Some(packet)
    }

    /// A packet that came then has left; so many bytes wait still.
    fn on_departure(&mut self, now: Timestamp, came: Timestamp, backlog: u64) {
        self.delay = if backlog == 0 { Duration::ZERO } else { now.since(came) };
        if let Some(left) = self.left.replace(now) {
            self.burst = self.burst.saturating_sub(now.since(left));
        }
    }
}

/// Small probabilities change in small steps (RFC 8033 §5.2).
fn gain(probability: f64) -> f64 {
    const STEPS: [(f64, f64); 6] =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    STEPS.iter().find(|(below, _)| probability < *below).map_or(1.0, |(_, divisor)| 1.0 / divisor)
}

/// One queue for all.
pub(super) struct PieQueue {
    fifo: Fifo,
    pie: Pie,
    rng: Rng,
}

impl PieQueue {
    pub(super) fn new(limit: u64, seed: u64) -> Self {
        Self { fifo: Fifo::new(limit), pie: Pie::new(), rng: Rng::new(seed ^ 0x50_4945) }
    }
}

impl Discipline for PieQueue {
    fn enqueue(&mut self, mut packet: Packet, dropped: &mut Vec<Packet>) {
        self.pie.update(packet.came, self.fifo.bytes());
        if self.pie.admits(&mut packet, self.fifo.bytes(), &mut self.rng) {
            self.fifo.push(packet, dropped);
        } else {
            dropped.push(packet);
        }
    }

    fn dequeue(&mut self, now: Timestamp, _: &mut Vec<Packet>) -> Option<Packet> {
        self.pie.dequeue(now, &mut self.fifo)
    }

    fn backlog(&self) -> u64 {
        self.fifo.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{capable, dequeue, enqueue, ms, packet};
    use super::*;

    /// A packet comes each millisecond, and one leaves that waited for so long; the controller is watched, not what it does to
    /// senders. Dropped and marked in each second.
    fn watched(behind: u64, seconds: u64, ecn: bool) -> (PieQueue, Vec<(u64, u64)>) {
        let mut queue = PieQueue::new(u64::MAX, 1);
        let mut each = vec![(0, 0); seconds as usize];
        for now in 0..seconds * 1000 {
            let comes = packet(0, now, now);
            let dropped = enqueue(&mut queue, if ecn { capable(comes) } else { comes });
            let marked = u64::from(dropped == 0 && queue.fifo.packets.back().is_some_and(|last| last.marked));
            while queue.fifo.len() <= behind as usize {
                queue.fifo.push(comes, &mut Vec::new());
            }
            queue.fifo.packets.front_mut().unwrap().came = ms(now.saturating_sub(behind));
            dequeue(&mut queue, ms(now));
            let second = &mut each[(now / 1000) as usize];
            *second = (second.0 + dropped, second.1 + marked);
        }
        (queue, each)
    }

    #[test]
    fn a_queue_below_half_the_target_loses_nothing() {
        assert!(watched(7, 20, false).1.iter().all(|second| *second == (0, 0)));
    }

    #[test]
    fn a_burst_loses_nothing_for_150_ms() {
        let mut queue = PieQueue::new(u64::MAX, 1);
        queue.pie.probability = 1.0;
        (0..300).for_each(|number| assert_eq!(enqueue(&mut queue, packet(0, number, 0)), 0));
        let first_drop = (0..300).find(|now| {
            dequeue(&mut queue, ms(*now));
            queue.pie.probability = 1.0;
            enqueue(&mut queue, packet(0, 0, *now)) > 0
        });
        assert_eq!(first_drop, Some(150));
    }

    #[test]
    fn probability_changes_as_the_rfc_says() {
        // (0.125 Hz x excess + 1.25 Hz x growth) / divisor, by hand.
        for (probability, delay, before, expected) in [
            (0.0, 40, 0, (0.125 * 0.025 + 1.25 * 0.040) / 2048.0),
            (5e-6, 40, 40, (0.125 * 0.025) / 512.0),
            (5e-5, 40, 30, (0.125 * 0.025 + 1.25 * 0.010) / 128.0),
            (5e-4, 10, 10, -0.125 * 0.005 / 32.0),
            (5e-3, 25, 20, (0.125 * 0.010 + 1.25 * 0.005) / 8.0),
            (0.05, 25, 30, (0.125 * 0.010 - 1.25 * 0.005) / 2.0),
            (0.5, 25, 20, 0.125 * 0.010 + 1.25 * 0.005),
            (0.5, 200, 20, 0.02),
            (0.5, 260, 260, 0.02 + 0.02),
            (0.0, 0, 0, 0.0),
        ] {
            let of = |ms| Duration::from_millis(ms);
            let mut pie = Pie { probability, delay: of(delay), before: of(before), ..Pie::new() };
            pie.calculate(1);
            let change = pie.probability - probability;
            assert!((change - expected).abs() < 1e-12, "{probability}, {delay} ms: {change} for {expected}");
            assert_eq!(pie.before, pie.delay);
        }
    }

    #[test]
    fn the_probability_decays_by_a_64th_once_nothing_waits() {
        let mut pie = Pie { probability: 0.64, ..Pie::new() };
        pie.calculate(0);
        assert!((pie.probability - (0.64 - 0.125 * 0.015) * 63.0 / 64.0).abs() < 1e-12);
        let mut waiting = Pie { probability: 0.64, ..Pie::new() };
        waiting.calculate(3000);
        assert!((waiting.probability - (0.64 - 0.125 * 0.015)).abs() < 1e-12);
    }

    #[test]
    fn a_queue_at_the_target_keeps_its_losses_and_a_longer_one_loses_more() {
        // At 15 ms the controller has no reason to change; at 20 ms it adds 0.125 x 5 ms each update.
        let (queue, each) = watched(15, 4, false);
        assert!(queue.pie.probability < 1e-4 && each.iter().all(|second| second.0 == 0), "{:?}", queue.pie);
        let lost: Vec<u64> = watched(20, 40, false).1.iter().map(|second| second.0).collect();
        let part = |from: usize| lost[from..from + 10].iter().sum::<u64>();
        assert!(part(0) < part(10) && part(10) < part(20) && part(20) < part(30), "{lost:?}");
    }

    #[test]
    fn marks_take_the_place_of_drops_up_to_a_tenth() {
        let (queue, each) = watched(20, 60, true);
        assert!(queue.pie.probability > 0.1);
        let last_mark = each.iter().rposition(|second| second.1 > 0).unwrap();
        let first_drop = each.iter().position(|second| second.0 > 0).unwrap();
        assert!(last_mark <= first_drop && each[last_mark].1 > 25, "{each:?}");
    }

    #[test]
    fn two_packets_that_wait_are_no_queue_and_the_last_has_no_delay() {
        let mut rng = Rng::new(1);
        let full = || Pie { probability: 1.0, burst: Duration::ZERO, delay: TARGET * 2, ..Pie::new() };
        assert_eq!([SHORT - 1, SHORT].map(|backlog| full().hits(backlog, &mut rng)), [false, true]);
        let mut pie = full();
        pie.on_departure(ms(50), ms(10), 1500);
        assert_eq!(pie.delay, Duration::from_millis(40));
        pie.on_departure(ms(90), ms(10), 0);
        assert_eq!(pie.delay, Duration::ZERO);
    }

    #[test]
    fn idle_time_uses_up_no_allowance_for_a_burst() {
        let mut queue = PieQueue::new(u64::MAX, 1);
        for now in [0, 10_000] {
            enqueue(&mut queue, packet(0, 0, now));
            dequeue(&mut queue, ms(now));
        }
        assert_eq!(queue.pie.burst, BURST);
    }

    #[test]
    fn drops_are_no_closer_than_chance_alone_would_have_them() {
        let mut pie = Pie { probability: 0.05, burst: Duration::ZERO, delay: TARGET, ..Pie::new() };
        let mut rng = Rng::new(1);
        let hits: Vec<u64> = (0..20_000).filter(|_| pie.hits(SHORT, &mut rng)).collect();
        let gaps: Vec<u64> = hits.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // 0.85 must add up first: 17 packets; 8.5 is the most: 170.
        assert!(gaps.iter().all(|gap| (17..=171).contains(gap)), "{gaps:?}");
        assert!(gaps.iter().min() <= Some(&18) && gaps.iter().max() > Some(&100), "{gaps:?}");
    }
}
