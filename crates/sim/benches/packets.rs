//! How many packets a second of processor time one core simulates, and what ten thousand flows take.
//!
//! A packet is all that happens because of it: at the sender, the queue, the receiver, and half an acknowledgement.
#![allow(clippy::print_stdout, reason = "a benchmark's result is its output")]

use core::time::Duration;
use pcc_sim::{Cast, Scenario, run};

const RUNS: usize = 7;

fn main() {
    let flows: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let usual = ["pcc", "cubic", "bbr", "reno", "1Gbit", "pcc*100", "pcc*10000"].map(str::to_owned);
    println!("{:<16}{:>14}{:>14}{:>12}{:>14}", "1 Gbit/s, 30 ms", "packets/s", "fastest", "packets", "peak memory");
    for flows in if flows.is_empty() { &usual[..] } else { &flows } {
        measure(flows);
    }
}

fn measure(written: &str) {
    let Cast(mut flows) = written.parse().expect("flows as `pcc-lab sim --flows` reads them");
    (0..).zip(&mut flows).for_each(|(number, flow)| flow.config.seed = number);
    let path = "rate=1Gbit,rtt=30ms,buffer=3.75MB".parse().expect("a path");
    let scenario = Scenario::new(path, flows, 1, Duration::from_secs(10));
    let mut packets = 0;
    let mut speeds: Vec<f64> = (0..RUNS)
        .map(|_| {
            let began = spent();
            let results = run(&scenario).expect("there can be such a path");
            packets = results.flows.iter().map(|flow| flow.sent.packets).sum();
            packets as f64 / (spent() - began).as_secs_f64().max(1e-9)
        })
        .collect();
    speeds.sort_by(f64::total_cmp);
    let memory = peak_memory().map_or("unknown".to_owned(), |kilobytes| format!("{:.0} MB", kilobytes / 1e3));
    println!("{written:<16}{:>14.0}{:>14.0}{packets:>12}{memory:>14}", speeds[RUNS / 2], speeds[RUNS - 1]);
}

/// Processor time of this thread, whatever else the machine does; where there is none to be had, time.
fn spent() -> Duration {
    let scheduled = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = scheduled.and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanos.map_or_else(by_the_clock, Duration::from_nanos)
}

#[expect(clippy::disallowed_types, reason = "a benchmark reads the clock")]
fn by_the_clock() -> Duration {
    std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}

/// The most that the process had at once, in this line and those above. Unit: KB.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
