//! What a server sends to an address that may be somebody else's (RFC 9000 §8.1).

mod loopback;
mod two_ends;

use loopback::configured_with;
use noq::TransportConfig;
use pcc::rng::Rng;
use two_ends::{SECOND, Sent, TwoEnds, Who, usual};

/// A server with more to say at once than it may.
fn connect(transport: TransportConfig, path: impl FnMut(&Sent) -> bool + 'static) -> TwoEnds {
    let (server, client) = configured_with(transport, 12);
    TwoEnds::between(client, server, path)
}

fn bytes(ends: &TwoEnds, by: Who) -> usize {
    ends.sent.iter().filter(|sent| sent.by == by).map(|sent| sent.bytes).sum()
}

/// The client's first datagrams arrive, and nothing more of it.
fn client_falls_silent_after(count: usize) -> impl FnMut(&Sent) -> bool {
    let mut seen = 0;
    move |sent| {
        seen += usize::from(sent.by == Who::Client);
        sent.by == Who::Server || seen <= count
    }
}

#[test]
fn a_server_answers_an_address_with_three_times_as_much_at_most() {
    for mtu in [1200, 1350, 1452] {
        let mut transport = usual();
        transport.initial_mtu(mtu);
        let mut ends = connect(transport, client_falls_silent_after(1));
        assert!(!ends.run_until(20 * SECOND, TwoEnds::is_connected));
        let first = ends.sent.iter().find(|sent| sent.by == Who::Client).expect("it tries").bytes;
        let (answered, allowed) = (bytes(&ends, Who::Server), 3 * first);
        assert!(answered > 0 && answered <= allowed, "{answered} of {allowed} with {mtu}");
    }
}

#[test]
fn a_handshake_with_losses_completes_within_the_limit() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let mut transport = usual();
        transport.initial_mtu(if seed % 2 == 0 { 1200 } else { 1452 });
        let mut ends = connect(transport, move |_| rng.unit() >= 0.3);
        assert!(ends.run_until(60 * SECOND, TwoEnds::is_connected), "seed {seed}: {:?}", ends.lost());
    }
}

#[test]
fn a_server_that_is_not_heard_at_first_gets_on_with_it() {
    // Its whole first flight is lost, which is all that it may send.
    let mut lost = 0;
    let mut ends = connect(usual(), move |sent| {
        lost += usize::from(sent.by == Who::Server);
        sent.by == Who::Client || lost > 3
    });
    let is_connected = ends.run_until(20 * SECOND, TwoEnds::is_connected);
    assert!(is_connected, "{:?}", ends.lost());
}

/// After a rebinding in a download the new address is known by an acknowledgement of some 40 bytes.
#[test]
fn a_new_address_gets_at_most_three_times_as_much() {
    let mut ends = TwoEnds::connect(usual(), |_| true);
    assert!(ends.deliver(Who::Server, 300_000, 20 * SECOND));
    ends.rebind();
    let known = ends.sent.len();
    ends.send(Who::Server, 100_000);
    ends.send(Who::Client, 1);
    assert!(ends.run_until(20 * SECOND, |ends| ends.received(Who::Client) >= 400_000), "{:?}", ends.lost());
    let mut heard = 0;
    let (mut answered, mut is_validated) = (0, false);
    for sent in &ends.sent[known..] {
        match sent.by {
            // A response is expanded, as nothing else is that this client sends.
            Who::Client => (heard, is_validated) = (heard + sent.bytes, is_validated || sent.bytes >= 1200),
            Who::Server if sent.to == ends.client_address && !is_validated => answered += sent.bytes,
            Who::Server => {}
        }
        assert!(is_validated || answered <= 3 * heard, "{answered} for {heard}");
    }
    assert!(is_validated && answered > 0);
}
