//! Where the kernel's monitor and guards draw their lines: random streams of events on both sides of each.
#![cfg(target_os = "linux")]

mod tcp;

use pcc::rng::Rng;
use pcc_kernel_c::{Sample, Told};
use std::collections::BTreeMap;
use tcp::{MS, PACKET, Path, SECOND, Tcp};

/// The loss rate above which `fair` goes back at once.
const PANIC_LOSS: f64 = 0.5;

/// Shows `Told` before and after each report that the law judged, one at an acknowledgement, beyond Starting.
fn judged(tcp: &mut Tcp, mut see: impl FnMut(&Tcp, Told, Told)) {
    let end = tcp.now + 20 * SECOND;
    let mut chance = tcp.rng.clone();
    while tcp.now < end {
        tcp.path.loss = [0.0, 0.45, 0.6, 0.8][(chance.next_u64() % 4) as usize];
        let until = tcp.now + chance.next_u64() % (600 * MS);
        while tcp.now < until {
            let before = tcp.flow.told();
            tcp.run(MS / 10);
            let after = tcp.flow.told();
            let one = after.intervals == before.intervals + 1 && after.silences == before.silences;
            if one && before.state != 0 && after.is_judged != 0 {
                see(tcp, before, after);
            }
        }
    }
}

/// The intervals that are awaited at the most, as kernel/tests/library.c is built.
const INTERVALS: u32 = if cfg!(feature = "module") { 32 } else { 8 };

#[test]
fn as_many_intervals_are_awaited_as_there_is_room_for() {
    let mut tcp = Tcp::over(Path { mbit: 50.0, rtt: 800 * MS, ..Path::default() });
    let mut most = 0;
    for _ in 0..6000 {
        tcp.run(10 * MS);
        let told = tcp.flow.told();
        most = most.max(told.opened - told.intervals);
    }
    assert!(most > INTERVALS / 2 && most <= INTERVALS, "{most} of {INTERVALS}");
}

#[test]
fn a_panic_wants_twenty_lost_packets_in_three_runs() {
    let mut seen = BTreeMap::new();
    for seed in 1..=40 {
        let mut tcp = Tcp::over(Path { mbit: 20.0, rtt: 60 * MS, ..Path::default() });
        tcp.rng = Rng::new(seed);
        tcp.run(2 * SECOND);
        judged(&mut tcp, |tcp, before, after| {
            let (lost, runs) = (after.packets_lost, after.loss_bursts);
            let is_more = tcp.flow.loss() > PANIC_LOSS && runs >= 3;
            assert_eq!(after.panics > before.panics, is_more && lost >= 20, "{after:?}, {} lost", tcp.flow.loss());
            if is_more {
                *seen.entry(lost).or_insert(0) += 1;
            }
        });
    }
    assert!((16..=24).all(|lost| seen.contains_key(&lost)), "on both sides of the line: {seen:?}");
}

#[test]
fn the_rate_never_falls_below_a_packet_a_round_trip() {
    let mut tcp = Tcp::striving("-x", Path::default());
    let mut lowest = u64::MAX;
    for _ in 0..6000 {
        tcp.run(10 * MS);
        lowest = lowest.min(tcp.flow.rate());
    }
    // The path's is 30 ms, in which a packet's own time counts.
    let rtt = (PACKET * SECOND / lowest) as f64 / MS as f64;
    assert!((30.0..31.0).contains(&rtt), "a packet each {rtt} ms");
}

#[test]
fn a_tenth_of_the_acknowledgements_says_who_limits() {
    // Whether each was told of an interval of a hundred or more of them.
    let peer_limits = |every: u64| {
        let mut tcp = Tcp::over(Path { late: 0.3, slow_peer: every, ..Path::default() });
        tcp.run(2 * SECOND);
        let (mut told, mut of) = (0, 0);
        let end = tcp.now + 5 * SECOND;
        while tcp.now < end {
            let before = tcp.flow.intervals();
            tcp.run(MS / 10);
            if tcp.flow.intervals() > before {
                of += 1;
                told += u32::from(tcp.flow.told().limited_by == 2);
            }
        }
        (told, of)
    };
    let (more, of) = peer_limits(9);
    assert!(more > of * 9 / 10, "a ninth: {more} of {of}");
    let (less, of) = peer_limits(11);
    assert!(less < of / 10, "an eleventh: {less} of {of}");
}

#[test]
fn with_few_packets_in_flight_three_later_ones_resolve_interval() {
    // Whose losses TCP finds by time, since one was very late once.
    let mut tcp = Tcp::over(Path { mbit: 1.0, rtt: 50 * MS, buffer: 1000, reordering: 100, ..Path::default() });
    tcp.run(5 * SECOND);
    // By interval, the first packet's place among all that were sent.
    let mut firsts = BTreeMap::new();
    let (mut later, mut opened) = (BTreeMap::new(), 0);
    while tcp.age() < 60 * SECOND {
        let before = tcp.flow.told();
        tcp.run(MS / 2);
        let after = tcp.flow.told();
        if after.opened < opened || before.state == 0 {
            firsts.clear();
        }
        opened = after.opened;
        if let Some(packet) = tcp.flying.back() {
            firsts.entry(packet.interval).or_insert(tcp.sample.sent.wrapping_sub(1));
        }
        let end = firsts.get(&(after.intervals + 1)).filter(|_| after.intervals == before.intervals + 1);
        if let Some(end) = end.filter(|_| (4..16).contains(&tcp.in_flight())) {
            let settled = tcp.sample.sent.wrapping_sub(tcp.in_flight());
            *later.entry(settled.wrapping_sub(*end) as i32).or_insert(0) += 1;
        }
    }
    // The first packet of the first one left unseen.
    let (all, three) = (later.values().sum::<i32>(), later.get(&3).copied().unwrap_or_default());
    assert!(all > 500 && all - three <= 1, "{later:?}");
}

#[test]
fn an_acknowledgement_of_many_intervals_brings_two_reports() {
    const EACH: u32 = 40;
    let mut tcp = Tcp::over(Path::default());
    tcp.run(5 * SECOND);
    let (mut flow, mut sample) = (tcp.flow.clone(), tcp.sample);
    // Nothing is in flight, and all was answered for.
    sample.delivered = sample.delivered.wrapping_add(sample.in_flight);
    (sample.in_flight, sample.outstanding) = (0, 0);
    flow.on_ack(&sample);
    let (begun, arrived) = (sample, flow.told().intervals);
    let mut hear = |sent: u32, delivered: u32| {
        sample = Sample { now: sample.now + 30 * MS, rtt: 30_000, ..sample };
        (sample.sent, sample.delivered) = (begun.sent.wrapping_add(sent), begun.delivered.wrapping_add(delivered));
        (sample.in_flight, sample.outstanding, sample.next_sent) = (sent - delivered, sent - delivered, sample.now);
        sample.bytes_sent = begun.bytes_sent + u64::from(sent) * PACKET;
        flow.on_ack(&sample);
        flow.told().intervals - arrived
    };
    // One of each forty is answered for: an interval after the other ends, and none is resolved.
    let before = (1..=7).map(|interval| hear(interval * EACH, interval)).last().unwrap();
    let most = 7 * EACH;
    // With the second and the third of these nothing is in flight.
    let answers = [(1, most - 29), (2, most + 2), (3, most + 3)];
    let told = answers.map(|(more, delivered)| hear(most + more, delivered) - before);
    assert_eq!(told, [2, 4, 6]);
}
