//! What a decision of the default law costs the core, by who strives for what: a pair of reports, forecast included.
#![allow(clippy::print_stdout, reason = "a benchmark's result is its output")]

use pcc::control::{Driver, Finite, Law, Path, RateControl};
use pcc::interval::{IntervalPlan, Report};
use pcc::rng::Rng;
use pcc::units::{Bytes, Rate, Timestamp};
use pcc::utility::{SenderView, Utility, built_in, parse};
use std::time::Duration;

const PAIRS: u32 = 20_000;
/// Of start-up, and of what the law learns first.
const FIRST_PAIRS: u32 = 100;
const TURNS: usize = 9;
const MBIT: f64 = 100.0;
const RTT: f64 = 0.03;

fn main() {
    // `decisions count UTILITY N`: N decisions and nothing else, for a tool that counts instructions.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, written, pairs] = arguments.as_slice()
        && command == "count"
    {
        let (utility, pairs) = (parse(written).expect("a utility"), pairs.parse().expect("a number of decisions"));
        decide(pairs, |law, two, path| judge(law, two, &*utility, path));
        return;
    }
    println!("{:<28}{:>11}{:>11}", "a decision for", "median", "fastest");
    let text = |name| built_in().find(|about| about.name == name).expect("it is built in").text;
    for (name, written) in [
        ("fair", "fair"),
        ("fair, as its text", text("fair")),
        ("sqrt(x) - 100*x*q", "sqrt(x) - 100*x*q"),
        ("safe", "safe"),
        ("scavenger", "scavenger"),
        ("scavenger, as its text", text("scavenger")),
    ] {
        let utility = parse(written).expect("it is a utility");
        let mut micros: Vec<f64> = (0..TURNS).map(|_| micros_a_pair(&*utility)).collect();
        micros.sort_by(f64::total_cmp);
        println!("{name:<28}{:>8.2} µs{:>8.2} µs", micros[TURNS / 2], micros[0]);
    }
}

/// A bottleneck with a queue, as probes fill and drain it.
struct Bottleneck {
    now: f64,
    queue: f64,
}

impl Bottleneck {
    /// What a probe reports.
    fn carry(&mut self, plan: IntervalPlan) -> Report {
        let (rate, seconds) = (plan.rate.mbit(), plan.rtts.0 * RTT);
        let before = self.queue;
        self.queue = (before + (rate / MBIT - 1.0) * seconds).max(0.0);
        let view = SenderView { queue: (before, self.queue), seconds, noise: 1e-5, ..SenderView::clear(rate, RTT) };
        self.now += seconds;
        let mut report = view.report();
        (report.started, report.rtt_gradient_error) = (Timestamp::from_nanos((self.now * 1e9) as u64), 1e-3);
        report
    }
}

/// Two probes and their reports.
type Two = [(IntervalPlan, Report); 2];

fn judge(law: &mut Driver, two: &Two, utility: &dyn Utility, path: &Path) {
    for (plan, report) in two {
        law.on_report(*plan, report, &Finite(utility), path);
    }
}

#[expect(clippy::disallowed_types, reason = "a benchmark reads the clock")]
fn micros_a_pair(utility: &dyn Utility) -> f64 {
    let (mut spent, mut pairs) = (Duration::ZERO, 0);
    decide(PAIRS + FIRST_PAIRS, |law, two, path| {
        let began = std::time::Instant::now();
        judge(law, two, utility, path);
        pairs += 1;
        if pairs > FIRST_PAIRS {
            spent += began.elapsed();
        }
    });
    spent.as_secs_f64() * 1e6 / f64::from(PAIRS)
}

/// So many pairs of a sender alone, as `judged` judges them.
fn decide(pairs: u32, mut judged: impl FnMut(&mut Driver, &Two, &Path)) {
    let path = Path {
        rtt: Duration::from_secs_f64(RTT),
        queue: Duration::ZERO,
        packet: Bytes::new(1200),
        monitor: pcc::monitor::Config::default(),
        floor: Rate::from_mbit(0.01),
        initial: Rate::from_mbit(MBIT / 2.0),
        ceiling: Rate::from_mbit(10_000.0),
        delivery: Rate::from_mbit(MBIT),
        capacity: None,
        trains: None,
    };
    let (mut law, mut rng) = (Driver::new(Law::default(), Rate::from_mbit(MBIT / 2.0)), Rng::new(1));
    let mut bottleneck = Bottleneck { now: 0.0, queue: 0.0 };
    for _ in 0..pairs {
        let two = [(); 2].map(|()| {
            let plan = law.next(&path, &mut rng);
            (plan, bottleneck.carry(plan))
        });
        judged(&mut law, &two, &path);
    }
}
