//! Control laws that are written in Python.

use crate::record::record;
use pcc::control::{Law, Path, RateControl, Verdict, Worth};
use pcc::interval::{IntervalPlan, Report};
use pcc::rng::Rng;
use pcc::units::Rate;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The first exception of a run, which ends it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    fn note(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    pub(crate) fn is_noted(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The class of the law behind `pcc/` in a flow's name, if it is one of these.
pub(crate) fn behind<'a>(name: &str, laws: &'a BTreeMap<String, Py<PyAny>>) -> Option<&'a Py<PyAny>> {
    // Several of a kind are numbered behind a space.
    laws.get(name.strip_prefix("pcc/")?.split(' ').next()?)
}

/// The law that an instance of this class steers, one for each flow.
pub(crate) fn law(class: Py<PyAny>, failure: Failure) -> Law {
    Law::own("python", move |rate, _| {
        let made = Python::attach(|py| class.call0(py)).map_err(|error| failure.note(error));
        Written { object: made.ok(), rate, failure: failure.clone() }
    })
}

/// The fields of `pcc.Report`.
#[derive(IntoPyObject)]
struct Told {
    id: u64,
    started_s: f64,
    target_mbit: f64,
    achieved_mbit: f64,
    goodput_mbit: Option<f64>,
    packets: u32,
    duration_ms: f64,
    loss: f64,
    marked: f64,
    rtt_ms: Option<f64>,
    gradient: Option<f64>,
    utility: f64,
    queueing_ms: Option<f64>,
    limited_by: &'static str,
}

impl Told {
    fn of(report: &Report, utility: f64) -> Self {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        Self {
            id: report.id,
            started_s: report.started.as_secs_f64(),
            target_mbit: report.target.mbit(),
            achieved_mbit: report.achieved.mbit(),
            goodput_mbit: report.delivery_rate.map(Rate::mbit),
            packets: report.packets,
            duration_ms: ms(report.duration),
            loss: report.loss() - report.marked(),
            marked: report.marked(),
            rtt_ms: report.rtt.map(ms),
            gradient: report.rtt_gradient,
            utility,
            queueing_ms: report.queueing_delay().map(ms),
            limited_by: report.limited_by.as_str(),
        }
    }
}

/// An object with `on_report(report) -> rate`, and the rate that it answered last.
#[derive(Debug)]
struct Written {
    object: Option<Py<PyAny>>,
    rate: Rate,
    failure: Failure,
}

impl Written {
    /// The rate that the object answers, in Mbit/s; the one that it has, if that is None.
    fn asked(&self, report: &Report, utility: f64) -> PyResult<Option<Rate>> {
        let Some(object) = &self.object else { return Ok(None) };
        Python::attach(|py| {
            let told = record(py, "Report", Told::of(report, utility))?;
            let answer: Option<f64> = object.call_method1(py, "on_report", (told,))?.extract(py)?;
            match answer.filter(|mbit| !(mbit.is_finite() && *mbit > 0.0)) {
                Some(mbit) => {
                    let problem =
                        format!("on_report answered {mbit}: answer a rate in Mbit/s above 0, or None to keep it");
                    Err(PyValueError::new_err(problem))
                }
                None => Ok(answer.map(Rate::from_mbit)),
            }
        })
    }
}

impl RateControl for Written {
    fn next(&mut self, _: &Path, _: &mut Rng) -> IntervalPlan {
        // Only trials are reported, and the law wants to hear of all.
        IntervalPlan { trial: Some(0), ..IntervalPlan::filler(self.rate) }
    }

    fn on_report(&mut self, _: IntervalPlan, report: &Report, utility: &dyn Worth, path: &Path) -> Verdict {
        if !self.failure.is_noted() {
            match self.asked(report, utility.of(report)) {
                Ok(rate) => self.rate = path.clamp(rate.unwrap_or(self.rate)),
                Err(error) => self.failure.note(error),
            }
        }
        Verdict::Wait
    }

    fn begin(&mut self, rate: Rate, _: &Path) {
        self.rate = rate;
    }

    fn limit(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn back_off(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn restart(&mut self) {}

    fn rate(&self) -> Rate {
        self.rate
    }

    fn state(&self) -> &'static str {
        "python"
    }
}
