//! A page of what happened over time: goodput of each flow, and how long packets waited.

use crate::names::QUIC_PCC;
use core::time::Duration;
use pcc_chart::axis::Scale;
use pcc_chart::ink::of_flows;
use pcc_chart::page::{FIGURES, figure};
use pcc_chart::plot::{Axis, Join, Plot, Point, Series};
use pcc_report::escape::escape;
use pcc_report::provenance::Provenance;
use pcc_sim::{Control, Results, Scenario, WAIT};

/// Points of a line: more would not be seen.
const POINTS: usize = 600;

/// The whole page of one simulation. `table` is text that says what became of each flow.
pub fn page(scenario: &Scenario, results: &Results, names: &[String], table: &str, provenance: &Provenance) -> String {
    let title = escape(&format!("{}, {:?}, seed {}", scenario.route(), scenario.duration, scenario.seed));
    let table = escape(table);
    let plots = [goodput(scenario, results, names), waits(results)].map(|plot| figure(&plot)).concat();
    let body = format!("<h1>Simulated: {title}</h1>\n<pre>{table}</pre>\n{plots}{}", provenance.list());
    pcc_chart::page::page(
        &provenance.title(&format!("{}, seed {}", scenario.route(), scenario.seed)),
        &format!("code{{overflow-wrap:anywhere}}dd{{margin:0 0 6px}}{FIGURES}"),
        &body,
    )
}

fn goodput(scenario: &Scenario, results: &Results, names: &[String]) -> Plot {
    let window = (scenario.duration / POINTS as u32).max(Duration::from_millis(500));
    let steps = (scenario.duration.as_secs_f64() / window.as_secs_f64()) as u32;
    let algorithms: Vec<_> = scenario.flows.iter().map(|flow| algorithm(flow.control)).collect();
    let series = names.iter().zip(&results.flows).zip(of_flows(&algorithms)).map(|((name, flow), ink)| {
        let points = (1..=steps).map(|step| {
            let to = window * step;
            Point::bare(to.as_secs_f64(), flow.goodput(to - window, to).mbit())
        });
        line(name, &ink, points.collect())
    });
    plot("Delivery rate, by whole packets", "Mbit/s", series.collect())
}

/// As the lab calls it.
fn algorithm(control: Control) -> &'static str {
    match control {
        Control::Pcc => QUIC_PCC,
        Control::Reno => "reno",
        Control::Cubic => "cubic",
        Control::Bbr => "bbr",
        Control::Prague => "prague",
        Control::Fixed(_) => "other",
    }
}

/// The longest wait of each stretch: peaks are what hurts.
fn waits(results: &Results) -> Plot {
    let every = results.waits.len().div_ceil(POINTS).max(1);
    let points = results.waits.chunks(every).enumerate().map(|(place, some)| {
        let longest = some.iter().max().copied().unwrap_or_default();
        Point::bare((place * every) as f64 * WAIT.as_secs_f64(), f64::from(longest) / 1e3)
    });
    plot("Longest wait at the bottleneck", "ms", vec![line("wait", "other", points.collect())])
}

fn line(name: &str, ink: &str, points: Vec<Point>) -> Series {
    Series { name: name.to_owned(), ink: ink.to_owned(), alike: 0, join: Join::Line, points }
}

fn plot(title: &str, unit: &str, series: Vec<Series>) -> Plot {
    let axis = |label: &str| Axis { label: label.to_owned(), scale: Scale::Linear, marks: Vec::new() };
    let (x, y) = (axis("time, s"), axis(unit));
    Plot { title: title.to_owned(), x, y, series, references: Vec::new(), limits: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_report::provenance::{Build, Source};
    use pcc_sim::Cast;

    #[test]
    fn the_page_shows_each_flow_and_the_queue() {
        let Cast(flows) = "20Mbit 30Mbit".parse().unwrap();
        let path = "rate=40Mbit,rtt=20ms,buffer=100KB".parse().unwrap();
        let scenario = Scenario::new(path, flows, 1, Duration::from_secs(5));
        let results = pcc_sim::run(&scenario).unwrap();
        let build = Build { version: "1".into(), program: "5ea1".into(), commit: None };
        let command = "pcc-lab sim here --utility mine.utility".to_owned();
        let provenance = Provenance { source: Source::Simulator, build, command, seeds: vec![1] };
        let page = page(&scenario, &results, &["slow".into(), "a<b".into()], "slow a<b", &provenance);
        assert!(page.contains("<title>Simulated: ") && page.contains("pcc-lab sim here --utility mine.utility"));
        for class in ["wide", "narrow"] {
            assert_eq!(page.matches(&format!("<div class=\"{class}\"><svg")).count(), 2, "on a desk and on a phone");
        }
        assert_eq!(page.matches("stroke-linejoin").count(), 2 * 3, "three lines in two sizes");
        assert!(page.contains(" slow</span>") && page.contains("a&lt;b") && !page.contains("a<b"));
        assert!(!page.contains("http"), "needs no network");
        let ink = |name| pcc_chart::ink::ink(name, pcc_chart::ink::Ground::Card).colour;
        let scenario = Scenario { flows: "pcc*2 cubic".parse::<Cast>().unwrap().0, ..scenario };
        let results = pcc_sim::run(&scenario).unwrap();
        let plot = goodput(&scenario, &results, &["pcc 1".into(), "pcc 2".into(), "cubic".into()]);
        let inks: Vec<_> = plot.series.iter().map(|series| ink(&series.ink)).collect();
        assert_eq!(inks, [ink("pcc"), ink("flow-0"), ink("cubic")]);
    }
}
