//! The extension module behind the Python package `pcc`: simulations and the analysis of utilities. Comments on functions
//! and classes here are their docstrings; `pcc/_pcc.pyi` has their types.
#![forbid(unsafe_code)]

mod kept;
mod law;
mod record;
#[cfg(target_os = "linux")]
mod scenario;
mod simulation;
mod utilities;
mod watch;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::time::Duration;

fn refused(problem: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(problem.to_string())
}

fn seconds(name: &str, value: f64) -> PyResult<Duration> {
    let time = Duration::try_from_secs_f64(value).ok().filter(|time| *time <= pcc_play::LONGEST);
    time.ok_or_else(|| refused(format!("{name} is {value} s: choose 0 to {} s", pcc_play::LONGEST.as_secs())))
}

#[pymodule]
mod _pcc {
    #[pymodule_export]
    use crate::kept::restored;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::scenario::simulate_scenario;
    #[pymodule_export]
    use crate::simulation::{Simulation, simulate};
    #[pymodule_export]
    use crate::utilities::{check_utility, evaluate_utility, utilities};
}
