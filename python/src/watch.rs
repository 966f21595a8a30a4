//! A sender's monitor intervals and decisions, as a simulation tells them.

use crate::record::record;
use pcc::observe::{Event, Observer};
use pcc::units::Rate;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// One event, with the fields of the record of its name.
#[derive(Debug)]
enum Seen {
    Interval(Interval),
    Decision(Decision),
}

/// The fields of `pcc.Interval`.
#[derive(Debug, IntoPyObject)]
struct Interval {
    time_s: f64,
    flow: usize,
    id: u64,
    target_mbit: f64,
    achieved_mbit: f64,
    goodput_mbit: Option<f64>,
    packets: u32,
    duration_ms: f64,
    loss: f64,
    marked: f64,
    rtt_ms: Option<f64>,
    gradient: Option<f64>,
    utility: Option<f64>,
    queueing_ms: Option<f64>,
    limited_by: &'static str,
}

/// The fields of `pcc.Decision`.
#[derive(Debug, IntoPyObject)]
struct Decision {
    time_s: f64,
    flow: usize,
    state: &'static str,
    rate_mbit: f64,
    reason: &'static str,
}

/// Everything that the sender of this number told.
#[derive(Debug)]
pub(crate) struct Watch {
    flow: usize,
    seen: Mutex<Vec<Seen>>,
}

impl Watch {
    pub(crate) fn of(flow: usize) -> Self {
        Self { flow, seen: Mutex::default() }
    }

    /// The sender's `pcc.Trace`; nothing is left.
    pub(crate) fn trace(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        let event = |seen| match seen {
            Seen::Interval(fields) => record(py, "Interval", fields),
            Seen::Decision(fields) => record(py, "Decision", fields),
        };
        let events = seen.into_iter().map(event).collect::<PyResult<_>>()?;
        record(py, "Trace", Trace { events })
    }
}

/// The fields of `pcc.Trace`.
#[derive(IntoPyObject)]
struct Trace {
    events: Vec<Py<PyAny>>,
}

impl Observer for Watch {
    fn on_event(&self, event: &Event<'_>) {
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        let flow = self.flow;
        let seen = match event {
            Event::Interval { at, report, utility } => Seen::Interval(Interval {
                time_s: at.as_secs_f64(),
                flow,
                id: report.id,
                target_mbit: report.target.mbit(),
                achieved_mbit: report.achieved.mbit(),
                goodput_mbit: report.delivery_rate.map(Rate::mbit),
                packets: report.packets,
                duration_ms: ms(report.duration),
                loss: report.loss() - report.marked(),
                marked: report.marked(),
                rtt_ms: report.rtt.map(ms),
                gradient: report.rtt_gradient,
                utility: *utility,
                queueing_ms: report.queueing_delay().map(ms),
                limited_by: report.limited_by.as_str(),
            }),
            Event::Decision { at, state, rate, reason } => {
                Seen::Decision(Decision { time_s: at.as_secs_f64(), flow, state, rate_mbit: rate.mbit(), reason })
            }
            _ => return,
        };
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
    }
}
