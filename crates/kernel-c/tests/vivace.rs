//! The kernel's Vivace over simulated paths, in virtual time.
#![cfg(target_os = "linux")]

mod tcp;

use tcp::{MS, Path, SECOND, Tcp};

fn vivace(path: Path) -> Tcp {
    Tcp::steered("vivace", "vivace", path)
}

#[test]
fn a_path_is_filled() {
    for (mbit, rtt, buffer) in [(100.0, 30 * MS, 250), (10.0, 100 * MS, 1000), (500.0, 5 * MS, 400)] {
        let mut tcp = vivace(Path { mbit, rtt, buffer, ..Path::default() });
        let (goodput, loss, queue) = tcp.run(10 * SECOND).measured(20 * SECOND);
        assert!(goodput > 0.9 * mbit && loss < 0.01, "{mbit} Mbit/s: {goodput}, {loss} lost, {queue} ms");
    }
}

#[test]
fn random_loss_is_borne() {
    for (loss, least) in [(0.01, 0.9), (0.02, 0.9), (0.03, 0.8)] {
        let mut tcp = vivace(Path { loss, ..Path::default() });
        let (goodput, _, queue) = tcp.run(10 * SECOND).measured(40 * SECOND);
        assert!(goodput > least * 100.0, "{loss}: {goodput} Mbit/s, {queue} ms");
    }
}

#[test]
fn after_a_silence_it_is_back() {
    let mut tcp = vivace(Path { silent: (5 * SECOND, 7 * SECOND), ..Path::default() });
    let (before, ..) = tcp.run(4 * SECOND).measured(SECOND);
    let (after, ..) = tcp.run(5 * SECOND).measured(5 * SECOND);
    assert!(after > 0.8 * before, "{before} Mbit/s before, {after} after");
}

#[test]
fn a_source_that_has_little_does_not_make_the_rate_grow() {
    let mut tcp = vivace(Path { source: 5.0, ..Path::default() });
    tcp.run(10 * SECOND);
    assert!(tcp.highest < 25 * 125_000, "{} byte/s for a source of 5 Mbit/s", tcp.highest);
}
