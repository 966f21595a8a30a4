//! Paths that drop packets because they are marked for ECN, and paths that drop packets.

mod loopback;
mod two_ends;

use pcc::rng::Rng;
use std::time::Duration;
use two_ends::{SECOND, Sent, TwoEnds, Who, usual};

const PIECE: usize = 300_000;

fn drops_marked(sent: &Sent) -> bool {
    !sent.marked
}

fn delivers_all(_: &Sent) -> bool {
    true
}

/// A connection over a path that does nothing wrong yet.
fn connected() -> TwoEnds {
    let mut ends = TwoEnds::connect(usual(), delivers_all);
    assert!(ends.run_until(SECOND, TwoEnds::is_connected));
    ends
}

/// How many of this end's datagrams since then were marked, and how many there were.
fn marked(ends: &TwoEnds, by: Who, since: Duration) -> (usize, usize) {
    let those = ends.sent.iter().filter(|sent| sent.by == by && sent.at >= since);
    (those.clone().filter(|sent| sent.marked).count(), those.count())
}

/// Whether this end marks what it sends now.
fn marks(ends: &mut TwoEnds, by: Who) -> bool {
    let since = ends.elapsed();
    assert!(ends.deliver(by, PIECE, 60 * SECOND), "{:?}", ends.lost());
    let (marked, all) = marked(ends, by, since);
    assert!(marked == 0 || marked * 4 > all * 3, "{marked} of {all}");
    marked > 0
}

#[test]
fn a_handshake_gets_through_where_marked_packets_do_not() {
    let mut ends = TwoEnds::connect(usual(), drops_marked);
    assert!(ends.run_until(5 * SECOND, TwoEnds::is_connected), "not connected within 5 s");
}

#[test]
fn both_ends_stop_marking_for_good_where_it_loses_packets() {
    let mut ends = TwoEnds::connect(usual(), drops_marked);
    for who in [Who::Client, Who::Server] {
        assert!(ends.deliver(who, PIECE, 20 * SECOND), "{:?}", ends.lost());
        assert!(ends.deliver(who, PIECE, 20 * SECOND), "{:?}", ends.lost());
        assert!(!marks(&mut ends, who), "{who:?}");
        let (marked, _) = marked(&ends, who, Duration::ZERO);
        assert!(marked < 40, "{who:?}: {marked} of its packets were lost so");
    }
    // A path that has stopped to drop them is of no interest any more.
    ends.set_path(delivers_all);
    assert!(!marks(&mut ends, Who::Server));
}

#[test]
fn a_path_that_begins_to_drop_marked_packets_is_noticed() {
    for (who, other) in [(Who::Client, Who::Server), (Who::Server, Who::Client)] {
        let mut ends = connected();
        assert!(marks(&mut ends, who));
        ends.set_path(drops_marked);
        assert!(ends.deliver(who, 10 * PIECE, 20 * SECOND), "{who:?}: {:?}", ends.lost());
        assert!(!marks(&mut ends, who), "{who:?}");
        assert!(ends.deliver(other, PIECE, 20 * SECOND), "{other:?}: {:?}", ends.lost());
    }
}

/// The receiver has nothing of its own under way whose loss it could notice.
#[test]
fn acknowledgements_alone_are_not_marked() {
    let mut ends = connected();
    let begins = ends.elapsed();
    ends.set_path(|sent| sent.by == Who::Server || drops_marked(sent));
    assert!(ends.deliver(Who::Server, 10 * PIECE, 5 * SECOND), "{:?}", ends.lost());
    let (marked, all) = marked(&ends, Who::Client, begins);
    assert!(marked * 10 < all, "{marked} of {all}");
}

#[test]
fn path_that_drops_marked_packets_after_rebinding_is_noticed() {
    for who in [Who::Client, Who::Server] {
        let mut ends = connected();
        assert!(marks(&mut ends, who));
        ends.rebind();
        ends.set_path(drops_marked);
        ends.send(Who::Client, 1000); // the server hears of the new address
        assert!(ends.deliver(who, 10 * PIECE, 20 * SECOND), "{who:?}: {:?}", ends.lost());
        assert!(!marks(&mut ends, who), "{who:?}");
    }
}

#[test]
fn a_path_after_a_rebinding_is_tried_anew() {
    let mut ends = TwoEnds::connect(usual(), drops_marked);
    assert!(ends.deliver(Who::Server, PIECE, 20 * SECOND), "{:?}", ends.lost());
    assert!(!marks(&mut ends, Who::Server));
    ends.rebind();
    ends.set_path(delivers_all);
    ends.send(Who::Client, 1000);
    assert!(ends.deliver(Who::Server, PIECE, 20 * SECOND), "{:?}", ends.lost());
    assert!(marks(&mut ends, Who::Server));
}

/// Loss at random, with a time-out after nearly every piece that is sent.
#[test]
fn a_path_that_merely_loses_packets_keeps_its_marks() {
    for seed in 0..4 {
        let mut rng = Rng::new(seed);
        let mut ends = connected();
        ends.set_path(move |_| rng.unit() >= 0.3);
        for _ in 0..500 {
            assert!(ends.deliver(Who::Client, 3000, 100 * SECOND), "{:?}", ends.lost());
        }
        ends.set_path(delivers_all);
        assert!(ends.deliver(Who::Client, PIECE, 60 * SECOND));
        assert!(marks(&mut ends, Who::Client), "seed {seed}");
    }
}

#[test]
fn a_path_that_was_dead_keeps_its_marks_and_does_not_flap() {
    let mut ends = connected();
    assert!(marks(&mut ends, Who::Client));
    let dead = ends.elapsed();
    ends.set_path(|_| false);
    assert!(!ends.deliver(Who::Client, PIECE, 20 * SECOND));
    // What was on its way first, then nothing marked until something is heard again.
    let all: Vec<_> = ends.sent.iter().filter(|sent| sent.by == Who::Client && sent.at >= dead).collect();
    assert!(all.iter().any(|sent| !sent.marked), "{} packets", all.len());
    assert!(all.is_sorted_by_key(|sent| !sent.marked), "it went to and fro");
    ends.set_path(delivers_all);
    assert!(ends.run_until(20 * SECOND, |ends| ends.received(Who::Server) >= 2 * PIECE), "{:?}", ends.lost());
    assert!(marks(&mut ends, Who::Client));
}
