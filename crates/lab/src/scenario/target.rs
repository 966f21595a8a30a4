//! A scenario's promises.

use crate::measure::Measure;
use serde::Deserialize;

/// A promise: a measure that an algorithm must reach at some points of the sweep.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The number of the promise.
    pub row: String,
    /// Whose flow it is about.
    #[serde(default = "ours")]
    pub algorithm: String,
    /// The points, as in the sweep's values. Without any: all.
    #[serde(default)]
    pub at: Vec<String>,
    /// The measure.
    pub measure: Measure,
    /// The promise.
    pub must: f64,
    /// The goal; `must` if absent.
    pub goal: Option<f64>,
    /// The measure must not be above `must`, instead of not below.
    #[serde(default)]
    pub at_most: bool,
    /// The measure is divided by the best that these algorithms reach at the same point.
    #[serde(default)]
    pub over: Vec<String>,
    /// Instead, so many times the best that they reach is taken off.
    pub less: Option<f64>,
    /// They reach it at this point instead.
    pub over_at: Option<String>,
    /// Held against the peer's seed by seed, where each seed is another path: of those figures the mean or median counts.
    #[serde(default)]
    pub paired: bool,
    /// The statistic over the seeds.
    #[serde(default)]
    pub seeds: OfSeeds,
    /// The points are judged together, not one by one.
    pub across: Option<Across>,
}

fn ours() -> String {
    "quic:pcc".into()
}

/// How several seeds make one figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OfSeeds {
    /// Their mean.
    #[default]
    Mean,
    /// Their median.
    Median,
    /// The one of these seeds that speaks most against the promise: of others it says nothing.
    Worst,
}

/// How several points make one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Across {
    /// Their mean.
    Mean,
    /// Their median.
    Median,
    /// Their fifth percentile.
    P5,
    /// Their 95th percentile.
    P95,
    /// The one that speaks most against the promise.
    Worst,
}

/// The fault of a scenario's targets, if any: points and algorithms that it does not have.
pub(super) fn problem(targets: &[Target], points: &[&str], algorithms: &[&str]) -> Option<String> {
    for target in targets {
        if let Some(point) = target.at.iter().chain(&target.over_at).find(|at| !points.contains(&at.as_str())) {
            return Some(format!(
                "a target of row {} names the point {point}, which is no value of the sweep",
                target.row
            ));
        }
        let mut named = target.over.iter().chain([&target.algorithm]);
        if let Some(name) = named.find(|name| !algorithms.contains(&name.as_str())) {
            return Some(format!("a target of row {} names {name}, which is none of its algorithms", target.row));
        }
        let key = [("over_at", target.over_at.is_some()), ("less", target.less.is_some())];
        if let Some((key, _)) = key.iter().find(|(_, is_there)| *is_there && target.over.is_empty()) {
            return Some(format!("a target of row {} has `{key}` without `over`", target.row));
        }
        if target.paired && (target.over.len() != 1 || target.over_at.is_some()) {
            return Some(format!(
                "a target of row {} is `paired`: name one peer with `over`, and no `over_at`",
                target.row
            ));
        }
        let goal = target.goal.unwrap_or(target.must);
        if (target.at_most && goal > target.must) || (!target.at_most && goal < target.must) {
            return Some(format!("a target of row {} has a `goal` that is easier than its `must`", target.row));
        }
    }
    None
}
