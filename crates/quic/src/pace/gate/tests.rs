use super::*;
use pcc::units::Rate;

/// 96 µs a packet.
const PACE: Pace = Pace { rate: Rate::ZERO, quantum: Bytes::new(1200), packet: Bytes::new(1200) };

fn pace() -> Pace {
    Pace { rate: Rate::from_mbit(100.0), ..PACE }
}

fn us(micros: u64) -> Timestamp {
    Timestamp::from_nanos(1_000_000_000 + micros * 1000)
}

/// A gate through which one packet went at 0 µs.
fn used() -> Gate {
    let mut gate = Gate::default();
    assert_eq!(gate.admits_at(us(0)), Ok(()));
    gate.on_sent(us(0), Bytes::new(1200), pace());
    gate
}

fn closed_until(gate: &Gate) -> u64 {
    (gate.closed_until.load(Relaxed) - 1_000_000_000) / 1000
}

#[test]
fn it_closes_behind_a_packet_until_the_next_is_due() {
    let gate = used();
    assert_eq!(gate.admits_at(us(1)), Err(us(96)));
    assert_eq!(gate.admits_at(us(90)), Err(us(96)));
    assert_eq!(gate.admits_at(us(96)), Ok(()));
}

#[test]
fn a_packet_due_within_microseconds_leaves_now_and_the_next_is_not_early() {
    let mut gate = used();
    assert_eq!(gate.admits_at(us(93)), Ok(()));
    gate.on_sent(us(93), Bytes::new(1200), pace());
    assert_eq!(closed_until(&gate), 192);
}

#[test]
fn a_packet_that_waited_and_left_late_is_caught_up_on() {
    let mut gate = used();
    assert!(gate.admits_at(us(10)).is_err());
    assert_eq!(gate.admits_at(us(996)), Ok(()));
    gate.on_sent(us(996), Bytes::new(1200), pace());
    let gap = closed_until(&gate) - 996;
    assert!((74..=77).contains(&gap), "{gap} µs, for five quarters of the rate and what is usual for this host");
}

#[test]
fn a_packet_that_came_late_is_not() {
    let mut gate = used();
    assert_eq!(gate.admits_at(us(1096)), Ok(()), "nobody asked while the gate was closed");
    gate.on_sent(us(1096), Bytes::new(1200), pace());
    assert_eq!(closed_until(&gate), 1096 + 96);
}

#[test]
fn time_lost_to_a_full_window_is_not_the_host_s() {
    let mut gate = used();
    assert!(gate.admits_at(us(10)).is_err());
    assert_eq!(gate.admits_at(us(96)), Ok(()), "open in time, but the window is full");
    gate.on_sent(us(5000), Bytes::new(1200), pace());
    assert_eq!(closed_until(&gate), 5096);
}

#[test]
fn lost_time_is_counted_once() {
    let mut gate = used();
    assert!(gate.admits_at(us(10)).is_err());
    assert_eq!(gate.admits_at(us(1096)), Ok(()));
    gate.on_sent(us(1096), Bytes::new(1200), pace());
    // Idle for a second, then a packet again.
    gate.on_sent(us(1_000_000), Bytes::new(1200), pace());
    assert_eq!(closed_until(&gate), 1_000_096);
}

#[test]
fn a_probe_through_the_closed_gate_puts_off_the_next_packet() {
    let mut gate = used();
    assert!(gate.admits_at(us(10)).is_err());
    gate.on_sent(us(20), Bytes::new(1200), pace());
    assert_eq!(closed_until(&gate), 192);
}

#[test]
fn only_time_beyond_what_is_made_good_is_reported_as_lost_by_the_host() {
    let gate = used();
    assert!(gate.admits_at(us(10)).is_err());
    assert_eq!(gate.host_limited_since(us(5_096)), None);
    assert_eq!(gate.host_limited_since(us(5_097)), Some(us(5_096)));
}

#[test]
fn what_is_owed_survives_from_packet_to_packet_of_a_turn() {
    // A host that always wakes up a gap and a half late needs two packets for every other wake-up.
    let mut gate = used();
    let (mut now, mut packets) = (0, 1);
    for turn in 0..2_000 {
        if let Err(until) = gate.admits_at(us(now)) {
            now = (until.as_nanos() - 1_000_000_000) / 1000 + 144;
            assert_eq!(gate.admits_at(us(now)), Ok(()));
        }
        while gate.admits_at(us(now)).is_ok() {
            gate.on_sent_in(Some(turn), us(now), Bytes::new(1200), pace());
            packets += 1;
        }
    }
    let took = now as f64 / 96.0;
    assert!((f64::from(packets) / took - 1.0).abs() < 0.01, "{packets} packets in the time of {took}");
}

#[test]
fn nobody_is_held_outside_a_turn() {
    let gate = used();
    gate.closed_until.store(u64::MAX, Relaxed);
    assert!(gate.admits());
}
