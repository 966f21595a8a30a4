//! The figures of one direction, as its trains tell them.

use super::course::{Course, Purpose};
use super::delays::{AT_ONCE, Delays};
use super::train::{FASTEST, Heard, Packet, WIRE};
use pcc::units::Rate;

/// A figure and half of the interval that has it with a probability of 95 %, as far as chance goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figure {
    /// The figure.
    pub value: f64,
    /// Its error.
    pub error: f64,
}

/// One direction of a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OneWay {
    /// The bottleneck's rate, headers included. Unit: bytes per second.
    pub rate: Figure,
    /// Why the path may carry more than that, if it may.
    pub at_least: Option<AtLeast>,
    /// How the rate changed, if it did.
    pub course: Option<Rates>,
    /// From one end to the other without any queue, by two clocks that nothing has set: only the sum of both directions means
    /// anything. Unit: seconds.
    pub delay: Figure,
    /// The buffer. Unit: bytes.
    pub buffer: Option<Figure>,
    /// Whether the buffer may be larger: the train ended before it was full.
    pub buffer_at_least: bool,
    /// The longest wait in the queue, at the 99th percentile. Unit: seconds.
    pub longest_wait: f64,
    /// Share of the packets that are lost although no queue is full.
    pub loss: Figure,
    /// Mean length of runs of such losses, if they come in runs. Unit: packets.
    pub burst: Option<Figure>,
    /// The path's jitter.
    pub jitter: Jitter,
    /// Jitter of a lower mean cannot be told from the computers' own. Unit: seconds.
    pub own_jitter: f64,
    /// Share of the packets that others overtake, and how much later they arrive (s).
    pub reordering: Option<(Figure, Figure)>,
    /// The bytes that pass before a policer drops, if it is one.
    pub policer: Option<f64>,
    /// Packets from which the loss is known.
    pub judged: usize,
}

/// Why a rate is only a lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtLeast {
    /// No train is faster.
    Fastest,
    /// The sender could not send faster.
    Sender,
}

/// The rate in intervals of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Their length. Unit: seconds.
    pub interval: f64,
    /// Unit: bytes per second.
    pub rates: Vec<f64>,
}

/// The kind of delay that is added to each packet, and how much.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Jitter {
    /// Less than this computer can tell from its own.
    #[default]
    None,
    /// Up to so much, evenly. Unit: seconds.
    Even(Figure),
    /// The same, and packets overtake each other.
    Overtaking(Figure),
    /// The mean of a contended radio channel's delays: most are short, and few are long. Unit: seconds.
    Radio(Figure),
}

/// Jitter below this mean may be the computers' own, however punctual they are. So may jitter below the time by which they send late:
/// they read as late as they send. Unit: seconds.
const OWN_JITTER: f64 = 0.5e-3;
/// Even jitter has its median at its mean, and a busy computer's stalls raise the mean alone. The radio's model has its median at a
/// tenth of a mean of 7 ms, and at two thirds where nothing is sent again.
const EVEN: f64 = 0.75;
/// The model's delays lie below the mean that it is asked for.
const RADIO_BELOW: f64 = 0.32e-3;
/// Beyond this share of overtaken packets it is jitter that lets them overtake.
const OVERTAKING: f64 = 0.15;
/// Intervals of the rate. Unit: seconds.
const COARSE: f64 = 0.1;
/// A rate whose intervals differ by more than this, relative to their mean, changes.
const CHANGES: f64 = 0.08;
/// Runs of losses that are longer by this factor than chance makes them are bursts.
const BURSTS: f64 = 1.25;
/// Losses of a full queue come at least so densely while it is filled by 1.25 times the rate: half of what they must be.
const OVERFLOW: f64 = 0.1;
/// Packets by which that is judged.
const WINDOW: usize = 50;

/// Whether a train was more than the path carries: it arrived slower than it left, or a part of it was lost.
pub(super) fn is_full(heard: &Heard) -> bool {
    let all = &heard.packets;
    let arrived: Vec<_> = arrivals(all);
    let lost = (all.len() - arrived.len()) as f64 / all.len().max(1) as f64;
    // The last quarter against the first one, at the median: a pause of a radio moves a few packets.
    let quarter = arrived.len().div_ceil(4);
    if quarter == 0 {
        return true;
    }
    let (Some(first), Some(last)) = (arrived.get(..quarter), arrived.get(arrived.len() - quarter..)) else {
        return true;
    };
    let median = |part: &[(f64, f64)]| median(part.iter().map(|(sent, at)| at - sent).collect()).unwrap_or(0.0);
    let length = heard.train.gap.as_secs_f64() * f64::from(heard.train.packets);
    lost / FULL_LOSS + (median(last) - median(first)).max(0.0) / (FULL_GROWTH * length) > 1.0
}

/// A train that is faster than the path by a quarter loses a fifth of its packets if there is no queue at all.
const FULL_LOSS: f64 = 0.15;
/// It needs a fifth of its length longer if nothing is lost, and three quarters of that lie between its first and its last quarter.
const FULL_GROWTH: f64 = 0.08;

/// Whether a train made the queue overflow.
pub(super) fn overflows(heard: &Heard) -> bool {
    overflow(heard).is_some()
}

/// Times of leaving and arriving of those that arrived.
fn arrivals(packets: &[Packet]) -> Vec<(f64, f64)> {
    packets.iter().filter_map(|packet| Some((packet.sent, packet.arrived?))).collect()
}

/// The rate at which a train arrived.
pub(super) fn arrival_rate(heard: &Heard) -> Option<Rate> {
    rate_of(&arrival_times(heard, 0)).filter(|rate| *rate > 0.0).map(Rate::from_bytes_per_sec)
}

/// The rates of arrival in tenths of a second, in bytes per second.
pub(super) fn coarse_rates(heard: &Heard) -> Vec<f64> {
    let times = arrival_times(heard, 0);
    let interval = coarse(&times);
    rates(&times, interval, 1.0)
}

/// The shortest interval in which the rate is told: it has twenty packets.
fn coarse(times: &[f64]) -> f64 {
    COARSE.max(20.0 * span(times) / times.len().max(1) as f64)
}

/// When the packets of a train that left from this one on arrived, in that order.
fn arrival_times(heard: &Heard, from: usize) -> Vec<f64> {
    let late = heard.packets.get(from..).unwrap_or_default();
    let mut times: Vec<_> = late.iter().filter_map(|packet| packet.arrived).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// The rate of these arrivals. Unit: bytes per second.
fn rate_of(times: &[f64]) -> Option<f64> {
    let span = span(times);
    (span > 0.0).then(|| (times.len() - 1) as f64 * WIRE.get() as f64 / span)
}

/// The rates in whole intervals between the first arrival and the last. Unit: bytes per second.
fn rates(times: &[f64], interval: f64, kept: f64) -> Vec<f64> {
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return Vec::new() };
    let count = ((last - first) / interval).floor().clamp(0.0, MOST_INTERVALS);
    let mut rates = vec![0.0; count as usize];
    for time in times {
        if let Some(rate) = rates.get_mut(((time - first) / interval) as usize) {
            *rate += WIRE.get() as f64 / interval / kept;
        }
    }
    rates
}

/// More intervals than the longest train has.
const MOST_INTERVALS: f64 = 10_000.0;

fn median(values: Vec<f64>) -> Option<f64> {
    quantile(values, 0.5)
}

fn quantile(mut values: Vec<f64>, share: f64) -> Option<f64> {
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    values.get(((values.len() as f64 * share) as usize).min(values.len().saturating_sub(1))).copied()
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if values.len() < 2 { 0.0 } else { (squares / (values.len() - 1) as f64).sqrt() }
}

impl OneWay {
    /// The figures of a course between computers that send so many seconds late in the mean; `None` before anything was measured.
    pub fn of(course: &Course, lateness: f64) -> Option<Self> {
        if !course.has_measured() {
            return None;
        }
        let quiet: Vec<_> = course.heard(Purpose::Quiet).collect();
        let calm: Vec<_> = course.heard(Purpose::Calm).collect();
        let low = || quiet.iter().chain(&calm).copied();
        let transit =
            |heard: &Heard| arrivals(&heard.packets).into_iter().map(|(sent, at)| at - sent).collect::<Vec<_>>();
        let mut least: Vec<f64> = low().flat_map(transit).filter(|time| time.is_finite()).collect();
        if least.is_empty() {
            least = course.heard(Purpose::Fill).flat_map(transit).filter(|time| time.is_finite()).collect();
        }
        least.sort_by(f64::total_cmp);
        let base = *least.first()?;
        let near = least.get(least.len().min(5) - 1).copied().unwrap_or(base);

        let mut told = Self { ..Self::default() };
        let overtaken = overtaken(low());
        told.reordering(&overtaken, low().map(|heard| arrivals(&heard.packets).len()).sum(), base);
        let delays = quiet.iter().map(|heard| Delays::of(heard, base, AT_ONCE)).next().unwrap_or_default();
        told.own_jitter = OWN_JITTER.max(lateness);
        told.jitter = told.jitter_of(&delays, quiet.first().copied(), base);
        let dense: Vec<f64> = calm.iter().flat_map(|heard| transit(heard)).map(|time| time - base).collect();
        let noise = Noise { median: median(dense).unwrap_or(0.0), longest: delays.quantile(0.99) };
        told.losses(low());
        let calm_gap = calm.first().map_or(1.0, |heard| heard.train.gap.as_secs_f64());
        let full_gap = course
            .heard(Purpose::Fill)
            .last()
            .and_then(arrival_rate)
            .map_or(1.0, |rate| WIRE.get() as f64 / rate.bytes_per_sec());
        // Denser packets hold each other for longer.
        let noise = Noise { median: noise.median + (delays.held(full_gap) - delays.held(calm_gap)).max(0.0), ..noise };
        told.filled(course, base, &noise);
        // The quickest packet met the path at its fastest.
        let rates = told.course.iter().flat_map(|course| &course.rates).copied();
        let fastest = rates.fold(told.rate.value, f64::max);
        let transmission = if fastest > 0.0 { WIRE.get() as f64 / fastest } else { 0.0 };
        told.delay = Figure { value: base - transmission, error: near - base + TICK };
        Some(told)
    }

    /// From trains that leave the queue empty: what is lost of them, and in which runs.
    fn losses<'a>(&mut self, trains: impl Iterator<Item = &'a Heard>) {
        let (mut lost, mut runs, mut all) = (0_usize, 0_usize, 0_usize);
        for heard in trains {
            let mut before = false;
            for packet in &heard.packets {
                let is_lost = packet.arrived.is_none();
                lost += usize::from(is_lost);
                runs += usize::from(is_lost && !before);
                before = is_lost;
                all += 1;
            }
        }
        let count = all.max(1) as f64;
        let share = lost as f64 / count;
        let length = lost as f64 / runs.max(1) as f64;
        // Losses of one burst are no independent evidence. Where none was seen, three could have been missed.
        let error =
            if lost == 0 { 3.0 / count } else { 1.96 * (share * (1.0 - share) / count * (2.0 * length - 1.0)).sqrt() };
        (self.loss, self.judged) = (Figure { value: share, error }, all);
        let spread = 1.96 * length * ((1.0 - 1.0 / length.max(1.0)).max(0.0) / runs.max(1) as f64).sqrt();
        let by_chance = 1.0 / (1.0 - share).max(0.01);
        let is_burst = runs >= 5 && length - spread > BURSTS * by_chance;
        self.burst = is_burst.then_some(Figure { value: length, error: spread });
    }

    fn reordering(&mut self, late: &[f64], arrived: usize, base: f64) {
        let share = late.len() as f64 / arrived.max(1) as f64;
        let error = 1.96 * (share * (1.0 - share).max(0.0) / arrived.max(1) as f64).sqrt();
        if late.len() < 3 {
            return;
        }
        let detours: Vec<_> = late.iter().map(|time| time - base).collect();
        let spread = 1.96 * deviation(&detours) / (detours.len() as f64).sqrt();
        let detour = Figure { value: median(detours).unwrap_or(0.0), error: spread };
        self.reordering = Some((Figure { value: share, error }, detour));
    }

    fn jitter_of(&mut self, delays: &Delays, quiet: Option<&Heard>, base: f64) -> Jitter {
        if self.reordering.is_some_and(|(share, _)| share.value > OVERTAKING) {
            // Nobody is held then: all are samples.
            self.reordering = None;
            let all: Vec<_> = quiet.map(|heard| arrivals(&heard.packets)).unwrap_or_default();
            let added: Vec<_> = all.into_iter().map(|(sent, at)| at - sent - base).collect();
            let error = 2.0 * 1.96 * deviation(&added) / (added.len().max(1) as f64).sqrt();
            return Jitter::Overtaking(Figure { value: 2.0 * mean(&added), error });
        }
        let mean = delays.mean();
        if mean < self.own_jitter {
            Jitter::None
        } else if delays.quantile(0.5) > EVEN * mean {
            Jitter::Even(Figure { value: 2.0 * delays.quantile(0.5), error: 2.0 * delays.error() })
        } else {
            Jitter::Radio(Figure { value: mean + RADIO_BELOW, error: delays.error() })
        }
    }

    /// From trains that fill the queue: rate, its changes, buffer, policer.
    fn filled(&mut self, course: &Course, base: f64, noise: &Noise) {
        let kept = (1.0 - self.loss.value).max(0.01);
        let fillings: Vec<_> = course.heard(Purpose::Fill).map(|heard| Filling::of(heard, base, noise, kept)).collect();
        let interval = fillings
            .iter()
            .map(|filling| coarse(&filling.times))
            .fold((3.0 * noise.longest).min(LONGEST_INTERVAL), f64::max);
        let all: Vec<f64> = fillings.iter().flat_map(|filling| rates(&filling.times, interval, kept)).collect();
        let overall: Vec<f64> = fillings.iter().filter_map(|filling| Some(rate_of(&filling.times)? / kept)).collect();
        let (rate, spread) = (mean(&overall), deviation(&all));
        let chance = 1.96 * spread / (all.len().max(1) as f64).sqrt();
        // Packets at both ends may belong to the time or not.
        let ends = 2.0 * rate / fillings.iter().map(|filling| filling.times.len()).sum::<usize>().max(1) as f64;
        self.rate = Figure { value: rate, error: chance + rate * HEADERS + ends };
        if rate > 0.0 && changes(&all, rate) {
            // A pause of the rate delays packets as a radio's does, and the recorded rate has it.
            let pauses = all.iter().any(|interval| *interval < PAUSE * rate);
            if pauses && matches!(self.jitter, Jitter::Radio(_)) {
                self.jitter = Jitter::None;
            }
            self.course = Some(Rates { interval, rates: all });
        }
        let overflows = fillings.iter().any(|filling| filling.overflows);
        let full = || fillings.iter().filter(|filling| filling.overflows == overflows);
        let waits: Vec<f64> = full().flat_map(|filling| filling.waits.iter().copied()).collect();
        self.longest_wait = quantile(waits, 0.99).unwrap_or(0.0).max(0.0);
        self.buffer_at_least = !overflows;
        let backlogs: Vec<f64> = full().flat_map(|filling| filling.backlogs.iter().copied()).collect();
        let of = |share| quantile(backlogs.clone(), share).unwrap_or(0.0);
        let packets = of(if overflows { 0.5 } else { 0.99 });
        let size = WIRE.get() as f64;
        // Delays of the computers' own look like a queue.
        let own = self.own_jitter * rate;
        self.buffer = Some(Figure { value: packets * size, error: ((of(0.75) - of(0.25)) / 2.0 + 1.0) * size + own });
        let excess = full().map(|filling| filling.excess).fold(0.0, f64::max);
        // Bytes that pass before the first drop wait in a buffer, and do not wait before a policer.
        self.policer = (overflows && self.course.is_none() && excess > (3.0 * packets + 10.0) * size).then_some(excess);
        if !course.heard(Purpose::Fill).any(|heard| overflow(heard).is_some() || is_full(heard)) {
            let asked = course.heard(Purpose::Fill).last().map_or(0.0, |heard| heard.train.rate().bytes_per_sec());
            let is_fastest = asked >= 0.99 * FASTEST && rate >= 0.9 * FASTEST;
            self.at_least = Some(if is_fastest { AtLeast::Fastest } else { AtLeast::Sender });
            self.buffer = None;
        }
    }
}

/// An interval with less than this part of the mean rate has a pause in it.
const PAUSE: f64 = 0.2;
/// Longer intervals would be too few. Unit: seconds.
const LONGEST_INTERVAL: f64 = 0.25;
/// Fewer do not tell a change from chance.
const LEAST_INTERVALS: usize = 8;

/// Whether the rate changes from interval to interval. Arrivals that are late move from one interval to the next: that adds
/// twice a variance, and takes it once from the covariance of neighbours. The rest is the path's own. It counts if it is more than
/// relative [`CHANGES`], and twice its own standard deviation.
fn changes(rates: &[f64], mean: f64) -> bool {
    let count = rates.len() as f64;
    if rates.len() < LEAST_INTERVALS {
        return false;
    }
    let from_mean = |rate: &f64| rate - mean;
    let variance = rates.iter().map(|rate| from_mean(rate).powi(2)).sum::<f64>() / count;
    let neighbours = rates.windows(2).map(|pair| from_mean(&pair[0]) * from_mean(&pair[1])).sum::<f64>() / count;
    let own = variance + 2.0 * neighbours;
    own > (CHANGES * mean).powi(2).max(2.0 * variance * (6.0 / count).sqrt())
}

/// How late the datagrams of a train leave, in the mean, as the delays of a path are counted: those that a late one held are not
/// late by themselves. Unit: seconds.
pub(super) fn lateness(heard: &Heard) -> f64 {
    let gap = heard.train.gap.as_secs_f64();
    let first = heard.packets.first().map_or(0.0, |packet| packet.sent);
    let leaving =
        |(place, packet): (usize, &Packet)| Packet { sent: first + gap * place as f64, arrived: Some(packet.sent) };
    let packets = heard.packets.iter().enumerate().map(leaving).collect();
    Delays::of(&Heard { train: heard.train, packets }, 0.0, HELD_BACK).mean()
}

/// After a late packet others follow at half of the gap.
const HELD_BACK: f64 = 0.75;

/// A train that fills the queue, from the moment on at which it is full, or there is one.
struct Filling {
    overflows: bool,
    /// Arrivals.
    times: Vec<f64>,
    /// How long packets waited. Unit: seconds.
    waits: Vec<f64>,
    /// Packets in the queue.
    backlogs: Vec<f64>,
    /// Bytes that left before the first drop beyond what the path carried meanwhile.
    excess: f64,
}

impl Filling {
    fn of(heard: &Heard, base: f64, noise: &Noise, kept: f64) -> Self {
        let full = overflow(heard);
        let from = full.unwrap_or_else(|| queue_begins(heard, base, noise));
        let times = arrival_times(heard, from);
        let late = heard.packets.get(from..).unwrap_or_default();
        let waits = arrivals(late).into_iter().map(|(sent, at)| at - sent - base - noise.median).collect();
        let backlogs = backlogs_of(heard, from, base + noise.median, full.is_some(), kept);
        let left = |place: usize| heard.packets.get(place).map_or(0.0, |packet| packet.sent);
        let carried = rate_of(&times).unwrap_or(0.0) * (left(from) - left(0));
        let excess = (from as f64).mul_add(WIRE.get() as f64, -carried);
        Self { overflows: full.is_some(), times, waits, backlogs, excess }
    }
}

/// A clock's reading and the kernel's way to it. Unit: seconds.
const TICK: f64 = 50e-6;
/// The share of a packet by which headers of other lengths differ (IPv6, longer connection identifiers).
const HEADERS: f64 = 0.005;

/// Delays on a path without a queue. Unit: seconds.
struct Noise {
    median: f64,
    longest: f64,
}

fn span(times: &[f64]) -> f64 {
    times.first().zip(times.last()).map_or(0.0, |(first, last)| last - first)
}

/// The packet from which on a part of the train is lost that only a full queue, or a policer, loses.
pub(super) fn overflow(heard: &Heard) -> Option<usize> {
    let is_lost: Vec<bool> = heard.packets.iter().map(|packet| packet.arrived.is_none()).collect();
    let lost = |part: &[bool]| part.iter().filter(|lost| **lost).count() as f64;
    let window = WINDOW.min(is_lost.len() / 4).max(1);
    let starts = is_lost.windows(window).position(|part| part[0] && lost(part) > OVERFLOW * window as f64)?;
    // And it stays so.
    (lost(&is_lost[starts..]) > OVERFLOW * (is_lost.len() - starts) as f64).then_some(starts)
}

/// The packet from which on there is a queue.
fn queue_begins(heard: &Heard, base: f64, noise: &Noise) -> usize {
    let above = base + noise.longest.max(noise.median) + 1e-3;
    heard.packets.iter().position(|packet| packet.arrived.is_some_and(|at| at - packet.sent > above)).unwrap_or(0)
}

/// Packets in the queue when one came there, itself included, and one in transmission not. They arrived after the moment at which
/// the packet would have without a queue, and no later than it. If the queue overflows only packets right after a lost one are asked.
fn backlogs_of(heard: &Heard, from: usize, base: f64, overflows: bool, kept: f64) -> Vec<f64> {
    let mut order: Vec<_> =
        heard.packets.iter().enumerate().filter_map(|(place, packet)| Some((packet.arrived?, place))).collect();
    order.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let mut ranks = vec![0; heard.packets.len()];
    for (rank, (_, place)) in order.iter().enumerate() {
        ranks[*place] = rank + 1;
    }
    let before = |time: f64| order.partition_point(|(at, _)| *at <= time);
    let is_asked = |place: usize| !overflows || heard.packets[place - 1].arrived.is_none();
    let asked = (from.max(1)..heard.packets.len()).filter(|place| is_asked(*place));
    asked
        .filter(|place| heard.packets[*place].arrived.is_some())
        .map(|place| ranks[place].saturating_sub(before(heard.packets[place].sent + base)) as f64 / kept)
        .collect()
}

/// How long the packets needed that others overtook.
fn overtaken<'a>(trains: impl Iterator<Item = &'a Heard>) -> Vec<f64> {
    let mut late = Vec::new();
    for heard in trains {
        let mut earliest = f64::INFINITY;
        for packet in heard.packets.iter().rev() {
            let Some(at) = packet.arrived else { continue };
            if at > earliest + OVERTOOK {
                late.push(at - packet.sent);
            }
            earliest = earliest.min(at);
        }
    }
    late
}

/// Two that come at once may be read in any order. Unit: seconds.
const OVERTOOK: f64 = 20e-6;
