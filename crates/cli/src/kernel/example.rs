//! A connection for tests.

use pcc_bpf::watch::Connection;
use std::time::Duration;

/// One that has sent so much at that time.
pub(super) fn example(seconds: u64, sent: u64, acked: u64, packets: (u32, u32)) -> Connection {
    Connection {
        name: "pcc".into(),
        local: ([192, 0, 2, 1], 5001).into(),
        remote: ([192, 0, 2, 1], 443).into(),
        at: Duration::from_secs(seconds),
        sent,
        acked,
        packets_sent: packets.0,
        packets_lost: packets.1,
        rtt: Duration::from_millis(40),
        window: 17,
        pacing: 1_250_000,
        state: "Probing",
        utility: Some(1.5),
        loss: None,
        limited_by: "application",
        intervals: 9,
        silences: 0,
        panics: 0,
        netns: 7,
    }
}
