//! Draws a plot as SVG, without anything that must be loaded.

use crate::axis::{Scale, log_ticks, number, ticks};
use crate::ink::{Ground, Ink, ink};
use crate::plot::{Axis, Join, Plot, Point, Series};
use core::fmt::{Result, Write};
use pcc_report::escape::escape;

/// Width of a letter of the axes. Unit: pixels.
const LETTER: f64 = 7.3;
const BOTTOM: f64 = 40.0;
const RIGHT: f64 = 14.0;

/// How big it becomes. Unit: pixels.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// To the right.
    pub width: f64,
    /// Downwards.
    pub height: f64,
}

/// The least that the ends of linear axes are, so that pictures can be compared, or grow without moving. Unit: the axes'.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reach {
    /// To the right.
    pub x: f64,
    /// Upwards.
    pub y: f64,
}

/// Where the values of an axis are in the picture.
struct Span {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Span {
    /// Where a value of the axis is. One beyond the axis is at its end: what would be seen there for a value is left out by
    /// [`Span::holds`], and only lines go on to the border.
    fn at(&self, value: f64) -> f64 {
        let place = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + (self.to - self.from) * place.clamp(0.0, 1.0)
    }

    fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    fn ticks(&self, wanted: f64) -> Vec<f64> {
        match self.scale {
            Scale::Linear => ticks(self.high - self.low, wanted).into_iter().map(|tick| tick + self.low).collect(),
            Scale::Log => log_ticks(self.low, self.high),
        }
    }
}

fn reached(scale: Scale, end: f64) -> Option<f64> {
    (scale == Scale::Linear).then_some(end)
}

/// The range of an axis: from zero, or from the least that is above it.
fn range(scale: Scale, values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<_> = values.filter(|value| value.is_finite()).collect();
    let high = values.iter().copied().fold(0.0, f64::max);
    match scale {
        Scale::Linear => (0.0, if high > 0.0 { high * 1.06 } else { 1.0 }),
        Scale::Log => {
            let low = values.iter().copied().filter(|value| *value > 0.0).fold(f64::MAX, f64::min);
            let high = if high > 0.0 { high } else { 1.0 };
            (low.min(high / 2.0) / 1.25, high * 1.25)
        }
    }
}

/// The values of a point that must be within the axis. On a logarithmic one the lower end of an interval has no claim to room: it may
/// lie at any depth, or below zero, which is nowhere.
fn ends(point: &Point, scale: Scale) -> impl Iterator<Item = f64> + '_ {
    let bar = bar(point).filter(|_| scale == Scale::Linear).map(|(low, _)| low);
    let top = self::bar(point).map(|(_, high)| high);
    [point.y.mean].into_iter().chain(bar).chain(top).chain(point.seeds.iter().copied())
}

/// The 95 % interval of a point, where it is drawn: few seeds show themselves instead.
fn bar(point: &Point) -> Option<(f64, f64)> {
    let margin = point.y.margin.filter(|margin| *margin > 0.0 && point.seeds.is_empty())?;
    Some((point.y.mean - margin, point.y.mean + margin))
}

/// The plot alone.
pub fn draw(plot: &Plot, size: Size, ground: Ground) -> String {
    draw_within(plot, size, ground, Reach::default())
}

/// The same with axes that reach at least so far.
pub fn draw_within(plot: &Plot, size: Size, ground: Ground, reach: Reach) -> String {
    let mut svg = String::new();
    let label = escape(&format!("{}: {} by {}", plot.title, plot.y.label, plot.x.label));
    let Size { width, height } = size;
    // Writing to a String never fails.
    let _ = write!(svg, r#"<svg viewBox="0 0 {width} {height}" role="img" aria-label="{label}">"#)
        .and_then(|()| body(&mut svg, plot, 0.0, size, ground, reach))
        .and_then(|()| svg.write_str("</svg>\n"));
    svg
}

/// The plot with its title and legend on a card of its own colour, so that it is legible on any page.
pub fn card(plot: &Plot, source: &str, footer: &str) -> String {
    let (width, letter) = (840.0, 7.0);
    let mut keys = String::new();
    let (mut x, mut y) = (64.0, 82.0);
    for (key, name) in legend(plot, Ground::Card) {
        let needed = 34.0 + letter * name.chars().count() as f64 + 14.0;
        if x + needed > width - RIGHT && x > 64.0 {
            (x, y) = (64.0, y + 20.0);
        }
        let (top, beside, name) = (y - 9.0, x + 32.0, escape(&name));
        keys += &format!(
            r#"<g transform="translate({x:.0} {top:.1})">{key}</g><text x="{beside:.0}" y="{y:.1}">{name}</text>"#
        );
        x += needed;
    }
    let top = y + 18.0;
    let below = top + 330.0;
    let (height, footer) = foot(footer, below);
    let title = escape(&plot.title);
    let mut svg = format!(
        concat!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" "##,
            r##"role="img" font-family="system-ui, -apple-system, 'Segoe UI', sans-serif" font-size="13" fill="#333">"##,
            "<title>{title}</title>",
            r##"<rect x="0.5" y="0.5" width="{w}" height="{h}" rx="8" fill="#fff" stroke="#d0d0d0"/>"##,
            r##"<text x="24" y="32" font-size="18" font-weight="600" fill="#111">{title}</text>"##,
            r##"<text x="24" y="52" fill="#555">{source}</text>{legend}"##
        ),
        width = width,
        height = height,
        title = title,
        w = width - 1.0,
        h = height - 1.0,
        source = escape(source),
        legend = keys,
    );
    let _ = body(&mut svg, plot, top, Size { width, height: below }, Ground::Card, Reach::default());
    svg + &footer + "</svg>\n"
}

/// Where a card ends that has these words at its foot, and the words.
fn foot(words: &str, below: f64) -> (f64, String) {
    const LETTERS: usize = 118;
    let mut lines = vec![String::new()];
    for word in words.split_whitespace() {
        if lines.last().is_some_and(|line| line.len() + word.len() > LETTERS) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            *line += if line.is_empty() { "" } else { " " };
            *line += word;
        }
    }
    let (mut text, mut y) = (String::new(), below);
    for line in lines {
        y += 17.0;
        let _ = write!(text, r##"<text x="24" y="{y:.1}" font-size="12" fill="#555">{}</text>"##, escape(&line));
    }
    (y + 12.0, text)
}

/// How a series is drawn.
pub fn look(series: &Series, ground: Ground) -> Ink {
    ink(&series.ink, ground).with_mark_after(series.alike)
}

/// The entries of a legend: every series once, a paper's too, and the limits. A picture, 28 pixels wide and 10 high, and a name.
pub fn legend(plot: &Plot, ground: Ground) -> Vec<(String, String)> {
    let one = |(series, is_reference): (&Series, bool)| {
        let mut svg = String::new();
        // Writing to a String never fails.
        let _ = key(&mut svg, series, &look(series, ground), is_reference);
        (svg, series.name.clone())
    };
    let series = plot.series.iter().map(|series| (series, false));
    let mut all: Vec<_> = series.chain(plot.references.iter().map(|series| (series, true))).map(one).collect();
    if !plot.limits.is_empty() {
        let bar = |look: &str| format!(r#"<path d="M5 5h18" stroke="{}"{look}/>"#, greys(ground).2);
        all.push((bar(MUST), "must".to_owned()));
        all.push((bar(GOAL), "goal".to_owned()));
    }
    all
}

/// How limits are drawn.
const MUST: &str = r#" stroke-width="3""#;
const GOAL: &str = r#" stroke-dasharray="3 2""#;

/// The colours of numbers, of the grid and of axes.
fn greys(ground: Ground) -> (&'static str, &'static str, &'static str) {
    match ground {
        Ground::Page => ("var(--dim)", "var(--line)", "var(--axis)"),
        Ground::Card => ("#555", "#e4e4e4", "#888"),
    }
}

/// How a series looks, 28 pixels wide and 10 high.
fn key(svg: &mut String, series: &Series, ink: &Ink, is_reference: bool) -> Result {
    if !is_reference && series.join != Join::None {
        write!(
            svg,
            r#"<path d="M0 5h28" fill="none" stroke="{}" stroke-width="{}"{}/>"#,
            ink.colour,
            ink.width,
            dash(ink)
        )?;
    }
    match (is_reference, series.join) {
        (true, _) => mark(svg, ink, 14.0, 5.0, 4.5, true, ""),
        (false, Join::Marked | Join::Spaced | Join::None) => mark(svg, ink, 14.0, 5.0, 4.0, false, ""),
        (false, _) => Ok(()),
    }
}

fn dash(ink: &Ink) -> String {
    ink.dash.map_or(String::new(), |dash| format!(r#" stroke-dasharray="{dash}""#))
}

/// A mark, hollow for what a paper measured.
fn mark(svg: &mut String, ink: &Ink, x: f64, y: f64, r: f64, is_hollow: bool, text: &str) -> Result {
    let fill = if is_hollow { "none" } else { &ink.colour };
    let (path, colour) = (ink.shape.path(x, y, r), &ink.colour);
    write!(svg, r#"<path d="{path}" fill="{fill}" stroke="{colour}" stroke-width="1.6">"#)?;
    if !text.is_empty() {
        write!(svg, "<title>{}</title>", escape(text))?;
    }
    svg.write_str("</path>")
}

fn body(svg: &mut String, plot: &Plot, top: f64, size: Size, ground: Ground, reach: Reach) -> Result {
    let drawn = || plot.series.iter().chain(&plot.references).flat_map(|series| &series.points);
    let (first, last) = match plot.x.marks.as_slice() {
        [] => {
            let ends = drawn().flat_map(|point| [point.x, point.x + point.x_margin.unwrap_or(0.0)]);
            range(plot.x.scale, ends.chain(reached(plot.x.scale, reach.x)))
        }
        marks => around(&plot.x, marks, plot.series.iter().flat_map(|series| &series.points).map(|point| point.x)),
    };
    let is_beside = |x: f64| (first..=last).contains(&x);
    let limits: Vec<_> = plot.limits.iter().filter(|limit| is_beside(limit.x)).collect();
    let values = drawn().filter(|point| is_beside(point.x)).flat_map(|point| ends(point, plot.y.scale));
    let values = values.chain(limits.iter().flat_map(|limit| [limit.must, limit.goal]));
    let (low, high) = range(plot.y.scale, values.chain(reached(plot.y.scale, reach.y)));
    let bottom = size.height - BOTTOM;
    let mut y = Span { scale: plot.y.scale, low, high, from: bottom, to: top + 24.0 };
    // A value of at most 1 needs no room above it.
    if plot.y.scale == Scale::Linear && (0.9..=1.06).contains(&high) {
        y.high = 1.0;
    }
    let texts: Vec<_> = y.ticks(6.0).into_iter().map(|tick| (tick, number(tick))).collect();
    let widest = texts.iter().map(|(_, text)| text.len()).max().unwrap_or(1);
    let left = 14.0 + LETTER * widest.max(3) as f64;
    let x = Span { scale: plot.x.scale, low: first, high: last, from: left, to: size.width - RIGHT };
    frame(svg, plot, (&x, &y), &texts, size, ground)?;
    let (.., axis) = greys(ground);
    for limit in limits {
        let (at, must, goal) = (x.at(limit.x), y.at(limit.must), y.at(limit.goal));
        write!(svg, r#"<path d="M{:.1} {must:.1}h18" stroke="{axis}"{MUST}/>"#, at - 9.0)?;
        write!(svg, r#"<path d="M{:.1} {goal:.1}h18" stroke="{axis}"{GOAL}/>"#, at - 9.0)?;
    }
    marks(svg, plot, &x, &y, ground)
}

/// The axes with their ticks and labels; `texts` are those of the vertical one.
fn frame(
    svg: &mut String,
    plot: &Plot,
    (x, y): (&Span, &Span),
    texts: &[(f64, String)],
    size: Size,
    ground: Ground,
) -> Result {
    let (dim, line, axis) = greys(ground);
    let (left, bottom) = (x.from, y.from);
    for (tick, text) in texts {
        let at = y.at(*tick);
        write!(svg, r#"<path d="M{left:.1} {at:.1}H{:.1}" stroke="{line}"/>"#, x.to)?;
        write!(svg, r#"<text x="{:.1}" y="{:.1}" text-anchor="end" fill="{dim}">{text}</text>"#, left - 6.0, at + 4.0)?;
    }
    // As far from a card's frame as its title.
    let margin = if ground == Ground::Card { 24.0 } else { 2.0 };
    write!(svg, r#"<text x="{margin}" y="{:.1}" fill="{dim}">{}</text>"#, y.to - 13.0, escape(&plot.y.label))?;
    below(svg, &plot.x, x, bottom, dim, axis)?;
    if !plot.x.label.is_empty() {
        write!(
            svg,
            r#"<text x="{:.1}" y="{:.1}" text-anchor="middle" fill="{dim}">{}</text>"#,
            left.midpoint(x.to),
            size.height - 5.0,
            escape(&plot.x.label)
        )?;
    }
    write!(svg, r#"<path d="M{left:.1} {bottom:.1}H{:.1}" stroke="{axis}"/>"#, x.to)
}

/// Lines and marks, the first series on top of the others, and papers' marks on top of all.
fn marks(svg: &mut String, plot: &Plot, x: &Span, y: &Span, ground: Ground) -> Result {
    for (place, series) in plot.series.iter().enumerate().rev() {
        let ink = look(series, ground);
        join(svg, series, &ink, x, y)?;
        if series.join == Join::Spaced {
            spaced(svg, series, &ink, (x, y), place as f64 / plot.series.len() as f64)?;
        }
        for point in series.points.iter().filter(|point| x.holds(point.x)) {
            margins(svg, point, &ink, x, y)?;
            for seed in point.seeds.iter().filter(|seed| y.holds(**seed)) {
                let (px, py) = (x.at(point.x), y.at(*seed));
                write!(
                    svg,
                    r#"<circle cx="{px:.1}" cy="{py:.1}" r="1.9" fill="{}" fill-opacity="0.55"/>"#,
                    ink.colour
                )?;
            }
            if matches!(series.join, Join::Marked | Join::None) && y.holds(point.y.mean) {
                mark(svg, &ink, x.at(point.x), y.at(point.y.mean), 3.6, false, &point.text)?;
            }
        }
    }
    for series in &plot.references {
        let ink = look(series, ground);
        for point in series.points.iter().filter(|point| x.holds(point.x) && y.holds(point.y.mean)) {
            mark(svg, &ink, x.at(point.x), y.at(point.y.mean), 6.0, true, &point.text)?;
        }
    }
    Ok(())
}

/// Marks along a line, a tenth of the picture apart. They begin `part` of that distance later, so that those of lines that run together
/// do not cover each other.
fn spaced(svg: &mut String, series: &Series, ink: &Ink, (x, y): (&Span, &Span), part: f64) -> Result {
    let apart = (x.high - x.low) / 10.0;
    let mut next = x.low + apart * (0.5 + part);
    for point in &series.points {
        if point.x >= next {
            mark(svg, ink, x.at(point.x), y.at(point.y.mean), 3.6, false, &point.text)?;
            while point.x >= next {
                next += apart;
            }
        }
    }
    Ok(())
}

/// A range in which all marks are, with some room at both ends.
fn around(axis: &Axis, marks: &[(f64, String)], values: impl Iterator<Item = f64>) -> (f64, f64) {
    let low = marks.iter().map(|(at, _)| *at).fold(f64::MAX, f64::min);
    let high = marks.iter().map(|(at, _)| *at).fold(f64::MIN, f64::max);
    // Series may stand a little beside the places of their points.
    let room = values.map(|value| (low - value).max(value - high)).fold(0.0, f64::max);
    match axis.scale {
        Scale::Log => {
            let room = (high / low).powf(0.04).max(1.1);
            (low / room, high * room)
        }
        Scale::Linear => {
            let room = if high > low { (high - low) * 0.04 + room } else { 1.0 };
            (low - room, high + room)
        }
    }
}

/// The texts of the x axis, without those that would run into their neighbours.
fn below(svg: &mut String, axis: &Axis, x: &Span, bottom: f64, dim: &str, line: &str) -> Result {
    let marks = if axis.marks.is_empty() {
        x.ticks(((x.to - x.from) / 80.0).max(3.0)).into_iter().map(|tick| (tick, number(tick))).collect()
    } else {
        axis.marks.clone()
    };
    let mut free = f64::MIN;
    for (value, text) in &marks {
        let (at, half) = (x.at(*value), LETTER * text.chars().count() as f64 / 2.0);
        write!(svg, r#"<path d="M{at:.1} {bottom:.1}v4" stroke="{line}"/>"#)?;
        // The first and the last must not leave the picture.
        let middle = at.clamp(half + 1.0, (x.to + RIGHT - half - 1.0).max(half + 1.0));
        if middle - half > free {
            write!(
                svg,
                r#"<text x="{middle:.1}" y="{:.1}" text-anchor="middle" fill="{dim}">{}</text>"#,
                bottom + 17.0,
                escape(text)
            )?;
            free = middle + half + 8.0;
        }
    }
    Ok(())
}

fn join(svg: &mut String, series: &Series, ink: &Ink, x: &Span, y: &Span) -> Result {
    if series.join == Join::None || series.points.is_empty() {
        return Ok(());
    }
    let mut path = String::new();
    for (place, point) in series.points.iter().enumerate() {
        let (px, py) = (x.at(point.x), y.at(point.y.mean));
        match (place, series.join) {
            (0, _) => write!(path, "M{px:.1} {py:.1}")?,
            (_, Join::Steps) => write!(path, "H{px:.1}V{py:.1}")?,
            _ => write!(path, "L{px:.1} {py:.1}")?,
        }
    }
    let (colour, width) = (&ink.colour, ink.width);
    write!(
        svg,
        r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"{}/>"#,
        dash(ink)
    )
}

/// The 95 % interval, where there is one; an end beyond the axis has no cap.
fn margins(svg: &mut String, point: &Point, ink: &Ink, x: &Span, y: &Span) -> Result {
    let (px, py) = (x.at(point.x), y.at(point.y.mean));
    let mut path = String::new();
    if let Some((low, high)) = bar(point) {
        let (top, bottom) = (y.at(high), y.at(low));
        if bottom - top > 1.0 {
            write!(path, "M{px:.1} {top:.1}V{bottom:.1}")?;
            for (end, at) in [(high, top), (low, bottom)] {
                if (y.low..=y.high).contains(&end) {
                    write!(path, "M{:.1} {at:.1}h6", px - 3.0)?;
                }
            }
        }
    }
    if let Some(margin) = point.x_margin.filter(|margin| *margin > 0.0) {
        write!(path, "M{:.1} {py:.1}H{:.1}", x.at(point.x - margin), x.at(point.x + margin))?;
    }
    if path.is_empty() {
        return Ok(());
    }
    write!(svg, r#"<path d="{path}" stroke="{}" stroke-width="1.1" fill="none"/>"#, ink.colour)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Limit;

    fn plot() -> Plot {
        let axis = |label: &str, marks| Axis { label: label.into(), scale: Scale::Linear, marks };
        let told = |x: f64, text: &str| Point { text: text.into(), ..Point::bare(x, 0.5) };
        let series = |name: &str, points| Series {
            name: name.into(),
            ink: "quic:pcc".into(),
            alike: 0,
            join: Join::Marked,
            points,
        };
        Plot {
            title: "loss".into(),
            x: axis("loss", vec![(1.0, "1".into()), (2.0, "2".into())]),
            y: axis("share", Vec::new()),
            series: vec![series("measured", vec![told(1.0, "one"), told(2.0, "two")])],
            references: vec![series("published", vec![told(1.5, "between"), told(6.0, "beyond")])],
            limits: [1.0, 6.0].map(|x| Limit { x, must: 0.4, goal: 0.6 }).into(),
        }
    }

    #[test]
    fn what_lies_beyond_an_axis_is_left_out() {
        let svg = draw(&plot(), Size { width: 400.0, height: 300.0 }, Ground::Card);
        for (words, is_drawn) in [("one", true), ("between", true), ("beyond", false)] {
            assert_eq!(svg.contains(&format!("<title>{words}</title>")), is_drawn, "{words}: {svg}");
        }
        assert_eq!((svg.matches(MUST).count(), svg.matches(GOAL).count()), (1, 1), "{svg}");
    }

    #[test]
    fn lines_with_a_few_marks_have_them_at_other_places() {
        let series = |ink: &str| Series {
            ink: ink.into(),
            join: Join::Spaced,
            points: (0..1000).map(|at| Point::bare(f64::from(at), 0.5)).collect(),
            ..plot().series.remove(0)
        };
        let x = Axis { marks: Vec::new(), ..plot().x };
        let plot = Plot {
            x,
            series: vec![series("cubic"), series("bbr")],
            references: Vec::new(),
            limits: Vec::new(),
            ..plot()
        };
        let svg = draw(&plot, Size { width: 400.0, height: 300.0 }, Ground::Card);
        let marks: Vec<_> = svg.split("<path d=\"").filter(|path| path.contains("stroke-width=\"1.6\"")).collect();
        assert!((16..=20).contains(&marks.len()), "{}", marks.len());
        let mut places: Vec<_> = marks.iter().map(|mark| mark[1..].split(' ').next().unwrap()).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), marks.len(), "{places:?}");
    }

    #[test]
    fn axes_reach_as_far_as_they_are_told() {
        let plot = Plot { x: Axis { marks: Vec::new(), ..plot().x }, limits: Vec::new(), ..plot() };
        let (size, ground) = (Size { width: 400.0, height: 300.0 }, Ground::Page);
        let last = |reach| {
            let svg = draw_within(&plot, size, ground, reach);
            let texts =
                svg.split("fill=\"var(--dim)\">").skip(1).filter_map(|text| text.split('<').next()?.parse().ok());
            texts.fold(0.0, f64::max)
        };
        assert_eq!(
            (last(Reach::default()), last(Reach { x: 30.0, y: 0.0 }), last(Reach { x: 0.0, y: 80.0 })),
            (6.0, 30.0, 80.0)
        );
    }

    #[test]
    fn a_card_s_legend_has_limits_and_its_words_stay_inside() {
        let svg = card(&plot(), "here", "there");
        for name in ["measured", "published", "must", "goal"] {
            assert!(svg.contains(&format!(">{name}</text>")), "{name}: {svg}");
        }
        let left = svg.split("<text x=\"").skip(1).map(|text| text.split('"').next().unwrap().parse::<f64>().unwrap());
        assert!(left.fold(f64::MAX, f64::min) >= 20.0, "{svg}");
    }
}
