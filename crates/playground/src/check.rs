//! A utility on a path, by computation: its words, its picture and its traps.

use crate::files::{self, Given};
use crate::run::objective;
use pcc_link::Path;
use pcc_play::findings;
use pcc_play::{Refused, drawing};
use pcc_utility::{Findings, Objective};
use serde::Deserialize;
use serde_json::{Value, json};

/// The options of `pcc-lab utility check`, by their names there.
#[derive(Debug, Deserialize)]
pub(crate) struct Check {
    path: String,
    utility: String,
    #[serde(default)]
    law: String,
    #[serde(default)]
    set: String,
    #[serde(default)]
    files: Given,
}

/// As `pcc-lab utility check` counts where nobody says otherwise.
const SENDERS: [u32; 4] = [1, 2, 5, 10];

/// Errors: the utility is none, or there can be no such path.
pub(crate) fn answer(check: &Check) -> Result<Value, Refused> {
    let fair = || Objective::new("fair", "fair", None, &[]).map_err(|error| Refused::new("utility", error));
    let objective = objective(&check.utility, &check.law, &check.set)?.map_or_else(fair, Ok)?;
    let files = |name: &str, most| files::text(&check.files, name, most);
    let path = Path::read(check.path.trim(), &files).map_err(|error| Refused::new("path", error))?;
    let bottleneck = findings::bottleneck(&path).map_err(|error| Refused::new("path", error))?;
    let charts =
        drawing::charts(&objective, bottleneck).map(|chart| json!({ "title": chart.title, "svg": chart.alone() }));
    let found = Findings::of(objective, bottleneck, &SENDERS);
    let told = findings::json(&found, &path.to_string(), None);
    Ok(
        json!({ "text": findings::text(&found, None), "charts": charts, "traps": told["traps"], "law": told["law"], "findings": told }),
    )
}
