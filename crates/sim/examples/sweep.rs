//! Where Allegro's constants come from: each parameter varied around its default, over the paths that it matters for.
//!
//! `cargo run --release -p pcc-sim --example sweep` prints the table in `docs/sweeps/allegro.md`, `... --example sweep
//! least_gain=0.4 step_min=0.03,step_max=0.2` the defaults and these instead. Virtual time: the same figures on every
//! machine.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use core::time::Duration;
use pcc::control::Law;
use pcc::utility::{Fair, Safe, Utility};
use pcc_sim::{Flow, Results, Scenario, run};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

/// What several flows do with each other differs more from seed to seed.
const SEEDS: [u64; 2] = [4, 8];

/// A figure worth having, and the paths it is measured on.
struct Case {
    name: &'static str,
    path: &'static str,
    seconds: u64,
    flows: u64,
    /// Seconds between arrivals.
    stagger: u64,
    measure: fn(&Results, Duration) -> f64,
}

const CASES: [Case; 15] = [
    Case { name: "loss when alone, %", path: "clean", seconds: 60, flows: 1, stagger: 0, measure: loss },
    Case { name: "RTT added then, ms", path: "clean", seconds: 60, flows: 1, stagger: 0, measure: queue },
    Case { name: "its 95th percentile, ms", path: "clean", seconds: 60, flows: 1, stagger: 0, measure: longest_queue },
    Case { name: "share alone", path: "clean", seconds: 60, flows: 1, stagger: 0, measure: share },
    Case { name: "share at 1 % loss", path: "lossy", seconds: 60, flows: 1, stagger: 0, measure: share },
    Case { name: "share at 4 % loss", path: "lossy,loss=4%", seconds: 60, flows: 1, stagger: 0, measure: share },
    Case { name: "share at 8 % loss", path: "lossy,loss=8%", seconds: 60, flows: 1, stagger: 0, measure: share },
    Case { name: "share on satellite", path: "satellite", seconds: 100, flows: 1, stagger: 0, measure: share },
    Case { name: "share on a changing path", path: "changing", seconds: 500, flows: 1, stagger: 0, measure: share },
    Case { name: "loss there, %", path: "changing", seconds: 500, flows: 1, stagger: 0, measure: loss },
    Case { name: "Jain of 4 flows at 5 s", path: "clean", seconds: 240, flows: 4, stagger: 20, measure: jain },
    Case {
        name: "a second flow converges in, s",
        path: "clean",
        seconds: 70,
        flows: 2,
        stagger: 10,
        measure: convergence,
    },
    Case { name: "deviation then, %", path: "clean", seconds: 70, flows: 2, stagger: 10, measure: deviation },
    Case { name: "loss of 2 flows, %", path: "clean", seconds: 70, flows: 2, stagger: 0, measure: loss },
    Case { name: "loss of 10 flows, %", path: "clean", seconds: 70, flows: 10, stagger: 0, measure: loss },
];

fn share(results: &Results, _: Duration) -> f64 {
    results.share_after(Duration::ZERO)
}

fn loss(results: &Results, _: Duration) -> f64 {
    100.0 * results.flows.iter().map(pcc_sim::FlowResult::loss).sum::<f64>() / results.flows.len() as f64
}

/// Median of the RTT that the first flow added. Unit: ms.
fn queue(results: &Results, _: Duration) -> f64 {
    results.flows[0].added_rtt(0.5).as_secs_f64() * 1e3
}

fn longest_queue(results: &Results, _: Duration) -> f64 {
    results.flows[0].added_rtt(0.95).as_secs_f64() * 1e3
}

/// From half of the time on, when all flows are there.
fn jain(results: &Results, end: Duration) -> f64 {
    results.jain(Duration::from_secs(5), end / 2, end)
}

/// Goodput of the second flow in each second of its life.
fn second_flow(results: &Results, end: Duration) -> Vec<f64> {
    let flow = &results.flows[1];
    (flow.start.as_secs()..end.as_secs())
        .map(|second| flow.goodput(Duration::from_secs(second), Duration::from_secs(second + 1)).mbit())
        .collect()
}

/// Until the second flow is within a quarter of its half for five seconds (`NSDI 2015` §4.2.2). Unit: s.
fn converged(rates: &[f64]) -> usize {
    rates.windows(5).position(|five| five.iter().all(|rate| (37.5..=62.5).contains(rate))).unwrap_or(rates.len())
}

fn convergence(results: &Results, end: Duration) -> f64 {
    converged(&second_flow(results, end)) as f64
}

/// Standard deviation of the second flow's rate once it has its half, in percent of that.
fn deviation(results: &Results, end: Duration) -> f64 {
    let rates = second_flow(results, end);
    let then = &rates[converged(&rates).min(rates.len() / 2)..];
    let mean = then.iter().sum::<f64>() / then.len() as f64;
    let variance = then.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / then.len() as f64;
    100.0 * variance.sqrt() / 50.0
}

/// The default utility that suits the law.
fn utility_for(law: &Law) -> Arc<dyn Utility> {
    match law {
        Law::Ascent(_) => Arc::new(Fair::default()),
        _ => Arc::new(Safe::default()),
    }
}

fn measured(case: &Case, law: &Law) -> f64 {
    let once = |seed: u64| {
        let flows = (0..case.flows).map(|number| {
            let mut flow = Flow { start: Duration::from_secs(case.stagger * number), ..Flow::default() };
            (flow.config.utility, flow.config.law) = (utility_for(law), Some(law.clone()));
            flow.config.seed = seed * 1000 + number;
            flow
        });
        let path = case.path.parse().unwrap_or_else(|error| panic!("{}: {error}", case.path));
        let duration = Duration::from_secs(case.seconds);
        let results = run(&Scenario::new(path, flows.collect(), seed, duration));
        (case.measure)(&results.unwrap_or_else(|error| panic!("{}: {error}", case.path)), duration)
    };
    let seeds = SEEDS[usize::from(case.flows > 1)];
    (1..=seeds).map(once).sum::<f64>() / seeds as f64
}

/// What is varied when nothing else is asked for.
const VARIANTS: [&str; 16] = [
    "epsilon_min=0.005",
    "epsilon_min=0.02",
    "epsilon_min=0.03",
    "step_min=0.01",
    "step_min=0.03",
    "step_max=0.05",
    "step_max=0.3",
    "interval_rtts=1",
    "interval_rtts=1.7..2.2",
    "loss_significance=0",
    "loss_significance=1",
    "loss_significance=3",
    "least_gain=0",
    "least_gain=0.1",
    "least_gain=0.4",
    "least_gain=0.6",
];

fn main() -> ExitCode {
    let asked: Vec<_> = std::env::args().skip(1).collect();
    let variants = if asked.is_empty() { VARIANTS.map(str::to_owned).to_vec() } else { asked };
    let mut laws = vec![("defaults".to_owned(), Law::default())];
    for variant in variants {
        match variant.parse() {
            Ok(law) => laws.push((variant, law)),
            Err(error) => {
                println!("{error}");
                return ExitCode::from(2);
            }
        }
    }
    let names: Vec<_> = CASES.iter().map(|case| case.name).collect();
    println!("| parameter | {} |", names.join(" | "));
    println!("|---|{}", "--:|".repeat(CASES.len()));
    for (name, law) in &laws {
        let figures: Vec<_> = thread::scope(|scope| {
            let measuring: Vec<_> = CASES.iter().map(|case| scope.spawn(|| measured(case, law))).collect();
            measuring
                .into_iter()
                .map(|case| case.join().map_or_else(|_| "failed".to_owned(), |figure| format!("{figure:.3}")))
                .collect()
        });
        println!("| {name} | {} |", figures.join(" | "));
    }
    ExitCode::SUCCESS
}
