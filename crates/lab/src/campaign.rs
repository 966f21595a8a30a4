//! A scenario's runs as a work queue: calibrated first, one guest a processor, nothing run twice.

use crate::calibration;
use crate::machine::{Machine, RunError};
use crate::scenario::{Run, Scenario};
use crate::spec::{Outcome, Spec};
use crate::store::Store;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Why a scenario has no result.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// A run failed.
    #[error("{what}: {error}")]
    Run {
        /// Which one.
        what: String,
        /// How.
        error: RunError,
    },
    /// The emulated path is not what was asked for, so nothing measured on it counts.
    #[error("{what}: calibration failed: {figures}")]
    Calibration {
        /// Which run.
        what: String,
        /// What is off.
        figures: String,
    },
    /// An outcome could not be stored.
    #[error("could not store a result: {0}")]
    Store(io::Error),
}

/// How far a campaign is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Runs that have an outcome.
    pub done: usize,
    /// Of how many.
    pub total: usize,
    /// How many had one before.
    pub stored: usize,
    /// Real time the rest will take, judged by the runs so far.
    pub remaining: Option<Duration>,
}

/// Carries out every run of a scenario that is not stored yet, on these processors, and returns the outcomes in the
/// order of the runs.
pub fn run(
    scenario: &Scenario,
    machine: &Machine,
    store: &Store,
    processors: &[usize],
    tell: &(dyn Fn(Progress) + Sync),
) -> Result<Vec<Outcome>, CampaignError> {
    let mut checks: Vec<Spec> = Vec::new();
    for run in &scenario.runs {
        let check = calibration::lone_cubic(&run.spec.path);
        if !checks.contains(&check) && !checks.iter().any(|known| same_line(known, &check)) {
            checks.push(check);
        }
    }
    let queue = Queue { machine, store, processors, tell };
    let names: Vec<_> = checks.iter().map(|_| "lone cubic".to_owned()).collect();
    let specs: Vec<_> = checks.iter().collect();
    for (check, outcome) in checks.iter().zip(queue.work(&names, &specs)?) {
        if let Some(figures) = calibration::unfilled(check, &outcome) {
            return Err(CampaignError::Calibration { what: scenario.name.clone(), figures });
        }
    }
    let name = |run: &Run| {
        format!("{}: {} {}, {}, seed {}", scenario.name, scenario.parameter, run.point, run.algorithm, run.spec.seed)
    };
    let names: Vec<_> = scenario.runs.iter().map(name).collect();
    let specs: Vec<_> = scenario.runs.iter().map(|run| &run.spec).collect();
    queue.work(&names, &specs)
}

/// Whether two paths differ in nothing that matters to a lone CUBIC.
fn same_line(one: &Spec, other: &Spec) -> bool {
    (one.path.rate, one.path.rtt) == (other.path.rate, other.path.rtt)
}

struct Queue<'a> {
    machine: &'a Machine,
    store: &'a Store,
    processors: &'a [usize],
    tell: &'a (dyn Fn(Progress) + Sync),
}

impl Queue<'_> {
    fn work(&self, names: &[String], specs: &[&Spec]) -> Result<Vec<Outcome>, CampaignError> {
        let find = |spec: &&Spec| self.store.find(&self.machine.kernel, spec);
        let outcomes: Vec<_> = specs.iter().map(find).collect();
        let missing: Vec<_> = (0..specs.len()).filter(|&number| outcomes[number].is_none()).collect();
        let stored = specs.len() - missing.len();
        let (next, began) = (AtomicUsize::new(0), Instant::now());
        let outcomes = Mutex::new(outcomes);
        let problem = Mutex::new(None);
        let done = AtomicUsize::new(stored);
        std::thread::scope(|scope| {
            for &processor in self.processors {
                let (missing, outcomes, problem, next, done) = (&missing, &outcomes, &problem, &next, &done);
                scope.spawn(move || {
                    while let Some(&number) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                        match self.one(&names[number], specs[number], processor) {
                            Ok(outcome) => lock(outcomes)[number] = Some(outcome),
                            Err(error) => {
                                lock(problem).get_or_insert(error);
                                // The others finish what they have begun.
                                next.store(missing.len(), Ordering::Relaxed);
                                return;
                            }
                        }
                        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                        let each = began.elapsed() / (done - stored).max(1) as u32;
                        let remaining = Some(each * (specs.len() - done) as u32);
                        (self.tell)(Progress { done, total: specs.len(), stored, remaining });
                    }
                });
            }
        });
        if let Some(error) = problem.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            return Err(error);
        }
        let outcomes = outcomes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Without a problem every run has an outcome.
        Ok(outcomes.into_iter().flatten().collect())
    }

    fn one(&self, name: &str, spec: &Spec, processor: usize) -> Result<Outcome, CampaignError> {
        let what = || name.to_owned();
        let outcome = self.machine.run(spec, processor).map_err(|error| CampaignError::Run { what: what(), error })?;
        let deviations = calibration::deviations(&spec.path, &outcome.probe);
        if !deviations.is_empty() {
            return Err(CampaignError::Calibration { what: what(), figures: deviations.join("; ") });
        }
        self.store.keep(&self.machine.kernel, spec, &outcome).map_err(CampaignError::Store)?;
        Ok(outcome)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The processors this process may use.
pub fn processors() -> Vec<usize> {
    // SAFETY: cpu_set_t is plain data, for which all-zero bytes are valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer and the size describe `set`.
    let asked = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    // SAFETY: the numbers are below the set's size.
    let allowed = |cpu: &usize| asked == 0 && unsafe { libc::CPU_ISSET(*cpu, &set) };
    let found: Vec<_> = (0..libc::CPU_SETSIZE as usize).filter(allowed).collect();
    if found.is_empty() { vec![0] } else { found }
}
