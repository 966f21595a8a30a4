//! The rate of the bottleneck, by how far apart the first packets arrive.
//!
//! Packets that leave back to back arrive as far apart as the bottleneck takes for each of them (packet trains, Jain and
//! Routhier 1986; dispersion, Dovrolis et al., INFOCOM 2001). The packets of the first round trip leave in trains; of each,
//! the times of acknowledgements are regressed on the bytes that had arrived by then. All trains share the slope, seconds a
//! byte, and what is left over is its error. Where hosts' timers and interrupts make that too large, trains go on while the rate
//! doubles, and with each doubling of their number the question is asked again.
//!
//! It is the capacity, not what others leave of it. Where a train waits longer than it takes to pass, others' packets are among
//! ours, and nothing is told; a queue of others that never changes is not seen. So who is told something still has to see that
//! rate pass ([`crate::control`], start-up).
//!
//! A receiver can pretend any rate up to that of a train in 100 µs, some 580 Mbit/s with packets of 1200 bytes; what is sent on its
//! word is bounded by what it acknowledges of each step. One that answers by a timer, whole packets of a train always so far apart,
//! tells a rate that is too low, from which the law climbs.

use crate::interval::TRAIN;
use crate::units::{Bytes, Rate, Timestamp};
use core::time::Duration;

/// Packets of a train: of three acknowledgements of two packets the first does not count. Trains of the first round trip: together
/// what any sender may have in flight on a new path, give or take (RFC 6928: ten packets; Linux paces twice that into the first
/// round trip).
const PACKETS: u32 = 6;
const TRAINS: u32 = 3;
/// So many leave at most, whole or not. Not swept.
const MOST_TRAINS: u32 = 32;
/// And so many are watched at a time.
const WATCHED: usize = 8;
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
    /// Nothing more can be learned from it.
    is_cut: bool,
    points: u32,
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
            is_cut: false,
            points: 0,
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

    /// So many of its bytes had arrived by now. The first packet of a train finds hosts asleep, which take 50 to 200 µs to wake
    /// up: its time would make trains shorter than they are.
    fn add(&mut self, now: Timestamp) {
        let Some(answered) = self.answered else {
            self.answered = Some(now);
            return;
        };
        let t = now.since(answered).as_secs_f64();
        let b = self.arrived as f64;
        self.points += 1;
        self.sum_t += t;
        self.sum_b += b;
        self.sum_tt += t * t;
        self.sum_tb += t * b;
        self.sum_bb += b * b;
    }

    fn tells(&self) -> bool {
        self.points >= 2
    }

    /// Nothing more will be heard of it. What is acknowledged left a round trip ago, and no more follows.
    fn is_settled(&self) -> bool {
        self.is_cut || self.acked == self.packets
    }
}

/// What the trains that arrived add up to.
#[derive(Clone, Copy, Debug, Default)]
struct Arrived {
    trains: u32,
    points: u32,
    /// Sums of squares around each train's means: of the times, of times with bytes, of bytes. Units: s, bytes.
    tt: f64,
    tb: f64,
    bb: f64,
    bytes: f64,
    /// The longest time from leaving to the first acknowledgement.
    answered: Duration,
}

impl Arrived {
    fn add(&mut self, train: &Train) {
        let n = f64::from(train.points.max(1));
        self.trains += 1;
        self.points += train.points;
        self.tt += train.sum_tt - train.sum_t * train.sum_t / n;
        self.tb += train.sum_tb - train.sum_t * train.sum_b / n;
        self.bb += train.sum_bb - train.sum_b * train.sum_b / n;
        self.bytes += train.bytes as f64;
        self.answered = self.answered.max(train.answered.map_or(Duration::ZERO, |at| at.since(train.left)));
    }

    /// Seconds a byte.
    fn slope(&self) -> f64 {
        self.tb / self.bb
    }

    /// How long a train takes to pass. Unit: s.
    fn passing(&self) -> f64 {
        self.slope() * self.bytes / f64::from(self.trains)
    }

    /// The bottleneck's rate, if that is sure.
    fn rate(&self) -> Option<Rate> {
        let freedom = self.points.saturating_sub(self.trains + 1);
        let error = ((self.tt - self.slope() * self.tb).max(0.0) / f64::from(freedom.max(1)) / self.bb).sqrt();
        let sure = SURE[(freedom as usize).min(SURE.len() - 1)];
        let is_sure = sure * error < LARGEST_ERROR * self.slope();
        is_sure.then(|| Rate::from_bytes_per_sec(1.0 / self.slope()))
    }

    /// Whether they may tell anything, now or once there are more of them.
    fn may_tell(&self, least_rtt: Duration) -> bool {
        // If none arrived they do not fit the path. A shorter time is that of a host's timers; who waited longer than it takes to pass stood behind
        // somebody else.
        let waited = self.answered.saturating_sub(least_rtt).as_secs_f64();
        self.trains > 0 && self.passing() > TRAIN.as_secs_f64() && waited <= self.passing()
    }
}

/// The trains of a sender that begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trains {
    /// Those of which more will be heard; the newest one is `last`.
    watched: [Option<Train>; WATCHED],
    last: usize,
    begun: u32,
    settled: u32,
    /// With so many that arrived the question was asked for the last time.
    asked: u32,
    arrived: Arrived,
    /// When the newest one left.
    latest: Option<Timestamp>,
    /// What was in flight before the first one.
    before: Bytes,
    /// The newest packet of the acknowledgement being read.
    newest: Option<u64>,
    /// What they told, and when.
    told: Option<(Rate, Timestamp)>,
    is_over: bool,
}

impl Trains {
    /// For a path of this RTT, on which so much is in flight.
    pub(crate) fn new(rtt: Duration, in_flight: Bytes) -> Self {
        Self { is_over: rtt < SHORTEST_RTT, before: in_flight, ..Self::default() }
    }

    /// No train leaves, and nothing more is learned.
    pub(crate) fn none() -> Self {
        Self { is_over: true, ..Self::default() }
    }

    /// When the newest one left.
    pub(crate) const fn latest(&self) -> Option<Timestamp> {
        self.latest
    }

    /// What has to be in flight at once for those of the first round trip.
    pub(crate) fn volume(&self, packet: Bytes) -> Bytes {
        if self.is_over {
            return Bytes::ZERO;
        }
        self.before + Bytes::new(packet.get().saturating_mul(u64::from(PACKETS * TRAINS)))
    }

    /// The train that leaves, as long as it is not complete.
    fn leaving(&self) -> Option<&Train> {
        self.watched[self.last].as_ref().filter(|train| train.packets < PACKETS && !train.is_cut)
    }

    /// Where one more would be watched.
    fn place(&self) -> Option<usize> {
        self.watched.iter().position(Option::is_none).filter(|_| self.begun < MOST_TRAINS)
    }

    /// How many packets are to leave back to back. What leaves later than a host's timer is late belongs to the next train.
    pub(crate) fn packets(&self) -> u32 {
        let is_train = !self.is_over && (self.leaving().is_some() || self.place().is_some());
        if is_train { PACKETS } else { 1 }
    }

    pub(crate) fn on_packet_sent(&mut self, now: Timestamp, packet: u64, bytes: Bytes) {
        if self.is_over {
            return;
        }
        let goes_on = self.leaving().is_some_and(|train| {
            now.since(train.left) <= TRAIN && packet.checked_sub(train.first) == Some(u64::from(train.packets))
        });
        if !goes_on {
            let Some(place) = self.place() else { return };
            self.watched[place] = Some(Train::new(now, packet));
            (self.last, self.latest) = (place, Some(now));
            self.begun += 1;
        }
        if let Some(train) = &mut self.watched[self.last] {
            train.packets += 1;
            train.bytes = train.bytes.saturating_add(bytes.get());
        }
    }

    pub(crate) fn on_ack(&mut self, packet: u64, bytes: Bytes) {
        if self.is_over {
            return;
        }
        self.newest = self.newest.max(Some(packet));
        if let Some(train) = self.watched.iter_mut().flatten().find(|train| train.has(packet)) {
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
        for train in self.watched.iter_mut().flatten() {
            let Some(newest) = train.newest.take() else { continue };
            // Beyond a gap, what arrived is not what the bottleneck passed.
            train.is_cut |= u64::from(train.acked) != (newest - train.first).saturating_add(1);
            let batch = core::mem::take(&mut train.batch);
            let is_late = core::mem::replace(&mut train.batch_before, batch) > batch;
            // Acknowledged together with what left later, or after it was held back for want of a second one, nobody knows
            // when it came.
            if latest == Some(newest) && !is_late && !train.is_cut {
                train.add(now);
            }
        }
        for place in &mut self.watched {
            if let Some(train) = place.take_if(|train| train.is_settled()) {
                // A sender with little to say, or a busy one, sends shorter ones too.
                self.settled += u32::from(train.tells() || train.packets == PACKETS);
                if train.tells() {
                    self.arrived.add(&train);
                }
            }
        }
        // Each look may be mistaken: so there are few.
        let arrived = self.arrived.trains;
        if self.settled >= TRAINS && arrived >= self.asked * 2 {
            self.asked = arrived;
            let may_tell = self.arrived.may_tell(least_rtt);
            self.told = self.arrived.rate().filter(|_| may_tell).map(|rate| (rate, now));
            self.is_over = self.told.is_some() || !may_tell;
        }
        self.is_over |= self.begun >= MOST_TRAINS && self.watched.iter().all(Option::is_none);
    }

    pub(crate) fn on_loss(&mut self, packet: u64) {
        if self.is_over {
            return;
        }
        for train in self.watched.iter_mut().flatten().filter(|train| train.has(packet)) {
            train.is_cut = true;
        }
    }

    /// Nothing more will be heard of packets below this number.
    pub(crate) fn discard_below(&mut self, packet: u64) {
        if self.is_over {
            return;
        }
        for train in self.watched.iter_mut().flatten().filter(|train| train.first < packet) {
            train.is_cut |= train.acked < train.packets;
        }
    }

    /// The bottleneck's rate, if they told it.
    pub(crate) fn told(&self) -> Option<Rate> {
        self.told.map(|(rate, _)| rate)
    }

    pub(crate) fn forget_what_is_old(&mut self, now: Timestamp) {
        self.told = self.told.filter(|(_, at)| now.since(*at) < MEMORY);
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

    /// Trains 20 ms apart; packets 6 to 11 are the second one.
    fn leave(trains: &mut Trains, packets: core::ops::Range<u64>) {
        for packet in packets {
            assert_eq!(trains.packets(), 6);
            trains.on_packet_sent(at(packet / 6 * 20), packet, PACKET);
        }
    }

    fn three() -> Trains {
        let mut trains = Trains::new(RTT, Bytes::ZERO);
        leave(&mut trains, 0..18);
        trains
    }

    /// These packets are acknowledged so long after the train of the last of them left, and a round trip.
    fn ack(trains: &mut Trains, packets: core::ops::RangeInclusive<u64>, after: Duration) {
        let now = at(packets.end() / 6 * 20) + RTT + after;
        packets.rev().for_each(|packet| trains.on_ack(packet, PACKET));
        trains.on_end_acks(now, RTT);
    }

    /// Behind a bottleneck of 9.6 Mbit/s, a packet a millisecond, whose acknowledgements are late by what `late` says.
    fn answer(trains: &mut Trains, packets: core::ops::Range<u64>, mut late: impl FnMut(u64) -> f64) {
        for packet in packets.skip(1).step_by(2) {
            ack(trains, packet - 1..=packet, us((packet % 6) as f64 * 1e3 + late(packet)));
        }
    }

    fn answered(late: impl FnMut(u64) -> f64) -> Trains {
        let mut trains = three();
        answer(&mut trains, 0..18, late);
        trains
    }

    fn told(trains: &Trains) -> Option<f64> {
        trains.told().map(|rate| (rate.mbit() * 10.0).round() / 10.0)
    }

    #[test]
    fn packets_that_arrive_a_millisecond_apart_tell_a_packet_a_millisecond() {
        assert_eq!(told(&answered(|_| 0.0)), Some(9.6));
        let mut rng = Rng::new(3);
        let noisy = told(&answered(|_| 50.0 * rng.unit())).unwrap();
        assert!((9.1..10.1).contains(&noisy), "{noisy}");
    }

    #[test]
    fn a_host_that_the_first_packet_of_a_train_wakes_up_makes_it_no_shorter() {
        let mut rng = Rng::new(3);
        let woken = |packet: u64| if packet % 6 == 1 { 100.0 + 200.0 * rng.unit() } else { 0.0 };
        assert_eq!(told(&answered(woken)), Some(9.6));
    }

    #[test]
    fn noise_as_long_as_the_train_tells_nothing() {
        // Jitter that keeps the order of packets: who comes while one is held back waits with it.
        let mut rng = Rng::new(3);
        let fooled = (0..1000).filter(|_| {
            let mut held: f64 = 0.0;
            let late = |packet: u64| {
                held = if packet % 6 == 1 { 0.0 } else { held - 2e3 }.max(20e3 * rng.unit());
                held
            };
            told(&answered(late)).is_some()
        });
        assert!(fooled.count() <= 10);
    }

    #[test]
    fn what_three_trains_leave_unsure_twice_as_many_may_tell_and_not_one_more() {
        // Every other train's last acknowledgement is late: the slope is known to a quarter, not to a part of it.
        let late = |packet: u64| if packet % 12 == 11 { 500.0 } else { 0.0 };
        let mut trains = answered(late);
        assert!(told(&trains).is_none() && !trains.is_over && trains.packets() == 6);
        leave(&mut trains, 18..36);
        answer(&mut trains, 18..30, late);
        assert_eq!(told(&trains), None, "it is asked again when there are twice as many");
        answer(&mut trains, 30..36, late);
        let rate = told(&trains).unwrap();
        assert!((8.0..9.6).contains(&rate) && trains.packets() == 1, "{rate}");
    }

    #[test]
    fn more_than_so_many_trains_do_not_leave() {
        let mut rng = Rng::new(5);
        let mut trains = Trains::new(RTT, Bytes::ZERO);
        let mut packet = 0;
        while trains.packets() > 1 {
            leave(&mut trains, packet..packet + 6);
            answer(&mut trains, packet..packet + 6, |packet| if packet % 6 == 5 { 2e3 * rng.unit() } else { 0.0 });
            packet += 6;
        }
        assert!(packet <= 6 * 32 && trains.is_over, "{packet} packets");
        trains.on_packet_sent(at(packet / 6 * 20), packet, PACKET);
        assert!(trains.watched.iter().all(Option::is_none));
    }

    #[test]
    fn no_more_trains_leave_than_are_watched() {
        let mut trains = Trains::new(RTT, Bytes::ZERO);
        leave(&mut trains, 0..48);
        assert_eq!(trains.packets(), 1);
        answer(&mut trains, 0..6, |_| 0.0);
        assert_eq!(trains.packets(), 6, "there is room for one");
    }

    #[test]
    fn a_queue_of_others_is_not_taken_for_ours_and_no_more_is_asked_behind_one() {
        assert_eq!(told(&answered(|_| 4900.0)), Some(9.6), "as long as a train: it may be our own");
        for one in [1, 7, 13] {
            let trains = answered(|packet| if packet / 6 == one / 6 { 5100.0 } else { 0.0 });
            assert!(told(&trains).is_none() && trains.is_over);
        }
    }

    #[test]
    fn what_passes_within_a_host_s_timer_tells_nothing() {
        let passing = |packet_us: f64| {
            let mut trains = three();
            for packet in (1..18).step_by(2) {
                ack(&mut trains, packet - 1..=packet, us((packet % 6) as f64 * packet_us));
            }
            (told(&trains), trains.is_over)
        };
        assert_eq!((passing(16.0), passing(20.0)), ((None, true), (Some(480.0), true)));
        assert_eq!(passing(0.0), (None, true), "all at once: an aggregate");
    }

    #[test]
    fn of_a_train_that_lost_packets_what_came_before_them_counts() {
        let mut trains = three();
        for packet in (1..18).step_by(2).filter(|packet| *packet != 11) {
            ack(&mut trains, packet - 1..=packet, us((packet % 6) as f64 * 1e3));
        }
        assert_eq!(told(&trains), None, "one is awaited");
        trains.on_loss(10);
        trains.on_end_acks(at(500), RTT);
        assert_eq!(told(&trains), Some(9.6), "two agree");

        // Of three that agree less, the third counts as far as it came.
        let late = |packet: u64| if packet == 4 { 300.0 } else { 0.0 };
        let mut trains = three();
        for packet in (0..18).filter(|packet| *packet != 11) {
            ack(&mut trains, packet..=packet, us((packet % 6) as f64 * 1e3 + late(packet)));
        }
        trains.on_loss(11);
        trains.on_end_acks(at(500), RTT);
        assert_eq!((told(&trains), trains.arrived.trains, trains.arrived.points), (Some(9.5), 3, 14));
    }

    #[test]
    fn trains_of_which_nothing_fits_the_path_are_not_sent_again() {
        let mut trains = three();
        for packet in [1, 7, 13] {
            ack(&mut trains, packet - 1..=packet, us(1e3));
        }
        (2..18).filter(|packet| packet % 6 > 1).for_each(|packet| trains.on_loss(packet));
        trains.on_end_acks(at(500), RTT);
        assert!(told(&trains).is_none() && trains.is_over);
    }

    #[test]
    fn beyond_a_gap_in_what_arrived_a_train_tells_nothing() {
        let mut trains = three();
        for packet in (1..18).step_by(2) {
            // Of the second train the last two packets overtake two others.
            let (packets, after) = match packet {
                9 => (10..=11, 3.0),
                11 => (8..=9, 5.0),
                _ => (packet - 1..=packet, (packet % 6) as f64),
            };
            ack(&mut trains, packets, us(after * 1e3));
        }
        assert_eq!((told(&trains), trains.settled, trains.arrived.trains), (Some(9.6), 3, 2));
    }

    #[test]
    fn the_odd_packet_that_a_receiver_holds_back_does_not_count() {
        // Packet 0, 1 and 2, 3 and 4, and 25 ms later 5: a receiver that waits for a second packet.
        let mut trains = three();
        for first in [0, 6, 12] {
            ack(&mut trains, first..=first, us(0.0));
            ack(&mut trains, first + 1..=first + 2, us(2e3));
            ack(&mut trains, first + 3..=first + 4, us(4e3));
            ack(&mut trains, first + 5..=first + 5, us(30e3));
        }
        assert_eq!(told(&trains), Some(9.6));
        // The same where the next train's first packet comes before that time is over.
        let mut trains = three();
        ack(&mut trains, 0..=0, us(0.0));
        for first in [0, 6, 12] {
            ack(&mut trains, first + 1..=first + 2, us(2e3));
            ack(&mut trains, first + 3..=first + 4, us(4e3));
            let with = if first < 12 { first + 6 } else { first + 5 };
            ack(&mut trains, first + 5..=with, us(if first < 12 { 0.0 } else { 30e3 }));
        }
        assert_eq!(told(&trains), Some(9.6));
    }

    #[test]
    fn what_leaves_later_than_the_rest_is_another_train_and_a_short_path_needs_none() {
        let mut trains = Trains::new(RTT, Bytes::new(5000));
        assert_eq!((trains.packets(), trains.volume(PACKET)), (6, Bytes::new(5000 + 18 * 1200)));
        for packet in 0..4 {
            trains.on_packet_sent(at(10 * packet), packet, PACKET);
        }
        assert_eq!((trains.packets(), trains.begun, trains.latest()), (6, 4, Some(at(30))));
        for packet in 0..4 {
            trains.on_ack(packet, PACKET);
            trains.on_end_acks(at(200), RTT);
        }
        assert!(trains.watched.iter().all(Option::is_none) && trains.settled == 0 && !trains.is_over);
        let mut short = Trains::new(Duration::from_millis(4), Bytes::ZERO);
        short.on_packet_sent(at(0), 0, PACKET);
        assert!(short.packets() == 1 && short.latest().is_none() && short.volume(PACKET) == Bytes::ZERO);
    }

    #[test]
    fn what_is_discarded_is_not_awaited_and_what_was_told_is_forgotten() {
        let mut trains = three();
        trains.discard_below(1);
        leave(&mut trains, 18..24);
        for packet in (7..24).step_by(2) {
            ack(&mut trains, packet - 1..=packet, us((packet % 6) as f64 * 1e3));
        }
        assert_eq!(told(&trains), Some(9.6), "without the first train");
        trains.forget_what_is_old(at(10_000));
        assert_eq!(told(&trains), Some(9.6));
        trains.forget_what_is_old(at(10_300));
        assert_eq!(told(&trains), None);
    }
}
