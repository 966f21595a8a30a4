//! A still picture of the race: goodput over time, on a card of its own colour, so that it is legible on any page.

use super::summary::Summary;
use super::timeline::{Timeline, capacity};
use core::fmt::Write;
use pcc_chart::axis::ticks;
use pcc_chart::escape::escape;

const WIDTH: f64 = 840.0;
const HEIGHT: f64 = 400.0;
/// The plot within it.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 816.0;
const TOP: f64 = 108.0;
const BOTTOM: f64 = 348.0;

/// Colours that people with any colour vision tell apart (Okabe and Ito), dark enough for a white card.
fn colour(algorithm: &str) -> &'static str {
    match algorithm {
        "pcc" => "#0068a8",
        "cubic" => "#c44e00",
        "bbr" => "#007a5a",
        "newreno" => "#a8558a",
        "tcp-cubic" => "#946200",
        "tcp-bbr" => "#6a4fb0",
        _ => "#555555",
    }
}

/// Where a moment and a rate are in the picture.
struct Scale {
    seconds: f64,
    mbit: f64,
}

impl Scale {
    fn x(&self, seconds: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * (seconds / self.seconds).clamp(0.0, 1.0)
    }

    fn y(&self, mbit: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * (mbit / self.mbit).clamp(0.0, 1.0)
    }
}

/// The picture as SVG.
pub fn render(summary: &Summary<'_>) -> String {
    let mut svg = String::new();
    // Writing to a String never fails.
    let _ = draw(&mut svg, summary);
    svg
}

fn draw(svg: &mut String, summary: &Summary<'_>) -> core::fmt::Result {
    let end = summary.traces.iter().map(|trace| trace.time).max().unwrap_or_default();
    let lines: Vec<_> = summary.traces.iter().map(Timeline::of).collect();
    let limit = capacity(summary.course, end);
    let highest = lines.iter().flat_map(|line| &line.goodput).chain(limit.iter().map(|(_, rate)| rate)).copied();
    let scale = Scale { seconds: end.as_secs_f64().max(0.1), mbit: 1.1 * highest.fold(0.1, f64::max) };
    writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" font-family="system-ui, -apple-system, 'Segoe UI', sans-serif" font-size="13" fill="#333">"##
    )?;
    let (title, subtitle) = titles(summary);
    writeln!(svg, "<title>{title}</title>")?;
    writeln!(svg, r##"<rect x="0.5" y="0.5" width="839" height="399" rx="8" fill="#fff" stroke="#d0d0d0"/>"##)?;
    writeln!(svg, r##"<text x="24" y="32" font-size="18" font-weight="600" fill="#111">{title}</text>"##)?;
    writeln!(svg, r##"<text x="24" y="52" fill="#555">{subtitle}</text>"##)?;
    axes(svg, &scale)?;
    capacity_line(svg, &scale, &limit)?;
    for line in &lines {
        let points: Vec<_> = line
            .t
            .iter()
            .zip(&line.goodput)
            .map(|(t, rate)| format!("{:.1},{:.1}", scale.x(*t), scale.y(*rate)))
            .collect();
        let (colour, points) = (colour(line.algorithm), points.join(" "));
        let width = if line.algorithm == "pcc" { 2.5 } else { 1.8 };
        writeln!(
            svg,
            r##"<polyline fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round" points="{points}"/>"##
        )?;
    }
    finishes(svg, summary, &scale)?;
    legend(svg, summary)?;
    svg.write_str("</svg>\n")
}

fn titles(summary: &Summary<'_>) -> (String, String) {
    let (course, megabytes) = (summary.course, summary.source.bytes as f64 / 1e6);
    let title = format!("{megabytes:.0} MB over {}: goodput, Mbit/s", escape(&course.name));
    let subtitle = if course.parameters() == course.name { String::new() } else { escape(&course.parameters()) };
    (title, subtitle)
}

fn axes(svg: &mut String, scale: &Scale) -> core::fmt::Result {
    for mbit in ticks(scale.mbit, 5.0) {
        let y = scale.y(mbit);
        writeln!(svg, r##"<path d="M{LEFT} {y:.1}H{RIGHT}" stroke="#e4e4e4"/>"##)?;
        writeln!(
            svg,
            r##"<text x="{:.1}" y="{:.1}" text-anchor="end" fill="#555">{mbit}</text>"##,
            LEFT - 8.0,
            y + 4.0
        )?;
    }
    for seconds in ticks(scale.seconds, 8.0) {
        let x = scale.x(seconds);
        writeln!(
            svg,
            r##"<text x="{x:.1}" y="{:.1}" text-anchor="middle" fill="#555">{seconds} s</text>"##,
            BOTTOM + 20.0
        )?;
    }
    writeln!(svg, r##"<path d="M{LEFT} {BOTTOM}H{RIGHT}" stroke="#888"/>"##)
}

fn capacity_line(svg: &mut String, scale: &Scale, limit: &[(f64, f64)]) -> core::fmt::Result {
    let mut path = String::new();
    for (place, (seconds, rate)) in limit.iter().enumerate() {
        let (x, y) = (scale.x(*seconds), scale.y(*rate));
        if place == 0 { write!(path, "M{x:.1} {y:.1}")? } else { write!(path, "H{x:.1}V{y:.1}")? }
    }
    if !path.is_empty() {
        writeln!(svg, r##"<path d="{path}H{RIGHT}" fill="none" stroke="#888" stroke-dasharray="5 4"/>"##)?;
    }
    Ok(())
}

/// Who was through: what comes after is no collapse.
fn finishes(svg: &mut String, summary: &Summary<'_>, scale: &Scale) -> core::fmt::Result {
    for (place, (trace, _)) in summary.runners().filter(|(trace, _)| trace.finished).enumerate() {
        let (x, y) = (scale.x(trace.time.as_secs_f64()), TOP + 12.0 + 16.0 * place as f64);
        let (colour, name) = (colour(trace.algorithm), trace.algorithm.to_uppercase());
        writeln!(svg, r##"<path d="M{x:.1} {TOP}V{BOTTOM}" stroke="{colour}" stroke-dasharray="2 3"/>"##)?;
        let (at, anchor) = if x > RIGHT - 110.0 { (x - 5.0, "end") } else { (x + 5.0, "start") };
        writeln!(svg, r##"<text x="{at:.1}" y="{y:.1}" text-anchor="{anchor}" fill="{colour}">{name} done</text>"##)?;
    }
    Ok(())
}

fn legend(svg: &mut String, summary: &Summary<'_>) -> core::fmt::Result {
    let (mut x, mut y) = (LEFT, 73.0);
    for (trace, score) in summary.runners() {
        let name = trace.algorithm.to_uppercase();
        let end = if trace.finished { "" } else { " (unfinished)" };
        let text = format!("{name} {:.1} Mbit/s, {:.0} s{end}", score.goodput_mbps, trace.time.as_secs_f64());
        let colour = colour(trace.algorithm);
        let width = 24.0 + 7.1 * text.len() as f64 + 12.0;
        if x + width > RIGHT {
            (x, y) = (LEFT, y + 18.0);
        }
        writeln!(svg, r##"<path d="M{x:.0} {y}h18" stroke="{colour}" stroke-width="3"/>"##)?;
        writeln!(svg, r##"<text x="{:.0}" y="{}">{text}</text>"##, x + 24.0, y + 4.5)?;
        x += width;
    }
    writeln!(svg, r##"<path d="M{LEFT} 385h18" stroke="#888" stroke-dasharray="5 4"/>"##)?;
    writeln!(
        svg,
        r##"<text x="{:.0}" y="389" fill="#555">what a perfect sender would deliver (loss and headers taken off)</text>"##,
        LEFT + 24.0
    )
}
