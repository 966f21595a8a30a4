use super::*;
use crate::rng::Rng;

const PACKET: Bytes = Bytes::new(1200);
const RTT: Duration = Duration::from_millis(100);

fn us(us: f64) -> Duration {
    Duration::from_nanos((us * 1e3) as u64)
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_nanos(1_000_000 + ms * 1_000_000)
}

/// Trains 20 ms apart; packets 6 to 11 are the second one.
fn leave(trains: &mut Trains, packets: core::ops::Range<u64>) {
    for packet in packets {
        assert_eq!(trains.packets(), 6);
        trains.on_packet_sent(at(packet / 6 * 20), packet, PACKET);
    }
}

fn three() -> Trains {
    let mut trains = Trains::new(RTT, Bytes::ZERO);
    leave(&mut trains, 0..18);
    trains
}

/// These packets are acknowledged so long after the train of the last of them left, and a round trip.
fn ack(trains: &mut Trains, packets: core::ops::RangeInclusive<u64>, after: Duration) {
    ack_over(trains, packets, after, Duration::ZERO);
}

/// The same over a path that holds packets back for so long now and then.
fn ack_over(trains: &mut Trains, packets: core::ops::RangeInclusive<u64>, after: Duration, spread: Duration) {
    let now = at_of(*packets.end()) + after;
    packets.rev().for_each(|packet| trains.on_ack(packet, PACKET));
    trains.on_end_acks(now, RTT, spread);
}

/// Behind a bottleneck of 9.6 Mbit/s, a packet a millisecond, whose acknowledgements are late by what `late` says.
fn answer(trains: &mut Trains, packets: core::ops::Range<u64>, mut late: impl FnMut(u64) -> f64) {
    for packet in packets.skip(1).step_by(2) {
        ack(trains, packet - 1..=packet, us((packet % 6) as f64 * 1e3 + late(packet)));
    }
}

fn answered(late: impl FnMut(u64) -> f64) -> Trains {
    let mut trains = three();
    answer(&mut trains, 0..18, late);
    trains
}

fn told(trains: &Trains) -> Option<f64> {
    trains.told().map(|rate| (rate.mbit() * 10.0).round() / 10.0)
}

#[test]
fn packets_a_millisecond_apart_tell_that_rate() {
    assert_eq!(told(&answered(|_| 0.0)), Some(9.6));
    let mut rng = Rng::new(3);
    let noisy = told(&answered(|_| 50.0 * rng.unit())).unwrap();
    assert!((9.1..10.1).contains(&noisy), "{noisy}");
}

#[test]
fn host_that_first_packet_of_train_wakes_up_makes_it_no_shorter() {
    let mut rng = Rng::new(3);
    let woken = |packet: u64| if packet % 6 == 1 { 100.0 + 200.0 * rng.unit() } else { 0.0 };
    assert_eq!(told(&answered(woken)), Some(9.6));
}

#[test]
fn noise_as_long_as_the_train_tells_nothing() {
    // Jitter that keeps the order of packets: who comes while one is held back waits with it.
    let mut rng = Rng::new(3);
    let fooled = (0..1000).filter(|_| {
        let mut held: f64 = 0.0;
        let late = |packet: u64| {
            held = if packet % 6 == 1 { 0.0 } else { held - 2e3 }.max(20e3 * rng.unit());
            held
        };
        told(&answered(late)).is_some()
    });
    assert!(fooled.count() <= 10);
}

#[test]
fn six_trains_are_the_most_when_three_leave_doubt() {
    // Every other train's last acknowledgement is late: the slope is known to a quarter, not to a part of it.
    let late = |packet: u64| if packet % 12 == 11 { 500.0 } else { 0.0 };
    let mut trains = answered(late);
    assert!(told(&trains).is_none() && !trains.is_over && trains.packets() == 6);
    leave(&mut trains, 18..36);
    answer(&mut trains, 18..30, late);
    assert_eq!(told(&trains), None, "it is asked again when there are twice as many");
    answer(&mut trains, 30..36, late);
    let rate = told(&trains).unwrap();
    assert!((8.0..9.6).contains(&rate) && trains.packets() == 1, "{rate}");
}

#[test]
fn more_than_so_many_trains_do_not_leave() {
    let mut rng = Rng::new(5);
    let mut trains = Trains::new(RTT, Bytes::ZERO);
    let mut packet = 0;
    while trains.packets() > 1 && packet <= 6 * 32 {
        leave(&mut trains, packet..packet + 6);
        answer(&mut trains, packet..packet + 6, |packet| if packet % 6 == 5 { 2e3 * rng.unit() } else { 0.0 });
        packet += 6;
    }
    assert!(packet <= 6 * 32 && trains.is_over, "{packet} packets");
    trains.on_packet_sent(at(packet / 6 * 20), packet, PACKET);
    assert!(trains.watched.iter().all(Option::is_none));
}

#[test]
fn no_more_trains_leave_than_are_watched() {
    let mut trains = Trains::new(RTT, Bytes::ZERO);
    leave(&mut trains, 0..48);
    assert_eq!(trains.packets(), 1);
    answer(&mut trains, 0..6, |_| 0.0);
    assert_eq!(trains.packets(), 6, "there is room for one");
}

#[test]
fn a_train_that_was_left_behind_is_none_when_no_other_can_begin() {
    let mut trains = Trains::new(RTT, Bytes::ZERO);
    // The last one that is watched has two packets.
    leave(&mut trains, 0..44);
    assert_eq!(trains.packets(), 6, "it goes on");
    trains.on_packet_sent(at(1000), 44, PACKET);
    assert_eq!(trains.packets(), 1, "what left later is not watched, and need not leave in trains");
    answer(&mut trains, 0..6, |_| 0.0);
    assert_eq!(trains.packets(), 6, "there is room for one");
}

#[test]
fn others_queue_is_not_ours_and_ends_the_trains() {
    assert_eq!(told(&answered(|_| 4900.0)), Some(9.6), "as long as a train: it may be our own");
    for one in [1, 7, 13] {
        let trains = answered(|packet| if packet / 6 == one / 6 { 5100.0 } else { 0.0 });
        assert!(told(&trains).is_none() && trains.is_over);
    }
}

#[test]
fn trains_that_waited_tell_nothing_where_rtts_vary() {
    // The first answer is that of two packets, a millisecond each; by two a host may be late.
    for (late, spread, expected) in [
        (1.1, 2.1, None),
        (1.1, 1.9, Some(9.6)), // a queue of others
        (0.9, 2.1, Some(9.6)), // packets were held back, but none of these
    ] {
        let mut trains = three();
        for packet in (1..18).step_by(2) {
            let after = us((packet % 6) as f64 * 1e3 + late * 1e3);
            ack_over(&mut trains, packet - 1..=packet, after, us(spread * 1e3));
        }
        assert_eq!(told(&trains), expected, "{late} ms late, {spread} ms of spread");
        assert_eq!(trains.is_over, expected.is_some(), "more trains may tell");
    }
}

#[test]
fn of_six_trains_a_host_may_have_held_one_back_but_not_two() {
    for (held, expected) in [(&[4][..], Some(9.6)), (&[3, 4][..], None)] {
        // All are late by a little, unlike one another: three do not tell enough.
        let late = |packet: u64| {
            let uneven = if packet / 6 % 3 == 2 { 200.0 * (packet % 6) as f64 } else { 0.0 };
            if held.contains(&(packet / 6)) {
                5600.0
            } else if packet < 18 {
                uneven
            } else {
                0.0
            }
        };
        let mut trains = Trains::new(RTT, Bytes::ZERO);
        leave(&mut trains, 0..36);
        answer(&mut trains, 0..36, late);
        assert_eq!((told(&trains), trains.is_over), (expected, true), "{held:?}");
    }
}

#[test]
fn of_six_trains_the_shortest_and_the_longest_tell_nothing() {
    // The host reads one train's last packet 4 ms late, and with it the other train's packets.
    let disturbed = |trains: &mut Trains, packets: core::ops::Range<u64>| {
        for packet in packets.skip(1).step_by(2) {
            let after = match packet {
                11 => 9e3,
                21 => 4.5e3,
                23 => 5e3,
                _ => (packet % 6) as f64 * 1e3 + (packet / 6 % 3) as f64 * 20.0 * (packet % 6) as f64,
            };
            ack(trains, packet - 1..=packet, us(after));
        }
    };
    let mut trains = Trains::new(RTT, Bytes::ZERO);
    leave(&mut trains, 0..36);
    disturbed(&mut trains, 0..18);
    assert!(told(&trains).is_none() && !trains.is_over, "of three none is left out");
    disturbed(&mut trains, 18..36);
    let rate = told(&trains).unwrap();
    assert!((9.2..9.7).contains(&rate), "{rate}");
}

#[test]
fn of_acks_read_at_once_only_the_last_tells_its_time() {
    // All come when they should, but the second one of some trains is read with the third: no line goes through what is left of
    // those.
    let mut trains = Trains::new(RTT, Bytes::ZERO);
    leave(&mut trains, 0..36);
    for packet in (1..36).step_by(2) {
        let at = if packet % 6 == 3 && packet % 12 == 3 { packet + 2 } else { packet };
        let now = at_of(packet) + us((at % 6) as f64 * 1e3);
        trains.on_ack(packet - 1, PACKET);
        trains.on_ack(packet, PACKET);
        trains.on_end_acks(now, RTT, Duration::ZERO);
    }
    assert_eq!((told(&trains), trains.arrived.trains), (Some(9.6), 3), "of the six");
}

/// When the train of this packet would be acknowledged, were it in no time.
fn at_of(packet: u64) -> Timestamp {
    at(packet / 6 * 20) + RTT
}

#[test]
fn what_passes_within_a_host_s_timer_tells_nothing() {
    let passing = |packet_us: f64| {
        let mut trains = three();
        for packet in (1..18).step_by(2) {
            ack(&mut trains, packet - 1..=packet, us((packet % 6) as f64 * packet_us));
        }
        (told(&trains), trains.is_over)
    };
    assert_eq!((passing(16.0), passing(20.0)), ((None, true), (Some(480.0), true)));
    assert_eq!(passing(0.0), (None, false), "all at once: a host that slept, or an aggregate");
}

#[test]
fn late_hosts_are_asked_again_once_awake() {
    // Each train's acknowledgements are read at once, 200 µs after the last of them came.
    let at_once = |trains: &mut Trains, packets: core::ops::Range<u64>| {
        for packet in packets.skip(1).step_by(2) {
            let now = at_of(packet) + us(5.2e3);
            trains.on_ack(packet - 1, PACKET);
            trains.on_ack(packet, PACKET);
            trains.on_end_acks(now, RTT, Duration::ZERO);
        }
    };
    let mut trains = three();
    at_once(&mut trains, 0..18);
    assert!(told(&trains).is_none() && !trains.is_over);
    leave(&mut trains, 18..36);
    answer(&mut trains, 18..36, |_| 0.0);
    assert_eq!(told(&trains), Some(9.6));

    let mut trains = three();
    at_once(&mut trains, 0..18);
    for first in (18..192).step_by(6) {
        leave(&mut trains, first..first + 6);
        at_once(&mut trains, first..first + 6);
    }
    assert!(told(&trains).is_none() && trains.is_over, "32 at most");
}

#[test]
fn of_a_train_that_lost_packets_what_came_before_them_counts() {
    let mut trains = three();
    for packet in (1..18).step_by(2).filter(|packet| *packet != 11) {
        ack(&mut trains, packet - 1..=packet, us((packet % 6) as f64 * 1e3));
    }
    assert_eq!(told(&trains), None, "one is awaited");
    trains.on_loss(10);
    trains.on_end_acks(at(500), RTT, Duration::ZERO);
    assert_eq!(told(&trains), Some(9.6), "two agree");

    // If three agree less, the third counts as far as it came.
    let late = |packet: u64| if packet == 4 { 300.0 } else { 0.0 };
    let mut trains = three();
    for packet in (0..18).filter(|packet| *packet != 11) {
        ack(&mut trains, packet..=packet, us((packet % 6) as f64 * 1e3 + late(packet)));
    }
    trains.on_loss(11);
    trains.on_end_acks(at(500), RTT, Duration::ZERO);
    assert_eq!((told(&trains), trains.arrived.trains), (Some(9.5), 3));
}

#[test]
fn trains_of_which_nothing_fits_the_path_are_not_sent_again() {
    let mut trains = three();
    for packet in [1, 7, 13] {
        ack(&mut trains, packet - 1..=packet, us(1e3));
    }
    (2..18).filter(|packet| packet % 6 > 1).for_each(|packet| trains.on_loss(packet));
    trains.on_end_acks(at(500), RTT, Duration::ZERO);
    assert!(told(&trains).is_none() && trains.is_over);
}

#[test]
fn beyond_a_gap_in_what_arrived_a_train_tells_nothing() {
    let mut trains = three();
    for packet in (1..18).step_by(2) {
        // The last two packets of the second train overtake two others.
        let (packets, after) = match packet {
            9 => (10..=11, 3.0),
            11 => (8..=9, 5.0),
            _ => (packet - 1..=packet, (packet % 6) as f64),
        };
        ack(&mut trains, packets, us(after * 1e3));
    }
    assert_eq!((told(&trains), trains.settled, trains.arrived.trains), (Some(9.6), 3, 2));
}

#[test]
fn the_odd_packet_that_a_receiver_holds_back_does_not_count() {
    // Packet 0, 1 and 2, 3 and 4, and 25 ms later 5: a receiver that waits for a second packet.
    let mut trains = three();
    for first in [0, 6, 12] {
        ack(&mut trains, first..=first, us(0.0));
        ack(&mut trains, first + 1..=first + 2, us(2e3));
        ack(&mut trains, first + 3..=first + 4, us(4e3));
        ack(&mut trains, first + 5..=first + 5, us(30e3));
    }
    assert_eq!(told(&trains), Some(9.6));
    // The same where the next train's first packet comes before that time is over.
    let mut trains = three();
    ack(&mut trains, 0..=0, us(0.0));
    for first in [0, 6, 12] {
        ack(&mut trains, first + 1..=first + 2, us(2e3));
        ack(&mut trains, first + 3..=first + 4, us(4e3));
        let with = if first < 12 { first + 6 } else { first + 5 };
        ack(&mut trains, first + 5..=with, us(if first < 12 { 0.0 } else { 30e3 }));
    }
    assert_eq!(told(&trains), Some(9.6));
}

#[test]
fn a_late_packet_begins_another_train() {
    let mut trains = Trains::new(RTT, Bytes::new(5000));
    assert_eq!((trains.packets(), trains.volume(PACKET)), (6, Bytes::new(5000 + 18 * 1200)));
    for packet in 0..4 {
        trains.on_packet_sent(at(10 * packet), packet, PACKET);
    }
    assert_eq!((trains.packets(), trains.begun, trains.latest()), (6, 4, Some(at(30))));
    for packet in 0..4 {
        trains.on_ack(packet, PACKET);
        trains.on_end_acks(at(200), RTT, Duration::ZERO);
    }
    assert!(trains.watched.iter().all(Option::is_none) && trains.settled == 0 && !trains.is_over);
    let mut short = Trains::new(Duration::from_millis(4), Bytes::ZERO);
    short.on_packet_sent(at(0), 0, PACKET);
    assert!(short.packets() == 1 && short.latest().is_none() && short.volume(PACKET) == Bytes::ZERO);
}

#[test]
fn discarded_packets_are_not_awaited() {
    let mut trains = three();
    trains.discard_below(1);
    leave(&mut trains, 18..24);
    trains.on_end_acks(at(100), RTT, Duration::ZERO);
    assert_eq!(trains.watched.iter().flatten().count(), 3, "the first one is watched no more");
    for packet in (7..24).step_by(2) {
        ack(&mut trains, packet - 1..=packet, us((packet % 6) as f64 * 1e3));
    }
    assert_eq!(told(&trains), Some(9.6), "without the first train");
    trains.forget_what_is_old(at(10_000));
    assert_eq!(told(&trains), Some(9.6));
    trains.forget_what_is_old(at(10_300));
    assert_eq!(told(&trains), None);
}

#[test]
fn a_train_with_discarded_packets_is_settled() {
    for (below, is_settled) in [(0, false), (6, false), (7, true), (12, true), (100, true)] {
        let mut train = Train::new(at(0), 6);
        (0..6).for_each(|_| train.on_packet_sent(PACKET));
        train.discard_below(below);
        assert_eq!(train.is_settled(), is_settled, "below {below}");
        train.discard_below(0);
        assert_eq!(train.is_settled(), is_settled, "and it stays so");
    }
}
