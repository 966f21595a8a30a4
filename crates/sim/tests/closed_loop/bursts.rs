//! Losses that come in bursts whatever is sent: rain, fading, a handover.

use super::behaviour::{at_least, at_most, s, seeded};
use pcc_sim::Flow;

/// Share, loss and queue of a lone flow on five seeds. Bounds are the worst of these seeds, rounded outwards.
fn fills(path: &str, seconds: u64, share: f64, loss: f64, queue_ms: f64) {
    for seed in 1..=5 {
        let results = seeded(path, seconds, seed, vec![Flow::default()]);
        at_least(&format!("share of {path}, seed {seed}"), results.share_after(s(0)), share, &results);
        at_most(&format!("loss of {path}, seed {seed}"), results.flows[0].loss(), loss, &results);
        let queue = results.flows[0].added_rtt(0.95).as_secs_f64() * 1e3;
        at_most(&format!("95th percentile of the RTT added in ms, seed {seed}"), queue, queue_ms, &results);
    }
}

#[test]
fn bursts_of_losses_on_a_long_path_leave_it_full() {
    fills("rate=12Mbit,up.rate=3Mbit,rtt=500ms,buffer=900KB,loss=2.44%,burst=12", 120, 0.91, 0.034, 150.0);
}

#[test]
fn a_satellite_that_loses_sixteen_in_a_row_is_filled() {
    fills("satellite,burst=16", 100, 0.80, 0.027, 2.0);
}
