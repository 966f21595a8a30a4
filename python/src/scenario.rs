//! The lab's scenarios, by models.

use crate::refused;
use crate::simulation::{Value, objective};
use pcc_lab::model::Plan;
use pcc_lab::scenario::{Selection, Size};
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// Simulates a scenario of the lab by models, as `pcc-lab sim SCENARIO` does. On Linux only.
///
/// name: a supplied scenario such as "random-loss", or a .toml file (docs/lab.md).
/// algorithms: only these of the scenario, such as ["cubic", "quic:pcc"].
/// points: only these values of its sweep, as text.
/// seeds: only these seeds.
/// full: the paper's size instead of the standard one.
/// utility: what flows of PCC strive for that do not say: a name, a formula or a file.
/// law: the control law of PCC, such as "allegro,step_min=0.01".
/// settings: a dict of parameters of the utility or the law.
///
/// Returns the document of `pcc-lab sim SCENARIO --json` as a dict, with `missing` beside: algorithms without a model. Its `rows`
/// make a table: `pandas.DataFrame(pcc.simulate_scenario("random-loss")["rows"])`. Goodput counts payload alone.
///
/// Raises ValueError where the scenario cannot be read, or has not what is wanted.
#[pyfunction]
#[pyo3(signature = (
    name, algorithms = Vec::new(), points = Vec::new(), seeds = Vec::new(), full = false, *, utility = None, law = None,
    settings = None
))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's")]
pub(crate) fn simulate_scenario(
    py: Python<'_>,
    name: &str,
    algorithms: Vec<String>,
    points: Vec<String>,
    seeds: Vec<u64>,
    full: bool,
    utility: Option<String>,
    law: Option<&str>,
    settings: Option<BTreeMap<String, Value>>,
) -> PyResult<Py<PyAny>> {
    let objective = objective(utility.as_deref(), law, settings.unwrap_or_default())?;
    let wanted = Selection { algorithms: &algorithms, points: &points, seeds: &seeds, first_seeds: None };
    let plan = Plan::of(name, if full { Size::Full } else { Size::Standard }, wanted).map_err(refused)?;
    let prepare = |flow: &mut pcc_sim::Flow| {
        if let Some(objective) = &objective {
            pcc_play::suggest(objective, flow);
        }
    };
    let outcomes = py.detach(|| plan.run(&prepare)).map_err(refused)?;
    let document = plan.document(&outcomes).to_string();
    let read = py.import("json")?.getattr("loads")?.call1((document,))?;
    read.set_item("missing", plan.missing)?;
    Ok(read.unbind())
}
