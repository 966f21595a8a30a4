//! Properties that hold under any sequence of events, sensible or not.

mod model;

use model::{EXPRESSIONS, LAWS, Op, Packet, Setup, Size, run};
use proptest::collection::vec;
use proptest::prelude::*;

fn size() -> impl Strategy<Value = Size> {
    prop_oneof![
        8 => Just(Size::Usual),
        2 => any::<u8>().prop_map(Size::Small),
        2 => any::<u16>().prop_map(Size::UpTo64K),
        1 => any::<u64>().prop_map(Size::Any),
    ]
}

fn packet() -> impl Strategy<Value = Packet> {
    prop_oneof![
        8 => any::<u8>().prop_map(|nth| Packet::InFlight(nth / 8)),
        4 => any::<u8>().prop_map(Packet::Sent),
        1 => any::<u64>().prop_map(Packet::Any),
    ]
}

/// Time passes as in real transfers, mostly: microseconds to seconds, each order of magnitude as likely.
fn micros() -> impl Strategy<Value = u32> {
    (0..32u32, any::<u32>()).prop_map(|(bits, micros)| micros >> bits)
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        10 => micros().prop_map(|micros| Op::Wait { micros }),
        1 => micros().prop_map(|micros| Op::StepBack { micros }),
        1 => any::<u64>().prop_map(|nanos| Op::Jump { nanos }),
        20 => (0..3u8, size()).prop_map(|(skip, size)| Op::Send { skip: skip / 2, size }),
        1 => (packet(), size()).prop_map(|(packet, size)| Op::SendAs { packet, size }),
        15 => packet().prop_map(|packet| Op::Ack { packet }),
        8 => Just(Op::EndAcks),
        5 => packet().prop_map(|packet| Op::Lose { packet }),
        1 => packet().prop_map(|below| Op::Discard { below }),
        2 => (0..40u32, any::<u32>()).prop_map(|(bits, packets)| Op::Marked { packets: packets.checked_shr(bits).unwrap_or(0) }),
        3 => any::<u8>().prop_map(|why| Op::Limited { why }),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(law, utility)| Op::Steer { law, utility }),
        1 => Just(Op::PersistentCongestion),
        4 => Just(Op::Timer),
        8 => Just(Op::AwaitTimer),
        1 => size().prop_map(|size| Op::DatagramSize { size }),
        10 => (any::<u8>(), 0..400u16, any::<u8>())
            .prop_map(|(packets, rtt_ms, lose_every)| Op::Transfer { packets, rtt_ms, lose_every }),
    ]
}

fn setup() -> impl Strategy<Value = Setup> {
    (any::<u64>(), any::<u8>(), any::<u8>(), size(), proptest::option::of(any::<f64>())).prop_map(
        |(seed, law, utility, max_datagram_size, max_rate)| Setup { seed, law, utility, max_datagram_size, max_rate },
    )
}

#[test]
fn what_only_a_spurious_loss_overtook_may_be_given_up() {
    let linear = pcc::utility::NAMES.iter().position(|name| *name == "linear").unwrap() as u8;
    let allegro = LAWS.iter().position(|law| *law == Some("allegro")).unwrap() as u8;
    let setup = Setup { seed: 0, law: allegro, utility: linear, max_datagram_size: Size::Usual, max_rate: None };
    let send = Op::Send { skip: 0, size: Size::Usual };
    let transfer = |packets, rtt_ms, lose_every| Op::Transfer { packets, rtt_ms, lose_every };
    let ops = [
        send,
        transfer(157, 201, 2),
        send,
        Op::Wait { micros: 804_035 },
        send,
        send,
        Op::Ack { packet: Packet::Sent(19) },
        transfer(163, 213, 3),
        Op::Discard { below: Packet::InFlight(4) },
        send, // the packet that nobody reports on
        Op::AwaitTimer,
        transfer(169, 0, 1), // all of them lost
        Op::Wait { micros: 24_001 },
        send,
        Op::Ack { packet: Packet::Sent(2) }, // but one arrives
        Op::AwaitTimer,
        transfer(65, 169, 0),
    ];
    run(&setup, &ops, u32::MAX);
}

#[test]
fn a_clock_once_far_ahead_keeps_no_law_from_judging() {
    for law in 0..LAWS.len() as u8 {
        // So slow that a transfer takes seconds.
        let max_rate = Some(20_000.0);
        let setup = Setup { seed: 1, law, utility: 0, max_datagram_size: Size::Usual, max_rate };
        let transfer = Op::Transfer { packets: 255, rtt_ms: 30, lose_every: 0 };
        let hour = 3_600_000_000_000;
        let ahead = [transfer, transfer, Op::Jump { nanos: 2 * hour }, transfer, Op::Jump { nanos: hour }];
        run(&setup, &[&ahead[..], &[transfer; 8]].concat(), u32::MAX);
    }
}

/// A path of 20 ms to 100 ms that loses what is too much, for long enough to leave Starting and to probe; then it stalls and
/// comes back.
fn ordinary(seed: u64) -> Vec<Op> {
    let transfer = |rtt_ms, lose_every| Op::Transfer { packets: 255, rtt_ms, lose_every };
    let rtt = 20 + (seed % 5) as u16 * 20;
    let mut ops = vec![transfer(rtt, 0); 8];
    ops.extend([transfer(rtt, 3); 4]);
    ops.extend([transfer(rtt, 20); 8]);
    ops.extend([
        Op::Wait { micros: 3_000_000 },
        Op::AwaitTimer,
        Op::AwaitTimer,
        transfer(rtt, 0),
        transfer(2 * rtt, 0),
    ]);
    ops
}

#[test]
fn every_law_runs_with_every_utility_and_every_expression() {
    for law in 0..LAWS.len() as u8 {
        for utility in 0..(pcc::utility::NAMES.len() + EXPRESSIONS.len()) as u8 {
            for seed in 0..3 {
                let setup = Setup { seed, law, utility, max_datagram_size: Size::Usual, max_rate: None };
                run(&setup, &ordinary(seed), u32::MAX);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_events_breaks_a_promise(setup in setup(), ops in vec(op(), 0..200)) {
        run(&setup, &ops, u32::MAX);
    }
}
