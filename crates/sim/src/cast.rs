//! The senders, in a line of text: `pcc*2 cubic:start=5s pcc/linear:rtt=+40ms`.

use crate::entrant::Entrant;
use crate::scenario::{Control, Flow, Source};
use core::str::FromStr;
use core::time::Duration;
use pcc::units::{Bytes, Rate};
use pcc::utility::Utility;
use pcc_link::duration;
use std::sync::Arc;

/// More would be a slip of the pen: what each is told of costs memory.
const MOST: usize = 10_000;
/// Rates of a sender whom nobody steers: beyond, its packets are too close for a clock of nanoseconds, and time would stand
/// still. Unit: Mbit/s.
const SLOWEST: f64 = 1e-3;
const FASTEST: f64 = 1e6;

/// The flows of a scenario.
#[derive(Clone, Debug)]
pub struct Cast(pub Vec<Flow>);

/// Why a line of text names no flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseCastError(String);

impl core::fmt::Display for ParseCastError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for ParseCastError {}

/// What stands behind a colon, for messages.
const KEYS: &str = "start, stop, stagger, back, untimed, ect0, ect1, rtt, via, rate, size, on, off, burners, hostdelay, pause, bursts, ackbursts, ackevery, ackloss, law";

impl Control {
    /// Names of what can send, beside rates.
    pub const NAMES: [&'static str; 5] = ["pcc", "reno", "cubic", "bbr", "prague"];

    /// The control of that name, or that rate.
    pub fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "pcc" => Self::Pcc,
            "reno" | "newreno" => Self::Reno,
            "cubic" => Self::Cubic,
            "bbr" => Self::Bbr,
            "prague" => Self::Prague,
            rate => Self::Fixed(rate.parse().ok()?),
        })
    }
}

/// What a flow's utility is by what was written of it, or why it is none.
pub type ReadUtility<'a> = &'a dyn Fn(&str) -> Result<Arc<dyn Utility>, String>;

impl FromStr for Cast {
    type Err = ParseCastError;

    fn from_str(text: &str) -> Result<Self, ParseCastError> {
        Self::among(text, &[])
    }
}

impl Cast {
    /// As [`Self::from_str`], with senders of one's own under their names: `mine*2:start=1s cubic`.
    pub fn among(text: &str, own: &[Entrant]) -> Result<Self, ParseCastError> {
        Self::read(text, &|utility| pcc::utility::parse(utility).map_err(|error| error.to_string()), own)
    }

    /// As [`Self::from_str`], where `read` also takes utilities that are no text: those of files.
    pub fn parse(text: &str, read: ReadUtility<'_>) -> Result<Self, ParseCastError> {
        Self::read(text, read, &[])
    }

    fn read(text: &str, read: ReadUtility<'_>, own: &[Entrant]) -> Result<Self, ParseCastError> {
        let mut flows = Vec::new();
        for word in text.split_whitespace() {
            flows.extend(group(word, read, own).map_err(|problem| ParseCastError(format!("`{word}`: {problem}")))?);
            if flows.len() > MOST {
                return Err(ParseCastError(format!("`{text}` are {} flows: {MOST} are the most", flows.len())));
            }
        }
        if flows.is_empty() {
            return Err(ParseCastError("nobody sends: write `pcc` or `pcc*2 cubic`".into()));
        }
        Ok(Self(flows))
    }

    /// The name of each flow, as the text calls it.
    pub fn names(text: &str, read: ReadUtility<'_>) -> Vec<String> {
        let mut names = Vec::new();
        for word in text.split_whitespace() {
            let Ok(Self(alone)) = Self::parse(word, read) else { continue };
            let name = word.split(':').next().unwrap_or(word);
            let name = name.split('*').next().unwrap_or(name);
            let numbered = (1..=alone.len()).map(|number| format!("{name} {number}"));
            if alone.len() > 1 { names.extend(numbered) } else { names.push(name.to_owned()) }
        }
        names
    }
}

/// Flows of one kind.
fn group(word: &str, read: ReadUtility<'_>, own: &[Entrant]) -> Result<Vec<Flow>, String> {
    let mut parts = word.split(':');
    let name = parts.next().unwrap_or_default();
    let (name, count) = match name.split_once('*') {
        Some((name, count)) => {
            let count = count.parse().ok().filter(|count| (1..=MOST).contains(count));
            (name, count.ok_or_else(|| format!("write a number of flows from 1 to {MOST} behind *"))?)
        }
        None => (name, 1),
    };
    let mut flow = sender(name, read, own)?;
    let mut stagger = Duration::ZERO;
    while let Some(part) = parts.next() {
        if stands_alone(&mut flow, part) {
            continue;
        }
        let (key, value) = part.split_once('=').ok_or_else(|| format!("`{part}` is no setting: write start=5s"))?;
        // The one setting that has a colon in it.
        if part == "start=random" {
            let range = parts.next().unwrap_or_default();
            let drawn = between(range).map_err(|problem| format!("start=random:{range}: {problem}"))?;
            (flow.start, flow.start_within) = drawn;
            continue;
        }
        set(&mut flow, &mut stagger, key, value).map_err(|problem| format!("{key}={value}: {problem}"))?;
    }
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let flows: Vec<Flow> =
        (0..count).map(|number| Flow { start: flow.start + stagger * number, ..flow.clone() }).collect();
    match flows.iter().find(|flow| flow.stop.is_some_and(|stop| stop <= flow.latest_start())) {
        Some(flow @ Flow { stop: Some(stop), .. }) => {
            let start = flow.latest_start();
            Err(format!("what starts at {start:?} and stops at {stop:?} never sends: write a later stop"))
        }
        _ => Ok(flows),
    }
}

/// The flow of a sender, like `pcc/UTILITY+paced+media`: a word without its number and its settings.
fn sender(name: &str, read: ReadUtility<'_>, own: &[Entrant]) -> Result<Flow, String> {
    let (name, is_call) = name.strip_suffix("+media").map_or((name, false), |name| (name, true));
    let (name, is_paced) = name.strip_suffix("+paced").map_or((name, false), |name| (name, true));
    let (name, utility) = name.split_once('/').map_or((name, None), |(name, utility)| (name, Some(utility)));
    // A call is PCC's unless another sender is named.
    let (name, is_call) = if name == "media" { ("pcc", true) } else { (name, is_call) };
    let named = own.iter().find(|entrant| entrant.name() == name).map(|entrant| entrant.flow().clone());
    let mut flow = named.or_else(|| Control::by_name(name).map(Flow::of)).ok_or_else(|| {
        let known: Vec<_> = own.iter().map(Entrant::name).chain(Control::NAMES).collect();
        format!("nobody is called `{name}`: choose from {}, or write a rate like 20Mbit", known.join(", "))
    })?;
    if let Control::Fixed(rate) = flow.control
        && !(SLOWEST..=FASTEST).contains(&rate.mbit())
    {
        return Err("a sender is no slower and no faster than a link: write a rate between 1kbit and 1Tbit".into());
    }
    flow.paced |= is_paced;
    if is_call {
        flow.source = Source::Media;
    }
    if let Some(utility) = utility {
        if flow.control != Control::Pcc {
            return Err("only pcc has a utility".into());
        }
        flow.config.utility = read(utility)?;
    }
    Ok(flow)
}

/// Settings without a value; false if it is none of them.
fn stands_alone(flow: &mut Flow, part: &str) -> bool {
    match part {
        "back" => flow.back = true,
        "untimed" => flow.acks.timed = false,
        "ect0" => (flow.ecn, flow.scalable) = (true, false),
        "ect1" => (flow.ecn, flow.scalable) = (true, true),
        _ => return false,
    }
    true
}

fn set(flow: &mut Flow, stagger: &mut Duration, key: &str, value: &str) -> Result<(), String> {
    let bytes = || value.parse::<Bytes>().map_err(|error| error.to_string());
    let on_off = |source| if let Source::OnOff { on, off } = source { (on, off) } else { Default::default() };
    match key {
        "start" => (flow.start, flow.start_within) = (duration(value)?, Duration::ZERO),
        "stop" => flow.stop = Some(duration(value)?),
        "stagger" => *stagger = duration(value)?,
        "rtt" => flow.extra_rtt = duration(value.strip_prefix('+').ok_or("write what is added, like rtt=+40ms")?)?,
        "via" => flow.via = via(value).ok_or("bottlenecks count from 1: write via=1..2, or via=2")?,
        "rate" => flow.source = Source::At(value.parse::<Rate>().map_err(|error| error.to_string())?),
        "size" => flow.source = Source::Volume(bytes()?),
        "on" => flow.source = Source::OnOff { on: duration(value)?, off: on_off(flow.source).1 },
        "off" => flow.source = Source::OnOff { on: on_off(flow.source).0, off: duration(value)? },
        "burners" => flow.burners = value.parse().map_err(|_| "it is a number of processes")?,
        "hostdelay" => flow.host_delay = duration(value)?,
        "pause" => {
            let (every, length) = value.split_once('/').ok_or("write pause=1s/10ms: how often, how long")?;
            flow.pauses = pauses(duration(every)?, duration(length)?)?;
        }
        "bursts" => flow.bursts = duration(value)?,
        "ackbursts" => flow.acks.bursts = duration(value)?,
        "ackevery" => {
            let every = value.parse().ok().filter(|every| *every > 0).ok_or("it is a number of packets, from 1")?;
            flow.acks.every = Some(every);
        }
        "ackloss" => flow.acks.loss = value.parse().ok().filter(|loss| (0.0..1.0).contains(loss)).ok_or("0 to 1")?,
        "law" => {
            flow.config.law = Some(value.replace('+', ",").parse().map_err(|error| format!("{error}"))?);
        }
        _ => return Err(format!("there is no such setting: choose from {KEYS}")),
    }
    Ok(())
}

/// The earliest start, and how much later it may be.
fn between(range: &str) -> Result<(Duration, Duration), String> {
    let (from, to) = range.split_once("..").ok_or("write start=random:0..5s")?;
    let from = if from == "0" { Duration::ZERO } else { duration(from)? };
    let within = duration(to)?.checked_sub(from).filter(|within| !within.is_zero());
    Ok((from, within.ok_or("the second time is later than the first")?))
}

/// The first bottleneck and the last that a text like `2` or `1..2` names, counted from zero; none if it names none.
pub fn via(value: &str) -> Option<(usize, usize)> {
    let (first, last) = value.split_once("..").unwrap_or((value, value));
    let number = |text: &str| text.parse::<usize>().ok()?.checked_sub(1);
    Some((number(first)?, number(last)?)).filter(|(first, last)| first <= last)
}

/// An hour of pauses at even distances.
fn pauses(every: Duration, length: Duration) -> Result<Vec<(Duration, Duration)>, String> {
    if length >= every || every < Duration::from_millis(1) {
        return Err("a pause is shorter than the time between two, and that is at least 1 ms".into());
    }
    let count = u32::try_from(3600 * 1000 / every.as_millis().max(1)).unwrap_or(u32::MAX);
    Ok((1..=count.min(100_000)).map(|number| (every * number, every * number + length)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_called_as_they_were_written() {
        let flows = "pcc*2:stagger=5s cubic bbr:start=1s";
        let names = Cast::names(flows, &|_| Err("no utility".into()));
        assert_eq!(names, ["pcc 1", "pcc 2", "cubic", "bbr"]);
    }

    #[test]
    fn a_line_says_who_sends_and_how() {
        let flows = "pcc*3:stagger=5s:start=1s bbr:size=100kB reno+paced 20Mbit:rtt=+40ms pcc/linear:on=1s:off=2s:via=2..3:hostdelay=20us";
        let Cast(flows) = flows.parse().unwrap();
        let starts: Vec<_> = flows.iter().map(|flow| flow.start.as_secs()).collect();
        assert_eq!(starts, [1, 6, 11, 0, 0, 0, 0]);
        assert_eq!(flows[3].control, Control::Bbr);
        assert_eq!(flows[3].source, Source::Volume(Bytes::new(100_000)));
        assert!(flows[4].paced);
        assert_eq!(flows[5].control, Control::Fixed(Rate::from_mbit(20.0)));
        assert_eq!(flows[5].extra_rtt, Duration::from_millis(40));
        assert_eq!(flows[6].config.utility.name(), "linear");
        assert_eq!((flows[5].via, flows[6].via), ((0, usize::MAX), (1, 2)));
        assert_eq!(flows[6].host_delay, Duration::from_micros(20));
        assert_eq!(flows[6].source, Source::OnOff { on: Duration::from_secs(1), off: Duration::from_secs(2) });
    }

    #[test]
    fn one_s_own_senders_have_their_names() {
        let mine =
            [Entrant::new("mine", Flow::of(Control::Bbr)), "vivace".parse::<pcc::control::Law>().unwrap().into()];
        let Cast(flows) = Cast::among("mine*2:stagger=5s cubic vivace/safe:rtt=+5ms mine+paced", &mine).unwrap();
        let controls: Vec<_> = flows.iter().map(|flow| flow.control.to_string()).collect();
        assert_eq!(controls, ["bbr", "bbr", "cubic", "pcc", "bbr"]);
        assert_eq!((flows[1].start, flows[4].paced), (Duration::from_secs(5), true));
        let law = flows[3].config.law.as_ref().map(pcc::control::Law::name);
        assert_eq!((law, flows[3].config.utility.name()), (Some("vivace"), "safe"));
        let error = Cast::among("yours", &mine).unwrap_err().to_string();
        assert!(error.contains("choose from mine, vivace, pcc, reno"), "{error}");
    }

    #[test]
    fn words_say_the_direction_and_what_packets_say_of_marks() {
        let Cast(flows) = "pcc:back cubic:ect0 pcc:ect1:back prague".parse().unwrap();
        let words = flows.iter().map(|flow| (flow.back, flow.ecn, flow.scalable));
        let expected = [(true, false, false), (false, true, false), (true, true, true), (false, true, true)];
        assert_eq!(words.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_start_may_be_left_to_the_seed() {
        let Cast(flows) = "pcc*2:stagger=10s:start=random:2s..5s:stop=20s cubic:start=random:0..40ms".parse().unwrap();
        let starts: Vec<_> = flows.iter().map(|flow| (flow.start, flow.latest_start())).collect();
        let ms = Duration::from_millis;
        assert_eq!(starts, [(ms(2000), ms(5000)), (ms(12_000), ms(15_000)), (ms(0), ms(40))]);
    }

    #[test]
    fn the_caller_reads_utilities() {
        let read: ReadUtility<'_> = &|written| match written {
            "mine.utility" => Ok(pcc::utility::by_name("vivace").unwrap()),
            _ => Err("cannot read it".into()),
        };
        let Cast(flows) = Cast::parse("pcc/mine.utility:start=1s cubic", read).unwrap();
        assert_eq!(flows[0].config.utility.name(), "vivace");
        assert_eq!(
            Cast::parse("pcc/gone.utility", read).unwrap_err().to_string(),
            "`pcc/gone.utility`: cannot read it"
        );
    }

    #[test]
    fn a_call_is_sent_by_pcc_or_by_who_is_named() {
        let Cast(flows) = "media media/linear cubic+media reno+paced+media".parse().unwrap();
        assert!(flows.iter().all(|flow| flow.source == Source::Media));
        let controls: Vec<_> = flows.iter().map(|flow| &flow.control).collect();
        assert_eq!(controls, [&Control::Pcc, &Control::Pcc, &Control::Cubic, &Control::Reno]);
        assert_eq!((flows[1].config.utility.name(), flows[3].paced), ("linear", true));
    }

    #[test]
    fn what_means_nothing_is_refused_with_what_would() {
        for (text, expected) in [
            ("", "nobody sends"),
            ("vegas", "choose from pcc, reno, cubic, bbr, prague"),
            ("pcc:ect2", "no setting"),
            ("pcc*0", "1 to 10000"),
            ("pcc*6000 pcc*6000", "12000 flows"),
            ("cubic/linear", "only pcc"),
            ("pcc/fastest", "no utility"),
            ("pcc:begin=5s", "choose from start"),
            ("pcc:start=5", "has no unit"),
            ("pcc:start=random", "write start=random:0..5s"),
            ("pcc:start=random:5s..2s", "later than the first"),
            ("pcc:start=random:0..5s:stop=5s", "starts at 5s and stops at 5s"),
            ("pcc:on=10000000000000000000s:off=10000000000000000000s", "too long"),
            ("pcc:ackevery=0", "from 1"),
            ("1000000Gbit", "between 1kbit and 1Tbit"),
            ("1bit", "between 1kbit and 1Tbit"),
            ("pcc:rtt=40ms", "rtt=+40ms"),
            ("pcc:via=0", "from 1"),
            ("pcc:via=2..1", "via=1..2"),
            ("pcc:law=epsilon=1", "`1` is no epsilon"),
            ("pcc:pause=1ms/2ms", "shorter"),
            ("pcc:start=5s:stop=3s", "never sends"),
            ("pcc*3:stagger=5s:stop=10s", "starts at 10s and stops at 10s"),
        ] {
            let error = text.parse::<Cast>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
