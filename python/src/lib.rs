//! The extension module behind the Python package `pcc`: simulations and the analysis of utilities.
#![forbid(unsafe_code)]

use pcc::control::Law;
use pcc::units::{Bytes, Rate};
use pcc::utility::{Utility, parse};
use pcc_link::Path;
use pcc_sim::{Cast, Control, Flow, Results, Scenario};
use pcc_utility::{Bottleneck, Game};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// Longer runs take more memory than anybody wants for a plot. Unit: s.
const LONGEST: f64 = 86_400.0;

fn refused(problem: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(problem.to_string())
}

fn seconds(name: &str, value: f64) -> PyResult<Duration> {
    let time = Duration::try_from_secs_f64(value).ok().filter(|_| value <= LONGEST);
    time.ok_or_else(|| refused(format!("{name} is {value} s: choose 0 to {LONGEST} s")))
}

fn utility(written: &str) -> PyResult<Arc<dyn Utility>> {
    parse(written).map_err(refused)
}

/// The bottleneck of a path that is the same all the time.
fn bottleneck(written: &str) -> PyResult<Bottleneck> {
    let path: Path = written.parse().map_err(refused)?;
    let conditions = path.down.conditions;
    let bytes: Bytes = conditions.buffer;
    Ok(Bottleneck {
        capacity: conditions.rate,
        base_rtt: path.rtt(),
        buffer: conditions.rate.time_for(bytes),
        loss: conditions.loss.mean(),
    })
}

/// A state of the path in which equal senders stay.
#[pyclass(frozen, get_all, module = "pcc")]
#[derive(Clone)]
struct Settled {
    senders: u32,
    rate_mbit: f64,
    loss: f64,
    least_queue_ms: f64,
    largest_queue_ms: f64,
    fair: bool,
}

#[pymethods]
impl Settled {
    fn __repr__(&self) -> String {
        let Self { senders, rate_mbit, loss, largest_queue_ms, .. } = self;
        format!(
            "Settled(senders={senders}, rate_mbit={rate_mbit:.3}, loss={loss:.5}, largest_queue_ms={largest_queue_ms:.3})"
        )
    }
}

/// The analysis of a utility on a path.
#[pyclass(frozen, get_all, module = "pcc")]
struct Check {
    law: String,
    settled: Vec<Settled>,
    traps: Vec<String>,
}

#[pymethods]
impl Check {
    fn __repr__(&self) -> String {
        format!("Check(law={:?}, settled={}, traps={:?})", self.law, self.settled.len(), self.traps)
    }
}

#[pyfunction]
#[pyo3(signature = (utility, path = "clean", senders = vec![1, 2, 10]))]
fn check_utility(py: Python<'_>, utility: &str, path: &str, senders: Vec<u32>) -> PyResult<Check> {
    let (utility, path) = (crate::utility(utility)?, bottleneck(path)?);
    py.detach(|| {
        let law = Law::suited_to(&*utility);
        let game = Game::new(&*utility, &law, path);
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let settled = senders.into_iter().flat_map(|senders| {
            game.settle(senders).stable.into_iter().map(move |settled| Settled {
                senders,
                rate_mbit: settled.rate.mbit(),
                loss: settled.loss,
                least_queue_ms: ms(settled.queue.0),
                largest_queue_ms: ms(settled.queue.1),
                fair: settled.fair,
            })
        });
        let settled = settled.collect();
        let traps = game.traps().iter().map(ToString::to_string).collect();
        Ok(Check { law: law.name().to_owned(), settled, traps })
    })
}

#[pyfunction]
#[pyo3(signature = (utility, rates_mbit, path = "clean", others_mbit = 0.0, queue_ms = 0.0))]
fn evaluate_utility(
    utility: &str,
    rates_mbit: Vec<f64>,
    path: &str,
    others_mbit: f64,
    queue_ms: f64,
) -> PyResult<Vec<Option<f64>>> {
    let (utility, path) = (crate::utility(utility)?, bottleneck(path)?);
    let game = Game::new(&*utility, &Law::suited_to(&*utility), path);
    let queue = seconds("queue_ms / 1000", queue_ms / 1e3)?;
    let (others, rates) = (Rate::from_mbit(others_mbit), rates_mbit.into_iter().map(Rate::from_mbit));
    Ok(rates.map(|rate| game.value(rate, others, queue)).collect())
}

#[pyfunction]
fn utilities() -> Vec<&'static str> {
    pcc::utility::NAMES.to_vec()
}

/// A flow, sample by sample.
#[pyclass(frozen, get_all, module = "pcc")]
struct Series {
    time_s: Vec<f64>,
    rate_mbit: Vec<f64>,
    goodput_mbit: Vec<f64>,
    in_flight_bytes: Vec<u64>,
    rtt_ms: Vec<Option<f64>>,
    state: Vec<&'static str>,
}

/// A simulation's outcome.
#[pyclass(frozen, module = "pcc")]
struct Simulation {
    results: Results,
    names: Vec<String>,
    duration: Duration,
}

impl Simulation {
    fn flow(&self, flow: usize) -> PyResult<&pcc_sim::FlowResult> {
        let flows = self.results.flows.len();
        self.results.flows.get(flow).ok_or_else(|| PyIndexError::new_err(format!("flow {flow} of {flows}")))
    }

    fn between(&self, start_s: f64, end_s: Option<f64>) -> PyResult<(Duration, Duration)> {
        let end = end_s.map_or(Ok(self.duration), |end| seconds("end_s", end))?;
        let start = seconds("start_s", start_s)?;
        if start < end { Ok((start, end)) } else { Err(refused(format!("from {start:?} to {end:?} no time passes"))) }
    }
}

#[pymethods]
impl Simulation {
    #[getter]
    fn flows(&self) -> Vec<String> {
        self.names.clone()
    }

    #[pyo3(signature = (flow = 0, start_s = 0.0, end_s = None))]
    fn goodput_mbit(&self, flow: usize, start_s: f64, end_s: Option<f64>) -> PyResult<f64> {
        let (start, end) = self.between(start_s, end_s)?;
        Ok(self.flow(flow)?.goodput(start, end).mbit())
    }

    #[pyo3(signature = (start_s = 0.0, end_s = None))]
    fn share(&self, start_s: f64, end_s: Option<f64>) -> PyResult<f64> {
        let (start, end) = self.between(start_s, end_s)?;
        Ok(self.results.share(start, end))
    }

    #[pyo3(signature = (flow = 0))]
    fn loss(&self, flow: usize) -> PyResult<f64> {
        Ok(self.flow(flow)?.loss())
    }

    #[pyo3(signature = (flow = 0, quantile = 0.5))]
    fn added_rtt_ms(&self, flow: usize, quantile: f64) -> PyResult<f64> {
        if !(0.0..=1.0).contains(&quantile) {
            return Err(refused(format!("quantile is {quantile}: choose 0 to 1")));
        }
        Ok(self.flow(flow)?.added_rtt(quantile).as_secs_f64() * 1e3)
    }

    #[pyo3(signature = (flow = 0))]
    fn series(&self, flow: usize) -> PyResult<Series> {
        let samples = &self.flow(flow)?.series;
        let mut before = Duration::ZERO;
        let goodput_mbit = samples.iter().map(|sample| {
            let passed = sample.at - core::mem::replace(&mut before, sample.at);
            if passed.is_zero() { 0.0 } else { Rate::from_volume(sample.delivered, passed).mbit() }
        });
        Ok(Series {
            goodput_mbit: goodput_mbit.collect(),
            time_s: samples.iter().map(|sample| sample.at.as_secs_f64()).collect(),
            rate_mbit: samples.iter().map(|sample| sample.rate.mbit()).collect(),
            in_flight_bytes: samples.iter().map(|sample| sample.in_flight).collect(),
            rtt_ms: samples.iter().map(|sample| sample.rtt.map(|rtt| rtt.as_secs_f64() * 1e3)).collect(),
            state: samples.iter().map(|sample| sample.state).collect(),
        })
    }

    fn __repr__(&self) -> String {
        format!("Simulation(flows={:?}, duration_s={})", self.names, self.duration.as_secs_f64())
    }
}

#[pyfunction]
#[pyo3(signature = (path, flows = "pcc", duration_s = 30.0, seed = 1))]
fn simulate(py: Python<'_>, path: &str, flows: &str, duration_s: f64, seed: u64) -> PyResult<Simulation> {
    let duration = seconds("duration_s", duration_s)?;
    let (path, mut cast): (Path, Cast) = (path.parse().map_err(refused)?, flows.parse().map_err(refused)?);
    // Senders that share a path must not try rates in step.
    for (flow, own) in cast.0.iter_mut().zip(seed..) {
        flow.config.seed = own;
    }
    let names = cast.0.iter().map(name).collect();
    let scenario = Scenario::new(path, cast.0, seed, duration);
    let results = py.detach(|| pcc_sim::run(&scenario)).map_err(refused)?;
    Ok(Simulation { results, names, duration })
}

fn name(flow: &Flow) -> String {
    match flow.control {
        Control::Pcc => format!("pcc/{}", flow.config.utility.name()),
        Control::Reno => "reno".to_owned(),
        Control::Cubic => "cubic".to_owned(),
        Control::Bbr => "bbr".to_owned(),
        Control::Fixed(rate) => format!("{} Mbit/s", rate.mbit()),
    }
}

#[pymodule]
mod _pcc {
    #[pymodule_export]
    use super::{Check, Series, Settled, Simulation, check_utility, evaluate_utility, simulate, utilities};
}
