//! What one packet costs the core: time, allocations, memory a connection. `make bench` adds instructions.
//!
//! A packet is one `on_packet_sent`, one `on_ack` or `on_loss`, half an `on_end_acks`, and its share of what is judged:
//! intervals and decisions.
#![allow(clippy::print_stdout, reason = "a benchmark's result is its output")]

mod path;

use path::{Counting, Path};
use pcc::units::Rate;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const BATCH: u64 = 100_000;
const BATCHES: usize = 21;

fn main() {
    // `events count N`: N packets and nothing else, for a tool that counts instructions.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, packets] = arguments.as_slice()
        && command == "count"
    {
        return scenario(1000.0, 100, 0).send(packets.parse().expect("a number of packets"));
    }
    println!(
        "{:<28}{:>11}{:>11}{:>13}{:>11}{:>15}",
        "a packet on", "median", "fastest", "allocations", "judged", "a connection"
    );
    for (name, mbit, rtt_ms, lose_every) in [
        ("1 Gbit/s, 100 ms", 1000.0, 100, 0),
        ("100 Mbit/s, 30 ms, 1 % lost", 100.0, 30, 100),
        ("10 Mbit/s, 30 ms", 10.0, 30, 0),
    ] {
        measure(name, &|| scenario(mbit, rtt_ms, lose_every));
    }
}

fn scenario(mbit: f64, rtt_ms: u64, lose_every: u64) -> Path {
    Path::new(Rate::from_mbit(mbit), Duration::from_millis(rtt_ms), lose_every)
}

#[expect(clippy::disallowed_types, reason = "a benchmark reads the clock")]
fn measure(name: &str, scenario: &dyn Fn() -> Path) {
    let mut path = scenario();
    let of_the_path = Counting::live_bytes();
    path.send(2 * BATCH);
    let memory = Counting::live_bytes() - of_the_path;
    let (allocations, judged) = (Counting::allocations(), path.judged());
    let mut nanos: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let began = std::time::Instant::now();
            path.send(BATCH);
            began.elapsed().as_nanos() as f64 / BATCH as f64
        })
        .collect();
    let (allocations, judged) = (Counting::allocations() - allocations, path.judged() - judged);
    nanos.sort_by(f64::total_cmp);
    let packets = BATCH as f64 * BATCHES as f64;
    println!(
        "{name:<28}{:>8.1} ns{:>8.1} ns{:>13.6}{:>11.6}{:>12.1} KB",
        nanos[BATCHES / 2],
        nanos[0],
        allocations as f64 / packets,
        judged as f64 / packets,
        memory as f64 / 1e3,
    );
}
