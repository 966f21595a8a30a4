//! Paths that are known, recorded in virtual time.

use super::course::{Course, Purpose};
use super::figures::{self, AtLeast, Jitter, OneWay};
use super::train::{self, Heard, Packet, Train, WIRE};
use core::time::Duration;
use pcc::units::Timestamp;
use pcc_link::{Link, Outcome, Path};

/// A token bucket.
struct Bucket {
    rate: f64,
    burst: f64,
    tokens: f64,
    filled: f64,
}

impl Bucket {
    fn admits(&mut self, now: f64) -> bool {
        self.tokens = (self.tokens + (now - self.filled) * self.rate).min(self.burst);
        self.filled = now;
        let passes = self.tokens >= WIRE.get() as f64;
        self.tokens -= if passes { WIRE.get() as f64 } else { 0.0 };
        passes
    }
}

/// The far clock is ahead by so much. Unit: s.
const AHEAD: f64 = 1234.5;

fn pass(link: &mut Link, bucket: &mut Option<Bucket>, now: &mut f64, train: Train) -> Heard {
    let mut packets = Vec::new();
    for place in 0..train.packets {
        let sent = *now + train.gap.as_secs_f64() * f64::from(place);
        let admitted = bucket.as_mut().is_none_or(|bucket| bucket.admits(sent));
        let at = Timestamp::from_nanos((sent * 1e9) as u64);
        let arrived = match admitted.then(|| link.send(at, WIRE)) {
            Some(Outcome::Delivered { at, .. }) => Some(at.as_secs_f64() + AHEAD),
            _ => None,
        };
        packets.push(Packet { sent, arrived });
    }
    let last = packets.iter().filter_map(|packet| packet.arrived).fold(*now, |last, at| last.max(at - AHEAD));
    *now = last.max(*now) + 0.5;
    Heard { train, packets }
}

fn course_of(link: &mut Link, mut bucket: Option<Bucket>, time: f64) -> Course {
    let mut course = Course::new(Duration::from_secs_f64(time));
    let mut now = 1.0;
    let mut trains = 0;
    while let Some((_, train)) = course.next() {
        assert!(train.is_bearable(), "{train:?}");
        course.pass(pass(link, &mut bucket, &mut now, train));
        trains += 1;
        assert!(trains < 40, "the search has no end");
    }
    course
}

/// The way up of this path, as ten seconds record it.
fn recorded(path: &str, seed: u64) -> OneWay {
    let (mut up, _) = path.parse::<Path>().unwrap().links(seed).unwrap();
    OneWay::of(&course_of(&mut up, None, 10.0), 0.0).unwrap()
}

#[track_caller]
fn near(what: &str, found: f64, put: f64, tolerance: f64) {
    assert!((found / put - 1.0).abs() <= tolerance, "{what}: {found} of {put}");
}

/// Each path with its rate (Mbit/s), buffer (bytes) and loss.
#[test]
fn rate_buffer_and_loss_are_what_was_put_in() {
    for (path, rate, buffer, loss) in [
        ("rate=20Mbit,rtt=40ms,buffer=1bdp", 20.0, 100e3, 0.0),
        ("lossy", 100.0, 375e3, 0.01),
        ("shallow", 100.0, 9e3, 0.0),
        ("satellite", 42.0, 7.5e3, 0.0074),
        ("rate=10Mbit,rtt=30ms,buffer=2s", 10.0, 2.5e6, 0.0),
        ("rate=1Mbit,rtt=40ms,buffer=64KB", 1.0, 64e3, 0.0),
        ("interdc", 800.0, 100e3, 0.0),
        ("reordering", 100.0, 375e3, 0.0),
        ("rate=30Mbit,rtt=50ms,jitter=8ms,buffer=190KB", 30.0, 190e3, 0.0),
        ("rate=80Mbit,rtt=60ms,loss=3%,burst=12,buffer=600KB", 80.0, 600e3, 0.03),
        ("rate=50Mbit,rtt=20ms,wifi=7ms,buffer=250KB", 50.0, 250e3, 0.0),
    ] {
        for seed in 1..=3 {
            let what = format!("{path}, seed {seed}");
            let found = recorded(path, seed);
            near(&what, found.rate.value * 8e-6, rate, 0.04);
            let waits = found.buffer.unwrap_or_else(|| panic!("{what}: no buffer"));
            assert!((waits.value - buffer).abs() <= waits.error.max(0.25 * buffer), "{what}: {waits:?} of {buffer}");
            assert!((found.loss.value - loss).abs() <= 1.6 * found.loss.error, "{what}: {:?} of {loss}", found.loss);
            assert!(found.policer.is_none() && found.course.is_none() && found.at_least.is_none(), "{what}: {found:?}");
        }
    }
}

#[test]
fn round_trip_is_what_light_needs_whatever_the_clocks_say() {
    for (path, delay) in [
        ("rate=20Mbit,rtt=40ms", 20e-3),
        ("modem", 100e-3),
        ("lossy", 15e-3),
        ("rate=30Mbit,rtt=50ms,jitter=8ms", 25e-3),
    ] {
        let found = recorded(path, 1);
        let delay_found = found.delay.value - AHEAD;
        assert!((delay_found - delay).abs() <= found.delay.error, "{path}: {delay_found} ± {}", found.delay.error);
    }
}

#[test]
fn jitter_is_told_by_its_kind() {
    for (path, kind, put) in [
        ("rate=30Mbit,rtt=50ms,jitter=8ms", "even", 8e-3),
        ("rate=30Mbit,rtt=50ms,jitter=8ms:reorder", "overtaking", 8e-3),
        ("rate=50Mbit,rtt=20ms,wifi=7ms,buffer=250KB", "radio", 7e-3),
        ("rate=50Mbit,rtt=20ms,wifi=12ms,buffer=250KB", "radio", 12e-3),
    ] {
        for seed in 1..=3 {
            let found = recorded(path, seed);
            let (found_kind, figure) = match found.jitter {
                Jitter::None => ("none", Default::default()),
                Jitter::Even(figure) => ("even", figure),
                Jitter::Overtaking(figure) => ("overtaking", figure),
                Jitter::Radio(figure) => ("radio", figure),
            };
            assert_eq!(found_kind, kind, "{path}, seed {seed}: {found:?}");
            assert!(
                (figure.value - put).abs() <= (1.6 * figure.error).max(0.1 * put),
                "{path}, seed {seed}: {figure:?}"
            );
        }
    }
    assert_eq!(recorded("lossy", 1).jitter, Jitter::None);
}

#[test]
fn jitter_that_may_be_the_computers_is_not_the_paths() {
    let (mut up, _) = "rate=30Mbit,rtt=50ms,jitter=4ms".parse::<Path>().unwrap().links(1).unwrap();
    let course = course_of(&mut up, None, 10.0);
    assert!(matches!(OneWay::of(&course, 1e-3).unwrap().jitter, Jitter::Even(_)), "it has 2 ms in the mean");
    let busy = OneWay::of(&course, 3e-3).unwrap();
    assert_eq!((busy.jitter, busy.own_jitter), (Jitter::None, 3e-3));
}

#[test]
fn a_stall_of_the_sender_makes_it_late_only_once() {
    let train = Train { packets: 1500, gap: Duration::from_millis(2) };
    let mut latest = -1.0_f64;
    // 100 ms in the middle, and then at half of the gap until it has caught up.
    let leave = |place: u32| {
        let due = f64::from(place) * 2e-3 + if place == 700 { 0.1 } else { 0.0 };
        latest = due.max(latest + 1e-3);
        Packet { sent: latest, arrived: None }
    };
    let packets = (0..1500).map(leave).collect();
    let late = figures::lateness(&Heard { train, packets });
    assert!((20e-6..200e-6).contains(&late), "{late}: 100 ms are 67 µs for each of 1500");
}

#[test]
fn bursts_and_detours_are_found_where_they_are() {
    let found = recorded("rate=80Mbit,rtt=60ms,loss=3%,burst=12", 1);
    let burst = found.burst.expect("bursts");
    assert!((burst.value - 12.0).abs() <= 1.6 * burst.error, "{burst:?}");
    assert!(recorded("lossy", 1).burst.is_none());
    let (share, detour) = recorded("reordering", 1).reordering.expect("overtaken packets");
    assert!(
        (share.value - 0.01).abs() <= 1.6 * share.error && (detour.value - 5e-3).abs() < 0.2e-3,
        "{share:?} {detour:?}"
    );
    assert!(recorded("lossy", 1).reordering.is_none());
}

#[test]
fn a_policer_is_told_from_a_buffer_by_its_burst() {
    let (mut up, _) = "rate=100Mbit,rtt=30ms".parse::<Path>().unwrap().links(1).unwrap();
    let bucket = Bucket { rate: 2.5e6, burst: 250e3, tokens: 250e3, filled: 0.0 };
    let found = OneWay::of(&course_of(&mut up, Some(bucket), 10.0), 0.0).unwrap();
    near("rate", found.rate.value * 8e-6, 20.0, 0.02);
    near("burst", found.policer.expect("a policer"), 250e3, 0.1);
    assert!(found.longest_wait < 1e-3 && found.loss.value == 0.0, "{found:?}");
}

#[test]
fn a_rate_that_changes_is_recorded_as_it_changed() {
    let text = "rate=20Mbit,rtt=60ms,buffer=1MB,vary=500ms:rate=4Mbit..40Mbit:walk=60%";
    let path: Path = text.parse().unwrap();
    let mut changing = 0;
    for seed in 1..=4 {
        let (mut up, _) = path.links(seed).unwrap();
        let course = course_of(&mut up, None, 10.0);
        let found = OneWay::of(&course, 0.0).unwrap();
        near("buffer", found.buffer.expect("a buffer").value, 1e6, 0.1);
        let Some(recorded) = &found.course else { continue };
        changing += 1;
        // Beside the bytes that the link carried in those seconds.
        let carried = |at: f64| path.up.capacity(seed, Timestamp::from_nanos((at * 1e9) as u64)).carried.get() as f64;
        let mut expected = Vec::new();
        for heard in course.heard(Purpose::Fill) {
            // As the rates are counted: from the first drop on.
            let late = &heard.packets[figures::overflow(heard).unwrap_or(0)..];
            let arrivals = || late.iter().filter_map(|packet| packet.arrived).map(|at| at - AHEAD);
            let (first, last) = (arrivals().fold(f64::MAX, f64::min), arrivals().fold(0.0, f64::max));
            let count = ((last - first) / recorded.interval) as usize;
            let left = |place: usize| first - 30e-3 + recorded.interval * place as f64;
            expected
                .extend((0..count).map(|place| (carried(left(place + 1)) - carried(left(place))) / recorded.interval));
        }
        for share in [0.1, 0.5, 0.9] {
            let of = |rates: &[f64]| {
                let mut rates = rates.to_vec();
                rates.sort_by(f64::total_cmp);
                rates[(rates.len() as f64 * share) as usize]
            };
            near(&format!("seed {seed}, quantile {share}"), of(&recorded.rates), of(&expected), 0.2);
        }
    }
    assert!(changing >= 3, "{changing} of 4");
}

#[test]
fn a_path_faster_than_all_trains_has_a_lower_bound() {
    let found = recorded("rate=10Gbit,rtt=10ms", 1);
    assert_eq!((found.at_least, found.buffer), (Some(AtLeast::Fastest), None));
}

proptest::proptest! {
    /// The far end may say what it likes.
    #[test]
    fn whatever_arrives_when_it_likes_makes_figures(
        words in proptest::collection::vec(proptest::option::of((proptest::num::f64::ANY, proptest::num::f64::ANY)), 1..200),
        loops in 1..40_usize,
    ) {
        let mut course = Course::new(Duration::from_secs(2));
        let mut word = words.iter().cycle();
        for _ in 0..loops {
            let Some((_, train)) = course.next() else { break };
            proptest::prop_assert!(train.is_bearable());
            let packets = (0..train.packets.min(300)).map(|_| match word.next().copied().flatten() {
                Some((sent, at)) => Packet { sent, arrived: Some(at) },
                None => Packet::default(),
            });
            course.pass(Heard { train, packets: packets.collect() });
        }
        let _ = OneWay::of(&course, 0.0);
    }

    #[test]
    fn arrivals_are_read_back_as_they_were_written(mut arrivals in proptest::collection::vec((0..500_u32, 0..u64::MAX >> 12), 0..300)) {
        arrivals.sort_by_key(|(_, at)| *at);
        let mut seen = std::collections::BTreeSet::new();
        arrivals.retain(|(place, _)| seen.insert(*place));
        let read = train::arrivals_read(&train::arrivals_written(&arrivals), 500);
        proptest::prop_assert_eq!(read.iter().flatten().count(), arrivals.len());
        for (place, at) in arrivals {
            proptest::prop_assert_eq!(read[place as usize], Some(at as f64 * 1e-6));
        }
    }

    #[test]
    fn no_list_of_a_stranger_is_more_than_a_train(list in proptest::collection::vec(0..=255_u8, 0..400), packets in 0..50_usize) {
        proptest::prop_assert_eq!(train::arrivals_read(&list, packets).len(), packets);
    }

    #[test]
    fn no_request_is_beyond_the_bounds(request in proptest::array::uniform17(0..=255_u8)) {
        proptest::prop_assert!(Train::requested(&request).is_none_or(|(.., train)| train.is_bearable()));
    }
}
