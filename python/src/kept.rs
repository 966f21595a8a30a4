//! A simulation's outcome as Python pickles it.

use crate::refused;
use crate::simulation::Simulation;
use pcc::units::{Bytes, Rate};
use pcc_link::{Count, Path};
use pcc_sim::{FlowResult, Results, Sample, Scenario, Sent};
use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Everything of it, in Python's types. Unit of times: ns.
#[derive(IntoPyObject, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Kept {
    names: Vec<String>,
    paths: Vec<String>,
    seed: u64,
    duration: u64,
    dropped: u64,
    marked: u64,
    jain: Option<f64>,
    flows: Vec<KeptFlow>,
    summaries: Vec<Py<PyAny>>,
    traces: Vec<Py<PyAny>>,
}

/// A flow. The frames of a call are in its summary.
#[derive(IntoPyObject, FromPyObject)]
#[pyo3(from_item_all)]
struct KeptFlow {
    sent: KeptSent,
    packet: u64,
    delivered: (u64, u64),
    start: u64,
    finished: Option<u64>,
    rtts: Vec<u8>,
    base_rtt: u64,
    way: (u16, u16),
    goes_back: bool,
    series: Vec<KeptSample>,
}

/// Packets sent, lost, lost in error, and probe time-outs.
type KeptSent = (u64, u64, u64, u64);

/// When, rate in bytes per second, state, delivered bytes, bytes in flight, counts, RTT.
type KeptSample = (u64, f64, String, u64, u64, KeptSent, Option<u64>);

impl Kept {
    pub(crate) fn of(run: &Simulation, py: Python<'_>) -> Self {
        let results = &run.results;
        let all = |records: &[Py<PyAny>]| records.iter().map(|record| record.clone_ref(py)).collect();
        Self {
            names: run.names.clone(),
            paths: run.paths.clone(),
            seed: run.seed,
            duration: nanos(results.duration),
            dropped: results.drops(),
            marked: results.marked,
            jain: run.jain,
            flows: results.flows.iter().map(KeptFlow::of).collect(),
            summaries: all(&run.summaries),
            traces: all(&run.traces),
        }
    }
}

impl KeptFlow {
    fn of(flow: &FlowResult) -> Self {
        let sample = |one: &Sample| {
            let (rate, state) = (one.rate.bytes_per_sec(), one.state.to_owned());
            (nanos(one.at), rate, state, one.delivered.get(), one.in_flight, counts(one.sent), one.rtt.map(nanos))
        };
        Self {
            sent: counts(flow.sent),
            packet: flow.packet.get(),
            delivered: (flow.delivered.packets, flow.delivered.bytes.get()),
            start: nanos(flow.start),
            finished: flow.finished.map(nanos),
            rtts: flow.rtts.iter().flat_map(|micros| micros.to_le_bytes()).collect(),
            base_rtt: nanos(flow.base_rtt),
            way: flow.way,
            goes_back: flow.goes_back,
            series: flow.series.iter().map(sample).collect(),
        }
    }

    fn result(self) -> FlowResult {
        let sample = |(at, rate, state, delivered, in_flight, sent, rtt): KeptSample| Sample {
            at: Duration::from_nanos(at),
            rate: Rate::from_bytes_per_sec(rate),
            state: lasting(&state),
            delivered: Bytes::new(delivered),
            in_flight,
            sent: sent_of(sent),
            rtt: rtt.map(Duration::from_nanos),
        };
        let (packets, bytes) = self.delivered;
        FlowResult {
            sent: sent_of(self.sent),
            packet: Bytes::new(self.packet),
            delivered: Count { packets, bytes: Bytes::new(bytes) },
            start: Duration::from_nanos(self.start),
            finished: self.finished.map(Duration::from_nanos),
            rtts: self.rtts.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect(),
            base_rtt: Duration::from_nanos(self.base_rtt),
            way: self.way,
            goes_back: self.goes_back,
            frames: Vec::new(),
            series: self.series.into_iter().map(sample).collect(),
        }
    }
}

/// What was pickled; not to be called by hand.
#[pyfunction]
#[pyo3(name = "_restored")]
pub(crate) fn restored(kept: Kept) -> PyResult<Simulation> {
    let paths = kept.paths.iter().map(|path| path.parse::<Path>().map_err(refused)).collect::<PyResult<Vec<_>>>()?;
    let Some((path, beyond)) = paths.split_first() else { return Err(refused("a simulation has a path")) };
    let duration = Duration::from_nanos(kept.duration);
    let scenario = Scenario { beyond: beyond.to_vec(), ..Scenario::new(path.clone(), Vec::new(), kept.seed, duration) };
    let results = Results {
        flows: kept.flows.into_iter().map(KeptFlow::result).collect(),
        // The drops of all bottlenecks together.
        dropped: kept.dropped,
        marked: kept.marked,
        ways: scenario.ways(),
        ways_back: scenario.ways_back(),
        duration,
        ..Results::default()
    };
    Ok(Simulation {
        names: kept.names,
        results,
        summaries: kept.summaries,
        traces: kept.traces,
        paths: kept.paths,
        seed: kept.seed,
        jain: kept.jain,
    })
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn counts(Sent { packets, lost, spurious, probe_timeouts }: Sent) -> KeptSent {
    (packets, lost, spurious, probe_timeouts)
}

fn sent_of((packets, lost, spurious, probe_timeouts): KeptSent) -> Sent {
    Sent { packets, lost, spurious, probe_timeouts }
}

/// The same word for as long as the program runs. Controllers have a handful of states.
fn lasting(state: &str) -> &'static str {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(state) {
        return known;
    }
    let word: &'static str = Box::leak(state.into());
    known.insert(word);
    word
}
