//! The lab's runs by models: what the guest is told becomes a simulation, and what the simulation counted becomes what the guest
//! would have measured. One set of scenarios, measures and promises judges both.

mod outcome;
mod page;
mod translate;

pub use outcome::{KERNEL, run};
pub use page::page;
pub use translate::{Prepare, control};

use crate::scenario::{Run, Scenario};

/// Takes the runs of which there is no model out of a scenario, and answers whose they are.
pub fn leave_out(scenario: &mut Scenario) -> Vec<String> {
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
