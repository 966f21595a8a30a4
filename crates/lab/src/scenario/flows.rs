//! From a scenario's flow tables to the flows of one run.

use super::algorithm::{self, APP};
use super::draw;
use super::file::{File, FlowTable, HostTable, Parameter};
use super::problem::Problem;
use super::quantity::{bytes, nanos, rate, round_trip};
use crate::spec::{App, FlowSpec, PACKET, PathSpec, QUIC_PACKET, QUIC_PAYLOAD, TCP_PAYLOAD};
use std::path::Path;
use std::time::Duration;

/// More would not fit the guest's addresses.
const MOST_FLOWS: usize = 254;
/// Short flows of one table; each is a process or two threads of the guest.
const MOST_ARRIVALS: usize = 20_000;

/// A run's part of its flows' description; the file has the rest.
pub(super) struct Occasion<'a> {
    pub(super) point: &'a str,
    pub(super) algorithm: &'a str,
    pub(super) seed: u64,
    pub(super) duration: u64,
    /// All bottlenecks, in their order.
    pub(super) paths: &'a [PathSpec],
    pub(super) app: Option<&'a App>,
    /// Where files are that the scenario names.
    pub(super) dir: &'a Path,
    /// Where those are that the algorithm names.
    pub(super) algorithm_dir: &'a Path,
}

/// The flows of a run, in the order of their tables.
pub(super) fn flows(file: &File, occasion: &Occasion<'_>) -> Result<Vec<FlowSpec>, Problem> {
    let alone = [FlowTable::default()];
    let tables = if file.flow.is_empty() { &alone[..] } else { &file.flow[..] };
    let mut flows = Vec::new();
    for (number, table) in tables.iter().enumerate() {
        let table = swept(file, table, number, occasion)?;
        let mut own = one_table(file, &table, number as u64, occasion)?;
        own.iter_mut().for_each(|flow| flow.table = number as u32);
        flows.extend(own);
        if flows.len() > MOST_FLOWS {
            return Err(format!("it has {} flows or more: {MOST_FLOWS} is the most", flows.len()).into());
        }
    }
    one_variant(&flows)?;
    let is_crossed =
        |place: usize| flows.iter().any(|flow| flow.via.is_none_or(|(first, last)| first <= place && place <= last));
    match (0..occasion.paths.len()).find(|place| !is_crossed(*place)) {
        Some(place) => {
            Err(format!("no flow goes through bottleneck {}: leave it out, or see to `via`", place + 1).into())
        }
        None => Ok(flows),
    }
}

/// The first and the last of so many bottlenecks that a text names, from 0; none if it names all.
fn via(text: &str, bottlenecks: usize) -> Result<Option<(usize, usize)>, String> {
    let wrong = |problem: String| format!("`via` is {text}: {problem}");
    let via = pcc_sim::via(text).ok_or_else(|| wrong("bottlenecks count from 1, so write 2, or 1..2".into()))?;
    if via.1 >= bottlenecks {
        return Err(wrong(format!("there are {bottlenecks} bottlenecks, and each text of `then` adds one")));
    }
    Ok(Some(via).filter(|via| *via != (0, bottlenecks - 1)))
}

/// A module has one utility besides the default, and the same trains for all.
fn one_variant(flows: &[FlowSpec]) -> Result<(), String> {
    let mut kinds: Vec<_> = flows.iter().filter(|flow| flow.is_the_modules()).map(|flow| &flow.algorithm).collect();
    kinds.dedup();
    if kinds.len() > 1 {
        return Err(format!("{} and {}: in one run the kernel has one kind of trains", kinds[0], kinds[1]));
    }
    let mut variants = flows.iter().filter_map(FlowSpec::module_variant);
    let Some(first) = variants.next() else { return Ok(()) };
    match variants.find(|other| *other != first) {
        None => Ok(()),
        Some(other) => {
            Err(format!("pcc/{first} and pcc/{other}: in one run the kernel has one utility besides the default"))
        }
    }
}

/// The table with the sweep's value in it, if it is one that the sweep goes over.
fn swept(file: &File, table: &FlowTable, number: usize, occasion: &Occasion<'_>) -> Result<FlowTable, String> {
    let (mut table, point) = (table.clone(), occasion.point);
    let numeric = |what: &str| format!("`sweep.values` has {point}: {what}");
    match file.sweep.as_ref().map(|sweep| sweep.parameter) {
        Some(Parameter::ExtraRtt) if number == 0 => table.extra_rtt = Some(point.to_owned()),
        Some(Parameter::Flows) if table.algorithm.is_none() => {
            table.count = Some(point.parse().map_err(|_| numeric("a number of flows is a whole number"))?);
        }
        Some(Parameter::Size) if table.size.is_some() => table.size = Some(point.to_owned()),
        Some(Parameter::Load) if table.load.is_some() => {
            table.load = Some(point.parse().map_err(|_| numeric("a load is a number like 0.5"))?);
        }
        _ => {}
    }
    Ok(table)
}

/// The flows of one table.
fn one_table(file: &File, table: &FlowTable, place: u64, occasion: &Occasion<'_>) -> Result<Vec<FlowSpec>, Problem> {
    let of_all = (occasion.algorithm, occasion.algorithm_dir);
    let (name, dir) = table.algorithm.as_deref().map_or(of_all, |own| (own, occasion.dir));
    let mut flow = algorithm::flow_of(name, dir)?;
    if let Some(connections) = table.connections {
        let bundle = format!("{name}*{connections}");
        flow = algorithm::flow_of(&bundle, dir).map_err(|error| format!("`connections` is {connections}: {error}"))?;
    }
    if flow.algorithm == APP {
        let app = occasion.app.ok_or(Problem::NoApp)?;
        flow.app = Some(app.clone());
    }
    let optional =
        |key: &str, text: &Option<String>, default| text.as_deref().map_or(Ok(default), |text| nanos(key, text));
    let [first, last] = starts(table.start.as_deref())?;
    flow.stop = optional("stop", &table.stop, occasion.duration)?;
    flow.extra_rtt = table.extra_rtt.as_deref().map_or(Ok(0), |text| round_trip("extra_rtt", text))?;
    flow.via = table.via.as_deref().map_or(Ok(None), |text| via(text, occasion.paths.len()))?;
    let route: u64 = crossed(&flow, occasion).iter().map(|path| path.rtt).sum();
    // Seeds of deterministic senders that start at one moment would be one sample.
    let within = if file.exact || first < last { 0 } else { route + flow.extra_rtt };
    let starts = [first, last.saturating_add(within)];
    flow.size = table.size.as_deref().map(|text| bytes("size", text)).transpose()?;
    flow.rate = table.rate.as_deref().map(|text| rate("flow.rate", text)).transpose()?;
    check_supply(&flow, table, name)?;
    let (count, stagger) = (table.count.unwrap_or(1), optional("stagger", &table.stagger, 0)?);
    if !(1..=MOST_FLOWS as u32).contains(&count) {
        return Err(format!("`count` is {count}: between 1 and {MOST_FLOWS}").into());
    }
    let mut flows = Vec::new();
    for number in 0..u64::from(count) {
        let mut one = flow.clone();
        // Tables and flows draw by themselves.
        let seed = occasion.seed.wrapping_add(number << 32).wrapping_add(place << 48);
        one.start = draw::start(seed, starts).saturating_add(number.saturating_mul(stagger));
        check_times(&one, name, occasion.duration)?;
        if let Some(load) = table.load {
            one.arrivals = arrivals(&one, load, occasion, number)?;
        }
        if let Some(host) = &table.host {
            one.pauses = pauses(&one, host, occasion, number)?;
        }
        flows.push(one);
    }
    Ok(flows)
}

/// The bottlenecks that a flow goes through.
fn crossed<'a>(flow: &FlowSpec, occasion: &Occasion<'a>) -> &'a [PathSpec] {
    flow.via.and_then(|(first, last)| occasion.paths.get(first..=last)).unwrap_or(occasion.paths)
}

/// The first and the last moment at which a flow may start: `random:0s..5s`, or one moment.
fn starts(text: Option<&str>) -> Result<[u64; 2], String> {
    let Some(text) = text else { return Ok([0; 2]) };
    let Some(range) = text.strip_prefix("random:") else { return nanos("start", text).map(|at| [at; 2]) };
    let (first, last) =
        range.split_once("..").ok_or_else(|| format!("`start` is {text}: write a range like random:0s..5s"))?;
    let [first, last] = [nanos("start", first)?, nanos("start", last)?];
    if first < last { Ok([first, last]) } else { Err(format!("`start` is {text}: write the earlier moment first")) }
}

/// Whether what is said of the flow's data fits together.
fn check_supply(flow: &FlowSpec, table: &FlowTable, name: &str) -> Result<(), String> {
    if flow.size.is_some_and(|size| size < u64::from(flow.connections)) {
        return Err(format!(
            "`size` is {}: a flow of {name} has at least a byte for each connection",
            flow.size.unwrap_or(0)
        ));
    }
    if flow.size.is_some() && flow.rate.is_some() {
        return Err("`size` and `rate` exclude each other: a flow ends after so many bytes, or is limited".into());
    }
    if table.load.is_some() && flow.size.is_none() {
        return Err("`load` needs a `size`: how many bytes each short flow has".into());
    }
    if flow.algorithm == APP && (flow.size.is_some() || flow.rate.is_some()) {
        return Err(
            "the program of an `app` flow decides itself how much it sends: leave out size, rate and load".into()
        );
    }
    Ok(())
}

/// Whether the flow lies within the run.
fn check_times(flow: &FlowSpec, name: &str, duration: u64) -> Result<(), String> {
    let (start, stop) = (Duration::from_nanos(flow.start), Duration::from_nanos(flow.stop));
    if flow.start >= duration || flow.stop > duration {
        return Err(format!(
            "a flow of {name} runs from {start:?} to {stop:?}, after the end of the run at {:?}",
            Duration::from_nanos(duration)
        ));
    }
    if flow.stop <= flow.start {
        return Err(format!("a flow of {name} stops before it starts: at {stop:?} and {start:?}"));
    }
    Ok(())
}

/// When the processes of a flow stand still because their host is busy.
fn pauses(flow: &FlowSpec, host: &HostTable, occasion: &Occasion<'_>, number: u64) -> Result<Vec<(u64, u64)>, String> {
    let is_process = flow.algorithm == APP || flow.algorithm.starts_with(crate::names::QUIC);
    if !is_process {
        return Err(format!(
            "`host` makes the sender's processes wait, and {} is sent by the guest's kernel: take one over QUIC",
            flow.algorithm
        ));
    }
    if !(0.0..=0.9).contains(&host.busy) {
        return Err(format!("`host.busy` is {}: it is a share of the time, at most 0.9", host.busy));
    }
    let longest = nanos("host.pause", &host.pause)?;
    if !(100_000..=1_000_000_000).contains(&longest) {
        return Err(format!("`host.pause` is {}: it must lie between 100us and 1s", host.pause));
    }
    if host.busy == 0.0 {
        return Ok(Vec::new());
    }
    let seed = occasion.seed.wrapping_add(number << 32);
    Ok(draw::pauses(seed, host.busy, longest as f64, flow.start, flow.stop))
}

/// When the short flows of a table arrive, so that they ask for this share of the narrowest bottleneck's payload.
fn arrivals(flow: &FlowSpec, load: f64, occasion: &Occasion<'_>, number: u64) -> Result<Vec<u64>, String> {
    if !(0.001..=2.0).contains(&load) {
        return Err(format!("`load` is {load}: it is a share of the path's rate, between 0.001 and 2"));
    }
    let is_quic = flow.algorithm.starts_with(crate::names::QUIC);
    let payload = if is_quic { QUIC_PAYLOAD as f64 / QUIC_PACKET as f64 } else { TCP_PAYLOAD as f64 / PACKET as f64 };
    let bits = flow.size.unwrap_or(0) as f64 * 8.0;
    let rate = crossed(flow, occasion).iter().map(|path| path.rate).min().unwrap_or_default();
    let gap = bits * 1e9 / (load * rate as f64 * payload);
    let expected = (flow.stop - flow.start) as f64 / gap.max(1.0);
    if expected > MOST_ARRIVALS as f64 {
        return Err(format!("`load` {load} means some {expected:.0} short flows: {MOST_ARRIVALS} is the most"));
    }
    let all = draw::arrivals(occasion.seed.wrapping_add(number << 32), gap, flow.start, flow.stop);
    if all.is_empty() {
        return Err(format!("`load` {load} means no short flow at all in this time: make the run longer"));
    }
    Ok(all)
}
