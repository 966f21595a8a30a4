//! Acknowledgements of our own receivers say when they left.

mod loopback;
mod two_ends;

use two_ends::{SECOND, TwoEnds, Who, usual};

/// Packets of a download with acknowledgements that say when they left, of all that came back.
fn timed(change: fn(&mut noq_proto::TransportConfig)) -> (u64, u64) {
    let mut transport = usual();
    change(&mut transport);
    let mut ends = TwoEnds::connect(transport, |_| true);
    assert!(ends.deliver(Who::Client, 300_000, 60 * SECOND));
    let stats = ends.frames_received(Who::Client);
    (stats.timestamp, stats.acks)
}

#[test]
fn acknowledgements_of_our_receivers_say_when_they_left() {
    let (timestamps, acks) = timed(|_| ());
    assert!(acks > 20 && timestamps + 5 > acks, "{timestamps} of {acks}, but for the handshake's");
    let (timestamps, acks) = timed(|transport| {
        transport.timestamps(false);
    });
    assert!(acks > 20 && timestamps == 0, "{timestamps} of {acks}");
}
