//! The answer as a page that stands alone.

use super::cause::Cause;
use super::verdict::{Explained, Second};
use super::words;
use core::fmt::Write as _;
use pcc_chart::axis::{Scale, ticks};
use pcc_chart::page::{FIGURES, figure};
use pcc_chart::plot::{Axis, Join, Plot, Point, Series};
use pcc_report::escape::escape;

/// Points of a line, and columns of the picture of limits: more would not be seen.
const POINTS: usize = 600;

/// The colour of each cause, in the order of [`Cause::ALL`]: of Okabe and Ito and of Tol, which nearly everybody can tell apart.
const COLOURS: [&str; Cause::ALL.len()] =
    ["#bbbbbb", "#e69f00", "#000000", "#cc3311", "#f0e442", "#cc79a7", "#7a4fb5", "#d55e00", "#0072b2"];

/// The size of the picture of limits. Unit: pixels.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 90.0;

/// The whole page of one trace.
pub fn page(name: &str, explained: &Explained) -> String {
    let mut body =
        format!("<h1>Why it was slow: {}</h1>\n<pre>{}</pre>\n", escape(name), escape(&words::answer(name, explained)));
    if !explained.seconds.is_empty() {
        body += &limits(explained);
        body.extend(plots(explained).iter().map(figure));
    }
    let style = format!(".key i{{display:inline-block;width:12px;height:12px;margin-right:5px}}{FIGURES}");
    pcc_chart::page::page(&format!("Explained: {name}"), &style, &body)
}

/// A column for each second, with the share of each limit in its colour.
fn limits(explained: &Explained) -> String {
    let columns = columns(&explained.seconds);
    let each = explained.width * explained.seconds.len().div_ceil(columns.len()) as f64;
    let wide = WIDTH / columns.len() as f64;
    let mut svg = format!(
        "<h2>Limits</h2>\n<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"the limit of each second\">",
        HEIGHT + 20.0
    );
    for (place, shares) in columns.iter().enumerate() {
        column(&mut svg, place as f64 * wide, wide, place as f64 * each, shares);
    }
    let all = each * columns.len() as f64;
    for tick in ticks(all, 10.0) {
        let at = (tick / all * WIDTH).clamp(4.0, WIDTH - 24.0);
        let _ = write!(svg, "<text x=\"{at:.1}\" y=\"{:.0}\" fill=\"#555\">{tick}</text>", HEIGHT + 15.0);
    }
    svg += "</svg>\n<p>";
    for (cause, _) in explained.ranked() {
        let colour = COLOURS[cause as usize];
        let _ = write!(svg, "<span class=\"key\"><i style=\"background:{colour}\"></i>{}</span> ", cause.name());
    }
    svg + "time, s</p>\n"
}

fn column(svg: &mut String, x: f64, wide: f64, from: f64, shares: &[f64; Cause::ALL.len()]) {
    let all: f64 = shares.iter().sum();
    let mut top = 0.0;
    for (cause, time) in Cause::ALL.into_iter().zip(shares).filter(|(_, time)| **time > 0.0) {
        let high = HEIGHT * time / all;
        let _ = write!(
            svg,
            "<rect x=\"{x:.2}\" y=\"{top:.1}\" width=\"{wide:.2}\" height=\"{high:.1}\" fill=\"{}\"><title>second {from:.0}: {}, \
             {:.0} %</title></rect>",
            COLOURS[cause as usize],
            cause.name(),
            100.0 * time / all
        );
        top += high;
    }
}

/// Shares of at most [`POINTS`] columns.
fn columns(seconds: &[Second]) -> Vec<[f64; Cause::ALL.len()]> {
    let sum = |chunk: &[Second]| {
        let mut sum = [0.0; Cause::ALL.len()];
        for second in chunk {
            sum.iter_mut().zip(second.limits_seconds).for_each(|(sum, time)| *sum += time);
        }
        sum
    };
    seconds.chunks(seconds.len().div_ceil(POINTS).max(1)).map(sum).collect()
}

fn plots(explained: &Explained) -> Vec<Plot> {
    let line = |name: &str, ink: &str, value: &dyn Fn(&Second) -> Option<f64>| {
        let every = explained.seconds.len().div_ceil(POINTS).max(1);
        let points = explained.seconds.chunks(every).filter_map(|chunk| {
            let known: Vec<_> = chunk.iter().filter_map(value).collect();
            let mean = known.iter().sum::<f64>() / known.len() as f64;
            let middle = chunk[0].from_seconds + explained.width * chunk.len() as f64 / 2.0;
            (!known.is_empty()).then(|| Point::bare(middle, mean))
        });
        Series { name: name.to_owned(), ink: ink.to_owned(), alike: 0, join: Join::Spaced, points: points.collect() }
    };
    let base = explained.base_rtt.map(|base| base * 1e3);
    vec![
        plot(
            "Rate",
            "Mbit/s",
            vec![
                line("arrived", "pcc", &|second| Some(second.delivered_bps * 1e-6)),
                line("sent", "cubic", &|second| Some(second.sent_bps * 1e-6)),
            ],
        ),
        plot(
            "Round-trip time",
            "ms",
            vec![line("mean", "pcc", &|second| second.rtt_ms), line("least of all", "optimum", &|_| base)],
        ),
        plot("Loss", "%", vec![line("of the packets sent", "pcc", &|second| Some(100.0 * second.loss))]),
        plot(
            "Under way",
            "kB",
            vec![
                line("at most", "pcc", &|second| Some(second.in_flight_bytes * 1e-3)),
                line("window", "cubic", &|second| Some(second.window_bytes? * 1e-3)),
            ],
        ),
    ]
}

fn plot(title: &str, unit: &str, mut series: Vec<Series>) -> Plot {
    series.retain(|series| !series.points.is_empty());
    let axis = |label: &str| Axis { label: label.to_owned(), scale: Scale::Linear, marks: Vec::new() };
    Plot {
        title: title.to_owned(),
        x: axis("time, s"),
        y: axis(unit),
        series,
        references: Vec::new(),
        limits: Vec::new(),
    }
}
