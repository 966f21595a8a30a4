//! The kernel's law and the core's, told the same, decide the same: rates within 0.1 %, all else exactly.
//!
//! `PCC_KERNEL_RUNS=N cargo test -p pcc-kernel-c --test agreement` tells them N times as much, with other seeds.
#![cfg(target_os = "linux")]

mod network;
mod objective;

use core::time::Duration;
use network::Network;
use objective::Objective;
use pcc::control::{self, Driver, Path, RateControl, Verdict};
use pcc::interval::IntervalPlan;
use pcc::interval::Report;
use pcc::rng::Rng;
use pcc::units::Rate;
use pcc::utility::{Expression, Outlook, Utility, built_in, parse_with};
use pcc_kernel_c::Law;
use std::collections::VecDeque;

/// Reports of one life of a sender.
const REPORTS: u64 = 400;

/// The two laws, and what both were told.
struct Both<'a> {
    core: Driver,
    rng: Rng,
    kernel: Law,
    utility: &'a Objective,
    told: Vec<String>,
}

impl<'a> Both<'a> {
    fn new(utility: &'a Objective, seed: u64) -> Self {
        let initial = Rate::from_mbit(1.0);
        Self {
            core: Driver::new(control::Law::default(), initial),
            rng: Rng::new(seed),
            kernel: Law::new(pcc_kernel_c::Program::new(&utility.program), initial, seed),
            utility,
            told: Vec::new(),
        }
    }

    fn agree(&self, what: &str, core: Rate, kernel: Rate) {
        let apart = (kernel.bytes_per_sec() / core.bytes_per_sec() - 1.0).abs();
        self.same(what, true, apart < 1e-3 || core == kernel, &format!("{core} and {kernel}"));
    }

    fn same<T: PartialEq + core::fmt::Debug>(&self, what: &str, core: T, kernel: T, why: &str) {
        let story = self.told.iter().rev().take(8).rev().fold(String::new(), |all, line| all + line + "\n");
        assert!(core == kernel, "{what}: the core says {core:?}, the kernel {kernel:?}; {why}, after\n{story}");
    }

    fn next(&mut self, path: &Path) -> IntervalPlan {
        let (core, kernel) = (self.core.next(path, &mut self.rng), self.kernel.next(path));
        self.same("trial", core.trial, kernel.trial, self.core.state());
        self.agree("rate of the next interval", core.rate, kernel.rate);
        self.same("stretched", core.is_stretched, kernel.is_stretched, "");
        self.same("length", true, (core.rtts.0 / kernel.rtts.0 - 1.0).abs() < 1e-3, "");
        core
    }

    fn on_report(&mut self, plan: IntervalPlan, report: &Report, path: &Path) -> bool {
        self.told.push(format!("{plan:?} {report:?} {path:?}"));
        let early = self.core.ends_early(report, self.utility, path);
        let same = self.kernel.ends_early(report, path);
        self.same("early end", early, same, "");
        let verdict = self.core.on_report(plan, report, self.utility, path) != Verdict::Wait;
        let same = self.kernel.on_report(plan, report, path);
        self.same("verdict", verdict, same, self.core.state());
        self.agree("rate", self.core.rate(), self.kernel.rate());
        self.same("state", self.core.state(), self.kernel.state(), "");
        let standing = |rtt: Option<Duration>| rtt.map_or(0.0, |rtt| rtt.as_secs_f64());
        let (core, kernel) = (standing(self.core.standing_rtt()), standing(self.kernel.standing_rtt()));
        self.same("standing RTT", true, (core - kernel).abs() <= 1e-3 * core, &format!("{core} and {kernel} s"));
        verdict
    }
}

/// One life of a sender: the probes sent, and how many of its pairs were judged.
fn live(utility: &Objective, seed: u64) -> u64 {
    let (mut both, mut network) = (Both::new(utility, seed), Network::new(seed ^ 0x5eed));
    let packet = [1448, 536, 8948][(seed % 3) as usize];
    // The intervals that were sent and are not answered for.
    let (mut sent, mut probed) = (VecDeque::new(), 0);
    let most_sent = 1 + network.rng.next_u64() % 12;
    let mut delivery = 1e5;
    for _ in 0..REPORTS {
        let path = network.path(packet, delivery);
        match network.rng.next_u64() % 300 {
            0 => {
                let rate = path.clamp(both.core.rate() * 0.5);
                both.core.back_off(rate);
                both.kernel.back_off(rate);
            }
            1 => {
                both.core.restart();
                both.kernel.restart();
            }
            2 => {
                let rate = path.clamp(both.core.rate());
                both.core.start(rate);
                both.kernel.start(rate);
                sent.clear();
            }
            _ => {}
        }
        while (sent.len() as u64) < most_sent {
            sent.push_back(both.next(&path));
        }
        let Some(plan) = sent.pop_front() else { continue };
        let report = network.carry(plan, packet, &path);
        delivery = report.throughput().bytes_per_sec();
        if plan.trial.is_some() {
            probed += 1;
            if both.on_report(plan, &report, &path) {
                sent.clear();
            }
        }
    }
    probed
}

fn runs() -> u64 {
    std::env::var("PCC_KERNEL_RUNS").map_or(1, |times| times.parse().unwrap())
}

#[test]
fn the_default_utility_is_climbed_alike() {
    let fair = built_in().find(|about| about.name == "fair").unwrap();
    let fair = Objective::built_in(fair);
    let probed: u64 = (0..150 * runs()).map(|seed| live(&fair, seed)).sum();
    assert!(probed > 40_000 * runs(), "{probed}");
}

#[test]
fn other_built_in_utilities_are_climbed_alike() {
    for about in built_in() {
        let utility = Objective::built_in(about);
        (0..8 * runs()).for_each(|seed| {
            live(&utility, 1000 + seed);
        });
    }
}

#[test]
fn a_program_is_worth_what_the_core_s_utility_is() {
    let mut network = Network::new(5);
    for about in built_in() {
        let utility = about.text.parse::<Expression>().unwrap();
        let program = pcc_kernel_c::Program::new(utility.program());
        assert_eq!(program.has_code(), about.name == "fair", "{}", about.name);
        for i in 0..300 {
            let path = network.path(1448, 1e6);
            let plan = IntervalPlan { trial: Some(0), ..IntervalPlan::filler(Rate::from_mbit(f64::from(i))) };
            let mut report = network.carry(plan, 1448, &path);
            report.previous = (i % 2 == 0).then(|| report.summary());
            let (core, kernel) = (utility.evaluate(&report), program.evaluate(&(&report).into()));
            let interpreted = program.interpret(&(&report).into());
            assert_eq!(
                kernel.to_bits(),
                interpreted.to_bits(),
                "{} of {report:?} has code that says otherwise",
                about.name
            );
            // A small difference may be left of large terms.
            let size = core.abs() + report.achieved.mbit();
            let alike = core.is_nan() && kernel.is_nan() || (core - kernel).abs() <= 1e-9 * size;
            assert!(alike, "{} of {report:?} is {core}, not {kernel}", about.name);
        }
    }
}

#[test]
fn fair_says_the_same_of_its_best_response_with_any_parameters() {
    let (mut rng, mut told) = (Rng::new(9), 0);
    for _ in 0..20_000 * runs() {
        let mut spread = |least: f64, most: f64| least * (most / least).powf(rng.unit());
        let [level, loss_price, loss_cap, sureness] =
            [spread(1e-4, 0.1), spread(0.01, 1.0), spread(0.01, 0.2), spread(1.0, 1e5)].map(|value| value.to_string());
        let settings = [("level", level), ("loss_price", loss_price), ("loss_cap", loss_cap), ("sureness", sureness)];
        let settings = settings.map(|(name, value)| (name.to_owned(), value));
        let capacity = spread(1e3, 1e10);
        let outlook = Outlook {
            capacity,
            lowest: capacity * spread(0.1, 0.9),
            highest: capacity * spread(1.0, 2.0),
            queue: spread(1e-6, 1.0),
            horizon: spread(1e-5, 1.0),
            lost: spread(1e-6, 1.0),
            marked: spread(1e-6, 1.0),
            full: spread(0.1, 10.0),
        };
        let outlook = if rng.coin() { outlook } else { Outlook { horizon: 0.0, full: f64::INFINITY, ..outlook } };
        let outlook = if rng.coin() { outlook } else { Outlook { lost: 0.0, marked: 0.0, ..outlook } };
        let core = parse_with("fair", &settings).unwrap();
        let fair = built_in().find(|about| about.name == "fair").unwrap();
        let text = Expression::with(fair.text, &settings).unwrap();
        let kernel = pcc_kernel_c::Program::new(text.program()).best_response(&outlook);
        let core = core.best_response(&outlook);
        assert_eq!(core, kernel, "{outlook:?} {settings:?}");
        told += u64::from(core.is_some());
    }
    assert!(told > 10_000 * runs(), "{told}");
}
