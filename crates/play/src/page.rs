//! A run over time: the rate of each flow, how long packets waited, who lost how many, and who had which share.

use core::time::Duration;
use pcc::units::{Bytes, Rate};
use pcc_chart::axis::Scale;
use pcc_chart::ink::of_flows;
use pcc_chart::page::{FIGURES, figure};
use pcc_chart::plot::{Axis, Join, Plot, Point, Series};
use pcc_report::escape::escape;
use pcc_report::provenance::Provenance;
use pcc_sim::{Control, Results, Running, Sample, Scenario, WAIT};

/// Points of a line: more would not be seen.
const POINTS: usize = 600;

/// The whole page of one simulation. `table` is text that says what became of each flow.
pub fn page(scenario: &Scenario, results: &Results, names: &[String], table: &str, provenance: &Provenance) -> String {
    let title = escape(&format!("{}, {:?}, seed {}", scenario.route(), scenario.duration, scenario.seed));
    let table = escape(table);
    let plots: String = plots(&Course::of(scenario, results, names)).iter().map(figure).collect();
    let body = format!("<h1>Simulated: {title}</h1>\n<pre>{table}</pre>\n{plots}{}", provenance.list());
    pcc_chart::page::page(
        &provenance.title(&format!("{}, seed {}", scenario.route(), scenario.seed)),
        &format!("code{{overflow-wrap:anywhere}}dd{{margin:0 0 6px}}{FIGURES}"),
        &body,
    )
}

/// A run, or as much of it as there is.
#[derive(Debug)]
pub struct Course<'a> {
    scenario: &'a Scenario,
    names: &'a [String],
    series: Vec<&'a [Sample]>,
    waits: &'a [u32],
}

impl<'a> Course<'a> {
    /// A run that is over.
    pub fn of(scenario: &'a Scenario, results: &'a Results, names: &'a [String]) -> Self {
        let series = results.flows.iter().map(|flow| &flow.series[..]).collect();
        Self { scenario, names, series, waits: &results.waits }
    }

    /// A run so far.
    pub fn so_far(running: &'a Running, names: &'a [String]) -> Self {
        let series = (0..names.len()).map(|place| running.series(place)).collect();
        Self { scenario: running.scenario(), names, series, waits: running.waits() }
    }

    /// The grain of the lines.
    fn window(&self) -> Duration {
        (self.scenario.duration / POINTS as u32).max(Duration::from_millis(500))
    }

    /// The windows that are over, of each flow.
    fn windows(&self) -> Vec<Vec<Window>> {
        let window = self.window();
        let steps = (self.scenario.duration.as_nanos() / window.as_nanos()) as usize;
        let of = |series: &&[Sample]| {
            let over = series.last().map_or(0, |last| (last.at.as_nanos() / window.as_nanos()) as usize);
            let mut windows = vec![Window::default(); over.min(steps)];
            let mut before = 0;
            for sample in *series {
                let place = (sample.at.as_nanos().saturating_sub(1) / window.as_nanos()) as usize;
                let lost = sample.sent.lost.saturating_sub(sample.sent.spurious);
                if let Some(window) = windows.get_mut(place) {
                    window.delivered += sample.delivered;
                    window.lost += lost.saturating_sub(before);
                }
                before = lost;
            }
            windows
        };
        self.series.iter().map(of).collect()
    }

    /// A line for each flow, where there is a value: of the window at this place of the flow at that.
    fn lines(&self, value: impl Fn(usize, usize) -> Option<f64>, steps: usize) -> Vec<Series> {
        let algorithms: Vec<_> = self.scenario.flows.iter().map(|flow| algorithm(&flow.control)).collect();
        let line = |((flow, name), ink): ((usize, &String), String)| {
            let points = (0..steps).filter_map(|step| {
                let at = self.window() * (step as u32 + 1);
                Some(Point::bare(at.as_secs_f64(), value(flow, step)?))
            });
            let join = if self.names.len() > 1 { Join::Spaced } else { Join::Line };
            Series { join, ..line(name, &ink, points.collect()) }
        };
        self.names.iter().enumerate().zip(of_flows(&algorithms)).map(line).collect()
    }
}

/// A flow in a stretch of time.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    delivered: Bytes,
    /// Packets that the sender gave up on.
    lost: u64,
}

/// The rate of each flow, the queue, the loss of each flow; and the shares, where several go the same way.
pub fn plots(course: &Course<'_>) -> Vec<Plot> {
    let windows = course.windows();
    let steps = windows.iter().map(Vec::len).min().unwrap_or(0);
    let rate =
        |flow: usize, step: usize| Some(Rate::from_volume(windows[flow][step].delivered, course.window()).mbit());
    // Not of the packets that were sent meanwhile: a sender that slows down hears of more losses than it sends packets.
    let loss = |flow: usize, step: usize| {
        let Window { delivered, lost } = windows[flow][step];
        let lost = (lost * course.scenario.flows[flow].packet().get()) as f64;
        let resolved = delivered.get() as f64 + lost;
        (resolved > 0.0).then(|| 100.0 * lost / resolved)
    };
    let goes_down = |flow: usize| !course.scenario.flows[flow].back;
    let share = |flow: usize, step: usize| {
        let of = |flow: usize| windows[flow][step].delivered.get();
        let all: u64 = (0..windows.len()).filter(|flow| goes_down(*flow)).map(of).sum();
        (goes_down(flow) && all > 0).then(|| of(flow) as f64 / all as f64)
    };
    let mut plots = vec![
        plot("Delivery rate, by whole packets", "Mbit/s", course.lines(rate, steps)),
        waits(course.waits),
        plot("Loss, of what arrived or was lost", "%", course.lines(loss, steps)),
    ];
    if (0..windows.len()).filter(|flow| goes_down(*flow)).count() > 1 {
        plots.push(plot("Share of what all delivered", "share", course.lines(share, steps)));
    }
    plots
}

/// As the lab calls it.
fn algorithm(control: &Control) -> &'static str {
    match control {
        Control::Pcc => "quic:pcc",
        Control::Reno => "reno",
        Control::Cubic => "cubic",
        Control::Bbr => "bbr",
        Control::Prague => "prague",
        Control::Fixed(_) | Control::Own(_) => "other",
    }
}

/// The longest wait of each stretch: peaks are what hurts.
fn waits(waits: &[u32]) -> Plot {
    let every = waits.len().div_ceil(POINTS).max(1);
    let points = waits.chunks(every).enumerate().map(|(place, some)| {
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

    fn scenario(flows: &str) -> Scenario {
        let Cast(flows) = flows.parse().unwrap();
        let path = "rate=40Mbit,rtt=20ms,buffer=100KB".parse().unwrap();
        Scenario::new(path, flows, 1, Duration::from_secs(5))
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_page_shows_each_flow_and_the_queue() {
        let scenario = scenario("20Mbit 30Mbit");
        let results = pcc_sim::run(&scenario).unwrap();
        let build = Build { version: "1".into(), program: "5ea1".into(), commit: None };
        let command = "pcc-lab sim here --utility mine.utility".to_owned();
        let provenance = Provenance { source: Source::Simulator, build, command, seeds: vec![1] };
        let page = page(&scenario, &results, &names(&["slow", "a<b"]), "slow a<b", &provenance);
        assert!(page.contains("<title>Simulated: ") && page.contains("pcc-lab sim here --utility mine.utility"));
        for class in ["wide", "narrow"] {
            assert_eq!(page.matches(&format!("<div class=\"{class}\"><svg")).count(), 4, "on a desk and on a phone");
        }
        assert_eq!(page.matches("stroke-linejoin").count(), 2 * 7, "seven lines in two sizes");
        assert!(page.contains(" slow</span>") && page.contains("a&lt;b") && !page.contains("a<b"));
        assert!(!page.contains("http"), "needs no network");
    }

    #[test]
    fn an_algorithm_has_its_colour_in_each_picture() {
        let ink = |name| pcc_chart::ink::ink(name, pcc_chart::ink::Ground::Card).colour;
        let scenario = scenario("pcc*2 cubic");
        let results = pcc_sim::run(&scenario).unwrap();
        let names = names(&["pcc 1", "pcc 2", "cubic"]);
        for plot in plots(&Course::of(&scenario, &results, &names)).iter().filter(|plot| plot.series.len() > 1) {
            let inks: Vec<_> = plot.series.iter().map(|series| ink(&series.ink)).collect();
            assert_eq!(inks, [ink("pcc"), ink("flow-0"), ink("cubic")], "{}", plot.title);
        }
    }

    #[test]
    fn losses_are_at_most_all_that_was_on_the_way() {
        let play = crate::Play {
            path: "clean",
            files: &crate::on_disk,
            then: &[],
            flows: "pcc/loss-resilient cubic bbr reno",
            read: &crate::read,
            objective: None,
            queue: None,
            ecn: false,
            policer: None,
            time: Duration::from_secs(5),
        };
        let scenario = play.stage().unwrap().seeded(1);
        let results = pcc_sim::run(&scenario).unwrap();
        let plots = plots(&Course::of(&scenario, &results, &names(&["pcc", "cubic", "bbr", "reno"])));
        let losses: Vec<_> = plots[2].series.iter().flat_map(|line| &line.points).map(|point| point.y.mean).collect();
        assert!(
            losses.iter().all(|loss| (0.0..=100.0).contains(loss)) && losses.iter().any(|loss| *loss > 20.0),
            "{losses:?}"
        );
    }

    #[test]
    fn lines_are_the_run_s_figures_and_grow_with_it() {
        let (scenario, names) = (scenario("30Mbit 20Mbit cubic:back"), names(&["fast", "slow", "back"]));
        let results = pcc_sim::run(&scenario).unwrap();
        let whole = plots(&Course::of(&scenario, &results, &names));
        let at = |plot: usize, flow: usize, second: f64| {
            whole[plot].series[flow].points.iter().find(|point| point.x == second).map(|point| point.y.mean)
        };
        let (from, to) = (Duration::from_millis(2500), Duration::from_secs(3));
        let rates = [0, 1].map(|flow| results.flows[flow].goodput(from, to).mbit());
        assert_eq!([0, 1].map(|flow| at(0, flow, 3.0).unwrap()), rates);
        assert!((at(3, 0, 3.0).unwrap() - rates[0] / (rates[0] + rates[1])).abs() < 1e-12);
        assert!(
            at(2, 0, 3.0).unwrap() > 5.0 && at(3, 2, 3.0).is_none(),
            "51 of 40 Mbit/s are sent, and one flow goes back"
        );
        let mut running = Running::begin(scenario).unwrap();
        running.pass(Duration::from_millis(3100));
        let part = plots(&Course::so_far(&running, &names));
        for (part, whole) in part.iter().zip(&whole) {
            let (part, whole) = (&part.series[0].points, &whole.series[0].points);
            assert_eq!(part[..], whole[..part.len()]);
            assert!((part.last().unwrap().x - 3.0).abs() <= 0.1, "{part:?}");
        }
    }
}
