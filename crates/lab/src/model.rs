//! The lab's runs by models: what the guest is told becomes a simulation, and what the simulation counted becomes what the guest
//! would have measured. One set of scenarios, measures and promises judges both.

mod outcome;
mod translate;

pub use outcome::{KERNEL, run};
pub use translate::{Prepare, control};

use crate::check;
use crate::scenario::{self, NotThere, Options, Run, Scenario, ScenarioError, Selection, Size};
use crate::spec::Outcome;
use crate::summary;
use pcc_link::Impossible;
use pcc_play::each_at_once;
use serde_json::{Value, json};

/// A scenario of which some runs can be simulated.
#[derive(Clone, Debug)]
pub struct Plan {
    /// It, with what is wanted of it and has a model.
    pub scenario: Scenario,
    /// Algorithms that were left out, since there is no model of them.
    pub missing: Vec<String>,
}

/// Why nothing of a scenario can be simulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// It cannot be read.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// It has not what is wanted.
    #[error(transparent)]
    NotThere(#[from] NotThere),
    /// No algorithm of it has a model.
    #[error("nothing of scenario {0} is left to simulate: there are models of quic:pcc, reno, cubic, bbr")]
    NoModel(String),
}

impl Plan {
    /// The supplied scenario of that name, or that of a .toml file.
    ///
    /// Errors: it cannot be read, has not what is wanted, or none of it has a model.
    pub fn of(name: &str, size: Size, wanted: Selection<'_>) -> Result<Self, PlanError> {
        let options = Options { size, algorithms: wanted.algorithms.to_vec(), ..Options::default() };
        let mut scenarios = [scenario::load(name, &options)?];
        wanted.apply(&mut scenarios)?;
        let [mut scenario] = scenarios;
        let missing = leave_out(&mut scenario);
        if scenario.runs.is_empty() { Err(PlanError::NoModel(scenario.name)) } else { Ok(Self { scenario, missing }) }
    }

    /// Simulates all runs.
    ///
    /// Errors: a path cannot be.
    pub fn run(&self, prepare: Prepare<'_>) -> Result<Vec<Option<Outcome>>, Impossible> {
        each_at_once(&self.scenario.runs, |one| run(&one.spec, prepare)).into_iter().collect()
    }

    /// Its results, for programs: docs/json.md describes it.
    pub fn document(&self, outcomes: &[Option<Outcome>]) -> Value {
        let mut cells = summary::cells(&self.scenario, outcomes);
        cells.retain(|cell| !cell.runs.is_empty());
        let checked: Vec<_> = check::check(&self.scenario, &cells).into_iter().flatten().collect();
        json!({
            "scenario": self.scenario.name,
            "kernel": KERNEL,
            "parameter": self.scenario.parameter,
            "rows": summary::rows(&cells, &self.scenario.measures()),
            "promises": checked,
        })
    }
}

/// Takes the runs of which there is no model out of a scenario, and answers whose they are.
fn leave_out(scenario: &mut Scenario) -> Vec<String> {
    let is_known = |run: &Run| run.spec.flows.iter().all(|flow| control(flow).is_some());
    let mut missing: Vec<String> = Vec::new();
    for run in scenario.runs.iter().filter(|run| !is_known(run)) {
        if !missing.contains(&run.algorithm) {
            missing.push(run.algorithm.clone());
        }
    }
    scenario.runs.retain(is_known);
    missing
}
