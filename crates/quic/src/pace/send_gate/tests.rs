use super::*;
use pcc::units::Rate;

/// 96 µs a packet.
fn pace() -> Pace {
    Pace { rate: Rate::from_mbit(100.0), quantum: Bytes::new(1200), packet: Bytes::new(1200) }
}

fn us(micros: u64) -> Timestamp {
    Timestamp::from_nanos(1_000_000_000 + micros * 1000)
}

/// A gate and the turn that its connection has.
struct Turned {
    gate: SendGate,
    turn: u64,
}

impl Turned {
    /// One packet went through at 0 µs.
    fn used() -> Self {
        let mut turned = Self { gate: SendGate::default(), turn: 1 };
        assert_eq!(turned.asked(0), Ok(()));
        turned.sends(0);
        turned
    }

    fn next_turn(&mut self) -> &mut Self {
        self.turn += 1;
        self
    }

    /// The answer, in µs.
    fn asked(&self, at: u64) -> Result<(), u64> {
        self.gate.admits_at(self.turn, us(at)).map_err(micros)
    }

    fn sends(&mut self, at: u64) {
        let leaving = self.gate.leaving_in(self.turn, us(at));
        self.gate.on_sent(leaving, Bytes::new(1200), pace());
    }

    /// Since when the host is the limit of a packet that leaves in `turn`.
    fn host_limited(&self, turn: u64, at: Timestamp) -> Option<Timestamp> {
        let limited = self.gate.limited(self.gate.leaving_in(turn, at), pace().rate);
        limited.filter(|(_, by)| *by == LostTo::Host).map(|(since, _)| since)
    }

    fn closed_until(&self) -> u64 {
        micros(Timestamp::from_nanos(self.gate.closed_until.load(Relaxed)))
    }
}

fn micros(at: Timestamp) -> u64 {
    (at.as_nanos() - us(0).as_nanos()) / 1000
}

#[test]
fn it_closes_behind_a_packet_until_the_next_is_due() {
    let used = Turned::used();
    assert_eq!(used.asked(1), Err(96));
    assert_eq!(used.asked(90), Err(96));
    assert_eq!(used.asked(96), Ok(()));
}

#[test]
fn a_packet_due_within_microseconds_leaves_now() {
    let mut used = Turned::used();
    assert_eq!(used.asked(93), Ok(()));
    used.sends(93);
    assert_eq!(used.closed_until(), 192);
}

#[test]
fn a_packet_that_waited_and_left_late_is_caught_up_on() {
    let mut used = Turned::used();
    assert!(used.asked(10).is_err());
    assert_eq!(used.next_turn().asked(996), Ok(()));
    used.sends(996);
    let gap = used.closed_until() - 996;
    assert!((74..=77).contains(&gap), "{gap} µs, for five quarters of the rate and what is usual for this host");
}

#[test]
fn the_time_it_takes_to_build_a_packet_is_not_lost() {
    let mut used = Turned::used();
    for packet in 1..1000 {
        assert!(used.asked(96 * (packet - 1) + 20).is_err());
        assert_eq!(used.next_turn().asked(96 * packet), Ok(()));
        used.sends(96 * packet + 6);
        assert_eq!(used.closed_until(), 96 * (packet + 1));
    }
}

#[test]
fn a_packet_that_came_late_is_not_caught_up_on() {
    let mut used = Turned::used();
    assert_eq!(used.next_turn().asked(1096), Ok(()), "nobody asked while the gate was closed");
    used.sends(1096);
    assert_eq!(used.closed_until(), 1096 + 96);
}

#[test]
fn only_packet_that_came_late_was_given_late_by_application() {
    let limited = |used: &Turned, at| {
        let leaving = used.gate.leaving_in(used.turn, us(at));
        used.gate.limited(leaving, pace().rate).map(|(since, by)| (micros(since), by))
    };
    let mut used = Turned::used();
    assert_eq!(limited(&used, 10), None, "one right behind the other");
    assert_eq!(used.next_turn().asked(1096), Ok(()));
    assert_eq!(limited(&used, 200), None, "an application that goes on writing is woken late too");
    assert_eq!(limited(&used, 1096), Some((96, LostTo::Application)));
    let mut waited = Turned::used();
    assert!(waited.asked(10).is_err());
    assert_eq!(waited.next_turn().asked(1096), Ok(()));
    assert_eq!(limited(&waited, 1096), None, "it was there in time");
}

#[test]
fn time_lost_to_a_full_window_is_not_the_host_s() {
    let mut used = Turned::used();
    assert!(used.asked(10).is_err());
    assert_eq!(used.next_turn().asked(96), Ok(()), "open in time, but the window is full");
    used.next_turn().sends(4000);
    assert_eq!(used.closed_until(), 4096);
}

#[test]
fn a_debt_survives_a_full_window_without_the_wait_for_it() {
    let due_after = |full: bool| {
        let mut used = Turned::used();
        assert_eq!(used.next_turn().asked(1), Err(96));
        used.next_turn().sends(3096); // 3 ms late
        if full {
            used.gate.on_window_full_in(used.turn, us(3100));
            used.gate.on_window_full_in(used.turn, us(3900));
        }
        used.next_turn().sends(4000);
        micros(used.gate.schedule.end_of_grace()) - 5000
    };
    // Two packets' time after 96, and 900 µs without room.
    assert_eq!((due_after(true), due_after(false)), (96 + 192 + 900, 4000 + 96));
}

#[test]
fn a_full_window_lends_an_application_nothing() {
    let mut used = Turned::used();
    used.next_turn().gate.on_window_full_in(2, us(4000)); // it has just written
    used.next_turn().sends(4100);
    assert_eq!(used.closed_until(), 4100 + 96);
}

/// A sender that others keep from its processor for 20 ms again and again, and whose acknowledgements waited as long: it reads
/// them only when it has filled its window.
#[test]
fn a_stopped_sender_that_fills_its_window_keeps_its_rate() {
    const STOP: u64 = 20_000;
    const WINDOW: u64 = 150; // of the 208 packets of a stop
    let mut used = Turned::used();
    let (mut now, mut sent) = (0, Vec::new());
    for _ in 0..500 {
        now += STOP;
        used.next_turn();
        let mut room = WINDOW;
        let woken = now;
        while used.asked(now).is_ok() {
            if room == 0 && now == woken {
                used.gate.on_window_full_in(used.turn, us(now));
                (now, room) = (now + 60, WINDOW);
                used.next_turn().next_turn(); // the first one reads nothing
            } else if room == 0 {
                break;
            }
            used.sends(now);
            sent.push(now);
            room -= 1;
        }
    }
    let kept = sent.len() as f64 * 96.0 / now as f64;
    assert!(kept > 0.97, "{kept} of the rate");
    let in_a_second = |(first, from): (usize, &u64)| sent.partition_point(|at| *at < from + 1_000_000) - first;
    let most = sent.iter().enumerate().map(in_a_second).max();
    assert!(
        most < Some(10_417 * 105 / 100),
        "{most:?} packets in a second: more than the 50 ms that are made good at most"
    );
}

#[test]
fn lost_time_is_counted_once() {
    let mut used = Turned::used();
    assert!(used.asked(10).is_err());
    assert_eq!(used.next_turn().asked(1096), Ok(()));
    used.sends(1096);
    // Idle for a second, then a packet again.
    used.next_turn().sends(1_000_000);
    assert_eq!(used.closed_until(), 1_000_096);
}

#[test]
fn a_probe_through_the_closed_gate_puts_off_the_next_packet() {
    let mut used = Turned::used();
    assert!(used.asked(10).is_err());
    used.sends(20);
    assert_eq!(used.closed_until(), 192);
}

#[test]
fn what_is_owed_survives_from_packet_to_packet_of_a_turn() {
    // A host that always wakes up a gap and a half late needs two packets for every other wake-up.
    let mut used = Turned::used();
    let (mut now, mut packets) = (0, 1);
    for _ in 0..2_000 {
        if let Err(until) = used.asked(now) {
            now = until + 144;
            assert_eq!(used.next_turn().asked(now), Ok(()));
        }
        while used.asked(now).is_ok() {
            used.sends(now);
            packets += 1;
        }
    }
    let took = now as f64 / 96.0;
    assert!((f64::from(packets) / took - 1.0).abs() < 0.01, "{packets} packets in the time of {took}");
}

#[test]
fn only_time_beyond_what_is_made_good_counts_as_lost_by_host() {
    let mut used = Turned::used();
    assert!(used.asked(10).is_err());
    assert_eq!(used.next_turn().asked(5_097), Ok(()));
    assert_eq!(used.host_limited(used.turn, us(5_096)), None);
    assert_eq!(used.host_limited(used.turn, us(5_097)), Some(us(5_096)));
    assert_eq!(used.host_limited(used.turn + 1, us(9_000)), Some(us(5_096)), "open since 5097");
}

#[test]
fn nobody_is_held_outside_a_turn() {
    let mut gate = Turned::used().gate;
    *gate.closed_until.get_mut() = u64::MAX;
    assert!(gate.admits());
    assert!(gate.leaving(us(0)).is_none());
}

#[test]
fn what_a_long_turn_leaves_for_the_next_is_still_owed() {
    let due_after = |packets: u32| {
        let mut used = Turned::used();
        assert_eq!(used.next_turn().asked(1), Err(96));
        used.next_turn().sends(3096); // 3 ms late
        for _ in 1..packets {
            used.sends(3096);
        }
        used.next_turn().sends(3100);
        micros(used.gate.schedule.end_of_grace())
    };
    // The schedule goes on from when the packets were due, or afresh where there was nothing to send.
    assert!(due_after(LONG_TURN) < 3096 + 96 + 5000, "{}", due_after(LONG_TURN));
    assert!(due_after(3) > 3096 + 5000, "{}", due_after(3));
}
