//! A page of what happened over time: goodput of each flow, and how long packets waited. No scripts, no network.

use core::fmt::Write as _;
use core::time::Duration;
use pcc_chart::axis::{number, ticks};
use pcc_chart::escape::escape;
use pcc_chart::page::page;
use pcc_chart::provenance::Provenance;
use pcc_sim::{Results, Scenario, WAIT};

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 260.0;
/// Room for the numbers beside the axes.
const LEFT: f64 = 60.0;
const BELOW: f64 = 30.0;
/// Points of a line: more would not be seen.
const POINTS: usize = 600;
/// On a phone a drawing is 0.4 times as large: its text is not. There every other number of an axis has room.
const STYLE: &str = "svg{overflow:visible}text{font-size:12px;fill:#444}\
    @media(max-width:600px){text{font-size:25px}.odd{display:none}}";
const COLOURS: [&str; 8] = ["#0b6fa4", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#16a085", "#7f8c8d", "#34495e"];

/// The whole page, of one run.
pub(super) fn render(scenario: &Scenario, results: &Results, names: &[String], provenance: &Provenance) -> String {
    let end = scenario.duration.as_secs_f64();
    let lines = names.iter().zip(&results.flows).map(|(name, flow)| {
        let window = (scenario.duration / POINTS as u32).max(Duration::from_millis(500));
        let steps = (end / window.as_secs_f64()) as u32;
        let points = (1..=steps).map(|step| {
            let to = window * step;
            (to.as_secs_f64(), flow.goodput(to - window, to).mbit())
        });
        (name.clone(), points.collect::<Vec<_>>())
    });
    let every = results.waits.len().div_ceil(POINTS).max(1);
    // The longest wait of each stretch: peaks are what hurts.
    let waits = results.waits.chunks(every).enumerate().map(|(place, some)| {
        let longest = some.iter().max().copied().unwrap_or_default();
        ((place * every) as f64 * WAIT.as_secs_f64(), f64::from(longest) / 1e3)
    });
    let title = escape(&format!("{}, {:?}, seed {}", super::table::way(scenario), scenario.duration, scenario.seed));
    let table = escape(&super::table::text(scenario, results, &super::table::lines(scenario, results, names)));
    let goodput = chart("Delivery rate, Mbit/s, by whole packets", end, &lines.collect::<Vec<_>>());
    let waits = chart("Longest wait at the bottleneck, ms", end, &[("wait".to_owned(), waits.collect())]);
    let body = format!("<h1>Simulated: {title}</h1>\n<pre>{table}</pre>\n{goodput}{waits}{}", provenance.list());
    page(
        &provenance.title(&format!("{}, seed {}", super::table::way(scenario), scenario.seed)),
        &format!("code{{overflow-wrap:anywhere}}dd{{margin:0 0 6px}}{STYLE}"),
        &body,
    )
}

/// Lines over time, from zero to their largest value.
fn chart(title: &str, end: f64, lines: &[(String, Vec<(f64, f64)>)]) -> String {
    let most = lines.iter().flat_map(|(_, points)| points).map(|(_, y)| *y).fold(0.0, f64::max).max(1e-3) * 1.05;
    let x = |seconds: f64| LEFT + (WIDTH - LEFT) * seconds / end.max(1e-9);
    let y = |value: f64| HEIGHT - BELOW - (HEIGHT - BELOW - 10.0) * value / most;
    let mut svg = format!("<h2>{}</h2><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"100%\">", escape(title));
    for tick in ticks(most, 5.0) {
        let at = y(tick);
        let _ = write!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            number(tick)
        );
    }
    for (place, tick) in ticks(end, 10.0).into_iter().enumerate() {
        let (at, below) = (x(tick), HEIGHT - 6.0);
        let class = if place % 2 == 1 { "odd" } else { "even" };
        let _ = write!(
            svg,
            "<text class=\"{class}\" x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{} s</text>",
            number(tick)
        );
    }
    for ((name, points), colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let path: Vec<String> = points.iter().map(|(at, value)| format!("{:.1},{:.1}", x(*at), y(*value))).collect();
        let _ = write!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"><title>{}</title></polyline>",
            path.join(" "),
            escape(name)
        );
    }
    svg += "</svg>\n<p>";
    for ((name, _), colour) in lines.iter().zip(COLOURS.iter().cycle()).take(if lines.len() > 1 { 20 } else { 0 }) {
        let _ = write!(svg, "<span style=\"color:{colour}\">\u{25ac} {}</span> ", escape(name));
    }
    svg + "</p>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_chart::provenance::{Build, Source};
    use pcc_sim::Cast;

    #[test]
    fn the_page_shows_each_flow_and_the_queue() {
        let Cast(flows) = "20Mbit 30Mbit".parse().unwrap();
        let path = "rate=40Mbit,rtt=20ms,buffer=100KB".parse().unwrap();
        let scenario = Scenario::new(path, flows, 1, Duration::from_secs(5));
        let results = pcc_sim::run(&scenario).unwrap();
        let build = Build { version: "1".into(), program: "5ea1".into(), commit: None };
        let command = "pcc sim here --utility mine.utility".to_owned();
        let provenance = Provenance { source: Source::Simulator, build, command, seeds: vec![1] };
        let page = render(&scenario, &results, &["slow".into(), "a<b".into()], &provenance);
        assert!(page.contains("<title>Simulated: ") && page.contains("pcc sim here --utility mine.utility"));
        assert_eq!(page.matches("<polyline").count(), 3);
        assert!(page.contains("<title>slow</title>") && page.contains("a&lt;b") && !page.contains("a<b"));
        assert!(!page.contains("http"), "needs no network");
        assert!(page.contains("@media(max-width:600px){text{font-size:25px}"), "a phone shows it at 0.4 of its size");
    }
}
