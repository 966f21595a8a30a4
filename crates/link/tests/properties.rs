//! What was configured is what is measured, for any path.

use core::time::Duration;
use pcc::units::{Bytes, Rate, Timestamp};
use pcc_link::{
    Change, Conditions, GilbertElliott, Link, Loss, OneWay, Outcome, Path, Queue, Reason, Rule, Schedule, Vary, presets,
};
use proptest::prelude::*;

const SIZE: Bytes = Bytes::new(1500);
/// Statistical bounds lie this many standard deviations out: once in half a billion tries by chance.
const SIGMAS: f64 = 6.0;

fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

fn steady(conditions: Conditions) -> OneWay {
    OneWay { conditions, schedule: Schedule::default(), queue: Queue::DropTail }
}

fn link(conditions: Conditions, seed: u64) -> Link {
    Link::new(&steady(conditions), seed).unwrap()
}

/// Sends `count` packets at exactly the rate of the link: none ever waits.
fn evenly(link: &mut Link, rate: Rate, count: u64) -> Vec<Outcome> {
    // Rounded up to the nanosecond, so that the link is free again.
    let gap = rate.time_for(SIZE) + Duration::from_nanos(1);
    (0..count).map(|n| link.send(Timestamp::ZERO + gap * n as u32, SIZE)).collect()
}

fn arrival(outcome: Outcome) -> Option<Timestamp> {
    match outcome {
        Outcome::Delivered { at, .. } => Some(at),
        Outcome::Dropped(_) => None,
    }
}

fn rates() -> impl Strategy<Value = Rate> {
    // Uniform in the logarithm: 56 kbit/s to 10 Gbit/s.
    (4.75f64..10.0).prop_map(|exponent| Rate::from_bytes_per_sec((10f64.powf(exponent) / 8.0).round()))
}

fn delays() -> impl Strategy<Value = Duration> {
    (0u64..1_000_000_000).prop_map(Duration::from_nanos)
}

fn wifis() -> impl Strategy<Value = Duration> {
    (1_000_000u64..=91_000_000).prop_map(Duration::from_nanos)
}

fn losses() -> impl Strategy<Value = Loss> {
    prop_oneof![
        Just(Loss::NONE),
        (0.0..=1.0).prop_map(Loss::Bernoulli),
        (0.0..=1.0, 0.0..=1.0, 0.0..=1.0, 0.0..=1.0).prop_map(|(to_bad, to_good, loss_good, loss_bad)| {
            Loss::GilbertElliott(GilbertElliott { to_bad, to_good, loss_good, loss_bad })
        }),
    ]
}

prop_compose! {
    fn any_conditions()(
        rate in rates(),
        buffer in 1500u64..2_000_000,
        delay in delays(),
        jitter in prop_oneof![Just(Duration::ZERO), delays()],
        jitter_reorders: bool,
        wifi in prop_oneof![Just(Duration::ZERO), wifis()],
        loss in losses(),
        reorder in prop_oneof![Just(0.0), 0.0..=1.0],
        reorder_delay in delays(),
        duplicate in prop_oneof![Just(0.0), 0.0..=1.0],
    ) -> Conditions {
        let buffer = Bytes::new(buffer);
        Conditions { rate, buffer, delay, jitter, jitter_reorders, wifi, loss, reorder, reorder_delay, duplicate }
    }
}

fn range<T: PartialOrd>((a, b): (T, T)) -> core::ops::RangeInclusive<T> {
    if a <= b { a..=b } else { b..=a }
}

fn rules() -> impl Strategy<Value = Rule> {
    let whens = || (1u64..60_000_000_000).prop_map(Duration::from_nanos);
    let change = (
        proptest::option::of(rates()),
        proptest::option::of((1500u64..2_000_000).prop_map(Bytes::new)),
        proptest::option::of(delays()),
        proptest::option::of(losses()),
        proptest::option::of(0.0..=1.0),
        proptest::option::of(wifis()),
    )
        .prop_map(|(rate, buffer, delay, loss, duplicate, wifi)| Change {
            rate: Some(rate.unwrap_or(Rate::from_mbit(1.0))),
            buffer,
            delay,
            loss,
            duplicate,
            wifi,
            ..Change::default()
        });
    prop_oneof![
        (whens(), change).prop_map(|(when, change)| Rule::At(when, change)),
        (whens(), 1u64..5_000_000_000, proptest::option::of(1_000_000u64..9_000_000_000)).prop_map(
            |(start, length, pause)| {
                let length = Duration::from_nanos(length);
                Rule::Blackout { start, length, every: pause.map(|pause| length + Duration::from_nanos(pause)) }
            }
        ),
        (
            (1_000_000u64..10_000_000_000).prop_map(Duration::from_nanos),
            (rates(), rates()).prop_map(range),
            proptest::option::of((delays(), delays()).prop_map(range)),
            proptest::option::of((0.0..=1.0, 0.0..=1.0).prop_map(range)),
            proptest::option::of(0.01..=1.0),
        )
            .prop_map(|(period, rate, delay, loss, walk)| Rule::Vary(Vary {
                period,
                rate: Some(rate),
                delay,
                loss,
                walk
            })),
    ]
}

fn any_queue() -> impl Strategy<Value = Queue> {
    prop::sample::select(Queue::NAMES.map(|(_, queue)| queue).to_vec())
}

prop_compose! {
    fn any_way()(conditions in any_conditions(), rules in prop::collection::vec(rules(), 0..4), queue in any_queue()) -> OneWay {
        let fixed = rules.iter().all(|rule| !matches!(rule, Rule::At(_, change) if change.buffer.is_some()));
        OneWay { conditions, schedule: Schedule { rules }, queue: if fixed { queue } else { Queue::DropTail } }
    }
}

/// Any traffic: gaps up to a millisecond and sizes up to a jumbo packet.
fn traffic() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0u64..1_000_000, 0u64..9000), 1..300)
}

fn play(link: &mut Link, traffic: &[(u64, u64)]) -> Vec<Outcome> {
    let mut now = 0;
    let send = |&(gap, size): &(u64, u64)| {
        now += gap;
        link.send(at(now), Bytes::new(size))
    };
    traffic.iter().map(send).collect()
}

#[track_caller]
fn binomial(what: &str, hits: u64, of: u64, probability: f64) {
    // The chance of a rare event among few tries is not normal: one more hit is always forgiven.
    let (expected, spread) = (probability * of as f64, (of as f64 * probability * (1.0 - probability)).sqrt());
    let off = (hits as f64 - expected).abs();
    assert!(off <= SIGMAS * spread + 1.0, "{what}: {hits} of {of} is not a share of {probability}");
}

proptest! {
    // A failure prints the smallest input and its seed; a file of them beside the tests would be noise.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_lone_packet_takes_its_transmission_time_and_the_delay(rate in rates(), delay in delays(), size in 1u64..9000) {
        let sent = at(77);
        let mut link = link(Conditions::new(rate, delay), 1);
        let arrives = arrival(link.send(sent, Bytes::new(size))).unwrap();
        let exact = size as f64 / rate.bytes_per_sec() * 1e9 + delay.as_nanos() as f64;
        prop_assert!((arrives.since(sent).as_nanos() as f64 - exact).abs() <= 1.0);
    }

    #[test]
    fn packets_leave_at_the_rate_of_the_link_however_they_come(
        rate in rates(), gaps in prop::collection::vec(0u64..100, 200..400)
    ) {
        let mut conditions = Conditions::new(rate, Duration::ZERO);
        conditions.buffer = Bytes::new(1 << 30);
        let mut link = link(conditions, 1);
        let mut now = 0;
        let arrivals: Vec<_> = gaps.iter().map(|gap| { now += gap; arrival(link.send(at(now), SIZE)).unwrap() }).collect();
        let took = arrivals[arrivals.len() - 1].since(arrivals[0]).as_nanos() as f64;
        // At most 100 ns between packets: faster than any of these links, so that it never idles.
        let exact = (arrivals.len() - 1) as f64 * 1500.0 / rate.bytes_per_sec() * 1e9;
        prop_assert!((took - exact).abs() <= 2.0, "{took} instead of {exact} ns");
    }

    #[test]
    fn one_packet_of_buffer_is_enough_for_evenly_spaced_packets(rate in rates()) {
        let mut conditions = Conditions::new(rate, Duration::from_millis(15));
        conditions.buffer = SIZE;
        let mut link = link(conditions, 1);
        // Each comes up to a whole packet early or late, as a timer makes it.
        let gap = rate.time_for(SIZE) + Duration::from_nanos(1);
        for n in 1..1000u32 {
            let shift = gap * (n.wrapping_mul(2_654_435_761) >> 24) / 256;
            prop_assert!(arrival(link.send(Timestamp::ZERO + gap * n + shift, SIZE)).is_some(), "packet {}", n);
        }
    }

    #[test]
    fn buffer_holds_whole_packets_besides_one_in_transmission(
        rate in rates(), buffer in 1500u64..1_000_000, size in 100u64..1500
    ) {
        let mut conditions = Conditions::new(rate, Duration::ZERO);
        conditions.buffer = Bytes::new(buffer);
        let mut link = link(conditions, 1);
        let burst = 2 + buffer / size;
        let taken = (0..burst).filter(|_| arrival(link.send(at(0), Bytes::new(size))).is_some()).count() as u64;
        prop_assert_eq!(taken, 1 + buffer / size);
        prop_assert_eq!(link.queued(at(0)).get(), buffer / size * size);
        prop_assert_eq!(link.counters().dropped_buffer.packets, burst - taken);
    }

    #[test]
    fn no_packet_waits_longer_than_the_buffer_lasts(rate in rates(), buffer in 1500u64..100_000, traffic in traffic()) {
        let mut conditions = Conditions::new(rate, Duration::ZERO);
        conditions.buffer = Bytes::new(buffer);
        let mut link = link(conditions, 1);
        let (mut now, longest) = (0, rate.time_for(Bytes::new(buffer)));
        for (gap, _) in traffic {
            now += gap / 10;
            let Some(arrives) = arrival(link.send(at(now), SIZE)) else { continue };
            let waited = arrives.since(at(now)).saturating_sub(rate.time_for(SIZE));
            prop_assert!(waited <= longest + Duration::from_nanos(2), "{waited:?} of {longest:?}");
            prop_assert!(link.queued(at(now)).get() <= buffer);
        }
    }

    #[test]
    fn the_queue_drains_at_the_rate_of_the_link(rate in rates(), packets in 2u64..100) {
        let mut conditions = Conditions::new(rate, Duration::ZERO);
        conditions.buffer = Bytes::new(1 << 30);
        let mut link = link(conditions, 1);
        for _ in 0..packets {
            let _ = link.send(at(0), SIZE);
        }
        let wait = link.queueing_delay(at(0)).as_nanos() as f64;
        prop_assert!((wait - packets as f64 * 1500.0 / rate.bytes_per_sec() * 1e9).abs() <= 1.0);
        for gone in 1..packets {
            let begins = rate.time_for(SIZE) * gone as u32 + Duration::from_nanos(100);
            prop_assert_eq!(link.queued(Timestamp::ZERO + begins).get(), (packets - 1 - gone) * 1500);
        }
    }

    #[test]
    fn the_share_lost_at_random_is_the_one_configured(loss in 0.0..=1.0f64, seed: u64) {
        let rate = Rate::from_mbit(100.0);
        let mut link = link(Conditions { loss: Loss::Bernoulli(loss), ..Conditions::new(rate, Duration::ZERO) }, seed);
        let outcomes = evenly(&mut link, rate, 5000);
        let lost = outcomes.iter().filter(|outcome| **outcome == Outcome::Dropped(Reason::Random)).count() as u64;
        binomial("loss", lost, 5000, loss);
        prop_assert_eq!(lost, link.counters().dropped_random.packets);
    }

    #[test]
    fn bursts_of_loss_have_the_share_and_the_length_configured(mean in 0.01..0.3f64, length in 1.5..20.0f64, seed: u64) {
        let rate = Rate::from_mbit(100.0);
        let loss = Loss::in_bursts(mean, length).unwrap();
        let mut link = link(Conditions { loss, ..Conditions::new(rate, Duration::ZERO) }, seed);
        let count = 60_000;
        let lost: Vec<_> = evenly(&mut link, rate, count).into_iter().map(|o| arrival(o).is_none()).collect();
        let bursts: Vec<_> = lost.chunk_by(|a, b| a == b).filter(|run| run[0]).map(<[bool]>::len).collect();
        let total: usize = bursts.iter().sum();
        // Lengths are geometric; the total of a correlated chain spreads more than a binomial one.
        let (to_good, to_bad) = (1.0 / length, mean / (1.0 - mean) / length);
        let spread = (1.0 - to_good).sqrt() / to_good / (bursts.len() as f64).sqrt();
        let measured = total as f64 / bursts.len() as f64;
        prop_assert!((measured - length).abs() < SIGMAS * spread, "bursts of {measured} instead of {length}");
        let memory = 1.0 - to_good - to_bad;
        let spread = (mean * (1.0 - mean) * (1.0 + memory) / (1.0 - memory) / count as f64).sqrt();
        let measured = total as f64 / count as f64;
        prop_assert!((measured - mean).abs() < SIGMAS * spread, "loss of {measured} instead of {mean}");
    }

    #[test]
    fn the_four_probabilities_of_the_chain_give_its_mean_loss(
        to_bad in 0.05..0.9f64, to_good in 0.05..0.9f64, good in 0.0..=1.0f64, bad in 0.0..=1.0f64, seed: u64
    ) {
        let rate = Rate::from_mbit(100.0);
        let loss = Loss::GilbertElliott(GilbertElliott { to_bad, to_good, loss_good: good, loss_bad: bad });
        let mut link = link(Conditions { loss, ..Conditions::new(rate, Duration::ZERO) }, seed);
        let count = 20_000u64;
        let lost = evenly(&mut link, rate, count).into_iter().filter(|o| arrival(*o).is_none()).count();
        let memory = (1.0 - to_good - to_bad).max(0.0);
        let spread = (0.25 * (1.0 + memory) / (1.0 - memory) / count as f64).sqrt();
        prop_assert!((lost as f64 / count as f64 - loss.mean()).abs() < SIGMAS * spread);
    }

    #[test]
    fn the_share_configured_is_overtaken_and_by_as_much(share in 0.0..=1.0f64, seed: u64) {
        let rate = Rate::from_mbit(100.0);
        let (delay, detour) = (Duration::from_millis(10), Duration::from_millis(3));
        let conditions = Conditions { reorder: share, reorder_delay: detour, ..Conditions::new(rate, delay) };
        let mut link = link(conditions, seed);
        let gap = rate.time_for(SIZE) + Duration::from_nanos(1);
        let mut late = 0;
        for (n, outcome) in (0..).zip(evenly(&mut link, rate, 5000)) {
            let took = arrival(outcome).unwrap().since(Timestamp::ZERO + gap * n) - rate.time_for(SIZE);
            prop_assert!(took == delay || took == delay + detour, "{took:?}");
            late += u64::from(took > delay);
        }
        binomial("reordering", late, 5000, share);
        prop_assert_eq!(late, link.counters().reordered.packets);
    }

    #[test]
    fn the_share_configured_arrives_twice(share in 0.0..=1.0f64, seed: u64) {
        let rate = Rate::from_mbit(100.0);
        let mut link = link(Conditions { duplicate: share, ..Conditions::new(rate, Duration::ZERO) }, seed);
        let outcomes = evenly(&mut link, rate, 5000);
        let twice = outcomes.iter().filter(|o| matches!(o, Outcome::Delivered { duplicate: Some(_), .. })).count();
        binomial("duplication", twice as u64, 5000, share);
        prop_assert_eq!(twice as u64, link.counters().duplicated.packets);
    }

    #[test]
    fn jitter_is_uniform_up_to_its_bound(jitter in 1_000u64..1_000_000_000, seed: u64) {
        let rate = Rate::from_mbit(100.0);
        let jitter_time = Duration::from_nanos(jitter);
        let conditions =
            Conditions { jitter: jitter_time, jitter_reorders: true, ..Conditions::new(rate, Duration::from_millis(5)) };
        let mut link = link(conditions, seed);
        let gap = rate.time_for(SIZE) + Duration::from_nanos(1);
        let base = rate.time_for(SIZE) + Duration::from_millis(5);
        let mut quarters = [0u64; 4];
        for (n, outcome) in (0..).zip(evenly(&mut link, rate, 4000)) {
            let added = arrival(outcome).unwrap().since(Timestamp::ZERO + gap * n) - base;
            prop_assert!(added <= jitter_time);
            quarters[(added.as_nanos() as u64 * 4 / (jitter + 1)) as usize] += 1;
        }
        for quarter in quarters {
            binomial("a quarter of the jitter", quarter, 4000, 0.25);
        }
    }

    /// The model's delays have the mean asked for less half a millisecond for each packet that backs off, (1 − e⁻¹) of them.
    #[test]
    fn wifi_adds_the_mean_asked_for_less_the_partial_back_off(wifi in wifis(), seed: u64) {
        let (rate, delay) = (Rate::from_mbit(100.0), Duration::from_millis(5));
        let mut link = link(Conditions { wifi, ..Conditions::new(rate, delay) }, seed);
        let base = rate.time_for(SIZE) + delay;
        // So far apart that none waits for the one before.
        let extra = |n: u32| {
            let sent = Timestamp::ZERO + Duration::from_secs(1) * n;
            (arrival(link.send(sent, SIZE)).unwrap().since(sent) - base).as_secs_f64() * 1e3
        };
        let extra: Vec<f64> = (0..10_000).map(extra).collect();
        let mean = extra.iter().sum::<f64>() / extra.len() as f64;
        let variance = extra.iter().map(|ms| (ms - mean) * (ms - mean)).sum::<f64>() / extra.len() as f64;
        let expected = wifi.as_secs_f64() * 1e3 - 0.5 * (1.0 - (-1.0f64).exp());
        let error = SIGMAS * (variance / extra.len() as f64).sqrt();
        prop_assert!((mean - expected).abs() < error, "{} ms for {}", mean, expected);
    }

    #[test]
    fn nothing_overtakes_unless_it_is_allowed_to(way in any_way(), traffic in traffic(), seed: u64) {
        let mut way = way;
        (way.conditions.jitter_reorders, way.conditions.reorder) = (false, 0.0);
        let mut link = Link::new(&way, seed).unwrap();
        let arrivals: Vec<_> = play(&mut link, &traffic).into_iter().filter_map(arrival).collect();
        prop_assert!(arrivals.is_sorted(), "{:?}", arrivals);
    }

    #[test]
    fn every_packet_is_accounted_for(way in any_way(), traffic in traffic(), seed: u64) {
        let mut link = Link::new(&way, seed).unwrap();
        let outcomes = play(&mut link, &traffic);
        let c = *link.counters();
        prop_assert_eq!(c.sent.packets, outcomes.len() as u64);
        prop_assert_eq!(c.sent.packets + c.duplicated.packets, c.delivered.packets + c.dropped().packets);
        prop_assert_eq!(c.sent.bytes + c.duplicated.bytes, c.delivered.bytes + c.dropped().bytes);
        let count = |reason| outcomes.iter().filter(|o| **o == Outcome::Dropped(reason)).count() as u64;
        prop_assert_eq!(c.dropped_buffer.packets, count(Reason::Buffer));
        prop_assert_eq!(c.dropped_random.packets, count(Reason::Random));
        prop_assert_eq!(c.dropped_blackout.packets, count(Reason::Blackout));
    }

    #[test]
    fn nothing_arrives_before_it_can(way in any_way(), traffic in traffic(), seed: u64) {
        let mut link = Link::new(&way, seed).unwrap();
        let mut now = 0;
        for &(gap, size) in &traffic {
            now += gap;
            if let Outcome::Delivered { at: arrives, duplicate } = link.send(at(now), Bytes::new(size)) {
                prop_assert!(arrives >= at(now) && duplicate.is_none_or(|copy| copy >= at(now)));
            }
        }
    }

    #[test]
    fn a_seed_replays_the_same_outcomes(way in any_way(), traffic in traffic(), seed: u64) {
        let mut again = Link::new(&way, seed).unwrap();
        let mut link = again.clone();
        prop_assert_eq!(play(&mut link, &traffic), play(&mut again, &traffic));
        let mut anew = Link::new(&way, seed).unwrap();
        let _ = play(&mut anew, &traffic);
        prop_assert_eq!(link.counters(), anew.counters());
    }

    #[test]
    fn a_varying_link_carries_what_its_schedule_says(
        low in 1.0..50.0f64, more in 1.0..50.0f64, walk in proptest::option::of(0.1..0.9f64), seed: u64
    ) {
        let vary = Vary {
            period: Duration::from_millis(100),
            rate: Some(Rate::from_mbit(low)..=Rate::from_mbit(low + more)),
            delay: None,
            loss: None,
            walk,
        };
        let mut way = steady(Conditions::new(Rate::from_mbit(low), Duration::ZERO));
        way.conditions.buffer = Bytes::new(1 << 30);
        way.schedule.rules.push(Rule::Vary(vary));
        let mut link = Link::new(&way, seed).unwrap();
        let end = Duration::from_secs(5);
        let mut carried = 0.0;
        for _ in 0..100_000 {
            // All packets are there at once: the link is never idle.
            if arrival(link.send(at(0), SIZE)).unwrap().since(at(0)) <= end {
                carried += 1500.0;
            }
        }
        let promised = way.capacity(seed, Timestamp::ZERO + end).carried.get() as f64;
        prop_assert!((carried - promised).abs() <= 1501.0, "{carried} instead of {promised} bytes");
        prop_assert!(promised >= low * 125_000.0 * 4.999 && promised <= (low + more) * 125_000.0 * 5.001);
    }

    #[test]
    fn a_path_reads_back_from_its_text(up in any_way(), down in any_way(), alike: bool) {
        let path = if alike { Path { up: up.clone(), down: up } } else { Path { up, down } };
        let text = path.to_string();
        prop_assert_eq!(text.parse::<Path>(), Ok(path), "{}", text);
    }

    #[test]
    fn any_text_is_a_path_or_an_error_that_says_why(text in "[a-z.=,:/%0-9 -]{0,60}") {
        if let Err(error) = text.parse::<Path>() {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn both_directions_change_in_step_and_lose_independently() {
    let path: Path = "changing,duplicate=20%".parse().unwrap();
    let (mut up, mut down) = path.links(3).unwrap();
    let mut differ = 0;
    for n in 0..1000 {
        let now = at(n * 100_000_000);
        let (a, b) = (up.send(now, SIZE), down.send(now, SIZE));
        assert_eq!((up.conditions().rate, up.conditions().delay), (down.conditions().rate, down.conditions().delay));
        differ += u64::from(a != b);
    }
    binomial("packets whose fate differs", differ, 1000, 0.32);
    assert!(up.conditions().rate != path.up.conditions.rate);
}

/// FNV-1a over all outcomes: equal on every platform and in every later version, or a printed seed is worth nothing.
#[test]
fn the_presets_replay_the_recorded_outcomes() {
    let mut recorded = String::new();
    for preset in presets() {
        let (mut up, mut down) = preset.path().links(7).unwrap();
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let mut eat = |value: u64| {
            for byte in value.to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        };
        for n in 0..20_000u64 {
            let outcome =
                if n % 2 == 0 { &mut up } else { &mut down }.send(at(n / 16 * 24_000_000), Bytes::new(40 + n % 1461));
            match outcome {
                Outcome::Delivered { at, duplicate } => {
                    eat(at.as_nanos());
                    eat(duplicate.map_or(0, Timestamp::as_nanos));
                }
                Outcome::Dropped(reason) => eat(reason as u64),
            }
        }
        recorded += &format!("{} {hash:016x}\n", preset.name);
    }
    assert_eq!(recorded, include_str!("outcomes.txt"), "a seed no longer replays what it used to");
}
