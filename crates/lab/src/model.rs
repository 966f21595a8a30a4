//! The lab's runs by models: what the guest is told becomes a simulation, and what the simulation counted becomes what the guest
//! would have measured. One set of scenarios, measures and promises judges both.

mod outcome;
mod translate;

pub use outcome::{KERNEL, run};
pub use translate::{Prepare, control};
