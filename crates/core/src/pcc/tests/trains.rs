//! Trains of the first packets, by law, and the packets that leave because of them.

use super::*;
use crate::control::Law;
use std::collections::VecDeque;

/// A sender by this law that knows its path's RTT, and when.
pub(super) fn first_sample(law: &str) -> (Pcc, Timestamp) {
    let law: Option<Law> = Some(law.parse().unwrap());
    let mut pcc = Pcc::new(Config { law, ..Config::default() }, Timestamp::ZERO);
    pcc.on_packet_sent(Timestamp::ZERO, 0, PACKET);
    let now = Timestamp::ZERO + RTT;
    pcc.on_ack(now, 0);
    pcc.on_end_acks(now);
    (pcc, now)
}

#[test]
fn only_ascent_s_first_packets_leave_in_trains() {
    for (law, packets) in [("ascent", 6), ("allegro", 1), ("vivace", 1)] {
        let (mut pcc, now) = first_sample(law);
        assert_eq!((pcc.train_packets(), pcc.state()), (packets, "Starting"), "{law}");
        assert_eq!(pcc.send_quantum(), Bytes::new(u64::from(packets) * 1200), "{law}");
        // And who changes the law has none any more.
        pcc.steer(now, pcc.config.utility.clone(), Some("allegro,paper".parse().unwrap()));
        assert_eq!(pcc.train_packets(), 1, "{law}");
    }
}

/// Three trains, each when the one before has passed a bottleneck that takes so long for a packet.
fn told(each: Duration) -> Pcc {
    let (mut pcc, first) = first_sample("ascent");
    for train in 0..3 {
        let sent = first + each * 6 * train;
        (1..=6).for_each(|packet| pcc.on_packet_sent(sent, u64::from(6 * train + packet), PACKET));
    }
    for packet in 1..=18 {
        let arrives = first + RTT + each * packet;
        pcc.on_ack(arrives, packet.into());
        pcc.on_end_acks(arrives);
    }
    pcc
}

#[test]
fn trains_open_the_window_to_the_path_s_capacity() {
    // Begun at 6.4 Mbit/s: 9.6 are more, 4.8 are not.
    for (each, mbit, is_wide) in [(ms(1), 9.6, true), (ms(2), 4.8, false)] {
        let pcc = told(each);
        let found = pcc.trains.told().unwrap().mbit();
        assert!((found / mbit - 1.0).abs() < 0.01 && pcc.law.is_starting(), "{found} Mbit/s, not {mbit}");
        let holds = pcc.law.rate().max(pcc.rate()) * (RTT * 2 + pcc.rtt().spread()) + Bytes::new(12_000);
        assert_eq!(pcc.congestion_window() == holds, is_wide, "{}, not {holds}", pcc.congestion_window());
    }
}

#[test]
fn bursts_are_left_out_if_the_law_asks() {
    let (mut pcc, now) = first_sample("vivace,proteus");
    assert_eq!(pcc.monitor.bursts().ratio(), 50.0);
    for (law, ratio) in [("vivace", 0.0), ("vivace,burst_ratio=50", 50.0), ("ascent", 0.0)] {
        pcc.steer(now, pcc.config.utility.clone(), Some(law.parse().unwrap()));
        assert_eq!(pcc.monitor.bursts().ratio(), ratio, "{law}");
    }
}

/// How long a sender's trains last at its rate, after ten thousand packets that met a queue of this length in µs.
fn train_beside(queue: u64) -> Duration {
    let (mut pcc, mut now) = first_sample("ascent");
    pcc.law.back_off(Rate::from_mbit(100.0));
    pcc.replan(now, "as though it was found");
    let mut under_way = VecDeque::new();
    for packet in 1..10_000 {
        now = now + pcc.rate().time_for(PACKET);
        while under_way.front().is_some_and(|(arrives, _)| *arrives <= now) {
            let (arrives, number) = under_way.pop_front().unwrap();
            pcc.on_ack(arrives, number);
            pcc.on_end_acks(arrives);
        }
        pcc.on_packet_sent(now, packet, PACKET);
        under_way.push_back((now + RTT + Duration::from_micros(queue), packet));
    }
    pcc.plan.rate.time_for(pcc.quantum)
}

#[test]
fn trains_are_longer_on_a_path_that_holds_a_queue() {
    for (queue, longest) in [(0, 100), (700, 100), (2_000, 250), (20_000, 1_000)] {
        let lasts = train_beside(queue).as_micros();
        assert!(lasts.abs_diff(longest) <= 5, "{lasts} µs beside a queue of {queue} µs");
    }
}
