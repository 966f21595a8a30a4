//! The plots of a scenario's figures, made of its cells.

use super::timeline::timelines;
use crate::figure::{Figure, Kind};
use crate::measure::Measure;
use crate::names::short;
use crate::scenario::Scenario;
use crate::scenario::target::Target;
use crate::summary::Cell;
use pcc::units::{Bytes, Rate};
use pcc_chart::axis::Scale;
use pcc_chart::ink::family;
use pcc_chart::plot::{Axis, Join, Limit, Plot, Point, Series};
use pcc_stats::Mean;

/// Fewer seeds than this are shown one by one: with three, an interval is four times as wide as their scatter and leaves
/// what is possible.
const FEW: usize = 6;

/// The plots of a scenario's figure: one, or over time with several flows one an algorithm. None where nothing of it
/// was run.
pub(super) fn plots(scenario: &Scenario, figure: &Figure, cells: &[Cell<'_>]) -> Vec<Plot> {
    let is_wanted = |name: &str| figure.algorithms.is_empty() || figure.algorithms.iter().any(|wanted| wanted == name);
    let cells: Vec<_> = cells.iter().filter(|cell| is_wanted(cell.algorithm)).collect();
    let mut plots = match figure.kind {
        Kind::Lines => vec![lines(scenario, figure, &cells)],
        Kind::Cdf => vec![distribution(scenario, figure, &cells)],
        Kind::Frontier => vec![frontier(scenario, figure, &cells)],
        Kind::Timeline => timelines(scenario, figure, &cells),
    };
    plots.retain(|plot| plot.series.iter().any(|series| !series.points.is_empty()));
    plots
}

fn y_axis(figure: &Figure) -> Axis {
    let label = match &figure.over {
        Some(peer) => format!("{}, times that of {peer}", figure.y.label()),
        None => figure.y.label(),
    };
    Axis { label: figure.y_label.clone().unwrap_or(label), scale: figure.y_scale, marks: Vec::new() }
}

/// A figure's measure of a cell, over that of the peer at the same point if the figure says so.
fn value(figure: &Figure, cell: &Cell<'_>, cells: &[&Cell<'_>]) -> Option<Mean> {
    let own = cell.mean(figure.y)?;
    let Some(peer) = &figure.over else { return Some(own) };
    let peer = cells.iter().find(|other| other.point == cell.point && other.algorithm == peer)?.mean(figure.y)?;
    (peer.mean > 0.0).then(|| Mean { mean: own.mean / peer.mean, margin: own.margin.map(|margin| margin / peer.mean) })
}

/// The same of each seed, where they are few and stand for themselves.
fn seeds(figure: &Figure, cell: &Cell<'_>, cells: &[&Cell<'_>]) -> Vec<f64> {
    let values = cell.values(figure.y);
    if values.len() < 2 || values.len() >= FEW {
        return Vec::new();
    }
    let (Some(own), Some(shown)) = (cell.mean(figure.y), value(figure, cell, cells)) else { return Vec::new() };
    let scale = if own.mean == 0.0 { 1.0 } else { shown.mean / own.mean };
    values.into_iter().map(|value| value * scale).collect()
}

/// Each once, in the order of their first appearance.
fn algorithms<'a>(cells: &[&Cell<'a>]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for cell in cells {
        if !names.contains(&cell.algorithm) {
            names.push(cell.algorithm);
        }
    }
    names
}

/// Where the sweep's points are on the axis.
struct Places {
    axis: Axis,
    /// The points are numbers with units, and their distances mean something.
    is_numeric: bool,
    names: Vec<String>,
}

impl Places {
    fn of(scenario: &Scenario, figure: &Figure) -> Self {
        let mut names: Vec<String> = Vec::new();
        for run in &scenario.runs {
            if !names.contains(&run.point) {
                names.push(run.point.clone());
            }
        }
        let numbers: Option<Vec<f64>> = names.iter().map(|name| quantity(name)).collect();
        let fits = |number: &f64| figure.x_scale == Scale::Linear || *number > 0.0;
        let numbers = numbers.filter(|numbers| numbers.iter().all(fits));
        let is_numeric = numbers.is_some();
        let numbers = numbers.unwrap_or_else(|| (0..names.len()).map(|place| place as f64).collect());
        let marks = numbers.into_iter().zip(names.iter().cloned()).collect();
        let label = figure.x_label.clone().unwrap_or_else(|| scenario.parameter.clone());
        let scale = if is_numeric { figure.x_scale } else { Scale::Linear };
        Self { axis: Axis { label, scale, marks }, is_numeric, names }
    }

    fn at(&self, point: &str) -> Option<f64> {
        match self.names.iter().position(|name| name == point) {
            Some(place) => self.axis.marks.get(place).map(|(number, _)| *number),
            // A paper's figure between our points. One beyond them has no place.
            None => quantity(point).filter(|number| self.is_numeric && self.is_within(*number)),
        }
    }

    fn is_within(&self, number: f64) -> bool {
        let reaches = |is: fn(f64, f64) -> bool| self.axis.marks.iter().any(|(mark, _)| is(*mark, number));
        reaches(|mark, number| mark <= number) && reaches(|mark, number| mark >= number)
    }
}

/// A text with or without unit as a number; equal units compare.
fn quantity(text: &str) -> Option<f64> {
    let number = || text.parse::<f64>().ok().filter(|number| number.is_finite());
    let bytes = || text.parse::<Bytes>().ok().map(|bytes| bytes.get() as f64);
    let rate = || text.parse::<Rate>().ok().map(|rate| rate.bits_per_sec());
    let factor = || text.strip_suffix("bdp")?.trim().parse().ok();
    let time = || humantime::parse_duration(text).ok().map(|time| time.as_secs_f64());
    number().or_else(bytes).or_else(rate).or_else(factor).or_else(time)
}

fn lines(scenario: &Scenario, figure: &Figure, cells: &[&Cell<'_>]) -> Plot {
    if cells.iter().all(|cell| cell.point.is_empty()) {
        return columns(scenario, figure, cells);
    }
    let places = Places::of(scenario, figure);
    let join = if places.is_numeric { Join::Marked } else { Join::None };
    let one = |name: &str| {
        let own = cells.iter().filter(|cell| cell.algorithm == name);
        let point = |cell: &&Cell<'_>| {
            let (x, y) = (places.at(cell.point)?, value(figure, cell, cells)?);
            let count = cell.runs.len();
            let text = format!("{}, {} {}: {} ({count} seeds)", short(name), scenario.key, cell.point, told(y));
            Some(Point { x, y, x_margin: None, seeds: seeds(figure, cell, cells), text })
        };
        let points = own.filter_map(point).collect();
        Series { name: short(name), ink: name.to_owned(), alike: 0, join, points }
    };
    let is_drawn = |series: &Series| !series.points.is_empty() && figure.over.as_deref() != Some(&series.ink);
    let mut series: Vec<_> = algorithms(cells).into_iter().map(one).filter(is_drawn).collect();
    let mut limits = limits(scenario, figure, &places);
    if join == Join::None {
        tell_apart(&mut series);
        spread(&mut series, &mut limits);
    }
    let references = references(scenario, figure, &places);
    let limits = limits.into_iter().map(|(_, limit)| limit).collect();
    Plot { title: figure.title_of(&scenario.title), x: places.axis, y: y_axis(figure), series, references, limits }
}

/// Gives those that share a colour marks of their own, where no line tells them apart.
fn tell_apart(series: &mut [Series]) {
    let families: Vec<_> = series.iter().map(|series| family(&series.ink)).collect();
    for (place, series) in series.iter_mut().enumerate() {
        series.alike = families[..place].iter().filter(|earlier| **earlier == families[place]).count();
    }
}

/// Moves the series of points that are names a little apart, so that none hides another, and what an algorithm must reach
/// with its points.
fn spread(series: &mut [Series], limits: &mut [(&str, Limit)]) {
    let step = 0.5 / series.len().max(1) as f64;
    let middle = series.len().saturating_sub(1) as f64 / 2.0;
    for (place, series) in series.iter_mut().enumerate() {
        let aside = (place as f64 - middle) * step;
        series.points.iter_mut().for_each(|point| point.x += aside);
        let own = limits.iter_mut().filter(|(algorithm, _)| *algorithm == series.ink);
        own.for_each(|(_, limit)| limit.x += aside);
    }
}

/// Without a sweep each algorithm has a place of its own.
fn columns(scenario: &Scenario, figure: &Figure, cells: &[&Cell<'_>]) -> Plot {
    let names = algorithms(cells);
    let one = |(place, cell): (usize, &&Cell<'_>)| {
        let y = value(figure, cell, cells)?;
        let name = short(cell.algorithm);
        let text = format!("{name}: {} ({} seeds)", told(y), cell.runs.len());
        let points = vec![Point { x: place as f64, y, x_margin: None, seeds: seeds(figure, cell, cells), text }];
        Some(Series { name, ink: cell.algorithm.to_owned(), alike: 0, join: Join::None, points })
    };
    let mut series: Vec<_> = cells.iter().enumerate().filter_map(one).collect();
    tell_apart(&mut series);
    let marks = names.iter().enumerate().map(|(place, name)| (place as f64, short(name))).collect();
    let x = Axis { label: figure.x_label.clone().unwrap_or_default(), scale: Scale::Linear, marks };
    let place = |name: &str| names.iter().position(|known| *known == name).map(|place| place as f64);
    let is_its = |target: &&Target| target.measure == figure.y && target.over.is_empty() && figure.over.is_none();
    let limit = |target: &Target| {
        let (must, goal) = (target.must, target.goal.unwrap_or(target.must));
        Some(Limit { x: place(&target.algorithm)?, must, goal })
    };
    let limits = scenario.targets.iter().filter(is_its).filter_map(limit).collect();
    Plot { title: figure.title_of(&scenario.title), x, y: y_axis(figure), series, references: Vec::new(), limits }
}

fn told(value: Mean) -> String {
    match value.margin {
        Some(margin) => format!("{:.3} ± {margin:.3}", value.mean),
        None => format!("{:.3}", value.mean),
    }
}

fn references(scenario: &Scenario, figure: &Figure, places: &Places) -> Vec<Series> {
    let fitting = scenario.references.iter().filter(|reference| reference.y == figure.y && figure.over.is_none());
    let one = |reference: &crate::figure::Reference| {
        let point = |(at, value): (&String, &f64)| {
            let text = format!("{} ({}), {at}: {value}", reference.label, reference.source);
            let y = Mean { mean: *value, margin: None };
            Some(Point { x: places.at(at)?, y, x_margin: None, seeds: Vec::new(), text })
        };
        let points = reference.points.iter().filter_map(point).collect();
        Series {
            name: format!("{} ({})", reference.label, reference.source),
            ink: reference.algorithm.clone(),
            alike: 0,
            join: Join::None,
            points,
        }
    };
    fitting.map(one).filter(|series| !series.points.is_empty()).collect()
}

/// The promised limits, and their algorithms.
fn limits<'a>(scenario: &'a Scenario, figure: &Figure, places: &Places) -> Vec<(&'a str, Limit)> {
    let is_plain = |over: &[String]| match &figure.over {
        None => over.is_empty(),
        Some(peer) => over.len() == 1 && over.contains(peer),
    };
    let fitting = scenario.targets.iter().filter(|target| target.measure == figure.y && target.across.is_none());
    let mut limits = Vec::new();
    for target in fitting.filter(|target| is_plain(&target.over) && target.over_at.is_none() && target.less.is_none()) {
        let all: Vec<_> = if target.at.is_empty() { places.names.clone() } else { target.at.clone() };
        let (must, goal) = (target.must, target.goal.unwrap_or(target.must));
        let limit = |point: &String| Some((target.algorithm.as_str(), Limit { x: places.at(point)?, must, goal }));
        limits.extend(all.iter().filter_map(limit));
    }
    limits
}

fn distribution(scenario: &Scenario, figure: &Figure, cells: &[&Cell<'_>]) -> Plot {
    let one = |name: &str| {
        let own = cells.iter().filter(|cell| cell.algorithm == name);
        let mut values: Vec<(f64, &str)> =
            own.filter_map(|cell| Some((value(figure, cell, cells)?.mean, cell.point))).collect();
        values.sort_by(|one, other| one.0.total_cmp(&other.0));
        let count = values.len() as f64;
        let point = |(place, (x, point)): (usize, &(f64, &str))| Point {
            x: *x,
            y: Mean { mean: (place + 1) as f64 / count, margin: None },
            x_margin: None,
            seeds: Vec::new(),
            text: format!("{}, {} {point}: {x:.3}", short(name), scenario.key),
        };
        let points = values.iter().enumerate().map(point).collect();
        Series { name: short(name), ink: name.to_owned(), alike: 0, join: Join::Steps, points }
    };
    let is_drawn = |series: &Series| !series.points.is_empty() && figure.over.as_deref() != Some(&series.ink);
    let series = algorithms(cells).into_iter().map(one).filter(is_drawn).collect();
    // The measure lies to the right here, so `y_label` is not its name.
    let measured = y_axis(&Figure { y_label: None, ..figure.clone() });
    let x = Axis { label: figure.x_label.clone().unwrap_or(measured.label), scale: figure.x_scale, marks: Vec::new() };
    let label = figure.y_label.clone().unwrap_or_else(|| format!("share of the {}s with less", scenario.key));
    let y = Axis { label, scale: Scale::Linear, marks: Vec::new() };
    Plot { title: figure.title_of(&scenario.title), x, y, series, references: Vec::new(), limits: Vec::new() }
}

fn frontier(scenario: &Scenario, figure: &Figure, cells: &[&Cell<'_>]) -> Plot {
    let across = figure.x.unwrap_or(Measure::Rtt);
    let one = |name: &str| {
        let own = cells.iter().filter(|cell| cell.algorithm == name);
        let point = |cell: &&Cell<'_>| {
            let (x, y) = (cell.mean(across)?, cell.mean(figure.y)?);
            let text = format!(
                "{}, {} {}: {across} {}, {} {}",
                short(name),
                scenario.key,
                cell.point,
                told(x),
                figure.y,
                told(y)
            );
            Some(Point { x: x.mean, y, x_margin: x.margin, seeds: Vec::new(), text })
        };
        let points = own.filter_map(point).collect();
        Series { name: short(name), ink: name.to_owned(), alike: 0, join: Join::None, points }
    };
    let mut series: Vec<_> =
        algorithms(cells).into_iter().map(one).filter(|series| !series.points.is_empty()).collect();
    tell_apart(&mut series);
    let label = figure.x_label.clone().unwrap_or_else(|| across.label());
    let x = Axis { label, scale: figure.x_scale, marks: Vec::new() };
    Plot {
        title: figure.title_of(&scenario.title),
        x,
        y: y_axis(figure),
        series,
        references: Vec::new(),
        limits: Vec::new(),
    }
}
