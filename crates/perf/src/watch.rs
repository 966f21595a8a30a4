//! Follows a PCC sender: where it stands after its latest interval and decision.

use crate::intervals::{Log, MonitorInterval};
use pcc::interval::LimitedBy;
use pcc::observe::{Event, Observer};
use pcc::units::Rate;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};

/// The version of the `pcc` object in JSON output.
pub const SCHEMA_VERSION: u32 = 1;

/// Where a PCC sender stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PccState {
    /// Serial number of the latest resolved monitor interval.
    pub mi_id: u64,
    /// The control law's state, in the paper's words.
    pub state: String,
    /// The base rate in bits per second.
    pub rate_bps: f64,
    /// The utility function's verdict on that interval; none if it was not judged.
    pub utility_value: Option<f64>,
    /// Mean RTT of that interval in milliseconds.
    pub rtt_ms: Option<f64>,
    /// Loss rate of that interval.
    pub loss: f64,
    /// The limit of that interval.
    pub limited_by: String,
}

impl PccState {
    #[cfg(test)]
    pub(crate) fn longest() -> Self {
        Self {
            mi_id: u64::MAX,
            state: "Decision Making".to_owned(),
            rate_bps: -1.234_567_890_123_456e-300,
            utility_value: Some(-1.234_567_890_123_456e-300),
            rtt_ms: Some(1.234_567_890_123_456e-300),
            loss: 0.123_456_789_012_345_6,
            limited_by: "receiver window".to_owned(),
        }
    }
}

/// The observer to put into a sender's configuration.
#[derive(Debug, Default)]
pub struct Watch {
    now: Mutex<PccState>,
    /// Intervals, if they are wanted one by one.
    log: Option<Mutex<Log>>,
    /// The state after the latest decision.
    state: Mutex<&'static str>,
    /// The most that the user lets it send.
    limit: Option<Rate>,
}

/// A base rate so near to the user's limit is there because of it.
const AT_LIMIT: f64 = 0.99;

impl Watch {
    /// One that also keeps the intervals.
    pub fn recording() -> Self {
        Self { log: Some(Mutex::default()), ..Self::default() }
    }

    /// One that knows of a limit by the user: the law takes it for what the path carries.
    pub fn within(self, limit: Option<Rate>) -> Self {
        Self { limit, ..self }
    }

    /// Where the sender stands now.
    pub fn read(&self) -> PccState {
        let mut now = lock(&self.now).clone();
        let at_limit = self.limit.is_some_and(|limit| now.rate_bps >= AT_LIMIT * limit.bits_per_sec());
        if at_limit && now.limited_by == LimitedBy::Network.as_str() {
            now.limited_by = "limit".to_owned();
        }
        now
    }

    /// The intervals since the last call; `None` if none are kept.
    pub fn take_intervals(&self) -> Option<Vec<MonitorInterval>> {
        self.log.as_ref().map(|log| lock(log).take())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observer for Watch {
    fn on_event(&self, event: &Event<'_>) {
        let mut now = lock(&self.now);
        match event {
            Event::Interval { at, report, utility } => {
                if let Some(log) = &self.log {
                    lock(log).push(MonitorInterval::new(*at, report, *utility, *lock(&self.state)));
                }
                now.mi_id = report.id;
                now.utility_value = utility.filter(|value| value.is_finite());
                now.rtt_ms = report.rtt.map(|rtt| rtt.as_secs_f64() * 1e3);
                now.loss = report.loss();
                replace(&mut now.limited_by, report.limited_by.as_str());
            }
            Event::Decision { state, rate, .. } => {
                *lock(&self.state) = state;
                now.rate_bps = rate.bits_per_sec();
                replace(&mut now.state, state);
            }
            _ => {}
        }
    }
}

/// Assigns without allocating when nothing changed: this runs on the sender's thread.
fn replace(old: &mut String, new: &str) {
    if old != new {
        new.clone_into(old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc::units::Timestamp;

    #[test]
    fn a_decision_changes_state_and_rate() {
        let watch = Watch::default();
        let at = Timestamp::ZERO;
        watch.on_event(&Event::Decision { at, state: "Starting", rate: Rate::from_mbit(8.0), reason: "test" });
        assert_eq!(watch.read(), PccState { state: "Starting".into(), rate_bps: 8e6, ..PccState::default() });
    }

    #[test]
    fn who_sends_as_much_as_the_user_allows_is_limited_by_that() {
        for (mbit, limit, limited_by) in [
            (10.0, LimitedBy::Network, "limit"),
            (8.0, LimitedBy::Network, "network"),
            (10.0, LimitedBy::Application, "application"),
        ] {
            let watch = Watch::default().within(Some(Rate::from_mbit(10.0)));
            let at = Timestamp::ZERO;
            let mut report = crate::example::report();
            report.limited_by = limit;
            watch.on_event(&Event::Interval { at, report: &report, utility: None });
            watch.on_event(&Event::Decision { at, state: "Probing", rate: Rate::from_mbit(mbit), reason: "test" });
            assert_eq!(watch.read().limited_by, limited_by, "at {mbit} Mbit/s");
        }
    }
}
