//! Models of Linux's TCP: the sender that all congestion controls share. Segments leave when acknowledgements come, in
//! trains as Linux builds them; losses are found by SACK and RACK (RFC 8985), and answered by PRR (RFC 6937) or by BBR.
//!
//! A congestion control of one's own has the same sender as CUBIC and BBR:
//!
//! ```
//! use pcc::units::Timestamp;
//! use pcc_sim::tcp::{Acked, CongestionControl, InRecovery, Window};
//! use pcc_sim::{Control, Flow, Scenario, run};
//!
//! /// Two segments more a round trip, three quarters of the window after a loss.
//! #[derive(Default)]
//! struct Hasty(Window);
//!
//! impl CongestionControl for Hasty {
//!     fn limits(&self) -> &Window {
//!         &self.0
//!     }
//!     fn limits_mut(&mut self) -> &mut Window {
//!         &mut self.0
//!     }
//!     fn reduced(&mut self, _: Timestamp) -> f64 {
//!         (0.75 * self.0.segments).max(2.0)
//!     }
//!     fn on_ack(&mut self, event: &Acked, _: InRecovery) {
//!         let left = if self.0.is_slow_start() { self.0.slow_start(event.acked) } else { event.acked as f64 };
//!         self.0.grow(2.0 * left, self.0.segments);
//!     }
//! }
//!
//! let hasty = Flow::of(Control::own("hasty", |_| Hasty::default()));
//! let path = "rate=20Mbit,rtt=30ms,buffer=75KB".parse()?;
//! let results = run(&Scenario::new(path, vec![hasty, Flow::of(Control::Reno)], 1, core::time::Duration::from_secs(20)))?;
//! assert!(results.flows[0].delivered.bytes > results.flows[1].delivered.bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bbr;
mod control;
mod cubic;
mod hystart;
mod own;
mod prague;
mod recovery;
mod reno;
mod sample;
mod scoreboard;
mod train;
mod window;

use crate::account::Account;
use crate::ranges::Ranges;
use crate::receiver::Ack;
use crate::scenario::{Control, Flow};
use crate::supply::Supply;
pub use control::{Acked, CongestionControl, InRecovery, Marks};
use core::time::Duration;
pub use own::Own;
use pcc::units::{Bytes, Rate, Timestamp};
use recovery::{Recovery, State};
pub use sample::RateSample;
use sample::Sampler;
use scoreboard::{Fate, Scoreboard};
use train::Train;
pub use window::Window;

/// Segments of the first window (RFC 6928).
pub(crate) const INITIAL_WINDOW: f64 = 10.0;
/// The least that a time-out waits beyond the RTT (`TCP_RTO_MIN`).
const RTO_MIN: Duration = Duration::from_millis(200);
const INITIAL_RTO: Duration = Duration::from_secs(1);
/// A time-out doubles up to this (`TCP_RTO_MAX`).
const RTO_MAX: Duration = Duration::from_secs(120);
/// A tail-loss probe of a single segment leaves time for a held acknowledgement.
const DELAYED: Duration = Duration::from_millis(200);

/// A sender of segments.
pub(crate) struct Tcp {
    pub(crate) account: Account,
    size: Bytes,
    supply: Supply,
    started: Timestamp,
    control: Box<dyn CongestionControl>,
    board: Scoreboard,
    /// The number with which each segment of a call left first.
    firsts: Vec<u64>,
    recovery: Recovery,
    sampler: Sampler,
    train: Train,
    known: Ranges,
    /// Scratch for what an acknowledgement tells.
    fresh: Vec<(u64, u64)>,
    marked: u32,
    ecn: bool,
    smoothed: Option<Duration>,
    variation: Duration,
    least_rtt: Option<Duration>,
    backoff: u32,
    /// Whether a probe for a lost tail was sent since something new was heard.
    probed: bool,
    probes: u32,
    last_sent: Option<Timestamp>,
    loss_time: Option<Timestamp>,
    /// The window, and not the application, held it back since the last acknowledgement; the most that was in flight.
    window_limited: bool,
    most_in_flight: u64,
}

impl Tcp {
    pub(crate) fn new(flow: &Flow) -> Self {
        let (size, started) = (flow.config.max_datagram_size, Timestamp::ZERO + flow.start);
        let control: Box<dyn CongestionControl> = match &flow.control {
            Control::Bbr => Box::new(bbr::Bbr::new(size, flow.config.seed)),
            Control::Cubic => Box::new(cubic::Cubic::new(flow.paced)),
            Control::Prague => Box::new(prague::Prague::default()),
            Control::Own(own) => own.make(flow),
            Control::Reno | Control::Pcc | Control::Fixed(_) => Box::new(reno::Reno::default()),
        };
        Self {
            account: Account::default(),
            size,
            supply: Supply::new(flow.source, started, size),
            started,
            train: Train::new(flow.paced || control.is_paced(), size),
            control,
            board: Scoreboard::default(),
            firsts: Vec::new(),
            recovery: Recovery::default(),
            sampler: Sampler::default(),
            known: Ranges::default(),
            fresh: Vec::new(),
            marked: 0,
            ecn: flow.ecn && flow.control != Control::Bbr,
            smoothed: None,
            variation: Duration::ZERO,
            least_rtt: None,
            backoff: 0,
            probed: false,
            probes: 0,
            last_sent: None,
            loss_time: None,
            window_limited: false,
            most_in_flight: 0,
        }
    }

    /// Where the data comes from.
    pub(crate) const fn supply(&mut self) -> &mut Supply {
        &mut self.supply
    }

    pub(crate) fn bytes_in_flight(&self) -> u64 {
        self.board.in_flight() * self.size.get()
    }

    pub(crate) const fn smoothed_rtt(&self) -> Option<Duration> {
        self.smoothed
    }

    pub(crate) fn state(&self) -> &'static str {
        self.control.state().unwrap_or_else(|| self.recovery.name())
    }

    /// What it would send in a second: its pacing rate, or its window each RTT.
    pub(crate) fn rate(&self) -> Rate {
        self.control.pacing_rate().unwrap_or_else(|| self.window_rate(1.0))
    }

    fn window_rate(&self, factor: f64) -> Rate {
        let rtt = self.smoothed.unwrap_or(INITIAL_RTO).max(Duration::from_micros(1));
        let bytes = self.control.window().max(self.board.in_flight() as f64) * self.size.get() as f64;
        Rate::from_bytes_per_sec(factor * bytes / rtt.as_secs_f64())
    }

    /// What Linux takes for the rate: it decides about the length of trains, paced or not (`tcp_update_pacing_rate`).
    fn pacing_rate(&self) -> Rate {
        let is_growing = self.control.window() < self.control.threshold() / 2.0;
        let factor = if is_growing { 2.0 } else { self.train.ratio() };
        self.control.pacing_rate().unwrap_or_else(|| self.window_rate(factor))
    }

    /// The number of the packet that leaves now, if one may.
    pub(crate) fn next_packet(&mut self, now: Timestamp) -> Option<u64> {
        self.supply.tick(now);
        if self.account.finished.is_some() || now < self.started {
            return None;
        }
        if self.smoothed.is_none() {
            // The handshake is one packet, repeated until it is answered.
            let may = self.board.in_flight() == 0;
            return may.then(|| self.transmit(now));
        }
        if self.probes > 0 {
            self.probes -= 1;
            return Some(self.transmit(now));
        }
        let room = (self.control.window() - self.board.in_flight() as f64).max(0.0) as u64;
        let again = self.board.to_repeat() > 0;
        if !again && self.supply.next(self.size) > now {
            self.sampler.on_idle(self.board.in_flight());
            return None;
        }
        if room == 0 {
            self.window_limited = true;
            self.train.cut();
            return None;
        }
        let state = train::Moment {
            now,
            room,
            window: self.control.window() as u64,
            rate: self.pacing_rate(),
            least: self.control.least_train(),
            is_recovering: again || self.recovery.is_reducing(),
            head_age: self.board.head_age(now),
            half_rtt: self.smoothed.unwrap_or_default() / 2,
            last_sent: self.last_sent,
        };
        if !self.train.may_leave(&state) {
            self.window_limited |= room < self.train.length(&state);
            return None;
        }
        self.control.on_sending(now, self.board.in_flight());
        Some(self.transmit(now))
    }

    fn transmit(&mut self, now: Timestamp) -> u64 {
        self.sampler.on_send(now, self.board.in_flight());
        let number = self.board.send(self.sampler.stamp());
        self.recovery.on_sent();
        self.supply.take(self.size);
        if let Some(media) = self.supply.media() {
            let first = self.board.repeated().and_then(|segment| self.firsts.get(usize::try_from(segment).ok()?));
            match first {
                Some(first) => media.send_again(*first),
                None => {
                    self.firsts.push(number);
                    media.send()
                }
            };
        }
        self.account.sent.packets += 1;
        self.last_sent = Some(now);
        self.most_in_flight = self.most_in_flight.max(self.board.in_flight());
        number
    }

    /// When something is to be done next, not before the clock's next tick.
    pub(crate) fn next_wake(&self, now: Timestamp) -> Option<Timestamp> {
        if self.account.finished.is_some() {
            return None;
        }
        if self.board.is_new() {
            return Some(self.started.max(now + Duration::from_micros(1)));
        }
        let room = self.control.window() >= self.board.in_flight() as f64 + 1.0;
        let data = if self.board.to_repeat() > 0 { Timestamp::ZERO } else { self.supply.next(self.size) };
        let may_send = room && self.smoothed.is_some() && data.as_nanos() < u64::MAX;
        let paced = self.train.paced_until().unwrap_or(Timestamp::ZERO);
        // A train that is deferred waits for an acknowledgement, not for time.
        let send = may_send.then(|| paced.max(data)).filter(|at| *at > now);
        let timer = self.loss_time.or_else(|| self.timer());
        [send, timer].into_iter().flatten().min().map(|at| at.max(now + Duration::from_micros(1)))
    }

    /// When a probe or a time-out is due.
    fn timer(&self) -> Option<Timestamp> {
        let last = self.last_sent.filter(|_| self.board.in_flight() > 0)?;
        Some(last + self.probe_timeout().unwrap_or_else(|| self.timeout()))
    }

    fn timeout(&self) -> Duration {
        let base = self.smoothed.map_or(INITIAL_RTO, |rtt| rtt + (4 * self.variation).max(RTO_MIN));
        (base * (1 << self.backoff.min(8))).min(RTO_MAX)
    }

    /// RFC 8985 §7: once, while nothing else is wrong.
    fn probe_timeout(&self) -> Option<Duration> {
        let may = !self.probed && self.recovery.state() == State::Open && self.backoff == 0;
        let alone = if self.board.in_flight() == 1 { DELAYED } else { Duration::from_millis(2) };
        self.smoothed.filter(|_| may).map(|rtt| (2 * rtt + alone).min(self.timeout()))
    }

    /// Does what is due by now.
    pub(crate) fn on_wake(&mut self, now: Timestamp) {
        if self.loss_time.is_some_and(|at| at <= now) {
            let lost = self.find_losses(now);
            self.answer(now, 0, lost, None);
        } else if self.loss_time.is_none() && self.timer().is_some_and(|at| at <= now) {
            self.account.sent.probe_timeouts += 1;
            if self.probe_timeout().is_some() {
                (self.probed, self.probes) = (true, 1);
            } else {
                self.time_out(now);
            }
        }
    }

    fn time_out(&mut self, now: Timestamp) {
        self.backoff += 1;
        let lost = self.board.give_up(now, self.least_rtt.unwrap_or(INITIAL_RTO));
        self.book_losses(lost);
        if self.smoothed.is_some() {
            let in_flight = self.board.in_flight();
            self.recovery.on_timeout(&mut *self.control, now, in_flight, self.board.next_segment());
        }
        self.last_sent = Some(now);
        self.train.cut();
    }

    fn book_losses(&mut self, lost: u64) {
        self.account.sent.lost += lost;
        (0..lost).for_each(|_| self.supply.give_back(self.size));
    }

    pub(crate) fn on_ack(&mut self, now: Timestamp, ack: &Ack) {
        self.sampler.begin();
        let una = self.board.una();
        let (mut newest, mut acked, mut fresh) = (None, 0, core::mem::take(&mut self.fresh));
        self.known.fresh(&ack.ranges, &mut fresh);
        for &(from, to) in &fresh {
            for number in (from..to).rev() {
                match self.board.acknowledge(number) {
                    None => {}
                    Some(fate) => {
                        self.account.sent.spurious += u64::from(fate.was_lost);
                        self.recovery.on_spurious(&mut *self.control, fate.was_lost);
                        if fate.was_lost {
                            self.board.widen(now, self.smoothed.unwrap_or_default());
                            self.supply.take(self.size);
                        }
                        acked += 1;
                        self.supply.arrived(self.size);
                        self.sampler.on_delivered(now, &fate.stamp);
                        newest = newest.max(Some((number, fate)));
                    }
                }
            }
        }
        if ack.ranges.largest() > self.known.largest() {
            self.known.assign(&ack.ranges);
        }
        self.fresh = fresh;
        let rtt = newest.map(|(number, fate): (u64, Fate)| {
            let rtt = now.since(fate.stamp.sent);
            self.board.heard_of(number, fate.stamp.sent, rtt);
            self.sample(rtt);
            (self.backoff, self.probed) = (0, false);
            rtt
        });
        self.board.advance();
        let lost = self.find_losses(now);
        let marked = u64::from(ack.marked.saturating_sub(self.marked));
        // An acknowledgement may be overtaken by one that knows more.
        self.marked = self.marked.max(ack.marked);
        if self.ecn && self.control.decides_alone() {
            let (una, next) = (self.board.una(), self.board.next_segment());
            self.control.on_marks(Marks { acked, marked, una, next });
        } else if self.ecn && marked > 0 {
            self.recovery.on_mark(&mut *self.control, now, self.board.next_segment());
        }
        let advanced = self.board.una() > una;
        self.answer(now, acked, lost, rtt.map(|rtt| (rtt, advanced)));
        if self.supply.is_done() {
            self.account.finished = Some(now);
        }
    }

    fn find_losses(&mut self, now: Timestamp) -> u64 {
        let is_recovering = self.recovery.is_after_loss();
        let least = self.least_rtt.unwrap_or(INITIAL_RTO);
        let (lost, next) = self.board.find_losses(now, is_recovering, least, self.smoothed.unwrap_or_default());
        self.loss_time = next;
        self.book_losses(lost);
        lost
    }

    /// Tells the congestion control.
    fn answer(&mut self, now: Timestamp, acked: u64, lost: u64, rtt: Option<(Duration, bool)>) {
        let in_flight = self.board.in_flight();
        let rate = self.sampler.rate(self.least_rtt, lost);
        let limited = if self.control.window() < self.control.threshold() {
            self.control.window() < 2.0 * self.most_in_flight as f64
        } else {
            self.window_limited
        };
        let event = Acked {
            now,
            acked,
            lost,
            in_flight,
            rtt: rtt.map(|(rtt, _)| rtt),
            smoothed: self.smoothed,
            rate,
            delivered: self.sampler.delivered(),
            una: self.board.una(),
            next: self.board.next_segment(),
            window_limited: limited,
        };
        let advanced = rtt.is_some_and(|(_, advanced)| advanced);
        self.recovery.on_ack(&mut *self.control, &event, advanced);
        if acked > 0 && in_flight < self.control.window() as u64 {
            (self.window_limited, self.most_in_flight) = (false, in_flight.max(self.most_in_flight / 2));
        }
    }

    fn sample(&mut self, rtt: Duration) {
        self.account.rtts.push(u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX));
        self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        match self.smoothed {
            None => (self.smoothed, self.variation) = (Some(rtt), rtt / 2),
            Some(smoothed) => {
                self.variation = (3 * self.variation + smoothed.abs_diff(rtt)) / 4;
                self.smoothed = Some((7 * smoothed + rtt) / 8);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_missing_in_an_overtaken_ack_counts_once() {
        let mut tcp = Tcp::new(&Flow { ecn: true, ..Flow::of(Control::Reno) });
        let mut now = Timestamp::ZERO;
        let mut ranges = Ranges::default();
        // Sends what may leave, and has all of it acknowledged 20 ms later.
        let mut round = |tcp: &mut Tcp, marked: u32| {
            while let Some(number) = tcp.next_packet(now) {
                ranges.insert(number);
            }
            now = now + Duration::from_millis(20);
            let ack = Ack { ranges: ranges.clone(), marked, ..Ack::default() };
            tcp.on_ack(now, &ack);
            ack
        };
        round(&mut tcp, 0);
        let overtaken = round(&mut tcp, 0);
        round(&mut tcp, 1);
        let halved = tcp.control.threshold();
        assert!(halved.is_finite());
        tcp.on_ack(Timestamp::from_nanos(70_000_000), &overtaken);
        round(&mut tcp, 1);
        assert_eq!(tcp.control.threshold(), halved);
    }
}
