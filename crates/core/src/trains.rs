//! The rate of the bottleneck, by how far apart the first packets arrive.
//!
//! Packets that leave back to back arrive as far apart as the bottleneck takes for each of them (packet trains, Jain and
//! Routhier 1986; dispersion, Dovrolis et al., INFOCOM 2001). The packets of the first round trip leave in trains; of each,
//! the times of acknowledgements are regressed on the bytes that had arrived by then. All trains share the slope, seconds a
//! byte, and what is left over is its error.
//!
//! It is the capacity, not what others leave of it. Where a train waits longer than it takes to pass, others' packets are among
//! ours, and nothing is told; a queue of others that never changes is not seen. So who is told something still has to see that
//! rate pass ([`crate::control`], start-up).
//!
//! A receiver can pretend any rate up to that of a train in 100 µs, some 400 Mbit/s with packets of 1200 bytes; what is sent on its
//! word is bounded by what it acknowledges of each step. One that answers by a timer, whole packets of a train always so far apart,
//! tells a rate that is too low, from which the law climbs.

use crate::interval::TRAIN;
use crate::units::{Bytes, Rate, Timestamp};
use core::time::Duration;

/// Packets of a train, and trains: together what any sender may have in flight on a new path, give or take
/// (RFC 6928: ten packets; Linux paces twice that into the first round trip).
const PACKETS: u32 = 4;
const TRAINS: usize = 4;
/// So many must have arrived whole.
const LEAST_TRAINS: usize = 3;
/// Trains that may stay incomplete, of a sender with little to say or a slow host: then there are none.
const TRIES: u32 = 8;
/// For so long what they told is believed, as the least RTT is (RFC 9002 has no bound, BBR ten seconds).
const MEMORY: Duration = Duration::from_secs(10);
/// On a shorter path doubling takes no time.
const SHORTEST_RTT: Duration = Duration::from_millis(5);
/// How large the error may be, as a share of the slope: half of what a doubling may be wrong.
const LARGEST_ERROR: f64 = 0.25;
/// How many standard errors the truth is away at most in 19 of 20 cases, by the degrees of freedom left (Student). The times of a
/// train's acknowledgements are sums, not independent, and the true share is somewhat less.
const SURE: [f64; 9] = [f64::INFINITY, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31];

/// One train, and sums over its acknowledgements.
#[derive(Clone, Copy, Debug)]
struct Train {
    first: u64,
    left: Timestamp,
    packets: u32,
    acked: u32,
    bytes: u64,
    arrived: u64,
    /// Its newest packet in the acknowledgement being read.
    newest: Option<u64>,
    /// Packets of it in that, and in the one before.
    batch: u32,
    batch_before: u32,
    /// When the first acknowledgement came.
    answered: Option<Timestamp>,
    /// Nothing can be learned from it.
    is_void: bool,
    points: f64,
    sum_t: f64,
    sum_b: f64,
    sum_tt: f64,
    sum_tb: f64,
    sum_bb: f64,
}

impl Train {
    const fn new(now: Timestamp, first: u64) -> Self {
        Self {
            first,
            left: now,
            packets: 0,
            acked: 0,
            bytes: 0,
            arrived: 0,
            newest: None,
            batch: 0,
            batch_before: 0,
            answered: None,
            is_void: false,
            points: 0.0,
            sum_t: 0.0,
            sum_b: 0.0,
            sum_tt: 0.0,
            sum_tb: 0.0,
            sum_bb: 0.0,
        }
    }

    fn has(&self, packet: u64) -> bool {
        packet.checked_sub(self.first).is_some_and(|place| place < u64::from(self.packets))
    }

    /// So many of its bytes had arrived by now.
    fn add(&mut self, now: Timestamp) {
        let t = now.since(*self.answered.get_or_insert(now)).as_secs_f64();
        let b = self.arrived as f64;
        self.points += 1.0;
        self.sum_t += t;
        self.sum_b += b;
        self.sum_tt += t * t;
        self.sum_tb += t * b;
        self.sum_bb += b * b;
    }

    /// Sums of squares around the means: of t, of t with b, of b.
    fn centred(&self) -> [f64; 3] {
        let n = self.points.max(1.0);
        [
            self.sum_tt - self.sum_t * self.sum_t / n,
            self.sum_tb - self.sum_t * self.sum_b / n,
            self.sum_bb - self.sum_b * self.sum_b / n,
        ]
    }

    fn is_whole(&self) -> bool {
        !self.is_void && self.packets == PACKETS && self.acked == PACKETS && self.points >= 2.0
    }
}

/// The trains of a sender that begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trains {
    trains: [Option<Train>; TRAINS],
    begun: usize,
    /// The newest packet of the acknowledgement being read.
    newest: Option<u64>,
    incomplete: u32,
    /// What they told, once all have, and when.
    told: Option<(Rate, Timestamp)>,
    is_over: bool,
}

impl Trains {
    /// For a path of this RTT.
    pub(crate) fn new(rtt: Duration) -> Self {
        Self { is_over: rtt < SHORTEST_RTT, ..Self::default() }
    }

    /// No train leaves, and nothing more is learned.
    pub(crate) fn none() -> Self {
        Self { is_over: true, ..Self::default() }
    }

    /// When the latest one left.
    pub(crate) fn latest(&self) -> Option<Timestamp> {
        self.trains[self.begun.checked_sub(1)?].map(|train| train.left)
    }

    /// What has to be in flight at once for them.
    pub(crate) fn volume(&self, packet: Bytes) -> Bytes {
        let packets = if self.is_over { 0 } else { u64::from(PACKETS) * TRAINS as u64 };
        Bytes::new(packet.get().saturating_mul(packets))
    }

    /// How many packets are to leave back to back.
    pub(crate) fn packets(&self) -> u32 {
        let last = self.begun.checked_sub(1).and_then(|last| self.trains[last]);
        let complete = last.is_none_or(|train| train.packets >= PACKETS);
        if self.is_over || (complete && self.begun >= TRAINS) { 1 } else { PACKETS }
    }

    pub(crate) fn on_packet_sent(&mut self, now: Timestamp, packet: u64, bytes: Bytes) {
        if self.is_over {
            return;
        }
        let last = self.begun.checked_sub(1).and_then(|last| self.trains[last].as_mut());
        // What leaves later than a host's timer is late is no part of it; one that stays incomplete is replaced.
        let (index, goes_on) = match last {
            Some(train) if train.packets >= PACKETS => (self.begun, false),
            Some(train) => (
                self.begun - 1,
                now.since(train.left) <= TRAIN && packet.checked_sub(train.first) == Some(u64::from(train.packets)),
            ),
            None => (self.begun, false),
        };
        let Some(place) = self.trains.get_mut(index) else { return };
        if !goes_on {
            if place.replace(Train::new(now, packet)).is_some() {
                self.incomplete += 1;
                self.is_over = self.incomplete >= TRIES;
            }
            self.begun = index + 1;
        }
        if let Some(train) = place {
            train.packets += 1;
            train.bytes = train.bytes.saturating_add(bytes.get());
        }
    }

    pub(crate) fn on_ack(&mut self, packet: u64, bytes: Bytes) {
        if self.is_over {
            return;
        }
        self.newest = self.newest.max(Some(packet));
        if let Some(train) = self.trains.iter_mut().flatten().find(|train| train.has(packet)) {
            train.acked += 1;
            train.batch += 1;
            train.arrived = train.arrived.saturating_add(bytes.get());
            train.newest = train.newest.max(Some(packet));
        }
    }

    /// The acknowledgement was read. `least_rtt` is the path's.
    pub(crate) fn on_end_acks(&mut self, now: Timestamp, least_rtt: Duration) {
        if self.is_over {
            return;
        }
        let latest = self.newest.take();
        for train in self.trains.iter_mut().flatten() {
            let Some(newest) = train.newest.take() else { continue };
            // With a gap in it what arrived is not what the bottleneck passed.
            train.is_void |= u64::from(train.acked) != (newest - train.first).saturating_add(1);
            let batch = core::mem::take(&mut train.batch);
            let is_late = core::mem::replace(&mut train.batch_before, batch) > batch;
            // Acknowledged together with what left later, or after it was held back for want of a second one, nobody knows
            // when it came.
            if latest == Some(newest) && !is_late {
                train.add(now);
            }
        }
        let settled = |train: &Train| train.is_void || (train.packets == PACKETS && train.acked == PACKETS);
        if self.begun == TRAINS && self.trains.iter().flatten().all(settled) {
            self.told = self.rate(least_rtt).map(|rate| (rate, now));
            self.is_over = true;
        }
    }

    pub(crate) fn on_loss(&mut self, packet: u64) {
        if self.is_over {
            return;
        }
        for train in self.trains.iter_mut().flatten().filter(|train| train.has(packet)) {
            train.is_void = true;
        }
    }

    /// Nothing more will be heard of packets below this number.
    pub(crate) fn discard_below(&mut self, packet: u64) {
        if self.is_over {
            return;
        }
        for train in self.trains.iter_mut().flatten().filter(|train| train.first < packet) {
            train.is_void |= train.acked < train.packets;
        }
    }

    /// The bottleneck's rate, if they told it.
    pub(crate) fn told(&self) -> Option<Rate> {
        self.told.map(|(rate, _)| rate)
    }

    pub(crate) fn forget_what_is_old(&mut self, now: Timestamp) {
        self.told = self.told.filter(|(_, at)| now.since(*at) < MEMORY);
    }

    fn rate(&self, least_rtt: Duration) -> Option<Rate> {
        let whole = || self.trains.iter().flatten().filter(|train| train.is_whole());
        let [tt, tb, bb] =
            whole().map(Train::centred).fold([0.0; 3], |sum, of| core::array::from_fn(|i| sum[i] + of[i]));
        let slope = tb / bb;
        let points: f64 = whole().map(|train| train.points).sum();
        let freedom = (points as usize).saturating_sub(whole().count() + 1).min(SURE.len() - 1);
        let error = ((tt - slope * tb).max(0.0) / freedom.max(1) as f64 / bb).sqrt();
        let is_sure = whole().count() >= LEAST_TRAINS && SURE[freedom] * error < LARGEST_ERROR * slope;
        // A shorter time is that of a host's timers; who waited longer than it takes to pass stood behind somebody else.
        let passing = |train: &Train| Duration::try_from_secs_f64(slope * train.bytes as f64).unwrap_or(Duration::MAX);
        let waited =
            |train: &Train| train.answered.map_or(Duration::MAX, |at| at.since(train.left).saturating_sub(least_rtt));
        let is_alone = || whole().all(|train| passing(train) > TRAIN && waited(train) <= passing(train));
        (is_sure && is_alone()).then(|| Rate::from_bytes_per_sec(1.0 / slope))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const PACKET: Bytes = Bytes::new(1200);
    const RTT: Duration = Duration::from_millis(100);

    fn us(us: f64) -> Duration {
        Duration::from_nanos((us * 1e3) as u64)
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_nanos(1_000_000 + ms * 1_000_000)
    }

    /// Trains 20 ms apart; packets 4 to 7 are the second one.
    fn four() -> Trains {
        let mut trains = Trains::new(RTT);
        for packet in 0..16 {
            assert_eq!(trains.packets(), 4);
            trains.on_packet_sent(at(packet / 4 * 20), packet, PACKET);
        }
        assert_eq!(trains.packets(), 1, "what follows leaves packet by packet");
        trains
    }

    /// These packets are acknowledged so long after the train of the last of them left, and a round trip.
    fn ack(trains: &mut Trains, packets: core::ops::RangeInclusive<u64>, after: Duration) {
        let now = at(packets.end() / 4 * 20) + RTT + after;
        packets.rev().for_each(|packet| trains.on_ack(packet, PACKET));
        trains.on_end_acks(now, RTT);
    }

    /// Behind a bottleneck of 9.6 Mbit/s, a packet a millisecond, whose acknowledgements are late by what `late` says.
    fn answered(mut late: impl FnMut(u64) -> f64) -> Trains {
        let mut trains = four();
        for packet in (1..16).step_by(2) {
            ack(&mut trains, packet - 1..=packet, us((packet % 4) as f64 * 1e3 + late(packet)));
        }
        trains
    }

    fn told(trains: &Trains) -> Option<f64> {
        trains.told().map(|rate| (rate.mbit() * 10.0).round() / 10.0)
    }

    #[test]
    fn packets_that_arrive_a_millisecond_apart_tell_a_packet_a_millisecond() {
        assert_eq!(told(&answered(|_| 0.0)), Some(9.6));
        let mut rng = Rng::new(3);
        let noisy = told(&answered(|_| 200.0 * rng.unit())).unwrap();
        assert!((8.6..10.6).contains(&noisy), "{noisy}");
    }

    #[test]
    fn noise_as_long_as_the_train_tells_nothing() {
        // Jitter that keeps the order of packets: who comes while one is held back waits with it.
        let mut rng = Rng::new(3);
        let fooled = (0..1000).filter(|_| {
            let mut held: f64 = 0.0;
            let late = |packet: u64| {
                held = if packet % 4 == 1 { 0.0 } else { held - 2e3 }.max(20e3 * rng.unit());
                held
            };
            told(&answered(late)).is_some()
        });
        assert!(fooled.count() <= 10);
    }

    #[test]
    fn a_queue_of_others_is_not_taken_for_ours() {
        assert_eq!(told(&answered(|_| 3000.0)), Some(9.6), "as long as a train: it may be our own");
        assert_eq!(told(&answered(|_| 4100.0)), None);
    }

    #[test]
    fn what_passes_within_a_host_s_timer_tells_nothing() {
        let passing = |packet_us: f64| {
            let mut trains = four();
            for packet in (1..16).step_by(2) {
                ack(&mut trains, packet - 1..=packet, us((packet % 4) as f64 * packet_us));
            }
            told(&trains)
        };
        assert_eq!((passing(24.0), passing(32.0)), (None, Some(300.0)));
        assert_eq!(passing(0.0), None, "all at once: an aggregate");
    }

    #[test]
    fn three_trains_are_enough_and_a_lost_packet_voids_its_own() {
        let mut trains = four();
        for packet in (1..16).step_by(2).filter(|packet| *packet != 7) {
            ack(&mut trains, packet - 1..=packet, us((packet % 4) as f64 * 1e3));
        }
        assert_eq!(told(&trains), None, "one is awaited");
        trains.on_loss(6);
        trains.on_end_acks(at(500), RTT);
        assert_eq!(told(&trains), Some(9.6));

        let mut trains = four();
        for packet in [1, 5, 9, 11, 13, 15] {
            ack(&mut trains, packet - 1..=packet, us((packet % 4) as f64 * 1e3));
        }
        (2..8).for_each(|packet| trains.on_loss(packet));
        trains.on_end_acks(at(500), RTT);
        assert!(told(&trains).is_none() && trains.is_over, "two are left");
    }

    #[test]
    fn a_gap_in_what_arrived_voids_the_train() {
        let mut trains = four();
        for packet in (1..16).step_by(2) {
            // Of the second train the last two packets overtake the others.
            let (packets, after) = match packet {
                5 => (6..=7, 1.0),
                7 => (4..=5, 3.0),
                _ => (packet - 1..=packet, (packet % 4) as f64),
            };
            ack(&mut trains, packets, us(after * 1e3));
        }
        assert_eq!(told(&trains), Some(9.6));
        assert!(trains.trains[1].unwrap().is_void);
    }

    #[test]
    fn the_odd_packet_that_a_receiver_holds_back_does_not_count() {
        // Packets 0 and 1, 2, and 25 ms later 3: a receiver that waits for a second packet.
        let mut trains = four();
        for first in [0, 4, 8, 12] {
            ack(&mut trains, first..=first, us(0.0));
            ack(&mut trains, first + 1..=first + 2, us(2e3));
            ack(&mut trains, first + 3..=first + 3, us(28e3));
        }
        assert_eq!(told(&trains), Some(9.6));
        // The same where the next train's first packet comes before that time is over.
        let mut trains = four();
        ack(&mut trains, 0..=0, us(0.0));
        for first in [0, 4, 8] {
            ack(&mut trains, first + 1..=first + 2, us(2e3));
            ack(&mut trains, first + 3..=first + 4, us(0.0));
        }
        ack(&mut trains, 13..=14, us(2e3));
        ack(&mut trains, 15..=15, us(28e3));
        assert_eq!(told(&trains), Some(9.6));
    }

    #[test]
    fn a_train_that_stays_incomplete_is_replaced_and_a_short_path_needs_none() {
        let mut trains = Trains::new(RTT);
        for packet in 0..16 {
            trains.on_packet_sent(at(10 * packet), packet, PACKET);
        }
        assert_eq!((trains.packets(), trains.begun), (1, 1), "after nine of them");
        let mut few = Trains::new(RTT);
        (0..8).for_each(|packet| few.on_packet_sent(at(10 * packet), packet, PACKET));
        assert_eq!((few.packets(), few.begun, few.latest()), (4, 1, Some(at(70))));
        assert_eq!(few.volume(PACKET), Bytes::new(16 * 1200));
        let mut short = Trains::new(Duration::from_millis(4));
        short.on_packet_sent(at(0), 0, PACKET);
        assert!(short.packets() == 1 && short.latest().is_none() && short.volume(PACKET) == Bytes::ZERO);
    }
    #[test]
    fn what_is_discarded_is_not_awaited_and_what_was_told_is_forgotten() {
        let mut trains = four();
        trains.discard_below(1);
        for packet in (1..16).step_by(2) {
            ack(&mut trains, (packet - 1).max(1)..=packet, us((packet % 4) as f64 * 1e3));
        }
        assert_eq!(told(&trains), Some(9.6), "the first train is void");
        assert!(trains.trains[0].unwrap().is_void);
        trains.forget_what_is_old(at(10_000));
        assert_eq!(told(&trains), Some(9.6));
        trains.forget_what_is_old(at(10_200));
        assert_eq!(told(&trains), None);
    }
}
