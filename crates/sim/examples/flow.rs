//! One or more PCC senders over an emulated path, in virtual time: a sketchpad for control laws.
//!
//! `cargo run --release -p pcc-sim --example flow -- --path satellite --seconds 100 --flows 1 --seed 1 --trace`
#![allow(clippy::print_stdout, clippy::disallowed_types, reason = "it prints, and says how long it took")]

use core::time::Duration;
use pcc::observe::{Event, Observer};
use pcc::units::Rate;
use pcc_sim::{Control, Flow, Policer, Queue, Results, Scenario, Source, run};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

const HELP: &str = "\
usage: flow [--path PRESET|KEY=VALUE,...] [--seconds N] [--flows N] [--stagger SECONDS] [--seed N]
            [--extra-rtt SECONDS] [--burners N] [--utility NAME] [--app-rate RATE] [--volume BYTES] [--datagram BYTES]
            [--law NAME[,KEY=VALUE..]] [--control pcc|reno|cubic|bbr,...] [--queue NAME|marking:BYTES] [--ecn] [--policer RATE:BYTES] [--no-dither] [--trace] [--series]
  --extra-rtt  of the first flow
  --burners N  processes that never sleep beside each sender
  --control of the flows in turn: the last one's for all that follow
  --no-dither  packets leave exactly when they are due
  --trace   a line for each resolved interval and each decision
  --series  a line for each second: rate, goodput and state of every flow";

struct Args {
    scenario: Scenario,
    trace: bool,
    series: bool,
}

fn main() -> ExitCode {
    let args = match parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(problem) => {
            println!("{problem}\n{HELP}");
            return ExitCode::from(2);
        }
    };
    println!("# path {}", args.scenario.path);
    let mut scenario = args.scenario;
    if args.trace {
        for (number, flow) in scenario.flows.iter_mut().enumerate() {
            flow.config.observer = Some(Arc::new(Trace { flow: number }));
        }
    }
    let began = Instant::now();
    let results = match run(&scenario) {
        Ok(results) => results,
        Err(problem) => {
            println!("{problem}");
            return ExitCode::from(2);
        }
    };
    let took = began.elapsed();
    if args.series {
        series(&results);
    }
    summary(&scenario, &results, took);
    ExitCode::SUCCESS
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut flow = Flow::default();
    let (mut path, mut seconds, mut flows, mut stagger, mut seed) = ("clean".to_owned(), 30.0, 1u64, 0.0, 1u64);
    let (mut extra_rtt, mut trace, mut series) = (0.0, false, false);
    let (mut controls, mut queue, mut policer) = (vec![Control::Pcc], Queue::DropTail, None);
    while let Some(arg) = args.next() {
        if arg == "--trace" {
            trace = true;
            continue;
        }
        if arg == "--series" {
            series = true;
            continue;
        }
        if arg == "--no-dither" {
            flow.dither = false;
            continue;
        }
        if arg == "--ecn" {
            flow.ecn = true;
            continue;
        }
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        let wrong = |error: &dyn core::fmt::Display| format!("{arg} {value}: {error}");
        match arg.as_str() {
            "--path" => path = value,
            "--seconds" => seconds = value.parse().map_err(|e| wrong(&e))?,
            "--flows" => flows = value.parse().map_err(|e| wrong(&e))?,
            "--stagger" => stagger = value.parse().map_err(|e| wrong(&e))?,
            "--extra-rtt" => extra_rtt = value.parse().map_err(|e| wrong(&e))?,
            "--burners" => flow.burners = value.parse().map_err(|e| wrong(&e))?,
            "--queue" => {
                queue = match value.strip_prefix("marking:") {
                    Some(above) => Queue::Marking(above.parse().map_err(|e| wrong(&e))?),
                    None => Queue::by_name(&value).ok_or_else(|| wrong(&"no such queue"))?,
                }
            }
            "--policer" => {
                let (rate, burst) = value.split_once(':').ok_or_else(|| wrong(&"write 10Mbit:64kB"))?;
                let (rate, burst) = (rate.parse().map_err(|e| wrong(&e))?, burst.parse().map_err(|e| wrong(&e))?);
                policer = Some(Policer { rate, burst });
            }
            "--control" => {
                let known =
                    |name| Control::by_name(name).ok_or_else(|| wrong(&"choose from pcc, reno, cubic, bbr, prague"));
                controls = value.split(',').map(known).collect::<Result<_, _>>()?;
            }
            "--seed" => seed = value.parse().map_err(|e| wrong(&e))?,
            "--app-rate" => flow.source = Source::At(value.parse::<Rate>().map_err(|e| wrong(&e))?),
            "--volume" => flow.source = Source::Volume(value.parse().map_err(|e| wrong(&e))?),
            "--datagram" => flow.config.max_datagram_size = value.parse().map_err(|e| wrong(&e))?,
            "--law" => flow.config.law = Some(value.parse().map_err(|e| wrong(&e))?),
            "--utility" => {
                flow.config.utility = pcc::utility::parse(&value).map_err(|e| wrong(&e))?;
            }
            _ => return Err(format!("unknown option {arg}")),
        }
    }
    let time = |seconds: f64| Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string());
    let path = path.parse().map_err(|error| format!("{error}"))?;
    let flows = (0..flows).map(|number| {
        let mut flow = flow.clone();
        let usual = Flow::of(controls[controls.len().min(number as usize + 1) - 1].clone());
        if usual.control != Control::Pcc {
            (flow.control, flow.headers, flow.acks) = (usual.control, usual.headers, usual.acks);
            flow.config.max_datagram_size = usual.config.max_datagram_size;
        }
        flow.config.seed = seed.wrapping_mul(1000).wrapping_add(number);
        flow.start = time(stagger * number as f64)?;
        Ok(flow)
    });
    let mut flows = flows.collect::<Result<Vec<_>, String>>()?;
    if let Some(first) = flows.first_mut() {
        first.extra_rtt = time(extra_rtt)?;
    }
    let scenario = Scenario { queue, policer, ..Scenario::new(path, flows, seed, time(seconds)?) };
    Ok(Args { scenario, trace, series })
}

fn series(results: &Results) {
    let seconds = results.flows.first().map_or(0, |flow| flow.series.len() / 10) as u64;
    for second in 1..=seconds {
        let (from, to) = (Duration::from_secs(second - 1), Duration::from_secs(second));
        print!("{second:5} s");
        for flow in &results.flows {
            let last = flow.series.iter().rfind(|sample| sample.at <= to);
            let (state, in_flight) = last.map_or(("", 0), |last| (last.state, last.in_flight));
            let (rate, goodput) = (flow.rate_at(to).mbit(), flow.goodput(from, to).mbit());
            print!("  | rate {rate:8.3} goodput {goodput:8.3} Mbit/s, {in_flight:7} B in flight, {state:16}");
        }
        println!();
    }
}

fn summary(scenario: &Scenario, results: &Results, took: Duration) {
    for (number, flow) in results.flows.iter().enumerate() {
        let end = flow.finished.unwrap_or(scenario.duration);
        println!(
            "flow {number}: goodput {:.3} Mbit/s, loss {:.3} % ({} spurious), {} probe time-outs, RTT added p50 {:.2} ms \
             p95 {:.2} ms{}",
            flow.goodput(flow.start, end).mbit(),
            flow.loss() * 100.0,
            flow.sent.spurious,
            flow.sent.probe_timeouts,
            flow.added_rtt(0.5).as_secs_f64() * 1e3,
            flow.added_rtt(0.95).as_secs_f64() * 1e3,
            flow.finished.map(|at| format!(", finished after {:.3} s", at.as_secs_f64())).unwrap_or_default(),
        );
    }
    let half = scenario.duration / 2;
    let packets: u64 = results.flows.iter().map(|flow| flow.sent.packets).sum();
    println!(
        "share {:.4}, second half {:.4}; Jain at 1 s, second half {:.4}; {} packets, {} events in {:.2} s: {:.2} M packets/s",
        results.share_after(Duration::ZERO),
        results.share_after(half),
        results.jain(Duration::from_secs(1), half, scenario.duration),
        packets,
        results.events,
        took.as_secs_f64(),
        packets as f64 / took.as_secs_f64() / 1e6,
    );
}

#[derive(Debug)]
struct Trace {
    flow: usize,
}

impl Observer for Trace {
    fn on_event(&self, event: &Event<'_>) {
        let flow = self.flow;
        match event {
            Event::Interval { at, report, utility } => println!(
                "{:12.6} {flow} interval {:6} target {:9.4} achieved {:9.4} goodput {:9.4} Mbit/s, {:5} packets in \
                 {:9.3} ms, loss {:7.3} %, marked {:7.3} %, RTT {:9.3} ms, gradient {:8.5}, utility {}{}{}",
                at.as_secs_f64(),
                report.id,
                report.target.mbit(),
                report.achieved.mbit(),
                report.throughput().mbit(),
                report.packets,
                report.duration.as_secs_f64() * 1e3,
                (report.loss() - report.marked()) * 100.0,
                report.marked() * 100.0,
                report.rtt.unwrap_or_default().as_secs_f64() * 1e3,
                report.rtt_gradient.unwrap_or(f64::NAN),
                utility.map_or("-".to_owned(), |utility| format!("{utility:.4}")),
                if report.timed_out { ", timed out" } else { "" },
                if report.app_limited { ", limited" } else { "" },
            ),
            Event::Decision { at, state, rate, reason } => {
                println!("{:12.6} {flow} decision {state}, {:.4} Mbit/s: {reason}", at.as_secs_f64(), rate.mbit());
            }
            _ => {}
        }
    }
}
