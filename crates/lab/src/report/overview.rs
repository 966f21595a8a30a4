//! The figure on top: PCC's goodput by that of the kernel's CUBIC and BBR, scenario by scenario, on every path of it.

use super::Section;
use crate::figure::Kind;
use crate::measure::Measure;
use crate::names::short;
use core::fmt::{Result, Write};
use pcc_chart::axis::number;
use pcc_chart::ink::{Ground, ink};
use pcc_report::escape::escape;

/// The peers of every scenario.
const PEERS: [&str; 2] = ["cubic", "bbr"];
/// The range of the drawing, unless a mark lies further out.
const LEAST: f64 = 0.1;
const MOST: f64 = 100.0;
const RIGHT: f64 = 14.0;

/// A scenario: its title, and for each peer the quotients at the points of its sweep.
#[derive(Debug)]
pub(super) struct Row<'a> {
    pub(super) name: &'a str,
    pub(super) title: &'a str,
    pub(super) over: [Vec<f64>; 2],
}

/// The scenarios that are about goodput and have PCC and a peer.
pub(super) fn rows<'a>(sections: &'a [Section<'_>]) -> Vec<Row<'a>> {
    let row = |section: &'a Section<'_>| {
        let scenario = section.scenario;
        let is_speed = |measure| matches!(measure, Measure::Goodput | Measure::Share | Measure::ShareStarted);
        let mut figures = scenario.figures.iter();
        if !scenario.figures.is_empty() && !figures.any(|figure| is_speed(figure.y) || figure.kind == Kind::Timeline) {
            return None;
        }
        let ours = section.cells.iter().find(|cell| short(cell.algorithm).starts_with("pcc"))?.algorithm;
        let goodput = |algorithm: &str, point: &str| {
            let cell = section.cells.iter().find(|cell| cell.algorithm == algorithm && cell.point == point)?;
            Some(cell.mean(Measure::Goodput)?.mean)
        };
        let quotients = |peer: &str| {
            let own = section.cells.iter().filter(|cell| cell.algorithm == ours);
            let quotient = |point| Some(goodput(ours, point)? / goodput(peer, point).filter(|peer| *peer > 0.0)?);
            own.filter_map(|cell| quotient(cell.point)).collect::<Vec<_>>()
        };
        let over = PEERS.map(quotients);
        let is_there = over.iter().any(|all| !all.is_empty());
        is_there.then_some(Row { name: &scenario.name, title: &scenario.title, over })
    };
    sections.iter().filter_map(row).collect()
}

/// The peers that there are.
pub(super) fn peers(rows: &[Row<'_>]) -> Vec<&'static str> {
    let is_there = |place: usize| rows.iter().any(|row| !row.over[place].is_empty());
    PEERS.into_iter().enumerate().filter(|(place, _)| is_there(*place)).map(|(_, peer)| peer).collect()
}

/// The meaning of the marks.
pub(super) fn legend(rows: &[Row<'_>]) -> String {
    let mut text = String::from("<div class=\"legend\">");
    for peer in peers(rows) {
        let ink = ink(peer, Ground::Page);
        let _ = write!(
            text,
            "<span><svg viewBox=\"0 0 28 10\" aria-hidden=\"true\"><path d=\"{}\" fill=\"{}\"/></svg>times {}</span>",
            ink.shape.path(14.0, 5.0, 4.0),
            ink.colour,
            peer.to_uppercase(),
        );
    }
    text + "<span class=\"dim\">small: one path; large: the median of them</span></div>\n"
}

/// The picture, with the titles beside their rows or, on a phone, above them.
pub(super) fn draw(rows: &[Row<'_>], width: f64, is_narrow: bool) -> String {
    let (height, left) = if is_narrow { (46.0, 12.0) } else { (27.0, 300.0) };
    let bottom = 8.0 + height * rows.len() as f64;
    let mut svg = format!(
        r#"<svg viewBox="0 0 {width} {}" role="img" aria-label="Goodput of PCC by that of {}">"#,
        bottom + 24.0,
        peers(rows).join(" and ").to_uppercase()
    );
    let all = || rows.iter().flat_map(|row| &row.over).flatten().copied().filter(|value| *value > 0.0);
    let (least, most) = (all().fold(LEAST, f64::min), all().fold(MOST, f64::max));
    let at = |value: f64| {
        let place = (value.max(least) / least).ln() / (most / least).ln();
        left + (width - RIGHT - left) * place
    };
    // Writing to a String never fails.
    let _ = axis(&mut svg, (least, most), &at, bottom).and_then(|()| {
        rows.iter().enumerate().try_for_each(|(place, row)| {
            let top = 8.0 + height * place as f64;
            one(&mut svg, row, &at, top, (height, left, is_narrow))
        })
    });
    svg + "</svg>\n"
}

fn axis(svg: &mut String, (least, most): (f64, f64), at: &impl Fn(f64) -> f64, bottom: f64) -> Result {
    let powers = least.log10().floor() as i32..=most.log10().ceil() as i32;
    let ticks = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
    for tick in ticks.filter(|tick| (least * 0.999..=most * 1.001).contains(tick)) {
        let (x, line) = (at(tick), if (tick - 1.0).abs() < 1e-9 { "var(--dim)" } else { "var(--line)" });
        write!(svg, r#"<path d="M{x:.1} 4V{bottom:.1}" stroke="{line}"/>"#)?;
        let text = number(tick);
        write!(
            svg,
            r#"<text x="{x:.1}" y="{:.1}" text-anchor="middle" fill="var(--dim)">{text}</text>"#,
            bottom + 16.0
        )?;
    }
    Ok(())
}

fn one(svg: &mut String, row: &Row<'_>, at: &impl Fn(f64) -> f64, top: f64, form: (f64, f64, bool)) -> Result {
    let (height, left, is_narrow) = form;
    let (anchor, x, base) = if is_narrow { ("start", left, top + 15.0) } else { ("end", left - 12.0, top + 18.0) };
    let (name, title) = (escape(row.name), escape(row.title));
    write!(
        svg,
        r##"<a href="#{name}"><text x="{x:.1}" y="{base:.1}" text-anchor="{anchor}" fill="var(--text)">{title}</text></a>"##
    )?;
    for (place, (peer, quotients)) in PEERS.iter().zip(&row.over).enumerate() {
        let ink = ink(peer, Ground::Page);
        let y = top + height - 17.0 + 9.0 * place as f64;
        for quotient in quotients.iter().filter(|quotient| **quotient > 0.0) {
            let path = ink.shape.path(at(*quotient), y, 2.2);
            write!(svg, r#"<path d="{path}" fill="{}" fill-opacity="0.45"/>"#, ink.colour)?;
        }
        if let Some(median) = pcc_stats::quantile(quotients.clone(), 0.5).filter(|median| *median > 0.0) {
            let (path, text) = (ink.shape.path(at(median), y, 4.4), number(median));
            let words = format!("{}: {text} times {peer}", row.title);
            write!(svg, r#"<path d="{path}" fill="{}"><title>{}</title></path>"#, ink.colour, escape(&words))?;
        }
    }
    Ok(())
}
