//! A run of senders over a path: in stretches, with pictures of all so far.

use crate::files::{self, Given};
use core::time::Duration;
use pcc::utility::Utility;
use pcc_chart::ink::Ground;
use pcc_chart::plot::Plot;
use pcc_chart::svg::{Reach, Size, draw_within, legend};
use pcc_link::duration;
use pcc_play::page::{Course, plots};
use pcc_play::{Play, Refused, Told};
use pcc_sim::{Results, Running, Scenario};
use pcc_utility::file::is_file;
use pcc_utility::{LawChoice, Objective, ObjectiveError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// A browser has less memory than a computer: each sample and each RTT of a run is kept.
const LONGEST: Duration = Duration::from_secs(1800);
/// Height of a picture. Unit: pixels.
const HEIGHT: f64 = 220.0;

/// The options of `pcc-lab sim`, by their names there. Without text an option is not given.
#[derive(Debug, Deserialize)]
pub(crate) struct Options {
    path: String,
    #[serde(default)]
    then: Vec<String>,
    flows: String,
    #[serde(default)]
    queue: String,
    #[serde(default)]
    ecn: bool,
    #[serde(default)]
    policer: String,
    time: String,
    seed: String,
    #[serde(default)]
    utility: String,
    #[serde(default)]
    law: String,
    #[serde(default)]
    set: String,
    /// The recorded links that paths name.
    #[serde(default)]
    files: Given,
}

fn given(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// A utility by name or formula; a page has no files.
pub(crate) fn read(utility: &str) -> Result<Arc<dyn Utility>, String> {
    if is_file(utility) {
        return Err(format!("`{utility}` names a file, and a page reads no files: write the formula"));
    }
    pcc_play::read(utility)
}

/// The aim of PCC; `None` if nothing was written.
pub(crate) fn objective(utility: &str, law: &str, set: &str) -> Result<Option<Objective>, Refused> {
    let (utility, law, set) = (given(utility), given(law), given(set));
    if utility.is_none() && law.is_none() && set.is_none() {
        return Ok(None);
    }
    let utility = utility.unwrap_or("fair");
    read(utility).map_err(|problem| Refused::new("utility", problem))?;
    let law: Option<LawChoice> = law.map(str::parse).transpose().map_err(|error| Refused::new("law", error))?;
    let set = set.iter().flat_map(|all| all.split([',', ' '])).filter(|one| !one.is_empty());
    let set = set.map(|one| one.parse().map_err(|problem: String| Refused::new("set", problem)));
    let set = set.collect::<Result<Vec<_>, _>>()?;
    let at = |error: &ObjectiveError| match error {
        ObjectiveError::Utility(_) => "utility",
        ObjectiveError::Law(_) if set.is_empty() => "law",
        _ => "set",
    };
    Objective::new(utility, utility, law.as_ref(), &set).map(Some).map_err(|error| Refused::new(at(&error), error))
}

/// A run.
#[derive(Debug)]
pub(crate) struct Run {
    names: Vec<String>,
    stage: Stage,
}

/// As far as it came.
#[derive(Debug)]
enum Stage {
    Running(Box<Running>),
    Over(Box<(Scenario, Results)>),
    /// While it is moved on.
    Nowhere,
}

impl Run {
    /// Puts it together.
    ///
    /// Errors: an option that cannot be read, or that does not fit the others.
    pub(crate) fn stage(options: &Options) -> Result<Self, Refused> {
        let objective = objective(&options.utility, &options.law, &options.set)?;
        let time = duration(options.time.trim()).map_err(|problem| Refused::new("time", problem))?;
        if time > LONGEST {
            let problem =
                format!("{time:?} is too long for a page: at most {} s; `pcc-lab sim` takes 24 h", LONGEST.as_secs());
            return Err(Refused::new("time", problem));
        }
        let seed = options.seed.trim().parse();
        let seed =
            seed.map_err(|_| Refused::new("seed", format!("a seed is a whole number from 0 to {}", u64::MAX)))?;
        let play = Play {
            path: options.path.trim(),
            files: &|name, most| files::text(&options.files, name, most),
            then: &options.then,
            flows: &options.flows,
            read: &read,
            objective: objective.as_ref(),
            queue: given(&options.queue),
            ecn: options.ecn,
            policer: given(&options.policer),
            time,
        };
        let staged = play.stage()?;
        let running = Running::begin(staged.seeded(seed)).map_err(|error| Refused::new("path", error))?;
        Ok(Self { names: staged.names, stage: Stage::Running(Box::new(running)) })
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.scenario().map_or(0.0, |scenario| scenario.duration.as_secs_f64())
    }

    fn scenario(&self) -> Option<&Scenario> {
        match &self.stage {
            Stage::Running(running) => Some(running.scenario()),
            Stage::Over(over) => Some(&over.0),
            Stage::Nowhere => None,
        }
    }

    /// Simulates up to that second, and answers how far it came.
    pub(crate) fn pass(&mut self, seconds: f64) -> f64 {
        match &mut self.stage {
            Stage::Running(running) => {
                running.pass(Duration::try_from_secs_f64(seconds).unwrap_or_default());
                running.at().as_secs_f64()
            }
            _ => self.seconds(),
        }
    }

    /// Simulates the rest.
    fn end(&mut self) -> Option<&(Scenario, Results)> {
        self.stage = match core::mem::replace(&mut self.stage, Stage::Nowhere) {
            Stage::Running(running) => Stage::Over(Box::new(running.end())),
            stage => stage,
        };
        if let Stage::Over(over) = &self.stage { Some(over) } else { None }
    }

    /// The document of `pcc-lab sim --json`, also as text since JavaScript rounds a large seed, and the tool's table.
    pub(crate) fn results(&mut self) -> Value {
        let names = self.names.clone();
        self.end().map_or(Value::Null, |(scenario, results)| {
            let told = Told::of((scenario, results), &names, Vec::new());
            let document = json!({ "runs": [told.json()] });
            json!({ "runs": document["runs"], "text": told.text(), "json": document.to_string() })
        })
    }

    /// The pictures so far.
    pub(crate) fn draw(&self, width: f64, reach: &[f64]) -> Value {
        let plots = match &self.stage {
            Stage::Running(running) => plots(&Course::so_far(running, &self.names)),
            Stage::Over(over) => plots(&Course::of(&over.0, &over.1, &self.names)),
            Stage::Nowhere => Vec::new(),
        };
        // Before its first sample a run is as wide as at its end.
        let end = self.seconds() / 1.06;
        let size = Size { width: width.clamp(200.0, 2000.0), height: HEIGHT };
        let pictures = plots.iter().enumerate().map(|(place, plot)| {
            let reach = Reach { x: end, y: reach.get(place).copied().unwrap_or(0.0) };
            picture(plot, draw_within(plot, size, Ground::Page, reach))
        });
        json!({ "pictures": pictures.collect::<Vec<_>>() })
    }
}

fn picture(plot: &Plot, svg: String) -> Value {
    let values = plot.series.iter().flat_map(|series| &series.points).map(|point| point.y.mean);
    let legend = legend(plot, Ground::Page).into_iter().map(|(key, name)| json!({ "key": key, "name": name }));
    json!({
        "title": plot.title,
        "unit": plot.y.label,
        "svg": svg,
        "legend": legend.collect::<Vec<_>>(),
        "top": values.fold(0.0, f64::max),
    })
}
