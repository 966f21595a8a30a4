//! The rules: from bins to the limit of each. docs/explain.md states them for users.

use super::Unread;
use super::bins::{Bin, Bins, State};
use super::cause::Cause;
use super::course::{Course, NO_QUEUE, NO_QUEUE_OF_RTT, Totals};
use super::event::Side;
use super::policer;
use serde::Serialize;

/// A queue is long from a mean wait of 10 ms on, and of half of the base RTT.
const LONG_QUEUE: f64 = 0.010;
const LONG_QUEUE_OF_RTT: f64 = 0.5;

/// A path is full where this share of its latest known rate arrives.
const FULL: f64 = 0.85;

/// Losses without a queue count in so many bins before and behind, and those in a queue in so many.
const AROUND: usize = 4;
const AROUND_QUEUE: usize = 1;

/// They met a queue if this share of them did.
const IN_QUEUE: f64 = 0.75;

/// A policer is looked for in so many bins before and behind.
const POLICED: usize = 10;

/// PCC's own intervals count where they fill this share of a bin.
const INTERVALS: f64 = 0.2;

/// A bin's rate counts if its congestion control was the limit for this share of it.
const ACTIVE: f64 = 0.3;

/// A stretch of time, a second in most traces.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Second {
    /// Since data was first sent. Unit: s.
    pub from_seconds: f64,
    /// The limit for most of it.
    pub limited_by: Option<Cause>,
    /// How long each limited it, in the order of [`Cause::ALL`]. Unit: s.
    pub limits_seconds: [f64; Cause::ALL.len()],
    /// Unit: bit/s.
    pub sent_bps: f64,
    /// Unit: bit/s.
    pub delivered_bps: f64,
    /// Share of its packets that was lost.
    pub loss: f64,
    /// Mean. Unit: ms.
    pub rtt_ms: Option<f64>,
    /// At most. Unit: bytes.
    pub in_flight_bytes: f64,
    /// Unit: bytes.
    pub window_bytes: Option<f64>,
}

/// A stretch of time with one limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spell {
    /// Since data was first sent. Unit: s.
    pub from_seconds: f64,
    /// Since data was first sent. Unit: s.
    pub to_seconds: f64,
    /// The limit for most of each second.
    pub limited_by: Cause,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// Whose trace it is.
    pub side: Option<Side>,
    /// From the first data to the last answer to it. Unit: s.
    pub took: f64,
    /// Bytes of packets that ask for an acknowledgement.
    pub sent: f64,
    /// Bytes of them that arrived.
    pub delivered: f64,
    /// Packets that ask for an acknowledgement.
    pub packets: u64,
    /// Packets of them that were lost, without those that came late.
    pub lost: u64,
    /// Bytes of streams and datagrams that came from the peer.
    pub received: f64,
    /// The least RTT. Unit: s.
    pub base_rtt: Option<f64>,
    /// Length of the stretches. Unit: s.
    pub width: f64,
    /// Each stretch.
    pub seconds: Vec<Second>,
    /// How long each limited it, in the order of [`Cause::ALL`]. Unit: s.
    pub limits: [f64; Cause::ALL.len()],
    /// The rate of the policer, if there is one. Unit: bit/s.
    pub policer: Option<f64>,
    /// Records that are no events.
    pub unread: Unread,
}

impl Explained {
    /// Unit: bit/s.
    pub fn goodput(&self) -> f64 {
        if self.took > 0.0 { self.delivered * 8.0 / self.took } else { 0.0 }
    }

    /// Stretches of one limit, in the order of time.
    pub fn spells(&self) -> Vec<Spell> {
        let mut spells: Vec<Spell> = Vec::new();
        for second in &self.seconds {
            let Some(limited_by) = second.limited_by else { continue };
            let (from_seconds, to_seconds) = (second.from_seconds, second.from_seconds + self.width);
            match spells.last_mut().filter(|spell| spell.limited_by == limited_by && spell.to_seconds == from_seconds) {
                Some(spell) => spell.to_seconds = to_seconds,
                None => spells.push(Spell { from_seconds, to_seconds, limited_by }),
            }
        }
        spells
    }

    /// Causes with their time, the longest first; none that is below a hundredth of all.
    pub fn ranked(&self) -> Vec<(Cause, f64)> {
        let all: f64 = self.limits.iter().sum();
        let mut ranked: Vec<_> =
            Cause::ALL.into_iter().zip(self.limits).filter(|(_, time)| *time >= 0.01 * all && *time > 0.0).collect();
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
        ranked
    }
}

/// The end of a course.
pub(crate) fn explained(course: Course, unread: Unread) -> Explained {
    let side = course.side();
    let Totals { sent, packets, delivered, lost, late, received, base_rtt, .. } = course.totals;
    let bins = course.bins;
    let mut judge = Judge { bins: &bins, base: base_rtt, capacities: Vec::new(), before: Cause::Window, policer: None };
    judge.capacities = judge.capacities();
    let seconds: Vec<_> = (0..bins.all.len()).map(|place| judge.second(place)).collect();
    let policer = judge.policer.map(|rate| rate * 8.0);
    let mut limits = [0.0; Cause::ALL.len()];
    for second in &seconds {
        limits.iter_mut().zip(second.limits_seconds).for_each(|(sum, time)| *sum += time);
    }
    Explained {
        side,
        took: limits.iter().sum(),
        sent,
        delivered,
        packets,
        lost: lost.saturating_sub(late),
        received,
        base_rtt,
        width: bins.width,
        seconds,
        limits,
        policer,
        unread,
    }
}

/// Goes from bin to bin.
struct Judge<'a> {
    bins: &'a Bins,
    base: Option<f64>,
    /// The path's rate in each bin. Unit: bytes/s.
    capacities: Vec<Option<f64>>,
    /// The path's limit in the bin before.
    before: Cause,
    /// The rate of the latest policer. Unit: bytes/s.
    policer: Option<f64>,
}

impl Judge<'_> {
    fn second(&mut self, place: usize) -> Second {
        let (bin, width) = (&self.bins.all[place], self.bins.width);
        let mut limits = [0.0; Cause::ALL.len()];
        let mut add = |cause: Cause, time: f64| limits[cause as usize] += time;
        let [network, application, receiver, host] = shared(bin, width, self.wait(bin) > self.long());
        add(Cause::Application, application);
        add(Cause::ReceiverWindow, receiver);
        add(Cause::Host, host);
        add(Cause::Outage, bin.times[State::Outage as usize]);
        if network > 0.0 {
            add(self.of_path(place, network), network);
        }
        let longest = Cause::ALL.into_iter().zip(limits).max_by(|one, other| one.1.total_cmp(&other.1));
        let judged = f64::from(bin.packets.max(bin.lost));
        Second {
            from_seconds: place as f64 * width,
            limited_by: longest.filter(|(_, time)| *time > 0.0).map(|(cause, _)| cause),
            limits_seconds: limits,
            sent_bps: bin.sent * 8.0 / width,
            delivered_bps: bin.delivered * 8.0 / width,
            loss: f64::from(bin.lost.saturating_sub(bin.late)) / judged.max(1.0),
            rtt_ms: bin.rtt_mean().map(|rtt| rtt * 1e3),
            in_flight_bytes: bin.in_flight,
            window_bytes: bin.window,
        }
    }

    /// The limit while congestion control was one.
    fn of_path(&mut self, place: usize, network: f64) -> Cause {
        let bin = &self.bins.all[place];
        let delivered = self.delivered(bin, network);
        let is_queued = self.is_queued(bin);
        let is_full = self.capacities[place].zip(delivered).is_some_and(|(all, delivered)| delivered >= FULL * all);
        let (near, near_queue) = self.losses(place, AROUND_QUEUE);
        let (lost, in_queue) = self.losses(place, AROUND);
        let policed = if lost > in_queue && !is_queued { self.policed(place) } else { None };
        // Few losses do not show a policer, and need not where it is known, and lets as much pass as before.
        let at_its_rate = |(all, delivered): (f64, f64)| (FULL * all..=all / FULL).contains(&delivered);
        let is_policed = self.policer.zip(delivered).is_some_and(at_its_rate);
        let cause = if self.wait(bin) > self.long() {
            Cause::Queue
        } else if policed.is_some() {
            self.policer = policed;
            Cause::Policer
        } else if is_full || is_queued || near > 0 && f64::from(near_queue) >= IN_QUEUE * f64::from(near) {
            Cause::Rate
        } else if is_policed && (lost > in_queue || self.before == Cause::Policer) {
            Cause::Policer
        } else if lost > in_queue || self.before == Cause::Loss {
            // Windows that were halved grow back, at a distance for minutes.
            Cause::Loss
        } else {
            Cause::Window
        };
        self.before = cause;
        cause
    }

    /// The rate at which packets arrived, while congestion control was the limit. Unit: bytes/s.
    fn delivered(&self, bin: &Bin, network: f64) -> Option<f64> {
        (network >= ACTIVE * self.bins.width).then(|| bin.delivered / network)
    }

    fn is_queued(&self, bin: &Bin) -> bool {
        self.wait(bin) > NO_QUEUE.max(NO_QUEUE_OF_RTT * self.base.unwrap_or(0.0))
    }

    /// The path's rate as bins with a queue show it, each until the next one. The first one holds for the time before it, too.
    fn capacities(&self) -> Vec<Option<f64>> {
        let known = |bin: &Bin| {
            let [network, ..] = shared(bin, self.bins.width, self.wait(bin) > self.long());
            self.delivered(bin, network).filter(|_| self.is_queued(bin))
        };
        let mut latest = self.bins.all.iter().find_map(known);
        let each = self.bins.all.iter().map(|bin| {
            latest = known(bin).or(latest);
            latest
        });
        each.collect()
    }

    /// The mean wait in the path's queue. Unit: s.
    fn wait(&self, bin: &Bin) -> f64 {
        self.base.zip(bin.rtt_mean()).map_or(0.0, |(base, mean)| mean - base)
    }

    /// A queue is long from this wait on. Unit: s.
    fn long(&self) -> f64 {
        LONG_QUEUE.max(LONG_QUEUE_OF_RTT * self.base.unwrap_or(0.0))
    }

    /// Packets that were lost around a bin, and of them those that met a long queue.
    fn losses(&self, place: usize, reach: usize) -> (u32, u32) {
        let around = self.around(place, reach).iter();
        around.fold((0, 0), |(lost, in_queue), bin| {
            (
                lost + bin.lost.saturating_sub(bin.late),
                in_queue + bin.lost_in_queue.min(bin.lost.saturating_sub(bin.late)),
            )
        })
    }

    fn around(&self, place: usize, reach: usize) -> &[Bin] {
        &self.bins.all[place.saturating_sub(reach)..(place + reach + 1).min(self.bins.all.len())]
    }

    /// The rate of the policer around a bin, in bytes/s.
    fn policed(&self, place: usize) -> Option<f64> {
        let parts: Vec<_> = self.around(place, POLICED).iter().flat_map(|bin| bin.parts).collect();
        policer::rate(&parts).map(|rate| rate * super::bins::PARTS as f64 / self.bins.width)
    }
}

/// A bin's time that network, application, receiver and host have. PCC knows better than its window tells which of them it was.
/// Behind a long queue more data would only have waited, so a window that is not filled is no limit.
fn shared(bin: &Bin, width: f64, is_queue_long: bool) -> [f64; 4] {
    let time = |state: State| bin.times[state as usize];
    let all: f64 = bin.intervals.iter().sum();
    let (idle, receiver, host) = (time(State::Idle), time(State::ReceiverWindow), time(State::Host));
    let rest = time(State::Network) + time(State::Thin);
    if all < INTERVALS * width {
        let (network, thin) = if is_queue_long { (rest, 0.0) } else { (time(State::Network), time(State::Thin)) };
        return [network, idle + thin, receiver, host];
    }
    let [network, application, window, busy] = bin.intervals.map(|one| one / all * rest);
    [network, idle + application, receiver + window, host + busy]
}
