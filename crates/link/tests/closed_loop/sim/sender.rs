//! The sender's side: PCC told of packets, acknowledgements and losses as a QUIC transport tells it, and every packet
//! paced exactly. Loss detection and probe time-outs: RFC 9002 §6.

use super::receiver::{Ack, MAX_ACK_DELAY, Ranges};
use core::time::Duration;
use pcc::Pcc;
use pcc::interval::LimitedBy;
use pcc::units::{Bytes, Rate, Timestamp};
use std::collections::VecDeque;

const PACKET_THRESHOLD: u64 = 3;
const GRANULARITY: Duration = Duration::from_millis(1);
const INITIAL_RTT: Duration = Duration::from_millis(333);
/// What a late host took is made good up to this much, at once; `pcc-quic` makes good more where stops are the rule.
const LARGEST_DEBT: Duration = Duration::from_millis(5);

/// Where the data comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Source {
    /// There is always more.
    Greedy,
    /// An application that makes data at this rate.
    At(Rate),
    /// This much, all there from the start.
    Volume(Bytes),
}

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
}

/// What the sender counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) packets: u64,
    pub(crate) lost: u64,
    /// Declared lost and acknowledged later.
    pub(crate) spurious: u64,
    pub(crate) probe_timeouts: u64,
}

pub(crate) struct Sender {
    pub(crate) pcc: Pcc,
    pub(crate) sent: Sent,
    pub(crate) finished: Option<Timestamp>,
    /// RTT samples in microseconds, acknowledgement delay taken off.
    pub(crate) rtts: Vec<u32>,
    size: Bytes,
    forgets: Option<u64>,
    source: Source,
    started: Timestamp,
    /// Bytes handed to the network, less those declared lost: what the source has given.
    taken: u64,
    acked: u64,
    base: u64,
    packets: VecDeque<Packet>,
    /// The first packet that may be in flight.
    first: u64,
    in_flight: u64,
    known: Ranges,
    smoothed: Option<Duration>,
    variation: Duration,
    loss_time: Option<Timestamp>,
    last_sent: Option<Timestamp>,
    /// When the last packet should have left.
    last_due: Option<Timestamp>,
    probe_count: u32,
    probes: u32,
    /// Scratch for newly lost packets.
    newly_lost: Vec<(u64, Timestamp)>,
}

impl Sender {
    pub(crate) fn new(pcc: Pcc, size: Bytes, source: Source, started: Timestamp) -> Self {
        Self {
            pcc,
            sent: Sent::default(),
            finished: None,
            rtts: Vec::new(),
            size,
            forgets: None,
            source,
            started,
            taken: 0,
            acked: 0,
            base: 0,
            packets: VecDeque::new(),
            first: 0,
            in_flight: 0,
            known: Ranges::default(),
            smoothed: None,
            variation: Duration::ZERO,
            loss_time: None,
            last_sent: None,
            last_due: None,
            probe_count: 0,
            probes: 0,
            newly_lost: Vec::new(),
        }
    }

    pub(crate) fn forgetting(self, forgets: Option<u64>) -> Self {
        Self { forgets, ..self }
    }

    /// Whether PCC hears what became of this packet.
    fn reports_on(&self, number: u64) -> bool {
        self.forgets.is_none_or(|every| number % every != every - 1)
    }

    pub(crate) const fn size(&self) -> Bytes {
        self.size
    }

    pub(crate) const fn bytes_in_flight(&self) -> u64 {
        self.in_flight
    }

    /// The number of the packet that leaves now, if one may. The host is `late` by so much with all that it does now.
    pub(crate) fn next_packet(&mut self, now: Timestamp, late: Duration) -> Option<u64> {
        if self.finished.is_some() {
            return None;
        }
        let may = self.probes > 0 || self.may_send() && self.has_data(now) && self.due() <= now;
        if !may {
            return None;
        }
        self.probes = self.probes.saturating_sub(1);
        let number = self.base + self.packets.len() as u64;
        self.packets.push_back(Packet { sent: now, state: State::InFlight });
        self.in_flight += self.size.get();
        self.taken += self.size.get();
        self.sent.packets += 1;
        let due = self.due();
        if late > LARGEST_DEBT && due + LARGEST_DEBT < now {
            self.pcc.on_limited((now - late).max(due) + LARGEST_DEBT, LimitedBy::Host);
        }
        self.last_due = Some(due.max(now - late.min(LARGEST_DEBT)));
        self.last_sent = Some(now);
        self.pcc.on_packet_sent(now, number, self.size);
        Some(number)
    }

    /// The first packet stands for the handshake: until it is answered nothing follows it but its repetition.
    fn may_send(&self) -> bool {
        let handshake = self.smoothed.is_none() && self.in_flight > 0;
        !handshake && self.in_flight + self.size.get() <= self.pcc.congestion_window().get()
    }

    fn has_data(&mut self, now: Timestamp) -> bool {
        let has = self.data_at() <= now;
        if !has {
            self.pcc.on_limited(now, LimitedBy::Application);
        }
        has
    }

    /// When the source has another packet.
    fn data_at(&self) -> Timestamp {
        match self.source {
            Source::Greedy => Timestamp::ZERO,
            Source::Volume(volume) if self.taken < volume.get() => Timestamp::ZERO,
            Source::Volume(_) => Timestamp::from_nanos(u64::MAX),
            Source::At(rate) => self.started + rate.time_for(Bytes::new(self.taken) + self.size),
        }
    }

    /// When pacing allows the next packet: one packet's time after the last one, at the rate in force now.
    fn due(&self) -> Timestamp {
        self.last_due.map_or(self.started, |last| last + self.pcc.rate().time_for(self.size))
    }

    /// When something is to be done next, not before the clock's next tick.
    pub(crate) fn next_wake(&self, now: Timestamp) -> Option<Timestamp> {
        if self.finished.is_some() {
            return None;
        }
        let send = self.may_send().then(|| self.due().max(self.data_at())).filter(|at| at.as_nanos() < u64::MAX);
        let wake = [send, self.recovery_timer(), self.pcc.next_timer()].into_iter().flatten().min();
        wake.map(|wake| wake.max(now + Duration::from_micros(1)))
    }

    fn recovery_timer(&self) -> Option<Timestamp> {
        let probe = self.last_sent.filter(|_| self.in_flight > 0).map(|last| last + self.probe_timeout());
        self.loss_time.or(probe)
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
        if self.pcc.next_timer().is_some_and(|timer| timer <= now) {
            self.pcc.on_timer(now);
        }
        if self.recovery_timer().is_some_and(|timer| timer <= now) {
            if self.loss_time.is_some() {
                self.detect_loss(now);
            } else {
                self.probe_count += 1;
                self.probes = 2;
                self.sent.probe_timeouts += 1;
            }
        }
    }

    pub(crate) fn on_ack(&mut self, now: Timestamp, ack: &Ack) {
        let mut newest = None;
        let earlier = self.known;
        let mut known = earlier.as_slice().iter().peekable();
        // What earlier acknowledgements covered is skipped, so that the work follows what is new.
        let mut fresh = Vec::new();
        for &(low, high) in ack.ranges.as_slice() {
            let mut end = high + 1;
            while let Some(&&(known_low, known_high)) = known.peek()
                && known_high >= low
            {
                if known_high < end {
                    fresh.push((known_high + 1, end));
                    end = known_low;
                }
                known.next();
            }
            fresh.push((low, end));
        }
        for (from, to) in fresh {
            for number in (from.max(self.base)..to).rev() {
                if let Some(sent) = self.acknowledge(now, number) {
                    newest = newest.max(Some((number, sent)));
                }
            }
        }
        if ack.ranges.largest() > self.known.largest() {
            self.known = ack.ranges;
        }
        if let Some((number, sent)) = newest {
            if Some(number) == self.known.largest() {
                self.sample(now.since(sent), ack.delay);
            }
            self.probe_count = 0;
        }
        self.detect_loss(now);
        self.pcc.on_end_acks(now);
        self.forget(now);
        if let Source::Volume(volume) = self.source
            && self.acked >= volume.get()
        {
            self.finished = Some(now);
        }
    }

    /// Marks a packet as arrived; its send time if that is news.
    fn acknowledge(&mut self, now: Timestamp, number: u64) -> Option<Timestamp> {
        let packet = self.packets.get_mut(usize::try_from(number - self.base).ok()?)?;
        match packet.state {
            State::Acked => return None,
            State::InFlight => self.in_flight -= self.size.get(),
            State::Lost => {
                self.sent.spurious += 1;
                self.taken += self.size.get();
            }
        }
        packet.state = State::Acked;
        self.acked += self.size.get();
        let sent = packet.sent;
        if self.reports_on(number) {
            self.pcc.on_ack(now, number);
        }
        Some(sent)
    }

    fn sample(&mut self, latest: Duration, ack_delay: Duration) {
        let sample = latest.saturating_sub(ack_delay.min(MAX_ACK_DELAY));
        self.rtts.push(u32::try_from(sample.as_micros()).unwrap_or(u32::MAX));
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
        let delay = (self.smoothed.unwrap_or(INITIAL_RTT) * 9 / 8).max(GRANULARITY);
        let mut newly_lost = core::mem::take(&mut self.newly_lost);
        let mut settled = true;
        for number in self.first..largest {
            let packet = &mut self.packets[(number - self.base) as usize];
            if packet.state != State::InFlight {
                self.first += u64::from(settled);
                continue;
            }
            if largest >= number + PACKET_THRESHOLD || packet.sent + delay <= now {
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
            self.in_flight -= self.size.get();
            self.taken -= self.size.get();
            self.sent.lost += 1;
            if self.reports_on(number) {
                self.pcc.on_loss(now, number);
            }
        }
        if self.is_persistent_congestion(&newly_lost) {
            self.pcc.on_persistent_congestion(now);
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

    /// Lost packets are remembered for a while: their acknowledgement may still come.
    fn forget(&mut self, now: Timestamp) {
        let patience = 3 * self.smoothed.unwrap_or(INITIAL_RTT);
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
