//! What an earlier connection learnt of a path (RFC 9959), where the path is as it was, and where it is not.

use super::behaviour::{at_least, at_most, seeded};
use core::time::Duration;
use pcc::PathMemory;
use pcc::units::{Bytes, Rate};
use pcc_sim::{Control, Flow, Results, Source};

/// A transfer of so many megabytes by a sender that remembers this of the path: a rate in Mbit/s and an RTT in ms.
fn transfer(path: &str, megabytes: u64, memory: Option<(f64, u64)>, seed: u64) -> Results {
    seeded(path, 120, seed, vec![flow(megabytes, memory)])
}

fn flow(megabytes: u64, memory: Option<(f64, u64)>) -> Flow {
    let mut flow = Flow { source: Source::Volume(Bytes::new(megabytes * 1_000_000)), ..Flow::default() };
    let remember = |(mbit, ms)| PathMemory { rate: Rate::from_mbit(mbit), base_rtt: Duration::from_millis(ms) };
    flow.config.memory = memory.map(remember);
    flow
}

fn seconds(results: &Results) -> f64 {
    results.flows[0].finished.unwrap().as_secs_f64()
}

const SATELLITE: &str = "rate=42Mbit,rtt=800ms,buffer=1MB";

#[test]
fn ten_megabytes_over_a_known_satellite_take_a_third_less() {
    for seed in 1..=5 {
        let (new, known) = (transfer(SATELLITE, 10, None, seed), transfer(SATELLITE, 10, Some((42.0, 800)), seed));
        at_most("seconds of those of a new path", seconds(&known) / seconds(&new), 0.67, &known);
        at_most("loss", known.flows[0].loss(), 0.001, &known);
    }
}

#[test]
fn a_path_of_another_rtt_is_not_the_one_that_is_known() {
    for seed in 1..=3 {
        let (new, other) = (transfer(SATELLITE, 10, None, seed), transfer(SATELLITE, 10, Some((42.0, 2000)), seed));
        assert_eq!(seconds(&new).to_bits(), seconds(&other).to_bits());
    }
}

#[test]
fn a_path_that_became_ten_times_slower_is_not_flooded() {
    // The first round trip at five times the capacity, and no second one.
    for (path, rtt_ms, loss) in [
        ("rate=10Mbit,rtt=100ms,buffer=15KB", 100, 0.1),
        ("rate=10Mbit,rtt=100ms,buffer=1MB", 100, 0.001),
        ("rate=10Mbit,rtt=30ms,buffer=20KB", 30, 0.045),
    ] {
        for seed in 1..=5 {
            let (new, known) = (transfer(path, 5, None, seed), transfer(path, 5, Some((100.0, rtt_ms)), seed));
            at_most(&format!("loss of {path}"), known.flows[0].loss(), loss, &known);
            at_most(&format!("time over {path}"), seconds(&known) / seconds(&new), 1.02, &known);
        }
    }
}

#[test]
fn a_path_of_a_seventh_of_the_rate_drops_250_packets_at_most() {
    for seed in 1..=5 {
        let slow = seeded(
            "rate=3Mbit,rtt=100ms,buffer=40KB",
            120,
            seed,
            vec![Flow { source: Source::Volume(Bytes::new(1_500_000)), ..flow(1, Some((20.0, 60))) }],
        );
        at_most("share of 1,500 packets", slow.flows[0].loss(), 250.0 / 1500.0, &slow);
    }
}

#[test]
fn a_path_that_became_four_times_faster_is_filled_no_later() {
    for (seed, megabytes) in (1..=3).flat_map(|seed| [5, 10, 50].map(|megabytes| (seed, megabytes))) {
        let path = "rate=100Mbit,rtt=100ms,buffer=1.25MB";
        let (new, known) = (transfer(path, megabytes, None, seed), transfer(path, megabytes, Some((25.0, 100)), seed));
        at_most("time over that of a new path", seconds(&known) / seconds(&new), 1.0, &known);
    }
}

#[test]
fn who_knows_the_path_leaves_who_came_first_a_quarter_at_once() {
    for seed in 1..=5 {
        let first = Flow { control: Control::Pcc, ..Flow::default() };
        let mut second = flow(20, Some((100.0, 30)));
        second.start = Duration::from_secs(5);
        let results = seeded("clean", 12, seed, vec![first, second]);
        let share = results.flows[0].goodput(Duration::from_secs(6), Duration::from_secs(8)).mbit();
        at_least("Mbit/s of the first", share, 23.0, &results);
        at_most("loss of the first", results.flows[0].loss(), 0.01, &results);
    }
}
