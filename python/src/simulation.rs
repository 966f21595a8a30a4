//! Simulations, and what became of them.

use crate::kept::Kept;
use crate::law::{self, Failure, behind};
use crate::record::record;
use crate::watch::Watch;
use crate::{refused, seconds};
use pcc::observe::Observer;
use pcc::units::Rate;
use pcc::utility::Utility;
use pcc_play::{Play, Refused, read};
use pcc_sim::{Control, FlowResult, FlowSummary, Results, Running, Scenario, jain_together};
use pcc_utility::{Choice, LawChoice, Objective, Setting};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A simulation's outcome. Flows are counted from 0, in the order of the call. It can be pickled.
#[pyclass(frozen, module = "pcc")]
pub(crate) struct Simulation {
    pub(crate) names: Vec<String>,
    pub(crate) results: Results,
    /// A `pcc.Summary` of each flow.
    pub(crate) summaries: Vec<Py<PyAny>>,
    /// A `pcc.Trace` of each flow, if they were wanted.
    pub(crate) traces: Vec<Py<PyAny>>,
    /// The paths in their order and the seed of the first.
    pub(crate) paths: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) jain: Option<f64>,
}

/// The fields of `pcc.Summary`.
#[derive(IntoPyObject)]
struct Summary<'a> {
    flow: &'a str,
    start_s: f64,
    goodput_mbit: f64,
    share: f64,
    loss: f64,
    rtt_added_p50_ms: f64,
    rtt_added_p95_ms: f64,
    waste: Option<f64>,
    finished_s: Option<f64>,
    frame_delay_mean_ms: Option<f64>,
    frame_delay_largest_ms: Option<f64>,
}

impl<'a> Summary<'a> {
    fn of(flow: &'a str, summary: &FlowSummary) -> Self {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        Self {
            flow,
            start_s: summary.start.as_secs_f64(),
            goodput_mbit: summary.goodput,
            share: summary.share,
            loss: summary.loss,
            rtt_added_p50_ms: ms(summary.added[0]),
            rtt_added_p95_ms: ms(summary.added[1]),
            waste: summary.waste,
            finished_s: summary.finished.map(|at| at.as_secs_f64()),
            frame_delay_mean_ms: summary.frames.map(|[mean, _]| ms(mean)),
            frame_delay_largest_ms: summary.frames.map(|[_, largest]| ms(largest)),
        }
    }
}

/// The fields of `pcc.Series`.
#[derive(IntoPyObject)]
struct Series {
    time_s: Vec<f64>,
    rate_mbit: Vec<f64>,
    goodput_mbit: Vec<f64>,
    in_flight_bytes: Vec<u64>,
    rtt_ms: Vec<Option<f64>>,
    state: Vec<&'static str>,
}

impl Simulation {
    fn flow(&self, flow: usize) -> PyResult<&FlowResult> {
        self.results.flows.get(flow).ok_or_else(|| self.no_flow(flow))
    }

    fn no_flow(&self, flow: usize) -> PyErr {
        PyIndexError::new_err(format!("flow {flow} of {}", self.names.len()))
    }

    fn between(&self, start_s: f64, end_s: Option<f64>) -> PyResult<(Duration, Duration)> {
        let duration = self.results.duration;
        let end = end_s.map_or(Ok(duration), |end| seconds("end_s", end))?;
        let start = seconds("start_s", start_s)?;
        if start >= end {
            return Err(refused(format!("from {start:?} to {end:?} no time passes")));
        }
        if end > duration {
            return Err(refused(format!("end_s is {} s, and the run ended at {duration:?}", end.as_secs_f64())));
        }
        Ok((start, end))
    }
}

#[pymethods]
impl Simulation {
    /// The flows' names.
    #[getter]
    fn flows(&self) -> Vec<String> {
        self.names.clone()
    }

    /// Seconds of virtual time.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.results.duration.as_secs_f64()
    }

    /// Packets that the bottlenecks dropped, for whatever reason.
    #[getter]
    fn dropped(&self) -> u64 {
        self.results.drops()
    }

    /// Packets that queues marked (ECN).
    #[getter]
    fn marked(&self) -> u64 {
        self.results.marked
    }

    /// Jain's index over seconds, while all flows are there; None with fewer than two flows.
    #[getter]
    fn jain(&self) -> Option<f64> {
        self.jain
    }

    /// Mean goodput between two moments in Mbit/s, headers included. An `end_s` of None is the end of the run.
    ///
    /// Raises ValueError where the run had ended before `end_s`.
    #[pyo3(signature = (flow = 0, start_s = 0.0, end_s = None))]
    fn goodput_mbit(&self, flow: usize, start_s: f64, end_s: Option<f64>) -> PyResult<f64> {
        let (start, end) = self.between(start_s, end_s)?;
        Ok(self.flow(flow)?.goodput(start, end).mbit())
    }

    /// Goodput of all flows together between two moments, as a share of a perfect sender's.
    #[pyo3(signature = (start_s = 0.0, end_s = None))]
    fn share(&self, start_s: f64, end_s: Option<f64>) -> PyResult<f64> {
        let (start, end) = self.between(start_s, end_s)?;
        Ok(self.results.share(start, end))
    }

    /// Share of the flow's packets that was lost, 0 to 1.
    #[pyo3(signature = (flow = 0))]
    fn loss(&self, flow: usize) -> PyResult<f64> {
        Ok(self.flow(flow)?.loss())
    }

    /// RTT beyond that of the empty path, at this quantile, in milliseconds.
    #[pyo3(signature = (flow = 0, quantile = 0.5))]
    fn added_rtt_ms(&self, flow: usize, quantile: f64) -> PyResult<f64> {
        if !(0.0..=1.0).contains(&quantile) {
            return Err(refused(format!("quantile is {quantile}: choose 0 to 1")));
        }
        Ok(self.flow(flow)?.added_rtt(quantile).as_secs_f64() * 1e3)
    }

    /// The flow, each 100 ms, as a Series.
    #[pyo3(signature = (flow = 0))]
    fn series(&self, py: Python<'_>, flow: usize) -> PyResult<Py<PyAny>> {
        let samples = &self.flow(flow)?.series;
        let mut before = Duration::ZERO;
        let goodput_mbit = samples.iter().map(|sample| {
            let passed = sample.at - core::mem::replace(&mut before, sample.at);
            if passed.is_zero() { 0.0 } else { Rate::from_volume(sample.delivered, passed).mbit() }
        });
        let series = Series {
            goodput_mbit: goodput_mbit.collect(),
            time_s: samples.iter().map(|sample| sample.at.as_secs_f64()).collect(),
            rate_mbit: samples.iter().map(|sample| sample.rate.mbit()).collect(),
            in_flight_bytes: samples.iter().map(|sample| sample.in_flight).collect(),
            rtt_ms: samples.iter().map(|sample| sample.rtt.map(|rtt| rtt.as_secs_f64() * 1e3)).collect(),
            state: samples.iter().map(|sample| sample.state).collect(),
        };
        record(py, "Series", series)
    }

    /// The flow's line of the table of `pcc-lab sim`, as a Summary: the mean from its start to its end.
    #[pyo3(signature = (flow = 0))]
    fn summary(&self, py: Python<'_>, flow: usize) -> PyResult<Py<PyAny>> {
        Ok(self.summaries.get(flow).ok_or_else(|| self.no_flow(flow))?.clone_ref(py))
    }

    /// The flow's monitor intervals and decisions, as a Trace. Only PCC has them.
    ///
    /// Raises ValueError unless the simulation was told `trace=True`.
    #[pyo3(signature = (flow = 0))]
    fn trace(&self, py: Python<'_>, flow: usize) -> PyResult<Py<PyAny>> {
        self.flow(flow)?;
        let trace = self.traces.get(flow).map(|trace| trace.clone_ref(py));
        trace.ok_or_else(|| refused("no intervals were kept: simulate with trace=True"))
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, (Kept,))> {
        Ok((py.import("pcc._pcc")?.getattr("_restored")?.unbind(), (Kept::of(self, py),)))
    }

    fn __repr__(&self) -> String {
        format!("Simulation(flows={:?}, duration_s={})", self.names, self.duration_s())
    }
}

/// The utility of all flows of PCC, or utilities under names for `flows`.
#[derive(FromPyObject)]
pub(crate) enum Written {
    #[pyo3(transparent)]
    One(String),
    #[pyo3(transparent)]
    Named(BTreeMap<String, String>),
}

/// A value of `settings`: as `--set` has it, or a bare number.
#[derive(FromPyObject)]
pub(crate) enum Value {
    #[pyo3(transparent)]
    Text(String),
    #[pyo3(transparent)]
    Number(f64),
}

/// Runs senders over an emulated path in virtual time, as `pcc-lab sim PATH` does. Equal arguments give equal results.
///
/// path: parameters such as "rate=100Mbit,rtt=30ms,loss=1%,buffer=375KB", or the name of a preset such as "satellite".
/// flows: senders such as "pcc*2 cubic:start=5s pcc/scavenger", as `pcc-lab sim --flows` takes them.
/// duration_s: seconds of virtual time, at most 86,400.
/// seed: draws losses, jitter and the order of trials.
/// utility: what flows of PCC strive for that do not say: a name, a formula such as "x^0.9 - 11.35*x*L", or a file such
///     as "my.utility". A dict has several under names of its own, for flows such as "pcc/mine pcc/yours".
/// law: the control law of PCC, such as "allegro,step_min=0.01".
/// laws: classes by name, for "pcc/mine". Each flow makes an object. Its `on_report(self, report)` has a Report of each
///     monitor interval after start-up. The answer is the rate from then on in Mbit/s. None keeps the rate. The flow's
///     utility is the default.
/// settings: a dict of parameters of the utility or the law, such as {"level": 0.01, "ceiling": "80ms"}.
/// then: further paths behind the first, each with a bottleneck of its own.
/// queue: the discipline on the way down: "droptail", "fq", "codel", "fq_codel", "red", "pie", "fq_pie", "dualpi2",
///     "sfq" or "cake". A path says it too, of either way, as in "rate=50Mbit,rtt=40ms,up.queue=fq_codel".
/// ecn: the queue may mark packets, and senders answer marks. Flows say so by ":ect0" or ":ect1".
/// policer: a rate and a burst before the first bottleneck, such as "10Mbit:64kB".
/// trace: keep the monitor intervals and decisions of PCC, for `Simulation.trace`.
///
/// Raises ValueError with the reason where an argument cannot be read. An exception in `on_report` ends the run.
#[pyfunction]
#[pyo3(signature = (
    path, flows = "pcc", duration_s = 30.0, seed = 1, *, utility = None, law = None, laws = BTreeMap::new(), settings = None,
    then = Vec::new(), queue = "droptail", ecn = false, policer = None, trace = false
))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's")]
pub(crate) fn simulate(
    py: Python<'_>,
    path: &str,
    flows: &str,
    duration_s: f64,
    seed: u64,
    utility: Option<Written>,
    law: Option<&str>,
    laws: BTreeMap<String, Py<PyAny>>,
    settings: Option<BTreeMap<String, Value>>,
    then: Vec<String>,
    queue: &str,
    ecn: bool,
    policer: Option<&str>,
    trace: bool,
) -> PyResult<Simulation> {
    let time = seconds("duration_s", duration_s)?;
    let (one, named) = match utility {
        Some(Written::One(one)) => (Some(one), BTreeMap::new()),
        Some(Written::Named(named)) => (None, named),
        None => (None, BTreeMap::new()),
    };
    let objective = objective(one.as_deref(), law, settings.unwrap_or_default())?;
    let read_named = |written: &str| -> Result<Arc<dyn Utility>, String> {
        let usual = if laws.contains_key(written) { "fair" } else { written };
        read(named.get(written).map_or(usual, String::as_str))
    };
    let play = Play {
        path,
        files: &pcc_play::on_disk,
        then: &then,
        flows,
        read: &read_named,
        objective: objective.as_ref(),
        queue: Some(queue),
        ecn,
        policer,
        time,
    };
    let staged = play.stage().map_err(|Refused { option, problem }| {
        let argument = if option == "time" { "duration_s" } else { option };
        refused(format!("{argument}: {problem}"))
    })?;
    let mut scenario = staged.seeded(seed);
    let failure = Failure::default();
    for (flow, name) in scenario.flows.iter_mut().zip(&staged.names) {
        if let Some(class) = behind(name, &laws) {
            flow.config.law = Some(law::law(class.clone_ref(py), failure.clone()));
        }
    }
    let mut watches = Vec::new();
    if trace {
        watches = (0..scenario.flows.len()).map(|flow| Arc::new(Watch::of(flow))).collect();
        for (flow, watch) in scenario.flows.iter_mut().zip(&watches) {
            if flow.control == Control::Pcc {
                flow.config.observer = Some(Arc::clone(watch) as Arc<dyn Observer>);
            }
        }
    }
    let results = py.detach(|| run(&scenario, &failure))?;
    outcome(py, staged.names, &scenario, results, &watches)
}

/// Between two looks for an exception of a law.
const LOOK: Duration = Duration::from_millis(100);

/// Runs the simulation; a law's exception ends it.
fn run(scenario: &Scenario, failure: &Failure) -> PyResult<Results> {
    let mut running = Running::begin(scenario.clone()).map_err(refused)?;
    while running.at() < scenario.duration {
        running.pass(running.at() + LOOK);
        if let Some(error) = failure.take() {
            return Err(error);
        }
    }
    Ok(running.end().1)
}

fn outcome(
    py: Python<'_>,
    names: Vec<String>,
    scenario: &Scenario,
    results: Results,
    watches: &[Arc<Watch>],
) -> PyResult<Simulation> {
    let summary = |(place, name): (usize, &String)| {
        record(py, "Summary", Summary::of(name, &FlowSummary::of(scenario, &results, place)))
    };
    Ok(Simulation {
        summaries: names.iter().enumerate().map(summary).collect::<PyResult<_>>()?,
        traces: watches.iter().map(|watch| watch.trace(py)).collect::<PyResult<_>>()?,
        paths: std::iter::once(&scenario.path).chain(&scenario.beyond).map(ToString::to_string).collect(),
        seed: scenario.seed,
        jain: jain_together(scenario, &results),
        names,
        results,
    })
}

/// What PCC strives for, if the call says so.
pub(crate) fn objective(
    utility: Option<&str>,
    law: Option<&str>,
    settings: BTreeMap<String, Value>,
) -> PyResult<Option<Objective>> {
    if utility.is_none() && law.is_none() && settings.is_empty() {
        return Ok(None);
    }
    let written = utility.unwrap_or("fair");
    let choice: Choice = written.parse().map_err(|error| refused(format!("utility: {error}")))?;
    let law = law.map(|law| law.parse::<LawChoice>().map_err(|error| refused(format!("law: {error}")))).transpose()?;
    let setting = |(key, value)| {
        let value = match value {
            Value::Text(text) => text,
            Value::Number(number) => number.to_string(),
        };
        Setting { key, value }
    };
    let settings: Vec<_> = settings.into_iter().map(setting).collect();
    let objective = Objective::new(written, &choice.text, law.as_ref(), &settings);
    Ok(Some(objective.map_err(|error| refused(format!("settings: {error}")))?))
}
