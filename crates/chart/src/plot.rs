//! A plot: lines and marks in the units of their axes.

use crate::axis::Scale;
use pcc_stats::Mean;

/// A plot, without its size or its colours.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Its title.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// The measurements.
    pub series: Vec<Series>,
    /// Measurements of papers.
    pub references: Vec<Series>,
    /// Figures that must be reached: marks in the same units.
    pub limits: Vec<Limit>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The words beside it.
    pub label: String,
    /// How it is divided.
    pub scale: Scale,
    /// Texts at places of their own; without any, round numbers.
    pub marks: Vec<(f64, String)>,
}

/// A line or a set of marks.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The algorithm, or the flow.
    pub name: String,
    /// Decides the colour: an algorithm's name, a flow's number as `flow-2`, or `optimum`.
    pub ink: String,
    /// Before it come so many series of the same colour, from which only the mark tells it apart.
    pub alike: usize,
    /// How the points are joined.
    pub join: Join,
    /// From left to right.
    pub points: Vec<Point>,
}

/// How a series' points are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// A line with a mark at each point.
    Marked,
    /// A line alone.
    Line,
    /// A line with a few marks, so that lines are told apart by more than their colour.
    Spaced,
    /// A line of steps: each value holds until the next.
    Steps,
    /// Marks alone.
    None,
}

/// A point of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// In the axis' unit.
    pub x: f64,
    /// In the axis' unit.
    pub y: Mean,
    /// Half the width of the 95 % interval to the right and left.
    pub x_margin: Option<f64>,
    /// The figure of each seed, upwards, where the seeds are too few for an interval that says more than they do.
    pub seeds: Vec<f64>,
    /// The words that a pointer shows when it rests on it.
    pub text: String,
}

impl Point {
    /// A point of a line without marks.
    pub fn bare(x: f64, mean: f64) -> Self {
        Self { x, y: Mean { mean, margin: None }, x_margin: None, seeds: Vec::new(), text: String::new() }
    }
}

/// A figure that must be reached at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// In the axis' unit.
    pub x: f64,
    /// In the axis' unit.
    pub must: f64,
    /// In the axis' unit.
    pub goal: f64,
}

/// Lines of so few points do not need the page's width.
const SMALL: usize = 3;

impl Plot {
    /// Whether it is legible at half the width.
    pub fn is_small(&self) -> bool {
        let is_line = |series: &Series| matches!(series.join, Join::Marked | Join::None);
        self.series.iter().all(|series| is_line(series) && series.points.len() <= SMALL) && self.x.marks.len() <= 5
    }

    /// Whether some of its points show their seeds.
    pub fn shows_seeds(&self) -> bool {
        self.series.iter().flat_map(|series| &series.points).any(|point| !point.seeds.is_empty())
    }
}
