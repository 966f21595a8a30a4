//! The course of a connection: events in, time in bins out.

use super::bins::{Bins, State};
use super::credit::Credit;
use super::event::{Event, Header, Limit, Means, Metrics, Packet, Side, Told};
use super::flight::{Acked, Flight, Sent};
use super::runs::Ends;
use core::time::Duration;
use pcc::rtt::RttEstimator;
use pcc::units::Timestamp;

/// A trace's times are within three years. Unit: s.
const LONGEST: f64 = 1e8;

/// Data packets of less than this share of the largest are not full: there was no more data.
const FULL: f64 = 0.9;

/// Below this share of its window a sender had too little data.
const THIN: f64 = 0.25;

/// A silence counts from so many probe time-outs on, and from 100 ms: a sender is told of no packet for an RTT, and acknowledgements
/// come in bursts.
const SILENCE: f64 = 1.5;
const SHORTEST: f64 = 0.1;

/// A sender that runs asks again within two probe time-outs (RFC 9002 §6.2), if it was not told anything.
const ASKS: f64 = 2.0;

/// Packets whose frames a trace does not tell have data from this size on: acknowledgements are smaller. Unit: bytes.
const DATA: f64 = 200.0;

/// A packet met a long queue from this share of the longest wait of late on.
const LONG: f64 = 0.5;

/// Waits below 2 ms, and below this share of the base RTT, are no queue: hosts and radios hold packets back as long.
pub(crate) const NO_QUEUE: f64 = 0.002;
pub(crate) const NO_QUEUE_OF_RTT: f64 = 0.05;

/// Runs of a frame that are compared with each other: they show how the trace writes them.
const LOOKED_AT: usize = 16;

/// Bins in which the longest wait of late is looked for.
const OF_LATE: usize = 8;

/// A connection as far as it is known. Times are in s since the first event.
#[derive(Debug, Default)]
pub(crate) struct Course {
    header: Header,
    /// The time of the first event, in the trace's own count.
    zero: Option<f64>,
    now: f64,
    /// When data was first sent.
    began: Option<f64>,
    flight: Flight,
    ends: Ends,
    /// The highest number of a packet that was sent.
    highest: u64,
    rtt: RttEstimator,
    latest_rtt: Option<f64>,
    credit: Credit,
    window: Option<f64>,
    told_in_flight: f64,
    /// Packets are told with their frames.
    has_frames: bool,
    /// The size of the largest packet with data.
    largest: f64,
    /// The latest packet with data was not full.
    is_short: bool,
    /// Something is under way since then, and nothing came in.
    waits_since: f64,
    /// How often it asked again since then.
    probes: i32,
    last_sent: f64,
    /// A time without data to send that is not in the bins: it counts if data is sent later.
    idle: Option<(f64, f64)>,
    pub(crate) bins: Bins,
    pub(crate) totals: Totals,
}

/// Sums. Bytes of packets that ask for an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    pub(crate) sent: f64,
    pub(crate) packets: u64,
    pub(crate) delivered: f64,
    pub(crate) lost_bytes: f64,
    pub(crate) lost: u64,
    pub(crate) late: u64,
    /// Bytes of streams and datagrams that came from the peer.
    pub(crate) received: f64,
    pub(crate) base_rtt: Option<f64>,
}

impl Course {
    pub(crate) fn of(header: Header) -> Self {
        Self { credit: Credit::of(header.side), header, ..Self::default() }
    }

    pub(crate) fn side(&self) -> Option<Side> {
        self.header.side
    }

    /// Whether data was sent.
    pub(crate) fn is_begun(&self) -> bool {
        self.began.is_some()
    }

    /// Takes in an event; `false` if its time cannot be.
    pub(crate) fn apply(&mut self, event: Event) -> bool {
        let time = event.time * self.header.unit;
        let zero = *self.zero.get_or_insert(if self.header.is_relative_to_previous { 0.0 } else { time });
        let time = if self.header.is_relative_to_previous { self.now + time } else { time - zero };
        if time > LONGEST {
            return false;
        }
        // Some stacks take the time of an event before another that they write first.
        self.pass(time.max(self.now));
        match event.told {
            Told::Sent(packet) => self.sent(&packet),
            Told::Received(packet) => self.received(&packet),
            Told::Lost(packet) => self.lost(&packet),
            Told::Metrics(metrics) => self.metrics(&metrics),
            Told::Allowance(allowance) => self.credit.allow(&allowance),
            Told::Interval(interval) => {
                if let Some(limit) = interval.limit().filter(|_| self.is_begun()) {
                    let (all, limited) = interval.times();
                    let bin = self.bins.at(self.since_began());
                    bin.intervals[limit as usize] += limited;
                    bin.intervals[Limit::Network as usize] += all - limited;
                }
            }
            Told::Other => {}
        }
        true
    }

    fn since_began(&self) -> f64 {
        self.now - self.began.unwrap_or(self.now)
    }

    fn in_flight(&self) -> f64 {
        if self.has_frames { self.flight.bytes() } else { self.told_in_flight }
    }

    /// Time goes on to this one, with nothing told in between.
    fn pass(&mut self, to: f64) {
        let from = core::mem::replace(&mut self.now, to);
        if self.began.is_none() || to <= from {
            return;
        }
        let state = self.state();
        if self.in_flight() == 0.0 {
            return self.spend(state, from, to);
        }
        let pto = self.rtt.pto().as_secs_f64();
        // Without a word, and without asking: it did not run.
        let asks = from.max(self.waits_since) + (ASKS * pto * 2_f64.powi(self.probes)).max(SHORTEST);
        let silence = self.waits_since + (SILENCE * pto).max(SHORTEST);
        let ran = asks.min(to);
        let heard = silence.clamp(from, ran);
        self.spend(state, from, heard);
        self.spend(State::Outage, heard, ran);
        self.spend(State::Host, ran, to);
    }

    fn spend(&mut self, state: State, from: f64, to: f64) {
        if to <= from {
            return;
        }
        let began = self.began.unwrap_or(from);
        match (state, &mut self.idle) {
            (State::Idle, Some((_, end))) => *end = to,
            (State::Idle, idle) => *idle = Some((from, to)),
            _ => {
                self.count_idle();
                self.bins.spend(state, from - began, to - began);
            }
        }
    }

    fn count_idle(&mut self) {
        if let (Some((from, to)), Some(began)) = (self.idle.take(), self.began) {
            self.bins.spend(State::Idle, from - began, to - began);
        }
    }

    /// The limit of the sender, as far as one moment tells.
    fn state(&self) -> State {
        let in_flight = self.in_flight();
        let has_room = self.window.is_none_or(|window| in_flight + self.largest <= window);
        let is_thin = self.window.is_some_and(|window| in_flight < THIN * window);
        if self.credit.is_spent() && has_room {
            State::ReceiverWindow
        } else if in_flight == 0.0 {
            State::Idle
        } else if has_room && (self.is_short || is_thin) {
            State::Thin
        } else {
            State::Network
        }
    }

    /// Whether a packet that is sent has data, and whether it asks for an acknowledgement.
    fn content(&mut self, packet: &Packet) -> (bool, bool) {
        let Some(frames) = &packet.frames else {
            let is_large = packet.bytes() > DATA;
            return (is_large, is_large);
        };
        self.has_frames = true;
        let (mut is_data, mut is_asking) = (false, false);
        for means in frames.iter().map(|frame| frame.means()) {
            is_data |= matches!(means, Means::Stream { .. } | Means::Datagram);
            is_asking |= !matches!(means, Means::Ack | Means::Silent);
            match means {
                Means::Stream { id, until, is_end, .. } => self.credit.sent(id, until, is_end),
                Means::Blocked => self.credit.blocked(),
                _ => {}
            }
        }
        (is_data, is_asking)
    }

    fn sent(&mut self, packet: &Packet) {
        let Some(key) = packet.key() else { return };
        self.highest = self.highest.max(key.1);
        let bytes = packet.bytes();
        let (is_data, is_asking) = self.content(packet);
        if is_data {
            self.began.get_or_insert(self.now);
            self.largest = self.largest.max(bytes);
            self.is_short = bytes < FULL * self.largest;
            self.count_idle();
        }
        if !is_asking || !self.is_begun() {
            return;
        }
        if self.in_flight() == 0.0 {
            self.waits_since = self.now;
            self.probes = 0;
        } else if self.now - self.last_sent.max(self.waits_since) > 0.5 * self.rtt.pto().as_secs_f64() {
            self.probes = (self.probes + 1).min(20);
        }
        self.last_sent = self.now;
        self.flight.sent(key, Sent { at: self.now, bytes });
        (self.totals.sent, self.totals.packets) = (self.totals.sent + bytes, self.totals.packets + 1);
        let (time, in_flight) = (self.since_began(), self.in_flight());
        let window = self.window;
        let bin = self.bins.at(time);
        bin.window = window;
        bin.sent += bytes;
        bin.packets = bin.packets.saturating_add(1);
        bin.in_flight = bin.in_flight.max(in_flight);
        self.bins.part(time).sent += bytes as f32;
    }

    fn received(&mut self, packet: &Packet) {
        (self.waits_since, self.probes) = (self.now, 0);
        let Some(frames) = packet.frames.as_ref().filter(|_| packet.key().is_some()) else { return };
        self.has_frames = true;
        for frame in frames {
            match frame.means() {
                Means::Ack => {
                    let runs: Vec<_> = frame.acknowledged().collect();
                    if self.ends.learn(&runs[..runs.len().min(LOOKED_AT)], self.highest) {
                        self.forget_rtts();
                    }
                    let inside = runs.into_iter().filter_map(|run| self.ends.inside(run));
                    let acked = self.flight.acked(frame.path(), inside);
                    self.acked(acked);
                }
                Means::MaxData(most) => self.credit.raised(most),
                Means::MaxStreamData(id, most) => self.credit.raised_of(id, most),
                Means::Stream { bytes, .. } => self.totals.received += bytes,
                Means::Datagram => self.totals.received += packet.bytes(),
                _ => {}
            }
        }
    }

    /// Round-trip times of packets that were taken for acknowledged, and were not.
    fn forget_rtts(&mut self) {
        (self.rtt, self.latest_rtt, self.totals.base_rtt, self.totals.late) = Default::default();
        for bin in &mut self.bins.all {
            (bin.rtts, bin.rtt_sum, bin.rtt_least, bin.rtt_most, bin.late) = Default::default();
        }
    }

    fn acked(&mut self, acked: Acked) {
        if !self.is_begun() {
            return;
        }
        if let Some(at) = acked.newest {
            self.sample(self.now - at);
        }
        self.totals.delivered += acked.bytes;
        self.totals.late += u64::from(acked.late);
        let bin = self.bins.at(self.since_began());
        bin.delivered += acked.bytes;
        bin.late = bin.late.saturating_add(acked.late);
    }

    /// A round-trip time.
    fn sample(&mut self, rtt: f64) {
        let (Ok(as_duration), Ok(now)) = (Duration::try_from_secs_f64(rtt), Duration::try_from_secs_f64(self.now))
        else {
            return;
        };
        self.rtt.update(Timestamp::ZERO + now, as_duration);
        self.latest_rtt = Some(rtt);
        self.totals.base_rtt = Some(self.totals.base_rtt.map_or(rtt, |base| base.min(rtt)));
        if self.is_begun() {
            self.bins.at(self.since_began()).rtt(rtt);
        }
    }

    fn lost(&mut self, packet: &Packet) {
        let Some(sent) = packet.key().and_then(|key| self.flight.lost(key)) else { return };
        let Some(began) = self.began else { return };
        let in_queue = self.met_a_long_queue();
        self.totals.lost += 1;
        self.totals.lost_bytes += sent.bytes;
        let bin = self.bins.at(self.now - began);
        bin.lost = bin.lost.saturating_add(1);
        bin.lost_in_queue = bin.lost_in_queue.saturating_add(u32::from(in_queue));
        self.bins.part(sent.at - began).lost += sent.bytes as f32;
    }

    /// Whether packets of late waited nearly as long as any. Those behind a lost one are known first, and saw the same queue.
    fn met_a_long_queue(&self) -> bool {
        let (Some(latest), Some(base)) = (self.latest_rtt, self.totals.base_rtt) else { return false };
        let longest = self.bins.all.iter().rev().take(OF_LATE).map(|bin| bin.rtt_most).fold(0.0, f64::max);
        latest - base > NO_QUEUE.max(NO_QUEUE_OF_RTT * base) && latest - base >= LONG * (longest - base)
    }

    fn metrics(&mut self, metrics: &Metrics) {
        self.window = metrics.congestion_window.0.or(self.window);
        if let (Some(window), true) = (self.window, self.is_begun()) {
            self.bins.at(self.since_began()).window = Some(window);
        }
        self.told_in_flight = metrics.bytes_in_flight.0.unwrap_or(self.told_in_flight);
        if self.has_frames || !self.is_begun() {
            return;
        }
        // A trace without frames: what is neither under way nor lost has arrived.
        if let Some(rtt) = metrics.latest_rtt.0 {
            self.sample(rtt * self.header.unit);
        }
        let delivered = self.totals.sent - self.totals.lost_bytes - self.told_in_flight;
        let more = (delivered - self.totals.delivered).max(0.0);
        self.totals.delivered += more;
        let (time, in_flight) = (self.since_began(), self.told_in_flight);
        let bin = self.bins.at(time);
        bin.delivered += more;
        bin.in_flight = bin.in_flight.max(in_flight);
    }
}
