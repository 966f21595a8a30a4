//! A schedule takes effect at its exact moment.

use core::time::Duration;
use pcc::units::{Bytes, Timestamp};
use pcc_link::{Link, Outcome, Path, Reason};

const fn us(micros: u64) -> Timestamp {
    Timestamp::from_nanos(micros * 1000)
}

/// The way up of that path; at 8 Mbit/s a byte takes a microsecond.
fn link(path: &str) -> Link {
    path.parse::<Path>().unwrap_or_else(|error| panic!("{error}")).links(1).unwrap().0
}

#[track_caller]
fn arrives(link: &mut Link, sent: u64, bytes: u64, expected: u64) {
    let outcome = link.send(us(sent), Bytes::new(bytes));
    assert_eq!(outcome, Outcome::Delivered { at: us(expected), duplicate: None }, "sent at {sent} µs");
}

#[test]
fn a_change_of_rate_takes_effect_in_the_middle_of_a_packet() {
    let mut slower = link("rate=8Mbit,rtt=0ms,at=500us:rate=4Mbit");
    arrives(&mut slower, 0, 1000, 1500); // 500 bytes in 500 µs, 500 in 1000 µs
    arrives(&mut slower, 0, 1000, 3500);
    let mut faster = link("rate=8Mbit,rtt=0ms,at=500us:rate=80Mbit");
    arrives(&mut faster, 0, 1000, 550);
    let mut twice = link("rate=8Mbit,rtt=0ms,at=100us:rate=16Mbit,at=200us:rate=8Mbit");
    arrives(&mut twice, 0, 1000, 900); // 100 + 200 bytes in 200 µs, the rest at 8 Mbit/s
}

#[test]
fn a_change_while_packets_wait_is_foreseen() {
    // Three packets at once; the rate changes between the second and the third.
    let mut link = link("rate=8Mbit,rtt=0ms,at=2ms:rate=80Mbit");
    arrives(&mut link, 0, 1000, 1000);
    arrives(&mut link, 0, 1000, 2000);
    arrives(&mut link, 0, 1000, 2100);
}

#[test]
fn the_delay_is_that_at_the_end_of_the_transmission() {
    let mut link = link("rate=8Mbit,rtt=20ms,at=1ms:rtt=60ms,at=50ms:delay=10ms");
    arrives(&mut link, 0, 500, 10_500);
    arrives(&mut link, 0, 400, 10_900);
    arrives(&mut link, 0, 100, 31_000); // its last bit leaves at the moment of the change
    arrives(&mut link, 49_000, 900, 79_900);
    arrives(&mut link, 50_000, 900, 79_900); // the path became shorter, but nothing overtakes
    arrives(&mut link, 70_000, 900, 80_900);
}

#[test]
fn the_buffer_is_that_of_the_moment_of_entry() {
    let mut link = link("rate=8Mbit,rtt=0ms,buffer=1500,at=100us:buffer=3KB");
    let mut send = |now| link.send(us(now), Bytes::new(1500));
    let full = Outcome::Dropped(Reason::Buffer);
    assert!(send(0) != full && send(0) != full && send(99) == full);
    assert!(send(100) != full && send(100) == full);
}

#[test]
fn a_black_out_takes_what_leaves_within_it_and_nothing_else() {
    let mut link = link("rate=8Mbit,rtt=2ms,blackout=10ms/5ms/20ms");
    for start in [10_000, 30_000, 50_000] {
        let dark = Outcome::Dropped(Reason::Blackout);
        arrives(&mut link, start - 101, 100, start + 999);
        assert_eq!(link.send(us(start - 100), Bytes::new(100)), dark, "ends as the dark begins");
        assert_eq!(link.send(us(start + 4_899), Bytes::new(100)), dark);
        arrives(&mut link, start + 4_999, 100, start + 6_099);
    }
    assert_eq!(link.counters().dropped_blackout.packets, 6);
}

#[test]
fn loss_and_duplication_change_in_time() {
    let mut link = link("rate=8Mbit,rtt=0ms,loss=100%,at=1s:loss=0%,at=2s:duplicate=100%");
    assert_eq!(link.send(us(0), Bytes::new(100)), Outcome::Dropped(Reason::Random));
    arrives(&mut link, 1_000_000, 100, 1_000_100);
    let both = Outcome::Delivered { at: us(2_000_100), duplicate: Some(us(2_000_100)) };
    assert_eq!(link.send(us(2_000_000), Bytes::new(100)), both);
}

#[test]
fn the_changing_path_changes_each_five_seconds_in_its_ranges() {
    let path: Path = "changing".parse().unwrap();
    let (mut link, _) = path.links(9).unwrap();
    let mut seen = Vec::new();
    for tenth in 0..5000u64 {
        let _ = link.send(us(tenth * 100_000), Bytes::new(100));
        let now = link.conditions();
        let values = (now.rate.mbit(), now.delay.as_secs_f64() * 2e3, now.loss.mean());
        if tenth % 50 == 0 {
            seen.push(values);
        }
        assert_eq!(seen[seen.len() - 1], values, "steady within a period");
    }
    let mean = |pick: fn(&(f64, f64, f64)) -> f64| seen.iter().map(pick).sum::<f64>() / seen.len() as f64;
    assert_eq!(seen.len(), 100);
    assert!(seen.iter().all(|v| (10.0..=100.0).contains(&v.0) && (10.0..=100.0).contains(&v.1) && v.2 <= 0.01));
    // The mean of 100 uniform draws strays from the middle by less than a fifth of the range.
    assert!((mean(|v| v.0) - 55.0).abs() < 18.0 && (mean(|v| v.1) - 55.0).abs() < 18.0);
    assert!((mean(|v| v.2) - 0.005).abs() < 0.002);
}

#[test]
fn a_perfect_sender_loses_random_losses_and_black_outs() {
    let path: Path = "rate=8Mbit,rtt=0ms,loss=10%,blackout=1s/1s,at=3s:rate=16Mbit".parse().unwrap();
    let capacity = path.down.capacity(1, Timestamp::ZERO + Duration::from_secs(4));
    assert_eq!(capacity.carried.get(), 5_000_000);
    assert_eq!(capacity.delivered.get(), 3_600_000);
}

#[test]
fn a_course_tells_each_moment_and_what_holds_from_then_on() {
    let path: Path = "rate=8Mbit,rtt=2ms,loss=1%,at=3s:rate=4Mbit,blackout=2s/2s/10s".parse().unwrap();
    let course = path.down.course(1, us(13_000_000));
    let told: Vec<_> = course
        .map(|(at, now)| (at.as_nanos() / 1_000_000_000, now.rate.mbit().round() as u64, now.loss.mean()))
        .collect();
    assert_eq!(told, [(0, 8, 0.01), (2, 8, 1.0), (3, 4, 1.0), (4, 4, 0.01), (12, 4, 1.0)]);
}
