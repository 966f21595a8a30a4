//! The kernel's law and the core's, told the same, decide the same: rates within 0.1 %, all else exactly.
//!
//! `PCC_KERNEL_RUNS=N cargo test -p pcc-kernel --test agreement` tells them N times as much, with other seeds.

use core::time::Duration;
use pcc::control::{self, Driver, Path, RateControl, Slot, Verdict};
use pcc::interval::{LimitedBy, Report};
use pcc::monitor;
use pcc::rng::Rng;
use pcc::units::{Bytes, Rate, Timestamp};
use pcc::utility::expression::Program;
use pcc::utility::{Expression, Utility, built_in};
use pcc_kernel::{Law, law_number};
use std::collections::VecDeque;

/// Reports of one life of a sender.
const REPORTS: u64 = 400;

/// A path, as far as reports show it: a capacity, a queue, a random loss, noise. It changes now and then.
struct Network {
    rng: Rng,
    capacity: f64,
    base: f64,
    buffer: f64,
    queue: f64,
    loss: f64,
    noise: f64,
    marks: bool,
    /// What others fill the queue to.
    others: f64,
    /// The highest rate that the sender was allowed.
    limit: f64,
    now: f64,
}

impl Network {
    fn new(seed: u64) -> Self {
        let mut network = Self {
            rng: Rng::new(seed),
            capacity: 0.0,
            base: 0.0,
            buffer: 0.0,
            queue: 0.0,
            loss: 0.0,
            noise: 0.0,
            marks: false,
            others: 0.0,
            limit: 0.0,
            now: 1.0,
        };
        network.change();
        network
    }

    /// Between these, each order of magnitude as likely as the others.
    fn between(&mut self, least: f64, most: f64) -> f64 {
        least * (most / least).powf(self.rng.unit())
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.rng.next_u64().is_multiple_of(n)
    }

    fn change(&mut self) {
        self.capacity = self.between(2e4, 1e9);
        self.base = self.between(1e-4, 0.8);
        self.buffer = self.between(1e-5, 0.5);
        self.loss = if self.one_in(2) { 0.0 } else { self.between(1e-4, 0.3) };
        self.noise = if self.one_in(3) { 0.0 } else { self.between(1e-6, 0.02) };
        self.marks = self.one_in(4);
        self.limit = if self.one_in(4) { self.between(1e5, 1e9) } else { 1.25e10 };
        self.others = if self.one_in(3) { self.buffer * self.rng.unit() } else { 0.0 };
    }

    fn path(&mut self, packet: u64, delivery: f64) -> Path {
        let time = Duration::from_secs_f64;
        Path {
            rtt: time(self.base + self.queue),
            queue: time(self.queue * self.rng.unit()),
            packet: Bytes::new(packet),
            monitor: monitor::Config::default(),
            floor: Rate::from_bytes_per_sec(packet as f64 / 0.25),
            initial: Rate::from_bytes_per_sec((10.0 * packet as f64 / (self.base / 2.0)).min(self.limit)),
            ceiling: Rate::from_bytes_per_sec(self.limit),
            delivery: Rate::from_bytes_per_sec(delivery),
            capacity: None,
            trains: None,
        }
    }

    /// What an interval sent at this rate achieves, with noise.
    fn carry(&mut self, slot: Slot, packet: u64, path: &Path) -> Report {
        if self.one_in(150) {
            self.change();
        }
        let length = (path.rtt.as_secs_f64() * slot.rtts.0).max(0.001);
        let achieved = slot.rate.bytes_per_sec() * if self.one_in(20) { self.rng.unit() } else { 1.0 };
        let growth = achieved / self.capacity - 1.0;
        let before = self.queue.max(self.others * self.rng.unit());
        self.queue = (before + growth * length).clamp(0.0, self.buffer);
        let overflow = ((before + growth * length - self.buffer) / length / (1.0 + growth)).clamp(0.0, 1.0);
        let sent = (achieved * length) as u64;
        let packets = (sent / packet).clamp(1, u32::MAX.into()) as u32;
        let share = (self.loss + overflow).min(1.0);
        let lost = (f64::from(packets) * share * 2.0 * self.rng.unit()).min(packets.into()) as u32;
        let noise = self.noise * (self.rng.unit() - 0.5);
        let rtt = |queue: f64| Some(Duration::from_secs_f64((self.base + queue + noise.abs()).max(1e-6)));
        let samples = packets.min(1000) * u32::from(lost < packets);
        let seen = |time: Option<Duration>| time.filter(|_| samples > 0);
        let limited_by = match self.rng.next_u64() % 40 {
            0 => LimitedBy::Application,
            1 => LimitedBy::Host,
            2 => LimitedBy::ReceiverWindow,
            _ => LimitedBy::Network,
        };
        // A host that stops sends what piled up in a small part of an interval.
        let seen_for = if self.rng.unit() < 0.1 { length * self.rng.unit() } else { length * 0.95 };
        self.now += length;
        Report {
            id: 0,
            started: Timestamp::from_nanos(((self.now - length) * 1e9) as u64),
            duration: Duration::from_secs_f64(length),
            target: slot.rate,
            achieved: Rate::from_bytes_per_sec(achieved),
            packets,
            packets_lost: lost,
            loss_bursts: (f64::from(lost) * self.rng.unit()) as u32,
            packets_marked: if self.marks { (f64::from(packets - lost) * 0.1 * self.rng.unit()) as u32 } else { 0 },
            sent: Bytes::new(sent),
            lost: Bytes::new((sent as f64 * f64::from(lost) / f64::from(packets)) as u64),
            excess_loss: None,
            delivery_rate: (samples > 1).then(|| Rate::from_bytes_per_sec(achieved.min(self.capacity))),
            rtt: seen(rtt((before + self.queue) / 2.0)),
            rtt_least: seen(rtt(before.min(self.queue))),
            rtt_base: Some(path.rtt.saturating_sub(path.queue)),
            rtt_gradient: (samples > 1).then(|| (self.queue - before + noise) / length),
            rtt_gradient_error: if samples > 2 {
                self.noise / length / f64::from(samples).sqrt()
            } else {
                f64::INFINITY
            },
            rtt_span: Duration::from_secs_f64(seen_for),
            rtt_pause: Duration::from_secs_f64(seen_for * 0.1 * self.rng.unit()),
            rtt_samples: samples,
            rtt_residual: Duration::from_secs_f64(self.noise),
            rtt_deviation: Duration::from_secs_f64(self.noise),
            app_limited: matches!(limited_by, LimitedBy::Application | LimitedBy::ReceiverWindow),
            timed_out: false,
            limited_by,
            previous: None,
        }
    }
}

/// The two laws, and what both were told.
struct Both {
    core: Driver,
    rng: Rng,
    kernel: Law,
    utility: Program,
    told: Vec<String>,
}

impl Both {
    fn new(law: &control::Law, utility: &Program, seed: u64) -> Self {
        let initial = Rate::from_mbit(1.0);
        let which = law_number(law.name()).unwrap();
        Self {
            core: Driver::new(law.clone(), initial),
            rng: Rng::new(seed),
            kernel: Law::new(which, pcc_kernel::Program::new(utility), initial, seed),
            utility: utility.clone(),
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

    fn next(&mut self, path: &Path) -> Slot {
        let (core, kernel) = (self.core.next(path, &mut self.rng), self.kernel.next(path));
        self.same("trial", core.trial, kernel.trial, self.core.state());
        self.agree("rate of the next interval", core.rate, kernel.rate);
        self.same("stretched", core.is_stretched, kernel.is_stretched, "");
        self.same("length", true, (core.rtts.0 / kernel.rtts.0 - 1.0).abs() < 1e-3, "");
        core
    }

    fn on_report(&mut self, slot: Slot, report: &Report, path: &Path) -> bool {
        self.told.push(format!("{slot:?} {report:?} {path:?}"));
        let program = &self.utility;
        let utility = |report: &Report| {
            let utility = program.run(|variable| variable.of(report));
            if utility.is_finite() { utility } else { f64::MIN / 4.0 }
        };
        let early = self.core.ends_early(report, &utility, path);
        let same = self.kernel.ends_early(report, path);
        self.same("early end", early, same, "");
        let verdict = self.core.on_report(slot, report, &utility, path) != Verdict::Wait;
        let same = self.kernel.on_report(slot, report, path);
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
fn live(law: &control::Law, utility: &Program, seed: u64) -> u64 {
    let (mut both, mut network) = (Both::new(law, utility, seed), Network::new(seed ^ 0x5eed));
    let packet = [1448, 536, 8948][(seed % 3) as usize];
    // What was sent and is not answered for.
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
        let Some(slot) = sent.pop_front() else { continue };
        let report = network.carry(slot, packet, &path);
        delivery = report.throughput().bytes_per_sec();
        if slot.trial.is_some() {
            probed += 1;
            if both.on_report(slot, &report, &path) {
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
    let fair = fair.text.parse::<Expression>().unwrap();
    let probed: u64 = (0..150 * runs()).map(|seed| live(&control::Law::default(), fair.program(), seed)).sum();
    assert!(probed > 40_000 * runs(), "{probed}");
}

#[test]
fn other_built_in_utilities_are_climbed_alike() {
    for about in built_in() {
        let utility = about.text.parse::<Expression>().unwrap();
        (0..8 * runs()).for_each(|seed| {
            live(&control::Law::default(), utility.program(), 1000 + seed);
        });
    }
}

#[test]
fn vivace_climbs_any_built_in_utility_alike() {
    let law = control::Law::Vivace(pcc_kernel::vivace());
    for about in built_in() {
        let utility = about.text.parse::<Expression>().unwrap();
        let probed: u64 = (0..25 * runs()).map(|seed| live(&law, utility.program(), 2000 + seed)).sum();
        assert!(probed > 3000 * runs(), "{}: {probed}", about.name);
    }
}

#[test]
fn a_program_is_worth_what_the_core_s_utility_is() {
    let mut network = Network::new(5);
    for about in built_in() {
        let utility = about.text.parse::<Expression>().unwrap();
        let program = pcc_kernel::Program::new(utility.program());
        for i in 0..300 {
            let path = network.path(1448, 1e6);
            let slot = Slot { trial: Some(0), ..Slot::filler(Rate::from_mbit(f64::from(i))) };
            let report = network.carry(slot, 1448, &path);
            let report = Report { previous: (i % 2 == 0).then(|| report.summary()), ..report };
            let (core, kernel) = (utility.evaluate(&report), program.evaluate(&(&report).into()));
            // Of large terms a small difference may be left.
            let size = core.abs() + report.achieved.mbit();
            let alike = core.is_nan() && kernel.is_nan() || (core - kernel).abs() <= 1e-9 * size;
            assert!(alike, "{} of {report:?} is {core}, not {kernel}", about.name);
        }
    }
}
