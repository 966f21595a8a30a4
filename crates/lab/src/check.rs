//! Holds promises against stored results.

use crate::names::short;
use crate::scenario::Scenario;
use crate::scenario::target::{Across, OfSeeds, Target};
use crate::summary::Cell;
use pcc_stats::ConfidenceInterval;
use serde::Serialize;

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
    /// Between which values it lies with 95 % confidence; `None` of the worst of seeds or single runs, which has no interval.
    pub interval: Option<[f64; 2]>,
    /// On how many runs it stands: all of them, and where peers are involved as many of each.
    pub seeds: usize,
    /// The promise.
    pub must: f64,
    /// The goal.
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
    /// The promise lies within the interval: it takes more seeds to tell.
    Open,
    /// No part of the interval reaches it.
    Miss,
}

impl Verdict {
    /// In one word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Open => "OPEN",
            Self::Miss => "MISS",
        }
    }
}

impl Checked {
    /// On which side of `must` and `goal` it must be.
    pub const fn sign(&self) -> &'static str {
        if self.at_most { "≤" } else { "≥" }
    }
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

/// How many of these verdicts would be wrong by chance at most, were each truth just beyond its limit.
pub fn wrong_by_chance<'a>(rows: impl IntoIterator<Item = &'a Checked>) -> f64 {
    let is_decided = |row: &&Checked| row.interval.is_some() && row.verdict != Verdict::Open;
    rows.into_iter().filter(is_decided).count() as f64 * ConfidenceInterval::WRONG_SIDE
}

/// The promises of a scenario held against its cells. An algorithm or a point that was left out of the scenario on
/// purpose is not promised.
pub fn check(scenario: &Scenario, cells: &[Cell<'_>]) -> Vec<Result<Checked, NotJudged>> {
    let has_point = |point: &str| scenario.runs.iter().any(|run| run.point == point);
    let has_algorithm = |name: &String| scenario.runs.iter().any(|run| run.algorithm == *name);
    let is_there = |target: &&Target| {
        core::iter::once(&target.algorithm).chain(&target.over).all(has_algorithm)
            && target.over_at.as_deref().is_none_or(has_point)
    };
    let mut checked = Vec::new();
    for target in scenario.targets.iter().filter(is_there) {
        let mut points: Vec<&str> = target.at.iter().map(String::as_str).filter(|point| has_point(point)).collect();
        if target.at.is_empty() {
            points = cells.iter().filter(|cell| cell.algorithm == target.algorithm).map(|cell| cell.point).collect();
        }
        match target.across {
            None => checked.extend(points.iter().map(|point| judge(scenario, target, cells, &[*point]))),
            // A part of the points has another statistic.
            Some(_) if points.len() < target.at.len() => {}
            Some(_) => checked.push(judge(scenario, target, cells, &points)),
        }
    }
    checked
}

fn judge(scenario: &Scenario, target: &Target, cells: &[Cell<'_>], points: &[&str]) -> Result<Checked, NotJudged> {
    let metric = metric_of(target);
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
    let verdict = verdict_of(figure, target.must, target.at_most);
    Ok(Checked {
        row,
        case,
        metric,
        algorithm,
        measured: figure.middle,
        interval: (figure.low < figure.high).then_some([figure.low, figure.high]),
        seeds: each.iter().map(|(_, seeds)| *seeds).min().unwrap_or_default(),
        must: target.must,
        goal,
        verdict,
        reaches_goal: verdict == Verdict::Pass && verdict_of(figure, goal, target.at_most) == Verdict::Pass,
        at_most: target.at_most,
    })
}

/// The measure of a target, with what it is held against.
fn metric_of(target: &Target) -> String {
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
    if target.paired { format!("{metric}, seed by seed") } else { metric }
}

/// Whether a figure reaches a limit, by the end of its interval that speaks most against it and the one that speaks most for it.
fn verdict_of(figure: ConfidenceInterval, limit: f64, at_most: bool) -> Verdict {
    let (best, worst) = if at_most { (figure.low, figure.high) } else { (figure.high, figure.low) };
    let reaches = |value: f64| if at_most { value <= limit } else { value >= limit };
    match (reaches(worst), reaches(best)) {
        (true, _) => Verdict::Pass,
        (false, true) => Verdict::Open,
        (false, false) => Verdict::Miss,
    }
}

/// The target's measure at a point, and on how many runs it stands; or what is lacking.
fn at(target: &Target, cells: &[Cell<'_>], point: &str) -> Result<(ConfidenceInterval, usize), String> {
    let held_against =
        |own: ConfidenceInterval, peer| target.less.map_or_else(|| own.over(peer), |times| own.less(times, peer));
    if let ([peer], true) = (target.over.as_slice(), target.paired) {
        let own = values(target, cells, &target.algorithm, point)?;
        let others = values(target, cells, peer, point)?;
        let one = |(own, other): (&f64, &f64)| {
            held_against(ConfidenceInterval::exactly(*own), ConfidenceInterval::exactly(*other)).middle
        };
        let each: Vec<f64> = own.iter().zip(&others).map(one).collect();
        return figure(target, each, &format!("{} and {peer}", target.algorithm), point);
    }
    let (own, mut seeds) = of(target, cells, &target.algorithm, point)?;
    let peers_at = target.over_at.as_deref().unwrap_or(point);
    let peers = target.over.iter().map(|peer| of(target, cells, peer, peers_at)).collect::<Result<Vec<_>, _>>()?;
    seeds = peers.iter().map(|(_, its_seeds)| *its_seeds).fold(seeds, usize::min);
    let best = ConfidenceInterval::best(peers.into_iter().map(|(peer, _)| peer), !target.at_most);
    Ok((best.map_or(own, |best| held_against(own, best)), seeds))
}

/// A measure of one algorithm over all of its seeds.
fn of(
    target: &Target,
    cells: &[Cell<'_>],
    algorithm: &str,
    point: &str,
) -> Result<(ConfidenceInterval, usize), String> {
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
    let distinct = cell.distinct();
    if distinct < cell.runs.len() {
        let samples = if distinct == 1 { "one sample".to_owned() } else { format!("{distinct} samples") };
        return Err(format!("seeds that differ: those of {algorithm}{place} are {samples}"));
    }
    if values.len() < cell.wanted {
        return Err(format!("{} of {} seeds of {algorithm}{place}", cell.wanted - values.len(), cell.wanted));
    }
    Ok(values)
}

/// The statistic of the seeds, and their number.
fn figure(target: &Target, values: Vec<f64>, whose: &str, point: &str) -> Result<(ConfidenceInterval, usize), String> {
    let count = values.len();
    let figure = match values.as_slice() {
        // The points of a sample lie apart, and one run of each is enough.
        &[one] if target.across.is_some_and(|across| across != Across::Mean) => Some(ConfidenceInterval::exactly(one)),
        values => match target.seeds {
            OfSeeds::Mean => ConfidenceInterval::of_mean(values),
            OfSeeds::Median => ConfidenceInterval::of_quantile(values.to_vec(), 0.5),
            OfSeeds::Worst => {
                ConfidenceInterval::worst(values.iter().copied().map(ConfidenceInterval::exactly), target.at_most)
            }
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

    fn of(self, figures: &[ConfidenceInterval], at_most: bool) -> Option<ConfidenceInterval> {
        let quantile =
            |quantile| ConfidenceInterval::of_quantile(figures.iter().map(|one| one.middle).collect(), quantile);
        match self {
            Self::Mean => ConfidenceInterval::mean_of(figures),
            Self::Median => quantile(0.5),
            Self::P5 => quantile(0.05),
            Self::P95 => quantile(0.95),
            Self::Worst => ConfidenceInterval::worst(figures.iter().copied(), at_most),
        }
    }
}

#[cfg(test)]
mod tests;
