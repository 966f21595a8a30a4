//! Paths as people write them: `rate=42Mbit,rtt=800ms,loss=0.74%,buffer=7.5KB`.

mod file;
mod write;

use crate::conditions::{Conditions, Impossible, PACKET};
use crate::link::OneWay;
use crate::loss::{GilbertElliott, Loss};
use crate::path::Path;
use crate::presets::{preset, presets};
use crate::queue::Queue;
use crate::replay::Replay;
use crate::schedule::{Change, Rule, Schedule, Vary};
use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;
use core::time::Duration;
use pcc::units::{Bytes, Rate};

pub use file::{Files, on_disk};

/// The parameters of a path: name, example, meaning. Each may carry `up.` or `down.` before its name and then holds
/// for that direction only (`rtt` may not: its halves are the two delays).
pub const KEYS: [(&str, &str, &str); 15] = [
    ("rate", "rate=42Mbit", "speed of the bottleneck; needed (42M is 42Mbit, 42MB is eight times that)"),
    ("rtt", "rtt=800ms", "round-trip time without queues, half of it each way"),
    ("delay", "up.delay=10ms", "one-way delay"),
    (
        "buffer",
        "buffer=7.5KB",
        "room for waiting packets: bytes, a time at the path's rate (buffer=100ms), or products of rate and RTT \
                        (buffer=2bdp); one product, but ten packets, if not given",
    ),
    (
        "queue",
        "queue=pie",
        "discipline of the waiting packets: droptail, fq, codel, fq_codel, red, pie, fq_pie, dualpi2, sfq, cake; all but \
         droptail, fq and sfq mark packets that allow it (ECN)",
    ),
    (
        "loss",
        "loss=0.74%",
        "random loss; loss=ge/0.1%/25%/0%/100%: Gilbert-Elliott, probabilities a packet of turning \
                            bad, of turning good, of loss while good, of loss while bad",
    ),
    ("burst", "burst=8", "mean length in packets of the bursts in which `loss` comes"),
    ("jitter", "jitter=5ms", "up to this is added to each delay; jitter=5ms:reorder lets packets overtake"),
    ("wifi", "wifi=7ms", "mean delay that a contended Wi-Fi channel adds: packets wait and arrive in clumps, in order"),
    ("reorder", "reorder=1%:5ms", "this share of packets takes a detour of that length"),
    ("duplicate", "duplicate=0.1%", "this share of packets arrives twice"),
    (
        "at",
        "at=10s:rate=5Mbit:loss=2%",
        "from that time on; with rate, rtt, delay, buffer, loss, jitter, wifi, reorder, \
                                         duplicate",
    ),
    ("blackout", "blackout=10s/2s", "at 10 s all is lost for 2 s; blackout=10s/2s/60s: and again every 60 s"),
    (
        "vary",
        "vary=5s:rate=10Mbit..100Mbit:rtt=10ms..100ms:loss=0%..1%",
        "every 5 s each is drawn anew from its range; with walk=30% it wanders by up to that share instead",
    ),
    (
        "trace",
        "down.trace=lte.trace",
        "the rate as recorded in that file, again and again: a line a packet of 1500 bytes, the millisecond at which it \
                                                        leaves (as mahimahi has it); no `rate` is needed",
    ),
];

/// Why a text is no path; it names the key, the value and an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsePathError(String);

impl fmt::Display for ParsePathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for ParsePathError {}

impl ParsePathError {
    fn new(written: &str, problem: impl fmt::Display, key: &str) -> Self {
        match KEYS.iter().find(|(name, ..)| *name == key) {
            Some((_, example, _)) => Self(format!("`{written}`: {problem}; write it like {example}")),
            None => Self(format!("`{written}`: {problem}")),
        }
    }

    fn no_rate(side: &str) -> Self {
        Self(format!("no `{side}rate` is given; write {side}rate=42Mbit, or begin with a preset: satellite,…"))
    }

    fn impossible(side: &str, impossible: &Impossible) -> Self {
        Self::new(&format!("{side}{}={}", impossible.key, impossible.value), impossible.rule, impossible.key)
    }
}

/// The size of a buffer as it may be written.
#[derive(Clone, Copy, Debug)]
enum Room {
    Bytes(Bytes),
    /// A time: the bytes that the bottleneck sends in it.
    Time(Duration),
    /// Products of rate and RTT.
    Products(f64),
}

impl Room {
    fn bytes(self, rate: Rate, rtt: Duration) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Time(time) => rate * time,
            Self::Products(count) => Bytes::new((count * rate.bytes_per_sec() * rtt.as_secs_f64()).round() as u64),
        }
    }
}

impl FromStr for Room {
    type Err = String;

    /// `7.5KB`, `100ms` or `1bdp`.
    fn from_str(value: &str) -> Result<Self, String> {
        if let Some(count) = value.strip_suffix("bdp") {
            let count = number(count.trim())?;
            return if count > 0.0 { Ok(Self::Products(count)) } else { Err(format!("`{value}` is no room")) };
        }
        // `s` ends a time and no count of bytes.
        if value.ends_with('s') { Ok(Self::Time(duration(value)?)) } else { Ok(Self::Bytes(bytes(value)?)) }
    }
}

/// The written parameters of one direction.
#[derive(Clone, Debug, Default)]
struct Side {
    rate: Option<Rate>,
    delay: Duration,
    buffer: Option<Room>,
    /// Places of rules that change the buffer, and to what.
    rooms: Vec<(usize, Room)>,
    queue: Queue,
    loss: Option<Loss>,
    burst: Option<f64>,
    jitter: (Duration, bool),
    wifi: Duration,
    reorder: (f64, Duration),
    duplicate: f64,
    rules: Vec<Rule>,
}

impl FromStr for Path {
    type Err = ParsePathError;

    /// Reads `PRESET`, `KEY=VALUE,…` or `PRESET,KEY=VALUE,…`. A written value replaces the preset's, and rules add up. `@FILE` in
    /// the place of a preset is a file with parameters.
    /// Two equal keys are refused, since nobody could say which is meant.
    fn from_str(written: &str) -> Result<Self, Self::Err> {
        Self::read(written, &on_disk)
    }
}

impl Path {
    /// The same where files are elsewhere than on a disk.
    ///
    /// Errors: as those of its `from_str`.
    pub fn read(written: &str, files: Files<'_>) -> Result<Self, ParsePathError> {
        let mut read = Reading { up: Side::default(), down: Side::default(), files };
        let mut given = Vec::new();
        for (place, item) in written.split(',').map(str::trim).enumerate() {
            if let Some(file) = item.strip_prefix('@').filter(|_| place == 0) {
                for (key, value) in file::parameters(file, files).map_err(ParsePathError)? {
                    read.set(&key, &value, &format!("{file}: {key}={value}"))?;
                }
                continue;
            }
            let Some((key, value)) = item.split_once('=') else {
                let preset = preset(item).filter(|_| place == 0).ok_or_else(|| no_preset(item))?;
                for item in preset.parameters.split(',') {
                    let (key, value) = item.split_once('=').unwrap_or((item, ""));
                    read.set(key, value, item)?;
                }
                continue;
            };
            let key = key.trim();
            if given.contains(&key) && !is_rule(key) {
                return Err(ParsePathError(format!("`{item}`: `{key}` is given twice; leave out one of the two")));
            }
            given.push(key);
            read.set(key, value.trim(), item)?;
        }
        let Reading { up, down, .. } = read;
        let rtt = up.delay.saturating_add(down.delay);
        if !up.has_rate() && !down.has_rate() {
            return Err(ParsePathError::no_rate(""));
        }
        Ok(Self { up: up.finish("up.", rtt)?, down: down.finish("down.", rtt)? })
    }
}

/// The error for a word without `=` that is no preset, or none in this place.
fn no_preset(item: &str) -> ParsePathError {
    if preset(item).is_some() {
        return ParsePathError(format!(
            "`{item}`: a preset comes first, what differs from it afterwards: {item},loss=1%"
        ));
    }
    let names: Vec<_> = presets().iter().map(|preset| preset.name).collect();
    ParsePathError(format!(
        "`{item}` is neither KEY=VALUE (like rate=42Mbit,rtt=800ms,loss=0.74%), nor @FILE, nor a preset; there are {}",
        names.join(", ")
    ))
}

/// Whether a key says what happens at some time, so that several of it add up.
fn is_rule(key: &str) -> bool {
    let key = key.strip_prefix("up.").or_else(|| key.strip_prefix("down.")).unwrap_or(key);
    ["at", "blackout", "vary"].contains(&key)
}

/// A path as far as it was read.
struct Reading<'a> {
    up: Side,
    down: Side,
    files: Files<'a>,
}

impl Reading<'_> {
    fn set(&mut self, key: &str, value: &str, item: &str) -> Result<(), ParsePathError> {
        let Self { up, down, files } = self;
        if key == "rtt" {
            let rtt = duration(value).map_err(|problem| ParsePathError::new(item, problem, key))?;
            (up.delay, down.delay) = (rtt / 2, rtt - rtt / 2);
            return Ok(());
        }
        let (sides, key): (&mut [&mut Side], _) = if let Some(key) = key.strip_prefix("up.") {
            (&mut [up], key)
        } else if let Some(key) = key.strip_prefix("down.") {
            (&mut [down], key)
        } else {
            (&mut [up, down], key)
        };
        for side in sides {
            side.set(key, value, files).map_err(|problem| ParsePathError::new(item, problem, key))?;
        }
        Ok(())
    }
}

impl Side {
    fn set(&mut self, key: &str, value: &str, files: Files<'_>) -> Result<(), String> {
        match key {
            "rate" => self.rate = Some(rate(value)?),
            "delay" => self.delay = duration(value)?,
            "buffer" => self.buffer = Some(value.parse()?),
            "queue" => {
                self.queue = Queue::by_name(value).ok_or_else(|| {
                    let known = Queue::NAMES.map(|(name, _)| name).join(", ");
                    format!("there is no queue `{value}`: choose from {known}")
                })?
            }
            "loss" => (self.loss, self.burst) = (Some(loss(value)?), None),
            "burst" => self.burst = Some(number(value)?),
            "duplicate" => self.duplicate = share(value)?,
            "jitter" => {
                self.jitter = match value.split_once(':') {
                    None => (duration(value)?, false),
                    Some((length, "reorder")) => (duration(length)?, true),
                    Some((_, other)) => return Err(format!("`{other}` is not `reorder`")),
                }
            }
            "wifi" => self.wifi = duration(value)?,
            "reorder" => {
                let (part, detour) = value.split_once(':').ok_or("needs the length of the detour")?;
                self.reorder = (share(part)?, duration(detour)?);
            }
            "at" => {
                let (rule, room) = at(value)?;
                self.rooms.extend(room.map(|room| (self.rules.len(), room)));
                self.rules.push(rule);
            }
            "blackout" => self.rules.push(blackout(value)?),
            "vary" => self.rules.push(vary(value)?),
            "trace" => self.rules.push(Rule::Replay(Replay::read(value, &files(value, Replay::LARGEST)?)?)),
            "rtt" => return Err("both directions make one round trip; give each its delay".to_owned()),
            _ => {
                let names: Vec<_> = KEYS.iter().map(|(name, ..)| *name).collect();
                return Err(format!("`{key}` is not a parameter; there are {}", names.join(", ")));
            }
        }
        Ok(())
    }

    fn has_rate(&self) -> bool {
        self.rate.is_some() || self.rules.iter().any(|rule| matches!(rule, Rule::Replay(_)))
    }

    /// Gives the rules their buffers: at the rate and the RTT that a rule sets, or else at those that the path begins with.
    fn resolve_rooms(&mut self, rate: Rate, rtt: Duration) {
        for (place, room) in core::mem::take(&mut self.rooms) {
            if let Some(Rule::At(_, change)) = self.rules.get_mut(place) {
                let rtt = change.delay.map_or(rtt, |delay| delay * 2);
                change.buffer = Some(room.bytes(change.rate.unwrap_or(rate), rtt));
            }
        }
    }

    fn finish(mut self, side: &'static str, rtt: Duration) -> Result<OneWay, ParsePathError> {
        let recorded = self.rules.iter().rev().find_map(|rule| match rule {
            Rule::Replay(replay) => Some(replay.mean_rate()),
            _ => None,
        });
        let rate = self.rate.or(recorded).ok_or_else(|| ParsePathError::no_rate(side))?;
        self.resolve_rooms(rate, rtt);
        let loss = match (self.loss.unwrap_or(Loss::NONE), self.burst) {
            (loss, None) => loss,
            (Loss::Bernoulli(mean), Some(burst)) => Loss::in_bursts(mean, burst).ok_or_else(|| {
                let written = format!("{side}burst={burst}");
                ParsePathError::new(&written, format!("no bursts of that length make a loss of {mean}"), "burst")
            })?,
            (Loss::GilbertElliott(_), Some(burst)) => {
                let problem = "the Gilbert-Elliott loss has its own bursts; leave one of the two out";
                return Err(ParsePathError::new(&format!("{side}burst={burst}"), problem, "burst"));
            }
        };
        let way = OneWay {
            conditions: Conditions {
                rate,
                buffer: self
                    .buffer
                    .map_or_else(|| (rate * rtt).max(Bytes::new(10 * PACKET.get())), |room| room.bytes(rate, rtt)),
                delay: self.delay,
                jitter: self.jitter.0,
                jitter_reorders: self.jitter.1,
                wifi: self.wifi,
                loss,
                reorder: self.reorder.0,
                reorder_delay: self.reorder.1,
                duplicate: self.duplicate,
            },
            schedule: Schedule { rules: self.rules },
            queue: self.queue,
        };
        way.check().map_err(|impossible| ParsePathError::impossible(side, &impossible))?;
        Ok(way)
    }
}

/// `10s:rate=5Mbit:loss=2%`
fn at(value: &str) -> Result<(Rule, Option<Room>), String> {
    let mut items = value.split(':');
    let time = duration(items.next().unwrap_or_default())?;
    let (mut change, mut room) = (Change::default(), None);
    for item in items {
        let (key, value) = item.split_once('=').ok_or_else(|| format!("`{item}` is not KEY=VALUE"))?;
        match key {
            "rate" => change.rate = Some(rate(value)?),
            "rtt" => change.delay = Some(duration(value)? / 2),
            "delay" => change.delay = Some(duration(value)?),
            "buffer" => room = Some(value.parse()?),
            "loss" => change.loss = Some(loss(value)?),
            "jitter" => change.jitter = Some(duration(value)?),
            "wifi" => change.wifi = Some(duration(value)?),
            "reorder" => change.reorder = Some(share(value)?),
            "duplicate" => change.duplicate = Some(share(value)?),
            _ => return Err(format!("`{key}` cannot change")),
        }
    }
    if change == Change::default() && room.is_none() {
        return Err("nothing changes".to_owned());
    }
    Ok((Rule::At(time, change), room))
}

/// `10s/2s` or `10s/2s/60s`
fn blackout(value: &str) -> Result<Rule, String> {
    let times = value.split('/').map(duration).collect::<Result<Vec<_>, _>>()?;
    match *times {
        [start, length] => Ok(Rule::Blackout { start, length, every: None }),
        [start, length, every] => Ok(Rule::Blackout { start, length, every: Some(every) }),
        _ => Err("is not START/LENGTH or START/LENGTH/EVERY".to_owned()),
    }
}

/// `5s:rate=10Mbit..100Mbit:rtt=10ms..100ms:loss=0%..1%:walk=30%`
fn vary(value: &str) -> Result<Rule, String> {
    let mut items = value.split(':');
    let period = duration(items.next().unwrap_or_default())?;
    let mut vary = Vary { period, rate: None, delay: None, loss: None, walk: None };
    for item in items {
        let (key, value) = item.split_once('=').ok_or_else(|| format!("`{item}` is not KEY=VALUE"))?;
        match key {
            "rate" => vary.rate = Some(range(value, rate)?),
            "rtt" => vary.delay = Some(range(value, |value| Ok(duration(value)? / 2))?),
            "delay" => vary.delay = Some(range(value, duration)?),
            "loss" => vary.loss = Some(range(value, share)?),
            "walk" => vary.walk = Some(share(value)?),
            _ => return Err(format!("`{key}` cannot vary")),
        }
    }
    if vary.rate.is_none() && vary.delay.is_none() && vary.loss.is_none() {
        return Err("nothing varies".to_owned());
    }
    Ok(Rule::Vary(vary))
}

fn range<T: PartialOrd>(value: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<RangeInclusive<T>, String> {
    let (low, high) = value.split_once("..").ok_or_else(|| format!("`{value}` is not LOW..HIGH"))?;
    let (low, high) = (parse(low)?, parse(high)?);
    if low <= high { Ok(low..=high) } else { Err(format!("`{value}` ends below its beginning")) }
}

fn rate(value: &str) -> Result<Rate, String> {
    value.parse::<Rate>().map_err(|error| error.to_string())
}

fn bytes(value: &str) -> Result<Bytes, String> {
    value.parse::<Bytes>().map_err(|error| error.to_string())
}

fn number(value: &str) -> Result<f64, String> {
    value.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| format!("`{value}` is not a number"))
}

/// A hundredth of a number, rounded once: every share can be written as a percentage and read back the same.
fn hundredth(value: &str) -> Result<f64, String> {
    let (mantissa, exponent) = value.split_once('e').unwrap_or((value, "0"));
    let shifted = exponent.parse::<i16>().ok().and_then(|exponent| exponent.checked_sub(2));
    let shifted = shifted.ok_or_else(|| format!("`{value}` is not a number"))?;
    number(&format!("{mantissa}e{shifted}")).map_err(|_| format!("`{value}` is not a number"))
}

/// `0.74%`, or `0`. Any other number alone is refused: to netem `0.5` is half a percent, elsewhere it is a half.
fn share(value: &str) -> Result<f64, String> {
    let share = match value.strip_suffix('%') {
        Some(percent) => hundredth(percent.trim())?,
        None if number(value)? == 0.0 => 0.0,
        None => return Err(format!("`{value}` has no unit: write `{value}%`, or `{}%`", number(value)? * 100.0)),
    };
    let possible = (0.0..=1.0).contains(&share);
    if possible { Ok(share) } else { Err(format!("`{value}` is not between 0 and 100 %")) }
}

/// `1%` or `ge/0.1%/25%/0%/100%`
fn loss(value: &str) -> Result<Loss, String> {
    let Some(chain) = value.strip_prefix("ge/") else { return share(value).map(Loss::Bernoulli) };
    match *chain.split('/').map(share).collect::<Result<Vec<_>, _>>()? {
        [to_bad, to_good, loss_good, loss_bad] => {
            Ok(Loss::GilbertElliott(GilbertElliott { to_bad, to_good, loss_good, loss_bad }))
        }
        _ => Err("a Gilbert-Elliott loss has four probabilities".to_owned()),
    }
}

const TIME_UNITS: [(&str, f64); 4] = [("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)];

/// Reads a time as paths have it, `800ms`, `1.5s`, `100us`: below 31 years. A number alone is refused, since tools disagree
/// about what it means; the error says how a time is written.
pub fn duration(value: &str) -> Result<Duration, String> {
    let wrong = |problem| format!("`{value}` {problem} (time is written like 800ms, 1.5s or 100us)");
    if value.starts_with('-') {
        return Err(wrong("is negative"));
    }
    let end = value.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(value.len());
    let (number, unit) = value.split_at(end);
    let number: f64 = number.parse().map_err(|_| wrong("is no time"))?;
    let unit = match unit.trim() {
        "" => return Err(wrong("has no unit")),
        "µs" => "us",
        unit => unit,
    };
    let (_, factor) = TIME_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(|| wrong("has an unknown unit"))?;
    let nanos = number * factor;
    if nanos < 1e18 { Ok(Duration::from_nanos(nanos.round() as u64)) } else { Err(wrong("is too long")) }
}
