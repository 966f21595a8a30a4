//! What a connection may cost: no allocation for a packet, at most one for an interval or a decision, and a bounded amount of memory whatever happens.

#[path = "../benches/path/mod.rs"]
mod path;

use path::{Counting, Path};
use pcc::units::{Bytes, Rate, Timestamp};
use pcc::{Config, Pcc};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// One test, since the count is the process's: tests side by side would see each other's allocations.
#[test]
fn packets_cost_no_allocation_and_connections_bounded_memory() {
    // A sender that loses one in seven goes down to a packet an interval, and then decides as often as it sends.
    for (mbit, rtt_ms, lose_every, most_judged) in [
        (1000.0, 100, 0, 10_000),
        (100.0, 30, 100, 10_000),
        (100.0, 30, 25, 10_000),
        (100.0, 30, 7, 60_000),
        (1.0, 800, 0, 10_000),
    ] {
        let mut path = Path::new(Rate::from_mbit(mbit), Duration::from_millis(rtt_ms), lose_every);
        let empty = Counting::live_bytes();
        path.send(50_000);
        let (before, judged_before) = (Counting::allocations(), path.judged());
        path.send(50_000);
        let (allocations, judged) = (Counting::allocations() - before, path.judged() - judged_before);
        let what = format!("{mbit} Mbit/s, {rtt_ms} ms, one in {lose_every} lost");
        // Of one or two more intervals the packets have left and are not answered for.
        assert!(allocations <= judged + 2, "{what}: {allocations} allocations for {judged} intervals and decisions");
        assert!(judged < most_judged, "{what}: {judged} intervals and decisions for 50,000 packets");
        let memory = Counting::live_bytes() - empty;
        assert!(memory < 256 << 10, "{what}: {memory} bytes for a connection");
    }

    // A peer that never acknowledges, and a transport that does not care.
    let before = Counting::live_bytes();
    let mut sender = Pcc::new(Config::default(), Timestamp::ZERO);
    for packet in 0..3_000_000 {
        sender.on_packet_sent(Timestamp::from_nanos(packet * 1000), packet, Bytes::new(1200));
    }
    let memory = Counting::live_bytes() - before;
    assert!(memory < 16 << 20, "{memory} bytes for 3 million packets that were never acknowledged");
}
