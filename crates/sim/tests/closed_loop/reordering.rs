//! Packets that overtake others: late is not lost.

use super::behaviour::{at_least, at_most, s, seeded};
use pcc_sim::Flow;

/// Mbit/s that PCC over noq carries in virtual time, in the second half of eight seconds: `crates/quinn/tests/paths.rs`.
const PATHS: [(&str, f64); 5] = [
    ("rate=60Mbit,rtt=20ms,buffer=300KB,jitter=15ms:reorder", 56.0),
    ("rate=120Mbit,rtt=60ms,buffer=900KB,jitter=8ms:reorder", 113.0),
    ("rate=120Mbit,rtt=60ms,buffer=900KB,jitter=15ms:reorder", 113.0),
    ("rate=120Mbit,rtt=60ms,buffer=900KB,jitter=25ms:reorder", 113.0),
    ("rate=100Mbit,rtt=30ms,buffer=375KB,reorder=30%:20ms", 95.0),
];

#[test]
fn late_packets_are_no_losses() {
    for (path, mbit) in PATHS {
        for seed in 1..=5 {
            let results = seeded(path, 10, seed, vec![Flow::default()]);
            let flow = &results.flows[0];
            let goodput = flow.goodput(s(0), s(10)).mbit();
            at_least(&format!("Mbit/s over {path}, seed {seed}"), goodput, 0.9 * mbit, &results);
            let before = flow.series.iter().rfind(|sample| sample.at <= s(3)).expect("a sample").sent;
            let [spurious, packets] = [flow.sent.spurious - before.spurious, flow.sent.packets - before.packets];
            let share = spurious as f64 / packets as f64;
            at_most(&format!("needless retransmissions over {path}, seed {seed}"), share, 0.01, &results);
        }
    }
}
