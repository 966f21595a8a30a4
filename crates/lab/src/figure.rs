//! How a scenario is drawn: the `[[figure]]` and `[[reference]]` tables, as they are written.

use crate::measure::Measure;
use pcc_chart::axis::Scale;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A plot of a scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its title. Without one: the scenario's own.
    pub title: Option<String>,
    /// The measure drawn upwards; over time always goodput.
    #[serde(default = "share")]
    pub y: Measure,
    /// For a frontier, what is drawn to the right.
    pub x: Option<Measure>,
    /// Divides `y` by that of this algorithm at the same point.
    pub over: Option<String>,
    /// How it is drawn.
    #[serde(default)]
    pub kind: Kind,
    /// The scale of the x axis.
    #[serde(default)]
    pub x_scale: Scale,
    /// The scale of the y axis.
    #[serde(default)]
    pub y_scale: Scale,
    /// The label of the x axis, instead of the parameter's name.
    pub x_label: Option<String>,
    /// The label of the y axis, instead of the measure's name.
    pub y_label: Option<String>,
    /// Over time: the point that is drawn. Without one: the first.
    pub point: Option<String>,
    /// Only these algorithms. Without any: all of the scenario.
    #[serde(default)]
    pub algorithms: Vec<String>,
}

impl Figure {
    /// Its title, in a scenario of this title.
    pub fn title_of(&self, scenario: &str) -> String {
        self.title.clone().unwrap_or_else(|| scenario.to_owned())
    }
}

fn share() -> Measure {
    Measure::Share
}

impl Default for Figure {
    /// The figure of a scenario without a `[[figure]]`.
    fn default() -> Self {
        Self {
            title: None,
            y: Measure::Share,
            x: None,
            over: None,
            kind: Kind::Lines,
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            x_label: None,
            y_label: None,
            point: None,
            algorithms: Vec::new(),
        }
    }
}

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A measure against the sweep, a line an algorithm.
    #[default]
    Lines,
    /// The distribution of a measure over the sweep's points.
    Cdf,
    /// One measure against another, a mark for each algorithm and point.
    Frontier,
    /// Goodput of every flow over time, a panel an algorithm, one seed.
    Timeline,
}

/// A paper's figures, where it gives numbers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Whose figures, like `PCC 2015`.
    pub label: String,
    /// Where they stand.
    pub source: String,
    /// Which measure it is.
    #[serde(default = "share")]
    pub y: Measure,
    /// The algorithm in whose colour it is drawn.
    pub algorithm: String,
    /// Value by point of the sweep; the points need not be our own.
    pub points: BTreeMap<String, f64>,
}
