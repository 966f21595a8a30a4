//! A still picture of the race: goodput over time, on a card of its own colour, so that it is legible on any page.

use super::score::Score;
use super::summary::Summary;
use super::timeline::{Timeline, capacity};
use super::trace::Trace;
use pcc::units::Bytes;
use pcc_chart::axis::{Scale, significant};
use pcc_chart::plot::{Axis, Join, Plot, Point, Series};
use pcc_chart::svg::card;
use pcc_report::provenance::Provenance;

/// The picture as SVG. Its foot says by which build and command it was made.
pub fn render(summary: &Summary<'_>, provenance: &Provenance) -> String {
    let (course, size) = (summary.course, Bytes::new(summary.source.bytes));
    let parameters = course.parameters();
    let subtitle = if parameters == course.name { "" } else { parameters.as_str() };
    let end = summary.traces.iter().map(|trace| trace.time).max().unwrap_or_default();
    let mut series: Vec<_> = summary.runners().map(|(trace, score)| runner(trace, score)).collect();
    let mut limit: Vec<_> = capacity(course, end).into_iter().map(|(at, rate)| Point::bare(at, rate)).collect();
    // The last step lasts until the end.
    limit.extend(limit.last().map(|last| Point { x: end.as_secs_f64(), ..last.clone() }));
    series.push(Series {
        name: "what a perfect sender would deliver (loss and headers taken off)".into(),
        ink: "optimum".into(),
        alike: 0,
        join: Join::Steps,
        points: limit,
    });
    let axis = |label: &str| Axis { label: label.into(), scale: Scale::Linear, marks: Vec::new() };
    let plot = Plot {
        title: format!("{size} over {}", course.name),
        x: axis("time, s"),
        y: axis("goodput, Mbit/s"),
        series,
        references: Vec::new(),
        limits: Vec::new(),
    };
    let made = provenance.line(&provenance.command);
    card(&plot, subtitle, &summary.doubt().map_or(made.clone(), |doubt| format!("{doubt} {made}")))
}

/// A line that ends where its runner did.
fn runner(trace: &Trace, score: &Score) -> Series {
    let line = Timeline::of(trace);
    let (name, seconds) = (trace.algorithm.to_uppercase(), trace.time.as_secs_f64());
    let end = if trace.finished { "" } else { " (unfinished)" };
    Series {
        name: format!("{name} {} Mbit/s, {} s{end}", significant(score.goodput_mbps), significant(seconds)),
        ink: ink_of(trace.algorithm),
        alike: 0,
        join: Join::Line,
        points: line.t.iter().zip(&line.goodput).map(|(at, rate)| Point::bare(*at, *rate)).collect(),
    }
}

/// The name by which figures know a runner: the kernel's have their plain names, and those of QUIC a prefix.
pub(crate) fn ink_of(algorithm: &str) -> String {
    algorithm.strip_prefix("tcp-").map_or_else(|| format!("quic:{algorithm}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::Course;
    use crate::source::Source;
    use crate::trace::Sample;
    use core::time::Duration;
    use pcc_report::provenance::{Build, Source as By};

    fn made() -> Provenance {
        let build = Build { version: "0.1.0".into(), program: "5ea1b523".into(), commit: Some("abc1234".into()) };
        Provenance { source: By::Emulator, build, command: "pcc-lab race".into(), seeds: vec![1] }
    }

    #[test]
    fn the_picture_of_a_busy_computer_says_so() {
        let busy = |late| {
            let mut svg = String::new();
            crate::summary::example::race(&[("pcc", 20.0), ("cubic", 1.0)], late, |summary| {
                svg = render(summary, &made())
            });
            svg.contains("too busy")
        };
        assert!(busy(Some(Duration::from_millis(1234))) && !busy(Some(Duration::from_millis(1))));
    }

    #[test]
    fn the_picture_has_a_line_a_runner_and_one_for_the_path() {
        let (course, source) = (Course::parse("clean", 1).unwrap(), Source::open(None, 2_000_000, 1).unwrap());
        let second = Duration::from_secs(1);
        let samples = (0..=100u32).map(|step| Sample {
            at: second * step / 10,
            arrived: u64::from(step) * 20_000,
            ..Sample::default()
        });
        let trace = |algorithm, finished| Trace {
            algorithm,
            finished,
            time: second * 10,
            samples: samples.clone().collect(),
            ..Trace::default()
        };
        let traces = [trace("pcc", true), trace("tcp-cubic", false)];
        let scores: Vec<_> = traces.iter().map(|trace| Score::of(trace, &course, source.bytes)).collect();
        let svg = render(&Summary { course: &course, source: &source, scores: &scores, traces: &traces }, &made());
        assert_eq!(svg.matches("stroke-linejoin").count(), 3, "{svg}");
        assert!(
            svg.contains("commit abc1234")
                && svg.contains("2.00 MB over clean")
                && svg.contains("10.0 s (unfinished)")
                && !svg.contains("NaN"),
            "{svg}"
        );
    }
}
