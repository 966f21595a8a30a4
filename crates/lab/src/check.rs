//! What was promised against what is stored.

use crate::guest::quic::PREFIX;
use crate::interval::Interval;
use crate::measure::Measure;
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
    /// Instead, so many times the best that they reach is taken off.
    pub less: Option<f64>,
    /// They reach it at this point instead.
    pub over_at: Option<String>,
    /// Held against the peer's seed by seed, where each seed is another path: of those figures the mean or median counts.
    #[serde(default)]
    pub paired: bool,
    /// What counts of the seeds.
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
    /// The mean over the seeds, their median, or the worst of them.
    pub measured: f64,
    /// Between which values it lies with 95 % confidence.
    pub interval: [f64; 2],
    /// On how many runs it stands: all of them, and where peers are involved as many of each.
    pub seeds: usize,
    /// What must be reached.
    pub must: f64,
    /// What we want to reach.
    pub goal: f64,
    /// Whether `must` is reached.
    pub verdict: Verdict,
    /// Whether the whole interval reaches `goal`.
    #[serde(skip)]
    pub reaches_goal: bool,
    /// Both are upper limits.
    #[serde(skip)]
    pub at_most: bool,
}

/// Whether a promise is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// The whole interval reaches what must be reached.
    Pass,
    /// What must be reached lies within the interval: it takes more seeds to tell.
    Open,
    /// No part of the interval reaches it.
    Miss,
}

/// A promise that the stored results do not tell of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotJudged {
    /// The number of the promise.
    pub row: String,
    /// The point of the figure.
    pub case: String,
    /// The measure, and over which peers.
    pub metric: String,
    /// Whose flow it is.
    pub algorithm: String,
    /// Which runs or seeds it lacks.
    pub lacks: String,
}

/// The promises of a scenario held against its cells.
pub fn check(scenario: &Scenario, cells: &[Cell<'_>]) -> Vec<Result<Checked, NotJudged>> {
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

fn judge(scenario: &Scenario, target: &Target, cells: &[Cell<'_>], points: &[&str]) -> Result<Checked, NotJudged> {
    let peers = match target.over.as_slice() {
        [] => None,
        [peer] => Some(peer.clone()),
        peers => Some(format!("best of {} peers", peers.len())),
    };
    let metric = match (peers, target.less) {
        (None, _) => target.measure.to_string(),
        (Some(peers), None) => format!("{}/{peers}", target.measure),
        (Some(peers), Some(times)) => format!("{}-{times}*{peers}", target.measure),
    };
    let metric = target.over_at.iter().fold(metric, |metric, point| format!("{metric} at {point}"));
    let metric = match target.seeds {
        OfSeeds::Mean => metric,
        OfSeeds::Median => format!("median {metric}"),
        OfSeeds::Worst => format!("worst {metric}"),
    };
    let metric = if target.paired { format!("{metric}, seed by seed") } else { metric };
    let key = &scenario.key;
    let case = match (target.across, points) {
        // Without a sweep the scenario is its only case.
        (None, [""]) => scenario.name.clone(),
        (None, points) => format!("{key}={}", points.join(",")),
        (Some(across), points) => format!("{} of {} {key}s", across.name(), points.len()),
    };
    let (row, algorithm) = (target.row.clone(), short(&target.algorithm));
    let not_judged = |lacks: String| {
        let (row, case, metric, algorithm) = (row.clone(), case.clone(), metric.clone(), algorithm.clone());
        Err(NotJudged { row, case, metric, algorithm, lacks })
    };
    let each: Result<Vec<_>, String> = points.iter().map(|point| at(target, cells, point)).collect();
    let each = match each {
        Ok(each) => each,
        Err(lacks) => return not_judged(lacks),
    };
    let figures: Vec<_> = each.iter().map(|(figure, _)| *figure).collect();
    let Some(figure) = target.across.map_or(figures.first().copied(), |across| across.of(&figures, target.at_most))
    else {
        return not_judged(format!("more points than {} for an interval", figures.len()));
    };
    let goal = target.goal.unwrap_or(target.must);
    // The ends of the interval that speak most for the promise and most against it.
    let (best, worst) = if target.at_most { (figure.low, figure.high) } else { (figure.high, figure.low) };
    let reaches = |value: f64, limit: f64| if target.at_most { value <= limit } else { value >= limit };
    let verdict = match (reaches(worst, target.must), reaches(best, target.must)) {
        (true, _) => Verdict::Pass,
        (false, true) => Verdict::Open,
        (false, false) => Verdict::Miss,
    };
    Ok(Checked {
        row,
        case,
        metric,
        algorithm,
        measured: figure.middle,
        interval: [figure.low, figure.high],
        seeds: each.iter().map(|(_, seeds)| *seeds).min().unwrap_or_default(),
        must: target.must,
        goal,
        verdict,
        reaches_goal: verdict == Verdict::Pass && reaches(worst, goal),
        at_most: target.at_most,
    })
}

/// The target's measure at a point, and on how many runs it stands; or what is lacking.
fn at(target: &Target, cells: &[Cell<'_>], point: &str) -> Result<(Interval, usize), String> {
    let held_against = |own: Interval, peer| target.less.map_or_else(|| own.over(peer), |times| own.less(times, peer));
    if let ([peer], true) = (target.over.as_slice(), target.paired) {
        let own = values(target, cells, &target.algorithm, point)?;
        let others = values(target, cells, peer, point)?;
        let one = |(own, other): (&f64, &f64)| held_against(Interval::exactly(*own), Interval::exactly(*other)).middle;
        let each: Vec<f64> = own.iter().zip(&others).map(one).collect();
        return figure(target, each, &format!("{} and {peer}", target.algorithm), point);
    }
    let (own, mut seeds) = of(target, cells, &target.algorithm, point)?;
    let peers_at = target.over_at.as_deref().unwrap_or(point);
    let peers = target.over.iter().map(|peer| of(target, cells, peer, peers_at)).collect::<Result<Vec<_>, _>>()?;
    let is_better = |one: &Interval, other: &Interval| (one.middle < other.middle) == target.at_most;
    let mut best: Option<Interval> = None;
    for (peer, its_seeds) in peers {
        seeds = seeds.min(its_seeds);
        best = Some(best.filter(|best| !is_better(&peer, best)).unwrap_or(peer));
    }
    Ok((best.map_or(own, |best| held_against(own, best)), seeds))
}

/// A measure of one algorithm over all of its seeds.
fn of(target: &Target, cells: &[Cell<'_>], algorithm: &str, point: &str) -> Result<(Interval, usize), String> {
    figure(target, values(target, cells, algorithm, point)?, algorithm, point)
}

/// The measure of each seed, in the scenario's order, and of none but all: a seed left out might be the one that would
/// have decided.
fn values(target: &Target, cells: &[Cell<'_>], algorithm: &str, point: &str) -> Result<Vec<f64>, String> {
    let place = place(point);
    let found = cells.iter().find(|cell| cell.point == point && cell.algorithm == algorithm);
    let Some(cell) = found.filter(|cell| !cell.runs.is_empty() || !cell.rejected.is_empty()) else {
        return Err(format!("{algorithm}{place}"));
    };
    if let [first, ..] = cell.rejected.as_slice() {
        return Err(format!("{algorithm}{place}, seed {first} (its hosts held it back)"));
    }
    let values = cell.values(target.measure);
    if values.is_empty() {
        return Err(format!("anything to measure of {algorithm}{place}"));
    }
    if values.len() < cell.wanted {
        return Err(format!("{} of {} seeds of {algorithm}{place}", cell.wanted - values.len(), cell.wanted));
    }
    Ok(values)
}

/// What the seeds come to, and how many they are.
fn figure(target: &Target, values: Vec<f64>, whose: &str, point: &str) -> Result<(Interval, usize), String> {
    let count = values.len();
    let figure = match values.as_slice() {
        // Of a sample it is the points that lie apart, and one run of each is enough.
        &[one] if target.across.is_some_and(|across| across != Across::Mean) => Some(Interval::exactly(one)),
        values => match target.seeds {
            OfSeeds::Mean => Interval::of_mean(values),
            OfSeeds::Median => Interval::of_quantile(values.to_vec(), 0.5),
            OfSeeds::Worst => Interval::worst(values.iter().copied().map(Interval::exactly), target.at_most),
        },
    };
    figure.map(|figure| (figure, count)).ok_or_else(|| {
        let seeds = if count == 1 { "one has" } else { "so few have" };
        format!("more seeds than {count} of {whose}{}: {seeds} no confidence interval", place(point))
    })
}

/// Without a sweep there is no point to name.
fn place(point: &str) -> String {
    if point.is_empty() { String::new() } else { format!(" at {point}") }
}

/// How an algorithm is called in results: ours over QUIC, which most of them are about, without its prefix.
pub fn short(algorithm: &str) -> String {
    if algorithm.starts_with(MODULE_ALGORITHM) {
        return format!("kernel:{algorithm}");
    }
    algorithm.strip_prefix(PREFIX).filter(|name| name.starts_with("pcc")).unwrap_or(algorithm).to_owned()
}

impl Across {
    fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
            Self::P5 => "5th percentile",
            Self::P95 => "95th percentile",
            Self::Worst => "worst",
        }
    }

    fn of(self, figures: &[Interval], at_most: bool) -> Option<Interval> {
        let quantile = |quantile| Interval::of_quantile(figures.iter().map(|one| one.middle).collect(), quantile);
        match self {
            Self::Mean => Interval::mean_of(figures),
            Self::Median => quantile(0.5),
            Self::P5 => quantile(0.05),
            Self::P95 => quantile(0.95),
            Self::Worst => Interval::worst(figures.iter().copied(), at_most),
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

#[cfg(test)]
mod tests;
