//! Goodput over time, beside what the path could carry.

use crate::figure::Figure;
use crate::measure::delivered;
use crate::names::short;
use crate::scenario::Scenario;
use crate::spec::{FlowOutcome, Segment, Spec};
use crate::summary::Cell;
use pcc_chart::axis::Scale;
use pcc_chart::ink::of_flows;
use pcc_chart::plot::{Axis, Join, Plot, Point, Series};

/// Samples of a timeline: more would not be seen.
const MOST_SAMPLES: usize = 250;

/// Goodput over time at one point, with the first seed there is of each algorithm.
pub(super) fn timelines(scenario: &Scenario, figure: &Figure, cells: &[&Cell<'_>]) -> Vec<Plot> {
    let point = figure.point.as_deref().or_else(|| cells.first().map(|cell| cell.point));
    let shown = cells.iter().filter(|cell| Some(cell.point) == point);
    let runs: Vec<_> = shown.filter_map(|cell| Some((cell.algorithm, *cell.runs.first()?))).collect();
    let plot = |what: Option<&str>, seed: u64, series: Vec<Series>| {
        let x = Axis { label: "time, s".into(), scale: Scale::Linear, marks: Vec::new() };
        let label = figure.y_label.clone().unwrap_or_else(|| "goodput, Mbit/s".into());
        let y = Axis { label, scale: figure.y_scale, marks: Vec::new() };
        let what = what.map_or(String::new(), |what| format!(", {}", short(what)));
        let title = format!("{}{what} (seed {seed})", figure.title_of(&scenario.title));
        Plot { title, x, y, series, references: Vec::new(), limits: Vec::new() }
    };
    if runs.iter().all(|(_, (run, _))| run.spec.flows.len() == 1) {
        // One flow each: all in one picture, as the paper has it.
        let Some((_, (first, _))) = runs.first() else { return Vec::new() };
        let mut series: Vec<_> = optimum(&first.spec).into_iter().collect();
        series.extend(runs.iter().filter_map(|(name, (run, outcome))| {
            let points = rates(&run.spec, outcome.flows.first()?);
            Some(Series { name: short(name), ink: (*name).to_owned(), alike: 0, join: Join::Line, points })
        }));
        return vec![plot(None, first.spec.seed, series)];
    }
    let each = runs.iter().map(|(name, (run, outcome))| {
        let mut series: Vec<_> = optimum(&run.spec).into_iter().collect();
        let algorithms: Vec<_> = run.spec.flows.iter().map(|spec| spec.algorithm.as_str()).collect();
        let flows = run.spec.flows.iter().zip(&outcome.flows).zip(of_flows(&algorithms));
        series.extend(flows.enumerate().map(|(number, ((spec, flow), ink))| {
            let text = format!("{} {}", short(&spec.algorithm), number + 1);
            Series { name: text, ink, alike: 0, join: Join::Line, points: rates(&run.spec, flow) }
        }));
        plot(Some(name), run.spec.seed, series)
    });
    each.collect()
}

/// Payload that arrived, step by step. Unit: s and Mbit/s.
fn rates(spec: &Spec, flow: &FlowOutcome) -> Vec<Point> {
    let (Some(first), Some(last)) = (flow.samples.first(), flow.samples.last()) else { return Vec::new() };
    let span = last.at.saturating_sub(first.at);
    let step = spec.step.max(span / MOST_SAMPLES as u64).max(1);
    let point = |at: u64| {
        let mean = delivered(flow, at, at + step) * 8e3 / step as f64;
        // In the middle of the step.
        Point::bare((at + step / 2) as f64 / 1e9, mean)
    };
    (first.at..=last.at.saturating_sub(step)).step_by(step as usize).map(point).collect()
}

/// The path's capacity over time, if it changes. Unit: s and Mbit/s.
fn optimum(spec: &Spec) -> Option<Series> {
    let segments = spec.path.segments(0, spec.duration);
    if segments.len() < 2 {
        return None;
    }
    let point = |at: u64, mean: f64| Point::bare(at as f64 / 1e9, mean);
    let bits = |part: &Segment| part.rate as f64 * (1.0 - part.loss) * (part.to - part.from) as f64 / 1e9;
    let mbit = |from: u64, to: u64| {
        let sum: f64 = spec.path.segments(from, to).iter().map(bits).sum();
        sum / 1e6 / ((to - from).max(1) as f64 / 1e9)
    };
    let mut points: Vec<_> = if segments.len() <= MOST_SAMPLES {
        segments.iter().map(|part| point(part.from, mbit(part.from, part.to))).collect()
    } else {
        let step = (spec.duration / MOST_SAMPLES as u64).max(1);
        (0..spec.duration).step_by(step as usize).map(|at| point(at, mbit(at, at + step))).collect()
    };
    points.extend(points.last().map(|last| Point { x: spec.duration as f64 / 1e9, ..last.clone() }));
    Some(Series { name: "what the path carries".into(), ink: "optimum".into(), alike: 0, join: Join::Steps, points })
}
