//! What was promised against what is stored.

use crate::guest::quic::PREFIX;
use crate::measure::{Measure, percentile};
use crate::scenario::Scenario;
use crate::scenario::algorithm::MODULE_ALGORITHM;
use crate::summary::Cell;
use serde::{Deserialize, Serialize};

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
    /// What is measured.
    pub measure: Measure,
    /// What must be reached.
    pub must: f64,
    /// What we want to reach; `must` if absent.
    pub goal: Option<f64>,
    /// The measure must not be above `must`, instead of not below.
    #[serde(default)]
    pub at_most: bool,
    /// The measure is divided by the best that these algorithms reach at the same point.
    #[serde(default)]
    pub over: Vec<String>,
    /// They reach it at this point instead.
    pub over_at: Option<String>,
    /// Of the seeds the median counts, not the mean.
    #[serde(default)]
    pub median: bool,
    /// The points are judged together, not one by one.
    pub across: Option<Across>,
}

fn ours() -> String {
    "quic:pcc".into()
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
}

/// One promise and what was measured for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checked {
    /// The number of the promise.
    pub row: String,
    /// The point of the figure, like `buffer=9kB`.
    pub case: String,
    /// The measure, and over which peers.
    pub metric: String,
    /// Whose flow it is; PCC over QUIC is just `pcc`.
    pub algorithm: String,
    /// The mean over the stored seeds, or their median.
    pub measured: f64,
    /// What must be reached.
    pub must: f64,
    /// What we want to reach.
    pub goal: f64,
    /// Whether `must` is reached.
    pub verdict: Verdict,
    /// Whether `goal` is.
    #[serde(skip)]
    pub reaches_goal: bool,
    /// Both are upper limits.
    #[serde(skip)]
    pub at_most: bool,
    /// On how many runs it stands, and on how many it should.
    #[serde(skip)]
    pub seeds: (usize, usize),
}

/// Whether a promise is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// It is.
    Pass,
    /// It is not.
    Miss,
}

/// A promise that the stored results do not cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRun {
    /// The number of the promise.
    pub row: String,
    /// The point of the figure.
    pub case: String,
    /// The measure, and over which peers.
    pub metric: String,
    /// Whose flow it is.
    pub algorithm: String,
    /// Which runs it lacks.
    pub lacks: String,
}

/// The promises of a scenario held against its cells.
pub fn check(scenario: &Scenario, cells: &[Cell<'_>]) -> Vec<Result<Checked, NotRun>> {
    let mut checked = Vec::new();
    for target in &scenario.targets {
        let mut points: Vec<&str> = target.at.iter().map(String::as_str).collect();
        if points.is_empty() {
            points = cells.iter().filter(|cell| cell.algorithm == target.algorithm).map(|cell| cell.point).collect();
        }
        if target.across.is_some() {
            checked.push(judge(scenario, target, cells, &points));
        } else {
            checked.extend(points.iter().map(|point| judge(scenario, target, cells, &[*point])));
        }
    }
    checked
}

fn judge(scenario: &Scenario, target: &Target, cells: &[Cell<'_>], points: &[&str]) -> Result<Checked, NotRun> {
    let metric = match target.over.as_slice() {
        [] => target.measure.to_string(),
        [peer] => format!("{}/{peer}", target.measure),
        peers => format!("{}/best of {} peers", target.measure, peers.len()),
    };
    let metric = target.over_at.iter().fold(metric, |metric, point| format!("{metric} at {point}"));
    let metric = if target.median { format!("median {metric}") } else { metric };
    let key = &scenario.key;
    let case = match (target.across, points) {
        // Without a sweep the scenario is its only case.
        (None, [""]) => scenario.name.clone(),
        (None, points) => format!("{key}={}", points.join(",")),
        (Some(across), points) => format!("{} of {} {key}s", across.name(), points.len()),
    };
    let (row, algorithm) = (target.row.clone(), short(&target.algorithm).to_owned());
    let each: Result<Vec<_>, String> = points.iter().map(|point| at(target, cells, point)).collect();
    let each = match each {
        Ok(each) => each,
        Err(lacks) => return Err(NotRun { row, case, metric, algorithm, lacks }),
    };
    let values = each.iter().map(|(value, _)| *value).collect();
    let measured = match target.across {
        Some(across) => across.of(values),
        None => values.first().copied(),
    };
    let Some(measured) = measured else {
        return Err(NotRun { row, case, metric, algorithm, lacks: "every point".into() });
    };
    let goal = target.goal.unwrap_or(target.must);
    let reaches = |limit: f64| if target.at_most { measured <= limit } else { measured >= limit };
    Ok(Checked {
        row,
        case,
        metric,
        algorithm,
        measured,
        must: target.must,
        goal,
        verdict: if reaches(target.must) { Verdict::Pass } else { Verdict::Miss },
        reaches_goal: reaches(target.must) && reaches(goal),
        at_most: target.at_most,
        seeds: each.iter().map(|(_, seeds)| *seeds).min().unwrap_or_default(),
    })
}

/// The target's measure at a point, and on how many of how many runs it stands; or what is not there.
fn at(target: &Target, cells: &[Cell<'_>], point: &str) -> Result<(f64, (usize, usize)), String> {
    let value = |cell: &Cell<'_>| match target.median {
        true => cell.median(target.measure),
        false => cell.mean(target.measure).map(|mean| mean.mean),
    };
    let of = |algorithm: &str, point: &str| {
        let cell = cells.iter().find(|cell| cell.point == point && cell.algorithm == algorithm);
        let measured = cell.and_then(|cell| Some((value(cell)?, (cell.runs.len(), cell.wanted))));
        // Without a sweep there is no point to name.
        let place = if point.is_empty() { String::new() } else { format!(" at {point}") };
        measured.ok_or_else(|| match cell {
            Some(cell) if !cell.runs.is_empty() => format!("anything to measure of {algorithm}{place}"),
            Some(cell) if !cell.rejected.is_empty() => format!("{algorithm}{place} (its hosts held it back)"),
            _ => format!("{algorithm}{place}"),
        })
    };
    let (mut reached, mut seeds) = of(&target.algorithm, point)?;
    let peers_at = target.over_at.as_deref().unwrap_or(point);
    let peers = target.over.iter().map(|peer| of(peer, peers_at)).collect::<Result<Vec<_>, String>>()?;
    let best = if target.at_most { f64::min } else { f64::max };
    if let Some((peer, peer_seeds)) = peers.into_iter().reduce(|one, other| (best(one.0, other.0), one.1.min(other.1)))
    {
        // Whoever beats a peer that moved nothing at all beats it by far, but not by infinity, which JSON lacks.
        reached /= if peer == 0.0 { 1e-9 } else { peer };
        seeds = seeds.min(peer_seeds);
    }
    Ok((reached, seeds))
}

/// How an algorithm is called in results: ours over QUIC, which most of them are about, without its prefix.
pub fn short(algorithm: &str) -> &str {
    if algorithm == MODULE_ALGORITHM {
        return "kernel:pcc";
    }
    algorithm.strip_prefix(PREFIX).filter(|name| name.starts_with("pcc")).unwrap_or(algorithm)
}

impl Across {
    fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
            Self::P5 => "5th percentile",
            Self::P95 => "95th percentile",
        }
    }

    fn of(self, values: Vec<f64>) -> Option<f64> {
        match self {
            Self::Mean if values.is_empty() => None,
            Self::Mean => Some(values.iter().sum::<f64>() / values.len() as f64),
            Self::Median => percentile(values, 0.5),
            Self::P5 => percentile(values, 0.05),
            Self::P95 => percentile(values, 0.95),
        }
    }
}

/// What is wrong with a scenario's targets, if anything: points and algorithms that it does not have.
pub(crate) fn problem(targets: &[Target], points: &[&str], algorithms: &[&str]) -> Option<String> {
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
        if target.over_at.is_some() && target.over.is_empty() {
            return Some(format!("a target of row {} has `over_at` without `over`", target.row));
        }
        let goal = target.goal.unwrap_or(target.must);
        if (target.at_most && goal > target.must) || (!target.at_most && goal < target.must) {
            return Some(format!("a target of row {} has a `goal` that is easier than its `must`", target.row));
        }
    }
    None
}

#[cfg(test)]
mod tests;
