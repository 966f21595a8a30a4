//! A runner, its rules, and the words about it.

use super::carrier::Carrier;
use super::course::Course;
use super::source::Source;
use super::trace::{Sample, Trace};
use anyhow::Context;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

/// A runner, and its path.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Who.
    pub carrier: Carrier,
    /// The path.
    pub course: Arc<Course>,
    /// The file.
    pub source: Arc<Source>,
    /// The same for all runners.
    pub rules: Arc<Rules>,
}

/// When a runner is stopped.
#[derive(Debug)]
pub struct Rules {
    /// So long after the first one finished.
    limit: Duration,
    /// Or after so long, if nobody finishes.
    most: Duration,
    /// The time of the first one that finished.
    best: Mutex<Option<Duration>>,
    stopped: AtomicBool,
}

/// How much longer than a perfect sender everybody may take before the time limit begins.
const PATIENCE: u32 = 5;

impl Rules {
    /// `limit` runs from the moment when the first one finished, or from five times the time of a perfect sender.
    pub fn new(limit: Duration, perfect: Duration) -> Self {
        let most = perfect.saturating_mul(PATIENCE).saturating_add(limit);
        Self { limit, most, best: Mutex::default(), stopped: AtomicBool::new(false) }
    }

    /// Ends the race.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Somebody was through after this time.
    pub fn finished(&self, time: Duration) {
        let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
        *best = Some(best.map_or(time, |best| best.min(time)));
    }

    /// Whether a runner must end after this time; the same rule one after another as side by side.
    pub fn over(&self, time: Duration) -> bool {
        let best = *self.best.lock().unwrap_or_else(PoisonError::into_inner);
        self.stopped.load(Relaxed) || time >= best.map_or(self.most, |best| best.saturating_add(self.limit))
    }
}

/// News of a runner.
#[derive(Clone, Debug)]
pub struct Update {
    /// Its place among the runners.
    pub runner: usize,
    /// Its name.
    pub algorithm: &'static str,
    /// How far it is.
    pub sample: Sample,
    /// PCC's state.
    pub state: Option<&'static str>,
    /// How it ended, if it did.
    pub ended: Option<Ended>,
}

/// How a runner ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With all of the file.
    Finished,
    /// It was stopped.
    Unfinished,
    /// It could not run.
    Failed,
}

/// Compares the copy with the file, as far as it got.
pub(crate) fn verify(trace: &mut Trace, source: &Source, copy: std::fs::File, fetched: bool) -> anyhow::Result<()> {
    trace.bytes = copy.metadata().context("cannot read the copy")?.len();
    trace.finished = fetched && trace.bytes == source.bytes;
    let matches = source.matches(copy, trace.bytes).context("cannot read the copy")?;
    // An end before the file's is no success, whatever the protocol said of it.
    trace.verified = matches && (!fetched || trace.finished);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_counts_from_the_first_one_that_finished() {
        let rules = Rules::new(Duration::from_secs(60), Duration::from_secs(20));
        assert!(!rules.over(Duration::from_secs(159)));
        assert!(rules.over(Duration::from_secs(160)));
        rules.finished(Duration::from_secs(25));
        rules.finished(Duration::from_secs(30));
        assert!(!rules.over(Duration::from_secs(84)));
        assert!(rules.over(Duration::from_secs(85)));
    }

    #[test]
    fn a_stopped_race_is_over_at_once() {
        let rules = Rules::new(Duration::from_secs(60), Duration::from_secs(20));
        rules.stop();
        assert!(rules.over(Duration::ZERO));
    }
}
