//! When an interval is judged, and what is sent on its word.

use super::trains::first_sample;
use super::*;

/// Packets of 1200 bytes, each 1.5 ms, from now on: so many. Returns when the last one left.
fn sends(pcc: &mut Pcc, mut now: Timestamp, packets: core::ops::Range<u64>) -> Timestamp {
    for packet in packets {
        pcc.on_packet_sent(now, packet, PACKET);
        now = now + Duration::from_micros(1500);
    }
    now
}

#[test]
fn a_start_is_over_once_what_is_outstanding_can_change_nothing_and_not_before() {
    // The first interval has 20 to 28 packets. Losses in a row say no more than one, so every other packet is lost.
    for (known, is_over) in [(2, false), (18, true)] {
        let (mut pcc, now) = first_sample("allegro");
        let now = sends(&mut pcc, now, 1..40);
        (1..=known).filter(|packet| packet % 2 == 0).for_each(|packet| pcc.on_loss(now, packet));
        (1..=known).filter(|packet| packet % 2 == 1).for_each(|packet| pcc.on_ack(now, packet));
        pcc.on_end_acks(now);
        assert_eq!(!pcc.law.is_starting(), is_over, "{known} are known: {}", pcc.state());
    }
}

#[test]
fn no_law_is_sent_by_more_than_the_limit_nor_by_less_than_the_floor() {
    for law in ["ascent", "allegro", "allegro,paper", "vivace", "vivace,proteus"] {
        let max = Rate::from_mbit(5.0);
        let mut flow = Flow::new();
        let config = Config { max_rate: Some(max), law: Some(law.parse().unwrap()), ..Config::default() };
        flow.pcc = Pcc::new(config, flow.now);
        for step in 0..2000 {
            // Losses in between make it go down.
            flow.answers = step % 300 < 200;
            flow.sends_for(ms(1));
            let floor = flow.pcc.path().floor;
            assert!(flow.pcc.rate() <= max && flow.pcc.rate() >= floor, "{law}: {} at {step} ms", flow.pcc.rate());
        }
    }
}
