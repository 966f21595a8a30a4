//! The laws' decisions for the reports in `vectors/laws`: the core's as written there, the kernel's Ascent within 0.1 %.
//!
//! `PCC_WRITE_VECTORS=1 cargo test -p pcc-kernel-c --test vectors` writes those files anew, for a law that was changed.
#![cfg(target_os = "linux")]

mod network;
mod objective;

use core::fmt::Write as _;
use core::time::Duration;
use network::Network;
use objective::Objective;
use pcc::control::{self, Driver, Path, RateControl, Verdict};
use pcc::interval::IntervalPlan;
use pcc::interval::{LimitedBy, Report};
use pcc::monitor;
use pcc::rng::Rng;
use pcc::units::{Bytes, Rate, Timestamp};
use pcc::utility::{SenderView, built_in};
use pcc_kernel_c::Law;
use std::collections::{BTreeMap, VecDeque};

/// File, law, utility, and the seeds of the lives in it. In these lives, of 300, somebody else fills the queue, and a level is
/// tried by a test and goes. So another value of a constant that decides it is noticed.
const FILES: [(&str, &str, &str, [u64; 3]); 3] = [
    ("ascent-fair", "ascent", "fair", [150, 94, 254]),
    ("ascent-scavenger", "ascent", "scavenger", [165, 163, 254]),
    ("vivace", "vivace", "vivace", [0, 1, 2]),
];
/// Packets' sizes, one a life.
const PACKETS: [u64; 3] = [1448, 536, 8948];
/// The number of reports in one life.
const REPORTS: u64 = 60;

const HEAD: &str = "\
# What a control law decides, told what is written here: for whoever writes one anew. Bytes, bytes a second, seconds; `started`
# in nanoseconds. What is not given was not measured. docs/algorithm.md says how to read it.
";

fn law(name: &str) -> control::Law {
    match name {
        "vivace" => control::Law::Vivace(control::vivace::Config::kernel()),
        name => name.parse().unwrap(),
    }
}

fn utility(name: &str) -> Objective {
    Objective::built_in(built_in().find(|about| about.name == name).unwrap())
}

/// `name=number`, with the six digits that are driven with.
struct Line(String);

impl Line {
    fn number(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            let rounded: f64 = format!("{value:.5e}").parse().unwrap();
            write!(self.0, " {name}={rounded}").unwrap();
        }
    }

    fn count(&mut self, name: &str, value: u64) {
        write!(self.0, " {name}={value}").unwrap();
    }

    fn rate(&mut self, name: &str, rate: Rate) {
        self.number(name, rate.bytes_per_sec());
    }

    fn time(&mut self, name: &str, time: Option<Duration>) {
        self.number(name, time.map_or(f64::NAN, |time| time.as_secs_f64()));
    }

    fn path(path: &Path) -> Self {
        let mut line = Self("path".to_owned());
        line.time("rtt", Some(path.rtt));
        line.time("queue", Some(path.queue));
        line.count("packet", path.packet.get());
        line.rate("floor", path.floor);
        line.rate("initial", path.initial);
        line.rate("ceiling", path.ceiling);
        line.rate("delivery", path.delivery);
        line
    }

    fn report(plan: usize, report: &Report) -> Self {
        let mut line = Self(format!("report of={plan} limited_by={}", report.limited_by.as_str().replace(' ', "-")));
        line.count("started", report.started.as_nanos());
        line.time("duration", Some(report.duration));
        line.rate("achieved", report.achieved);
        let counts = [
            ("packets", report.packets),
            ("packets_lost", report.packets_lost),
            ("loss_bursts", report.loss_bursts),
            ("packets_marked", report.packets_marked),
            ("rtt_samples", report.rtt_samples),
        ];
        counts.into_iter().for_each(|(name, count)| line.count(name, count.into()));
        line.count("sent", report.sent.get());
        line.count("lost", report.lost.get());
        line.number("delivery_rate", report.delivery_rate.map_or(f64::NAN, Rate::bytes_per_sec));
        line.time("rtt", report.rtt);
        line.time("rtt_least", report.rtt_least);
        line.time("rtt_base", report.rtt_base);
        line.number("rtt_gradient", report.rtt_gradient.unwrap_or(f64::NAN));
        line.number("rtt_gradient_error", report.rtt_gradient_error);
        line.time("rtt_span", Some(report.rtt_span));
        line.time("rtt_pause", Some(report.rtt_pause));
        line.time("rtt_residual", Some(report.rtt_residual));
        line.time("rtt_deviation", Some(report.rtt_deviation));
        line
    }
}

/// The content of a line, by name.
struct Said<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Said<'a> {
    fn of(line: &'a str) -> Self {
        Self(line.split_whitespace().filter_map(|one| one.split_once('=')).collect())
    }

    fn text(&self, name: &str) -> &'a str {
        self.0.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", self.0))
    }

    fn known(&self, name: &str) -> Option<f64> {
        self.0.get(name).map(|value| value.parse().unwrap())
    }

    fn number(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap()
    }

    fn count(&self, name: &str) -> u32 {
        self.text(name).parse().unwrap()
    }

    fn rate(&self, name: &str) -> Rate {
        Rate::from_bytes_per_sec(self.number(name))
    }

    fn time(&self, name: &str) -> Option<Duration> {
        self.known(name).map(Duration::from_secs_f64)
    }

    fn path(&self) -> Path {
        Path {
            rtt: self.time("rtt").unwrap(),
            queue: self.time("queue").unwrap(),
            packet: Bytes::new(self.count("packet").into()),
            monitor: monitor::Config::default(),
            floor: self.rate("floor"),
            initial: self.rate("initial"),
            ceiling: self.rate("ceiling"),
            delivery: self.rate("delivery"),
            capacity: None,
            trains: None,
        }
    }

    fn report(&self, plan: IntervalPlan) -> Report {
        let limits =
            [LimitedBy::Network, LimitedBy::Application, LimitedBy::ReceiverWindow, LimitedBy::Host].into_iter();
        let limited_by = limits.into_iter().find(|limit| limit.as_str().replace(' ', "-") == self.text("limited_by"));
        let mut report = SenderView::clear(1.0, 0.1).report();
        report.id = 0;
        report.started = Timestamp::from_nanos(self.text("started").parse().unwrap());
        report.duration = self.time("duration").unwrap();
        report.target = plan.rate;
        report.achieved = self.rate("achieved");
        report.packets = self.count("packets");
        report.packets_lost = self.count("packets_lost");
        report.loss_bursts = self.count("loss_bursts");
        report.packets_marked = self.count("packets_marked");
        report.sent = Bytes::new(self.text("sent").parse().unwrap());
        report.lost = Bytes::new(self.text("lost").parse().unwrap());
        report.delivery_rate = self.known("delivery_rate").map(Rate::from_bytes_per_sec);
        report.rtt = self.time("rtt");
        report.rtt_least = self.time("rtt_least");
        report.rtt_base = self.time("rtt_base");
        report.rtt_gradient = self.known("rtt_gradient");
        report.rtt_gradient_error = self.known("rtt_gradient_error").unwrap_or(f64::INFINITY);
        report.rtt_span = self.time("rtt_span").unwrap();
        report.rtt_pause = self.time("rtt_pause").unwrap();
        report.rtt_samples = self.count("rtt_samples");
        report.rtt_residual = self.time("rtt_residual").unwrap();
        report.rtt_deviation = self.time("rtt_deviation").unwrap();
        report.app_limited = matches!(limited_by, Some(LimitedBy::Application | LimitedBy::ReceiverWindow));
        report.limited_by = limited_by.unwrap();
        report
    }
}

/// A law under test. Its answers are text.
trait Decides {
    fn next(&mut self, path: &Path) -> IntervalPlan;
    /// Whether it ends early, and whether the plan changed.
    fn on_report(&mut self, plan: IntervalPlan, report: &Report, path: &Path) -> (bool, bool);
    fn tell(&mut self, what: &str, rate: Option<Rate>);
    /// Rate, state, standing RTT.
    fn stands(&self) -> (Rate, &'static str, Option<Duration>);
}

struct Core {
    driver: Driver,
    rng: Rng,
    utility: Objective,
}

impl Decides for Core {
    fn next(&mut self, path: &Path) -> IntervalPlan {
        self.driver.next(path, &mut self.rng)
    }

    fn on_report(&mut self, plan: IntervalPlan, report: &Report, path: &Path) -> (bool, bool) {
        let early = self.driver.ends_early(report, &self.utility, path);
        (early, self.driver.on_report(plan, report, &self.utility, path) != Verdict::Wait)
    }

    fn tell(&mut self, what: &str, rate: Option<Rate>) {
        match (what, rate) {
            ("back-off", Some(rate)) => self.driver.back_off(rate),
            ("start", Some(rate)) => self.driver.start(rate),
            _ => self.driver.restart(),
        }
    }

    fn stands(&self) -> (Rate, &'static str, Option<Duration>) {
        (self.driver.rate(), self.driver.state(), self.driver.standing_rtt())
    }
}

impl Decides for Law {
    fn next(&mut self, path: &Path) -> IntervalPlan {
        self.next(path)
    }

    fn on_report(&mut self, plan: IntervalPlan, report: &Report, path: &Path) -> (bool, bool) {
        (self.ends_early(report, path), self.on_report(plan, report, path))
    }

    fn tell(&mut self, what: &str, rate: Option<Rate>) {
        match (what, rate) {
            ("back-off", Some(rate)) => self.back_off(rate),
            ("start", Some(rate)) => self.start(rate),
            _ => self.restart(),
        }
    }

    fn stands(&self) -> (Rate, &'static str, Option<Duration>) {
        (self.rate(), self.state(), self.standing_rtt())
    }
}

/// The first rate of every life.
const INITIAL: f64 = 125_000.0;

fn core(law_name: &str, utility_name: &str, seed: u64) -> Core {
    let driver = Driver::new(law(law_name), Rate::from_bytes_per_sec(INITIAL));
    Core { driver, rng: Rng::new(seed), utility: utility(utility_name) }
}

fn kernel(utility_name: &str, seed: u64) -> Law {
    let program = pcc_kernel_c::Program::new(&utility(utility_name).program);
    Law::new(program, Rate::from_bytes_per_sec(INITIAL), seed)
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

fn slot_line(plan: &IntervalPlan) -> String {
    let mut line = Line("next".to_owned());
    line.rate("rate", plan.rate);
    line.number("rtts_least", plan.rtts.0);
    line.number("rtts_most", plan.rtts.1);
    plan.trial.into_iter().for_each(|trial| line.count("trial", trial.into()));
    line.0 + " stretched=" + yes(plan.is_stretched)
}

fn then_line((early, replanned): (bool, bool), stands: (Rate, &'static str, Option<Duration>)) -> String {
    let mut line = Line(format!("then early={} replanned={} state={}", yes(early), yes(replanned), stands.1));
    line.rate("rate", stands.0);
    line.time("standing_rtt", stands.2);
    line.0
}

/// Tells a law what a file tells; each line that says what it decides is compared by `right(expected, got)`.
fn replay(file: &str, mut new: impl FnMut(&Said<'_>) -> Box<dyn Decides>, right: impl Fn(&str, &str) -> bool) -> u32 {
    let (mut law, mut path, mut plans, mut told, mut reports) = (None, None, Vec::new(), (false, false), 0);
    for (number, line) in (1..).zip(file.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let (what, said) = (line.split(' ').next().unwrap(), Said::of(line));
        let path_now = || path.as_ref().unwrap();
        match what {
            "law" => (law, plans) = (Some(new(&said)), Vec::new()),
            "path" => path = Some(said.path()),
            "next" => {
                let law = law.as_mut().unwrap();
                let plan = law.next(path_now());
                let got = slot_line(&plan);
                assert!(right(line, &got), "line {number}: expected\n{line}\ngot\n{got}");
                plans.push(plan);
            }
            "report" => {
                let plan: IntervalPlan = plans[said.count("of") as usize];
                reports += 1;
                told = law.as_mut().unwrap().on_report(plan, &said.report(plan), path_now());
            }
            "then" => {
                let got = then_line(told, law.as_ref().unwrap().stands());
                assert!(right(line, &got), "line {number}: expected\n{line}\ngot\n{got}");
            }
            other => law.as_mut().unwrap().tell(other, said.known("rate").map(Rate::from_bytes_per_sec)),
        }
    }
    reports
}

/// The same words, and numbers within so much of their size.
fn alike(expected: &str, got: &str, within: f64) -> bool {
    let (expected, got) = (Said::of(expected).0, Said::of(got).0);
    expected.len() == got.len()
        && expected.iter().zip(&got).all(|((name, value), (other, found))| {
            name == other
                && match (value.parse::<f64>(), found.parse::<f64>()) {
                    (Ok(value), Ok(found)) => (value - found).abs() <= within * value.abs(),
                    _ => value == found,
                }
        })
}

/// A life of a sender, as the core lives it.
fn write(text: &mut String, law_name: &str, utility_name: &str, seed: u64) {
    let packet = PACKETS[(seed % 3) as usize];
    let (mut law, mut network) = (core(law_name, utility_name, seed), Network::new(seed ^ 0x5eed));
    writeln!(text, "\nlaw name={law_name} utility={utility_name} seed={seed} initial={INITIAL}").unwrap();
    let (mut plans, mut sent, mut delivery, mut last) = (0, VecDeque::new(), 1e5, String::new());
    let most_sent = 1 + network.rng.next_u64() % 8;
    for _ in 0..REPORTS {
        let line = Line::path(&network.path(packet, delivery)).0;
        let path = Said::of(&line).path();
        if line != last {
            writeln!(text, "{line}").unwrap();
            last = line;
        }
        let event = match network.rng.next_u64() % 100 {
            0 => Some(("back-off", Some(path.clamp(law.driver.rate() * 0.5)))),
            1 => Some(("restart", None)),
            2 => Some(("start", Some(path.clamp(law.driver.rate())))),
            _ => None,
        };
        if let Some((what, rate)) = event {
            let mut line = Line(what.to_owned());
            rate.into_iter().for_each(|rate| line.rate("rate", rate));
            law.tell(what, Said::of(&line.0).known("rate").map(Rate::from_bytes_per_sec));
            writeln!(text, "{}", line.0).unwrap();
        }
        while (sent.len() as u64) < most_sent {
            let plan = law.next(&path);
            writeln!(text, "{}", slot_line(&plan)).unwrap();
            sent.push_back((plans, plan));
            plans += 1;
        }
        let Some((number, plan)) = sent.pop_front() else { continue };
        let report = network.carry(plan, packet, &path);
        delivery = report.throughput().bytes_per_sec();
        if plan.trial.is_some() {
            let line = Line::report(number, &report).0;
            let told = law.on_report(plan, &Said::of(&line).report(plan), &path);
            writeln!(text, "{line}\n{}", then_line(told, law.stands())).unwrap();
            if told.1 {
                sent.clear();
            }
        }
    }
}

#[test]
fn both_decide_what_the_vectors_say() {
    for (file, law_name, utility_name, seeds) in FILES {
        let name = format!("{}/../../vectors/laws/{file}.txt", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("PCC_WRITE_VECTORS").is_some() {
            let mut text = HEAD.to_owned();
            seeds.into_iter().for_each(|seed| write(&mut text, law_name, utility_name, seed));
            std::fs::write(&name, text).unwrap();
        }
        let text = std::fs::read_to_string(&name).unwrap();
        let who = |said: &Said<'_>| (said.text("name").to_owned(), said.text("utility").to_owned(), said.count("seed"));
        let new = |said: &Said<'_>| -> Box<dyn Decides> {
            let (law, utility, seed) = who(said);
            Box::new(core(&law, &utility, seed.into()))
        };
        // Six digits are written down, of which the last may be rounded otherwise.
        let reports = replay(&text, new, |expected, got| alike(expected, got, 1.1e-5));
        assert!(reports >= 60, "{file}: {reports} reports");
        if law_name != "ascent" {
            continue;
        }
        let new = |said: &Said<'_>| -> Box<dyn Decides> {
            let (_, utility, seed) = who(said);
            Box::new(kernel(&utility, seed.into()))
        };
        assert_eq!(replay(&text, new, |expected, got| alike(expected, got, 1e-3)), reports, "{file}");
    }
}
