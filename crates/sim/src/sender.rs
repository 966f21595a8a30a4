//! The sender's side: PCC told of packets, acknowledgements and losses as a QUIC transport tells it, and every packet
//! paced by itself, but for the trains that measure. Loss detection and probe time-outs: RFC 9002 §6, with the reordering that
//! the product's transport tolerates.

use crate::account::Account;
use crate::ranges::Ranges;
use crate::receiver::Ack;
use crate::reordering::{GRANULARITY, Reordering};
use crate::scenario::Flow;
use crate::scenario::MAX_ACK_DELAY;
use crate::steering::Steering;
use crate::supply::Supply;
use core::time::Duration;
use pcc::interval::LimitedBy;
use pcc::rng::Rng;
use pcc::units::{Bytes, Timestamp};
use std::collections::VecDeque;

const INITIAL_RTT: Duration = Duration::from_millis(333);
/// A host that has nothing else to do is never later than this.
const LATEST: Duration = Duration::from_millis(1);
/// What a late host took is made good up to this much, at once; `pcc-quic` makes good more where stops are the rule.
const LARGEST_DEBT: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Acked,
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    sent: Timestamp,
    state: State,
    size: Bytes,
}

pub(crate) struct Sender {
    pub(crate) account: Account,
    steering: Steering,
    size: Bytes,
    forgets: Option<u64>,
    supply: Supply,
    started: Timestamp,
    /// Where in a packet's time after it is due the next one leaves: 0 to 1.
    offset: f64,
    dither: Option<Rng>,
    base: u64,
    packets: VecDeque<Packet>,
    /// The first packet that may be in flight.
    first: u64,
    in_flight: u64,
    known: Ranges,
    marked: u32,
    smoothed: Option<Duration>,
    latest: Duration,
    variation: Duration,
    reordering: Reordering,
    loss_time: Option<Timestamp>,
    last_sent: Option<Timestamp>,
    /// When the last train should have left, and what it has so far: packets and bytes.
    last_due: Option<Timestamp>,
    train: u32,
    volume: Bytes,
    probe_count: u32,
    probes: u32,
    /// Scratch for newly lost packets, and for what an acknowledgement tells.
    newly_lost: Vec<(u64, Timestamp)>,
    fresh: Vec<(u64, u64)>,
}

impl Sender {
    pub(crate) fn new(flow: &Flow, steering: Steering) -> Self {
        let started = Timestamp::ZERO + flow.start;
        Self {
            account: Account::default(),
            steering,
            size: flow.config.max_datagram_size,
            forgets: flow.forgets,
            supply: Supply::new(flow.source, started, flow.config.max_datagram_size),
            started,
            offset: 0.0,
            dither: flow.dither.then(|| Rng::new(flow.config.seed ^ 0x6469_7468)),
            base: 0,
            packets: VecDeque::new(),
            first: 0,
            in_flight: 0,
            known: Ranges::default(),
            marked: 0,
            smoothed: None,
            latest: INITIAL_RTT,
            variation: Duration::ZERO,
            reordering: Reordering::default(),
            loss_time: None,
            last_sent: None,
            last_due: None,
            train: 0,
            volume: Bytes::ZERO,
            probe_count: 0,
            probes: 0,
            newly_lost: Vec::new(),
            fresh: Vec::new(),
        }
    }

    /// Whether PCC hears what became of this packet.
    fn reports_on(&self, number: u64) -> bool {
        self.forgets.is_none_or(|every| number % every != every - 1)
    }

    pub(crate) const fn bytes_in_flight(&self) -> u64 {
        self.in_flight
    }

    pub(crate) const fn smoothed_rtt(&self) -> Option<Duration> {
        self.smoothed
    }

    pub(crate) const fn steering(&self) -> &Steering {
        &self.steering
    }

    /// Where the data comes from.
    pub(crate) const fn supply(&mut self) -> &mut Supply {
        &mut self.supply
    }

    /// The number of the packet that leaves now, if one may. The host is `late` by so much with all that it does now.
    pub(crate) fn next_packet(&mut self, now: Timestamp, late: Duration) -> Option<u64> {
        if self.account.finished.is_some() {
            return None;
        }
        self.supply.tick(now);
        let may =
            self.probes > 0 || self.may_send() && self.has_data(now) && (self.goes_on(now) || self.leaves() <= now);
        if !may {
            return None;
        }
        self.probes = self.probes.saturating_sub(1);
        let number = self.base + self.packets.len() as u64;
        let size = self.supply.send(self.size);
        self.packets.push_back(Packet { sent: now, state: State::InFlight, size });
        self.in_flight += size.get();
        self.account.sent.packets += 1;
        let due = self.due();
        if late > LARGEST_DEBT && due + LARGEST_DEBT < now {
            self.steering.on_limited((now - late).max(due) + LARGEST_DEBT, LimitedBy::Host);
        }
        if self.goes_on(now) {
            self.train += 1;
            self.volume += size;
        } else {
            let wanted = self.leaves().since(due);
            self.last_due = Some(due.max((now - late.min(LARGEST_DEBT)) - wanted));
            (self.train, self.volume) = (1, size);
            self.offset = self.dither.as_mut().map_or(0.0, Rng::unit);
        }
        self.last_sent = Some(now);
        self.steering.on_packet_sent(now, number, size);
        Some(number)
    }

    /// The first packet stands for the handshake: until it is answered nothing follows it but its repetition.
    fn may_send(&self) -> bool {
        let handshake = self.smoothed.is_none() && self.in_flight > 0;
        !handshake && self.in_flight.saturating_add(self.size.get()) <= self.steering.window()
    }

    fn has_data(&mut self, now: Timestamp) -> bool {
        let has = self.supply.next(self.size) <= now;
        if !has {
            self.steering.on_limited(now, LimitedBy::Application);
        }
        has
    }

    /// Whether the train that left last has room for one more packet, which then leaves at once.
    fn goes_on(&self, now: Timestamp) -> bool {
        self.last_sent == Some(now) && self.train < self.steering.train_packets()
    }

    /// When pacing allows the next train: the last one's time after it, at the rate in force now.
    fn due(&self) -> Timestamp {
        self.last_due.map_or(self.started, |last| last + self.steering.rate().time_for(self.volume))
    }

    /// When it leaves: somewhere within its packet's time after that, a millisecond at most. None overtakes another, and the rate stays exact.
    fn leaves(&self) -> Timestamp {
        let time = self.steering.rate().time_for(self.size).min(LATEST);
        if self.offset == 0.0 || self.last_due.is_none() { self.due() } else { self.due() + time.mul_f64(self.offset) }
    }

    /// When something is to be done next, not before the clock's next tick.
    pub(crate) fn next_wake(&self, now: Timestamp) -> Option<Timestamp> {
        if self.account.finished.is_some() {
            return None;
        }
        let send = self
            .may_send()
            .then(|| self.leaves().max(self.supply.next(self.size)))
            .filter(|at| at.as_nanos() < u64::MAX);
        let wake = [send, self.recovery_timer(), self.steering.next_timer()].into_iter().flatten().min();
        wake.map(|wake| wake.max(now + Duration::from_micros(1)))
    }

    fn recovery_timer(&self) -> Option<Timestamp> {
        let probe = self.last_sent.filter(|_| self.in_flight > 0).map(|last| last + self.probe_timeout());
        self.loss_time.or(probe)
    }

    /// The larger one of the smoothed and the latest RTT, as loss detection counts (RFC 9002 §6.1.2).
    fn conservative_rtt(&self) -> Duration {
        self.smoothed.map_or(INITIAL_RTT, |smoothed| smoothed.max(self.latest))
    }

    fn probe_timeout(&self) -> Duration {
        self.base_timeout() * (1 << self.probe_count.min(16))
    }

    fn base_timeout(&self) -> Duration {
        match self.smoothed {
            Some(smoothed) => smoothed + (4 * self.variation).max(GRANULARITY) + MAX_ACK_DELAY,
            None => 3 * INITIAL_RTT,
        }
    }

    /// Does what is due by now.
    pub(crate) fn on_wake(&mut self, now: Timestamp) {
        if self.steering.next_timer().is_some_and(|timer| timer <= now) {
            self.steering.on_timer(now);
        }
        if self.recovery_timer().is_some_and(|timer| timer <= now) {
            if self.loss_time.is_some() {
                self.detect_loss(now);
            } else {
                self.probe_count += 1;
                self.probes = 2;
                self.account.sent.probe_timeouts += 1;
            }
        }
    }

    pub(crate) fn on_ack(&mut self, now: Timestamp, ack: &Ack) {
        let (mut newest, mut fresh) = (None, core::mem::take(&mut self.fresh));
        let before = self.known.largest();
        self.known.fresh(&ack.ranges, &mut fresh);
        for &(from, to) in &fresh {
            for number in (from.max(self.base)..to).rev() {
                if let Some(sent) = self.acknowledge(now, number) {
                    if let Some(largest) = before.filter(|largest| number < *largest) {
                        self.reordering.on_late(largest - number, now.since(sent));
                    }
                    newest = newest.max(Some((number, sent)));
                }
            }
        }
        if ack.ranges.largest() > self.known.largest() {
            self.known.assign(&ack.ranges);
        }
        self.fresh = fresh;
        if let Some((number, sent)) = newest {
            if Some(number) == self.known.largest() {
                self.sample(now.since(sent), ack.delay);
            }
            self.probe_count = 0;
        }
        ack.left.into_iter().for_each(|left| self.steering.on_ack_left(now, left));
        if ack.marked > self.marked {
            self.steering.on_marks(ack.marked - self.marked);
            self.marked = ack.marked;
        }
        self.reordering.on_end_acks(now, self.smoothed.unwrap_or(INITIAL_RTT), self.conservative_rtt());
        self.detect_loss(now);
        self.steering.on_end_acks(now);
        self.forget(now);
        if self.supply.is_done() {
            self.account.finished = Some(now);
        }
    }

    /// Marks a packet as arrived; its send time if that is news.
    fn acknowledge(&mut self, now: Timestamp, number: u64) -> Option<Timestamp> {
        let packet = self.packets.get_mut(usize::try_from(number - self.base).ok()?)?;
        match packet.state {
            State::Acked => return None,
            State::InFlight => self.in_flight -= packet.size.get(),
            State::Lost => {
                self.account.sent.spurious += 1;
                self.supply.take(self.size);
            }
        }
        packet.state = State::Acked;
        self.supply.arrived(self.size);
        let sent = packet.sent;
        if self.reports_on(number) {
            self.steering.on_ack(now, number);
        }
        Some(sent)
    }

    fn sample(&mut self, latest: Duration, ack_delay: Duration) {
        let sample = latest.saturating_sub(ack_delay.min(MAX_ACK_DELAY));
        self.account.rtts.push(u32::try_from(sample.as_micros()).unwrap_or(u32::MAX));
        self.latest = latest;
        match self.smoothed {
            None => (self.smoothed, self.variation) = (Some(sample), sample / 2),
            Some(smoothed) => {
                self.variation = (3 * self.variation + smoothed.abs_diff(sample)) / 4;
                self.smoothed = Some((7 * smoothed + sample) / 8);
            }
        }
    }

    fn detect_loss(&mut self, now: Timestamp) {
        self.loss_time = None;
        let Some(largest) = self.known.largest() else { return };
        let (packets, delay) = self.reordering.thresholds(self.conservative_rtt());
        let mut newly_lost = core::mem::take(&mut self.newly_lost);
        let mut settled = true;
        for number in self.first..largest {
            let packet = &mut self.packets[(number - self.base) as usize];
            if packet.state != State::InFlight {
                self.first += u64::from(settled);
                continue;
            }
            if largest >= number + packets || packet.sent + delay <= now {
                packet.state = State::Lost;
                newly_lost.push((number, packet.sent));
                self.first += u64::from(settled);
            } else {
                settled = false;
                let at = packet.sent + delay;
                self.loss_time = Some(self.loss_time.map_or(at, |time| time.min(at)));
            }
        }
        for &(number, _) in &newly_lost {
            self.in_flight -= self.packets[(number - self.base) as usize].size.get();
            self.supply.give_back(self.size);
            if let Some(media) = self.supply.media() {
                media.lost(number);
            }
            self.account.sent.lost += 1;
            if self.reports_on(number) {
                self.steering.on_loss(now, number);
            }
        }
        if self.is_persistent_congestion(&newly_lost) {
            self.steering.on_persistent_congestion(now);
        }
        newly_lost.clear();
        self.newly_lost = newly_lost;
    }

    /// RFC 9002 §7.6: a run of lost packets, nothing acknowledged among them, spans three probe time-outs.
    fn is_persistent_congestion(&self, lost: &[(u64, Timestamp)]) -> bool {
        let period = 3 * self.base_timeout();
        lost.chunk_by(|a, b| a.0 + 1 == b.0).any(|run| match run {
            [first, .., last] => self.smoothed.is_some() && last.1.since(first.1) > period,
            _ => false,
        })
    }

    /// Lost packets are remembered for two probe time-outs, and for an RTT at least: their acknowledgement may still come.
    fn forget(&mut self, now: Timestamp) {
        let rtt = self.conservative_rtt();
        let (_, delay) = self.reordering.thresholds(rtt);
        let patience = (2 * self.base_timeout()).max(delay + rtt);
        while let Some(packet) = self.packets.front() {
            let done = match packet.state {
                State::InFlight => false,
                State::Acked => true,
                State::Lost => now.since(packet.sent) > patience,
            };
            if !done {
                break;
            }
            self.packets.pop_front();
            self.base += 1;
        }
        self.first = self.first.max(self.base);
    }
}
