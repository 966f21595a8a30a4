//! The runs of scenarios as a work queue: paths calibrated first, one guest a processor, nothing run twice, and no run
//! that fails stops the others.

use crate::calibration;
use crate::cost::{self, Model};
use crate::machine::{Machine, RunError};
use crate::scenario::{Run, Scenario};
use crate::spec::Spec;
use crate::store::Store;
pub use pcc_play::{ParseShardError, Shard};
use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Why a run has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The guest gave none.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The emulated path is not what was asked for, so nothing measured on it counts.
    #[error("calibration failed: {0}")]
    Calibration(String),
    /// It could not be stored.
    #[error("could not store the result: {0}")]
    Store(#[from] io::Error),
}

impl JobError {
    /// Whether the guest took too much real time.
    pub const fn is_timeout(&self) -> bool {
        matches!(self, Self::Run(RunError::TimedOut(_)))
    }
}

/// Something to run.
#[derive(Clone, Debug)]
struct Job<'a> {
    scenario: &'a str,
    /// The run; none for one that calibrates.
    run: Option<&'a Run>,
    spec: Spec,
}

/// A run that failed.
#[derive(Debug)]
pub struct Failure {
    /// The scenario's name.
    pub scenario: String,
    /// The run; none for one that calibrates: then all runs over this path were left out.
    pub run: Option<Run>,
    /// The event.
    pub error: JobError,
}

/// How far a campaign is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Runs carried out.
    pub done: usize,
    /// The number of all.
    pub total: usize,
    /// How many of those failed.
    pub failed: usize,
    /// Real time the rest will take.
    pub remaining: Duration,
}

/// A campaign's result.
#[derive(Debug, Default)]
pub struct Done {
    /// The number of runs that were carried out.
    pub carried_out: usize,
    /// The failed runs.
    pub failures: Vec<Failure>,
    /// Somebody stopped it before it was through.
    pub is_stopped: bool,
}

/// The machine that carries runs out.
#[derive(Debug)]
pub struct Campaign<'a> {
    /// Boots the guests.
    pub machine: &'a Machine,
    /// Keeps what they measure.
    pub store: &'a Store,
    /// One guest runs on each of these at a time.
    pub processors: &'a [usize],
    /// Ends the campaign: running guests are given up, what is stored stays.
    pub stop: &'a AtomicBool,
}

/// The work of a campaign.
#[derive(Debug)]
pub struct Plan<'a> {
    calibrations: Vec<Job<'a>>,
    runs: Vec<Job<'a>>,
    /// Runs that are stored already.
    pub stored: usize,
    /// Real time that the rest takes on one processor, as far as it is known. Unit: s.
    pub cost: f64,
    model: Model,
}

impl Plan<'_> {
    /// Runs that are to be carried out, calibrations not counted.
    pub fn missing(&self) -> usize {
        self.runs.len()
    }

    /// Real time on so many processors.
    pub fn time(&self, processors: usize) -> Duration {
        let jobs = || self.calibrations.iter().chain(&self.runs);
        // No run is shared between processors.
        let longest = jobs().map(|job| self.model.predict(&job.spec)).fold(0.0, f64::max);
        Duration::from_secs_f64((self.cost / processors.max(1) as f64).max(longest))
    }
}

/// The runs of these scenarios that a store lacks.
pub fn plan<'a>(scenarios: &'a [Scenario], store: &Store) -> Plan<'a> {
    let model = store.model();
    let (mut calibrations, mut runs): (Vec<Job<'a>>, Vec<Job<'a>>) = (Vec::new(), Vec::new());
    let mut stored = 0;
    for scenario in scenarios {
        for run in &scenario.runs {
            if store.find(&run.spec).is_some() {
                stored += 1;
                continue;
            }
            for spec in calibration::checks([&run.spec]) {
                if !calibrations.iter().any(|known| known.spec == spec) {
                    calibrations.push(Job { scenario: &scenario.name, run: None, spec });
                }
            }
            // Scenarios may share runs.
            if !runs.iter().any(|known| known.spec == run.spec) {
                runs.push(Job { scenario: &scenario.name, run: Some(run), spec: run.spec.clone() });
            }
        }
    }
    // `sum` has -0 of no runs.
    let cost = calibrations.iter().chain(&runs).fold(0.0, |sum, job| sum + model.predict(&job.spec));
    Plan { calibrations, runs, stored, cost, model }
}

/// The unit of a scenario that is in one shard only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// A run: what shards stored is put together afterwards.
    Run,
    /// All seeds and senders of a point, whose figures a shard so knows by itself.
    Point,
}

/// Keeps of the scenarios only what the shard is to run. Every machine that is given the
/// same scenarios divides them alike, whatever it has stored; the shards cost about the same.
pub fn shard(scenarios: &mut [Scenario], Shard { number, count }: Shard, whole: Whole) {
    let mut costs: Vec<(f64, Vec<(usize, usize)>)> = Vec::new();
    for (place, scenario) in scenarios.iter().enumerate() {
        let mut points = BTreeMap::new();
        for (run, what) in scenario.runs.iter().enumerate() {
            let own = costs.len();
            let part = if whole == Whole::Point { *points.entry(&what.point).or_insert(own) } else { own };
            if part == own {
                costs.push((0.0, Vec::new()));
            }
            let (cost, runs) = &mut costs[part];
            *cost += cost::estimate(&what.spec);
            runs.push((place, run));
        }
    }
    // The longest first, each to whoever has least; equal ones keep their order.
    costs.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut loads = vec![0.0_f64; count.max(1)];
    let mut mine = Vec::new();
    for (cost, runs) in costs {
        let least = (0..loads.len()).min_by(|one, other| loads[*one].total_cmp(&loads[*other])).unwrap_or(0);
        loads[least] += cost;
        if least + 1 == number {
            mine.extend(runs);
        }
    }
    for (place, scenario) in scenarios.iter_mut().enumerate() {
        let mut run = 0..;
        scenario.runs.retain(|_| run.next().is_some_and(|run| mine.contains(&(place, run))));
    }
}

impl Campaign<'_> {
    /// Carries out what is planned. `tell` hears of every run that ends.
    pub fn run(&self, plan: Plan<'_>, tell: &(dyn Fn(Progress) + Sync)) -> Done {
        let total = plan.missing();
        let queue = Queue {
            campaign: self,
            state: Mutex::new(State {
                calibrations: plan.calibrations.into_iter().rev().collect(),
                runs: plan.runs.into_iter().rev().collect(),
                total,
                left: plan.cost,
                ..State::default()
            }),
            model: plan.model,
            tell,
        };
        queue.work();
        // A path that could not be calibrated takes its runs with it.
        queue.work();
        let state = queue.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_stopped = self.stop.load(Ordering::Relaxed);
        Done { carried_out: state.done, failures: state.failures, is_stopped }
    }
}

#[derive(Default)]
struct State<'a> {
    /// Still to do, the next one last.
    calibrations: Vec<Job<'a>>,
    runs: Vec<Job<'a>>,
    /// Calibrations that failed.
    wrong: Vec<Spec>,
    done: usize,
    total: usize,
    failures: Vec<Failure>,
    /// Predicted real time of what is not done, on one processor. Unit: s.
    left: f64,
    /// The same of what is, and what it took.
    predicted: f64,
    took: f64,
}

struct Queue<'a> {
    campaign: &'a Campaign<'a>,
    state: Mutex<State<'a>>,
    model: Model,
    tell: &'a (dyn Fn(Progress) + Sync),
}

impl<'a> Queue<'a> {
    /// First the calibrations, or, when there are none left, the runs.
    fn work(&self) {
        let calibrates = !lock(&self.state).calibrations.is_empty();
        std::thread::scope(|scope| {
            for &processor in self.campaign.processors {
                scope.spawn(move || {
                    while let Some(job) = self.next(calibrates) {
                        self.one(job, processor);
                    }
                });
            }
        });
    }

    fn next(&self, calibrates: bool) -> Option<Job<'a>> {
        if self.campaign.stop.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = lock(&self.state);
        if calibrates {
            return state.calibrations.pop();
        }
        loop {
            let job = state.runs.pop()?;
            if !calibration::checks([&job.spec]).iter().any(|check| state.wrong.contains(check)) {
                return Some(job);
            }
            state.left -= self.model.predict(&job.spec);
            state.done += 1;
        }
    }

    fn one(&self, job: Job<'a>, processor: usize) {
        let began = Instant::now();
        let outcome = self.outcome(&job, processor);
        if matches!(outcome, Err(JobError::Run(RunError::Stopped))) {
            return;
        }
        let predicted = self.model.predict(&job.spec);
        let mut state = lock(&self.state);
        state.left -= predicted;
        state.predicted += predicted;
        state.took += began.elapsed().as_secs_f64();
        state.done += usize::from(job.run.is_some());
        if let Err(error) = outcome {
            if job.run.is_none() {
                state.wrong.push(job.spec);
            }
            state.failures.push(Failure { scenario: job.scenario.to_owned(), run: job.run.cloned(), error });
        }
        // The first runs' time says little: predictions weigh as much as a minute of experience.
        let pace = (state.took + 60.0) / (state.predicted + 60.0);
        let remaining = (state.left * pace / self.campaign.processors.len() as f64).max(0.0);
        let (done, total, failed) = (state.done, state.total, state.failures.len());
        drop(state);
        (self.tell)(Progress { done, total, failed, remaining: Duration::from_secs_f64(remaining) });
    }

    fn outcome(&self, job: &Job<'_>, processor: usize) -> Result<(), JobError> {
        let Campaign { machine, store, stop, .. } = self.campaign;
        let began = Instant::now();
        let known = store.find(&job.spec);
        let outcome = match &known {
            // A calibration, or another process was faster.
            Some(outcome) => outcome,
            None => &machine.run(&job.spec, processor, stop)?,
        };
        let wrong = calibration::judge(&job.spec, outcome);
        if !wrong.is_empty() {
            return Err(JobError::Calibration(wrong.join("; ")));
        }
        if known.is_none() {
            store.keep(&job.spec, outcome, began.elapsed().as_secs_f64())?;
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;
    use crate::spec::Outcome;
    use std::collections::BTreeSet;

    #[test]
    fn shards_are_all_of_it_once_and_cost_about_the_same() {
        let all = || ["satellite", "shallow-buffer"].map(|name| scenario::load(name, &Default::default()).unwrap());
        let mut total = 0;
        let mut costs = Vec::new();
        for number in 1..=5 {
            let mut mine = all();
            shard(&mut mine, Shard { number, count: 5 }, Whole::Run);
            total += mine.iter().map(|scenario| scenario.runs.len()).sum::<usize>();
            let runs = mine.iter().flat_map(|scenario| &scenario.runs);
            costs.push(runs.map(|run| cost::estimate(&run.spec)).sum::<f64>());
        }
        assert_eq!(total, all().iter().map(|scenario| scenario.runs.len()).sum::<usize>());
        let (least, most) = (costs.iter().copied().fold(f64::MAX, f64::min), costs.iter().copied().fold(0.0, f64::max));
        assert!(most < 1.2 * least, "{costs:?}");
    }

    #[test]
    fn a_whole_point_is_in_one_shard_with_all_of_its_runs() {
        let whole = scenario::load("shallow-buffer", &Default::default()).unwrap();
        let mut runs = Vec::new();
        for number in 1..=3 {
            let mut mine = [whole.clone()];
            shard(&mut mine, Shard { number, count: 3 }, Whole::Point);
            assert!(!mine[0].runs.is_empty() && mine[0].runs.len() < whole.runs.len());
            runs.extend(mine[0].runs.iter().map(|run| (run.point.clone(), number)));
        }
        assert_eq!(runs.len(), whole.runs.len());
        let shards: BTreeSet<_> = runs.iter().collect();
        let points: BTreeSet<_> = runs.iter().map(|(point, _)| point).collect();
        assert_eq!(shards.len(), points.len(), "none is in two");
    }

    #[test]
    fn plan_leaves_out_what_is_stored_and_calibrates_each_path_once() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path(), "k");
        let scenarios = [scenario::load("shallow-buffer", &Default::default()).unwrap()];
        let total = scenarios[0].runs.len();
        let whole = plan(&scenarios, &store);
        assert_eq!((whole.missing(), whole.stored), (total, 0));
        store.keep(&scenarios[0].runs[0].spec, &Outcome::default(), 1.0).unwrap();
        let rest = plan(&scenarios, &store);
        assert_eq!((rest.missing(), rest.stored), (total - 1, 1));
        let checks = calibration::checks(scenarios[0].runs.iter().map(|run| &run.spec));
        assert_eq!(rest.calibrations.len(), checks.len());
        assert!(rest.time(2) < rest.time(1));
        assert_eq!(plan(&[scenarios[0].clone(), scenarios[0].clone()], &store).missing(), total - 1, "nothing twice");
    }
}
