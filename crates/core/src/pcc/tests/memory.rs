//! Knowledge of a path for the next connection, and where that one begins.

use super::*;
use crate::path_memory::PathMemory;
use crate::pcc::delivery::Delivered;

fn with(max_rate: Option<Rate>, memory: Option<PathMemory>) -> Flow {
    let mut flow = Flow::new();
    flow.pcc = Pcc::new(Config { max_rate, memory, ..Config::default() }, flow.now);
    flow
}

#[test]
fn the_rate_and_the_base_rtt_are_learnt_once_start_up_is_over() {
    let mut flow = with(Some(Rate::from_mbit(10.0)), None);
    assert_eq!(flow.pcc.learnt(), None);
    flow.sends_for(ms(3000));
    let learnt = flow.pcc.learnt().unwrap();
    assert!((9.0..10.5).contains(&learnt.rate.mbit()) && learnt.base_rtt == RTT, "{learnt:?}");
}

#[test]
fn half_of_a_known_rate_is_the_first_where_the_rtt_agrees() {
    for (base_rtt, max_mbit, mbit) in [(RTT, 1000.0, 50.0), (RTT, 20.0, 20.0), (RTT * 3, 1000.0, 6.4)] {
        let memory = PathMemory { rate: Rate::from_mbit(100.0), base_rtt };
        let mut flow = with(Some(Rate::from_mbit(max_mbit)), Some(memory));
        flow.pcc.on_packet_sent(flow.now, 0, PACKET);
        flow.pcc.on_ack(flow.now + RTT, 0);
        flow.pcc.on_end_acks(flow.now + RTT);
        assert_eq!(flow.pcc.state(), "Starting");
        assert!((flow.pcc.rate().mbit() / mbit - 1.0).abs() < 0.01, "{} of {memory:?}", flow.pcc.rate());
    }
}

#[test]
fn half_of_the_saved_window_is_the_most_before_an_answer() {
    for (base_rtt, bytes) in [(RTT, 187_500), (RTT / 5, 37_500)] {
        let memory = PathMemory { rate: Rate::from_mbit(100.0), base_rtt };
        let mut flow = with(None, Some(memory));
        flow.pcc.on_packet_sent(flow.now, 0, PACKET);
        flow.pcc.on_ack(flow.now + RTT, 0);
        flow.pcc.on_end_acks(flow.now + RTT);
        let window = flow.pcc.congestion_window().get();
        assert!((30_000..=bytes).contains(&window), "{window} of {memory:?}");
    }
}

#[test]
fn clumps_of_acknowledgements_are_learnt_as_the_path_s_rate() {
    for (clump_ms, seconds) in [(1, 1), (20, 2), (40, 3)] {
        let mut delivered = Delivered::default();
        for at in (0..seconds * 1000).step_by(clump_ms) {
            // 20 Mbit/s.
            for _ in 0..clump_ms {
                let now = Timestamp::from_nanos(at as u64 * 1_000_000);
                delivered.on_ack(now, Bytes::new(2_500), ms(60), Duration::ZERO);
            }
        }
        let mbit = delivered.rate(ms(60)).unwrap().mbit();
        assert!((19.0..=21.0).contains(&mbit), "{mbit} in clumps of {clump_ms} ms");
    }
}

#[test]
fn a_sender_without_data_learns_nothing_of_the_path() {
    let mut delivered = Delivered::default();
    let mut ack = |at_ms: u64| {
        delivered.on_ack(Timestamp::from_nanos(at_ms * 1_000_000), Bytes::new(2_500), ms(60), Duration::ZERO);
        delivered.rate(ms(60)).map(|rate| rate.mbit().round())
    };
    assert_eq!([ack(0), ack(59), ack(60)], [None, None, Some(1.0)]);
    delivered.pause();
    assert_eq!(delivered.rate(ms(60)), None);
}

#[test]
fn nothing_above_a_known_rate_is_tried_before_its_first_result() {
    let memory = PathMemory { rate: Rate::from_mbit(100.0), base_rtt: RTT };
    let mut flow = with(None, Some(memory));
    flow.sends_for(RTT + ms(2));
    assert!((flow.pcc.rate().mbit() / 50.0 - 1.0).abs() < 0.01, "{}", flow.pcc.rate());
    flow.sends_for(RTT - ms(4));
    assert!(flow.pcc.rate().mbit() < 50.1, "{}", flow.pcc.rate());
    flow.sends_for(RTT);
    assert!(flow.pcc.rate().mbit() > 99.0, "{}", flow.pcc.rate());
}
