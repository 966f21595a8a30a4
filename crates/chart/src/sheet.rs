//! A chart as part of an SVG: lines over a linear or a logarithmic axis.

use crate::axis::{log_ticks, number, ticks};
use pcc_report::escape::escape;
use std::fmt::Write as _;

/// A chart.
pub struct Chart {
    /// Above it.
    pub title: String,
    /// The quantity along the horizontal axis.
    pub along: &'static str,
    /// Whether that axis is logarithmic.
    pub log: bool,
    /// Each in a colour of its own.
    pub lines: Vec<Line>,
}

/// A line, with gaps where there is no value.
pub struct Line {
    /// Beside its colour, above the chart.
    pub name: String,
    /// From left to right.
    pub points: Vec<(f64, Option<f64>)>,
    /// Points that stand out.
    pub marks: Vec<(f64, f64)>,
}

impl Line {
    /// One where nothing stands out.
    pub fn new(name: impl Into<String>, points: Vec<(f64, Option<f64>)>) -> Self {
        Self { name: name.into(), points, marks: Vec::new() }
    }
}

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
/// Room for numbers, titles and names.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const ABOVE: f64 = 46.0;
const BELOW: f64 = 40.0;
/// Okabe and Ito's colours, which nearly everybody can tell apart.
const COLOURS: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"];

/// The dashes of lines, for `stroke-dasharray`: lines differ by more than their colour.
const DASHES: [&str; 5] = ["none", "8 3", "2 3", "9 3 2 3", "4 2"];

/// From values to a place in the drawing.
struct Axis {
    least: f64,
    most: f64,
    log: bool,
    from: f64,
    to: f64,
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.log { value.max(1e-12).ln() } else { value };
        let (least, most) = (scale(self.least), scale(self.most));
        self.from + (self.to - self.from) * (scale(value) - least) / (most - least).max(1e-12)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.log {
            return log_ticks(self.least, self.most);
        }
        let span = self.most.max(-self.least);
        let below = ticks(span, 5.0).into_iter().rev().map(|tick| -tick).filter(|tick| *tick < 0.0);
        below.chain(ticks(span, 5.0)).filter(|tick| (self.least..=self.most).contains(tick)).collect()
    }
}

impl Chart {
    /// Its SVG, with its upper left corner here.
    pub fn render(&self, x: f64, y: f64) -> String {
        let known = || self.lines.iter().flat_map(|line| &line.points).filter_map(|(x, y)| Some((*x, (*y)?)));
        let span = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)))
        };
        let mut svg = format!(
            "<g transform=\"translate({x},{y})\"><text x=\"{LEFT}\" y=\"16\" class=\"title\">{}</text>",
            escape(&self.title)
        );
        let (least, most) = span(&mut known().map(|(_, y)| y));
        let (first, last) = span(&mut self.lines.iter().flat_map(|line| &line.points).map(|(x, _)| *x));
        if least > most {
            let _ = write!(
                svg,
                "<text x=\"{LEFT}\" y=\"{}\">nothing to show: no limit, or not defined</text></g>",
                HEIGHT / 2.0
            );
            return svg;
        }
        // A tenth of room, and zero in sight.
        let room = ((most - least) * 0.05).max(most.abs() * 1e-3).max(1e-9);
        let vertical = Axis {
            least: if least >= 0.0 { 0.0 } else { least - room },
            most: (most + room).max(0.0),
            log: false,
            from: HEIGHT - BELOW,
            to: ABOVE,
        };
        let horizontal = Axis { least: first, most: last, log: self.log, from: LEFT, to: WIDTH - RIGHT };
        svg += &grid(&horizontal, &vertical);
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            f64::midpoint(LEFT, WIDTH - RIGHT),
            HEIGHT - 6.0,
            escape(self.along)
        );
        let inks = COLOURS.iter().zip(DASHES).cycle();
        for ((line, (colour, dash)), place) in self.lines.iter().zip(inks).zip(0u8..) {
            let look = format!("class=\"line\" style=\"stroke:{colour};stroke-dasharray:{dash}\"");
            svg += &draw(line, colour, &look, &horizontal, &vertical);
            let at = LEFT + f64::from(place) * (WIDTH - LEFT) / self.lines.len() as f64;
            let (beside, name) = (at + 28.0, escape(&line.name));
            let _ = write!(svg, "<path d=\"M{at:.1} 30h24\" {look}/><text x=\"{beside:.1}\" y=\"34\">{name}</text>");
        }
        svg + "</g>\n"
    }
}

fn grid(horizontal: &Axis, vertical: &Axis) -> String {
    let mut svg = String::new();
    for tick in vertical.ticks() {
        let at = vertical.at(tick);
        let _ = write!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" class=\"{}\"/><text x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            if tick == 0.0 { "zero" } else { "grid" },
            LEFT - 6.0,
            at + 4.0,
            number(tick)
        );
    }
    for tick in horizontal.ticks() {
        let at = horizontal.at(tick);
        let below = HEIGHT - BELOW;
        let _ = write!(
            svg,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{below}\" y2=\"{}\" class=\"zero\"/><text x=\"{at:.1}\" y=\"{}\" \
             text-anchor=\"middle\">{}</text>",
            below + 4.0,
            below + 17.0,
            number(tick)
        );
    }
    svg
}

fn draw(line: &Line, colour: &str, look: &str, horizontal: &Axis, vertical: &Axis) -> String {
    let mut path = String::new();
    let mut pen = 'M';
    for (x, y) in &line.points {
        match y {
            Some(y) => {
                let _ = write!(path, "{pen}{:.1} {:.1}", horizontal.at(*x), vertical.at(*y));
                pen = 'L';
            }
            None => pen = 'M',
        }
    }
    let mut svg = format!("<path d=\"{path}\" {look}><title>{}</title></path>", escape(&line.name));
    for (x, y) in &line.marks {
        let (x, y) = (horizontal.at(*x), vertical.at(*y));
        let _ = write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" style=\"fill:{colour}\"/>");
    }
    svg
}

/// Charts side by side, two in a row, under a title.
pub fn sheet(title: &str, charts: &[Chart]) -> String {
    const HEAD: f64 = 36.0;
    let rows = charts.len().div_ceil(2) as f64;
    let head = format!("<text x=\"16\" y=\"24\" class=\"head\">{}</text>\n", escape(title));
    let placed = charts.iter().enumerate().map(|(place, chart)| {
        let (column, row) = ((place % 2) as f64, (place / 2) as f64);
        chart.render(column * WIDTH, row * HEIGHT + HEAD)
    });
    picture(title, 2.0 * WIDTH, rows * HEIGHT + HEAD, &(head + &placed.collect::<String>()))
}

impl Chart {
    /// It alone, as a picture that has its title.
    pub fn alone(&self) -> String {
        picture(&self.title, WIDTH, HEIGHT, &self.render(0.0, 0.0))
    }
}

fn picture(title: &str, width: f64, height: f64, drawn: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\"><title>{}</title><style>text{{font:12px sans-serif;fill:#333}}.title{{font-weight:bold}}.head{{font:bold 15px \
         sans-serif}}.grid{{stroke:#ddd}}.zero{{stroke:#888}}.line{{fill:none;stroke-width:1.8}}</style><rect width=\"100%\" \
         height=\"100%\" fill=\"#fff\"/>{drawn}</svg>\n",
        escape(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(log: bool, points: Vec<(f64, Option<f64>)>) -> Chart {
        let line = Line { marks: vec![(points[0].0, 0.0)], ..Line::new("a<b", points) };
        Chart { title: "x & y".into(), along: "rate", log, lines: vec![line] }
    }

    #[test]
    fn a_line_has_gaps_where_nothing_is_defined_and_text_is_safe() {
        let points = vec![(1.0, Some(-2.0)), (2.0, None), (10.0, Some(4.0)), (100.0, Some(1.0))];
        for log in [false, true] {
            let svg = sheet("<title>", &[chart(log, points.clone())]);
            let path = svg.split("<path d=\"").nth(1).unwrap().split('"').next().unwrap();
            assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 1), "{path}");
            assert!(svg.contains("a&lt;b") && svg.contains("x &amp; y") && !svg.contains("<title><"), "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn nothing_to_show_is_said() {
        assert!(sheet("t", &[chart(false, vec![(1.0, None)])]).contains("nothing to show"));
    }

    #[test]
    fn a_chart_alone_says_its_title_once() {
        let svg = chart(false, vec![(1.0, Some(1.0)), (2.0, Some(2.0))]).alone();
        assert_eq!((svg.matches("x &amp; y</text>").count(), svg.matches("<title>x &amp; y").count()), (1, 1), "{svg}");
    }
}
