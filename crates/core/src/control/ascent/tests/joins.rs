//! What the parts make of a pair, each by itself: the forecast, the floor beside a rival, what others have of the queue.

use super::super::pair::tests::pair;
use super::*;

const SECONDS: f64 = 0.03;

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6 * expected.abs().max(1e-3), "{found}, not {expected}");
}

/// A pair at 50 Mbit/s without a loss, behind a queue that was read as so long.
fn reading(level: f64) -> PairReading {
    PairReading { shared: true, queue: Reading { level, noise: 1e-4 }, ..PairReading::nothing() }
}

#[test]
fn the_path_is_foreseen_as_a_pair_left_it() {
    let (mut law, mut reading) = (probing(), reading(0.002));
    law.probing.bottleneck = Bottleneck::new(6.25e6, 0.008);
    (reading.pair.first.packets_marked, reading.pair.second.packets_marked) = (1000, 3000);
    let forecast = law.foresee(&reading, 0.015, &path());
    near(forecast.queue, 0.002);
    near(forecast.half_buffer, 0.004);
    near(forecast.horizon, SECONDS);
    near(forecast.probe_amplitude, 0.02 * 0.015);
    // A mark in a hundred is not nobody's, as long as nothing is known.
    near(forecast.marked, 0.002);
    near(forecast.negligible_rate, 4.0 * 1500.0 / SECONDS);
    for (rtt, horizon) in [(100, 0.1), (10, SECONDS)] {
        let path = Path { rtt: Duration::from_millis(rtt), ..path() };
        near(law.foresee(&reading, 0.015, &path).horizon, horizon);
    }
    law.config.horizon_rtts = 3.0;
    near(law.foresee(&reading, 0.015, &path()).horizon, 3.0 * SECONDS);
}

#[test]
fn the_forecast_counts_what_stands_out_and_what_is_on_its_way() {
    let mut law = probing();
    law.probing.bottleneck = Bottleneck::new(6.25e6, 0.03);
    // Read as 5 ms, of which 2 stand out of the noise; a probe on its way adds one.
    law.probing.level.read(&pair(0, 50.0, |_| 0.0, |_| 0.005), 0.0);
    law.probing.launched.push_back(Launched { trial: 0, after_increase: true, rate: 6.25e6 * 1.1, seconds: 0.01 });
    let forecast = law.foresee(&reading(0.002), 0.015, &path());
    near(forecast.queue, 0.003);
    near(forecast.half_buffer, 0.015);
}

#[test]
fn the_buffer_is_as_long_as_the_queues_that_lose() {
    let mut bottleneck = Bottleneck::new(6.25e6, 0.02);
    // Each of them moves it by three tenths of the way.
    for half_buffer in [0.0076, 0.00592, 0.004_744] {
        bottleneck.update(&PairReading { own_loss: 0.1, ..reading(0.004) }, 0.02);
        near(bottleneck.half_buffer, half_buffer);
    }
    bottleneck.update(&reading(0.06), 0.02);
    near(bottleneck.half_buffer, 0.03);
}

#[test]
fn a_loss_has_the_steps_beyond_the_capacity_begin_anew() {
    let mut bottleneck = Bottleneck::new(6.25e6, 0.02);
    let carried = PairReading { after_increase: true, ..reading(0.0) };
    for capacity in [6.25e6, 1.02 * 6.25e6] {
        assert!(bottleneck.update(&carried, 0.02));
        near(bottleneck.capacity(), capacity);
    }
    bottleneck.update(&PairReading { own_loss: 0.1, ..reading(0.0) }, 0.02);
    let known = bottleneck.capacity();
    assert!(bottleneck.update(&carried, 0.02));
    near(bottleneck.capacity(), known.max(carried.pair.rate()));
}

#[test]
fn a_level_is_doubted_where_readings_are_as_noisy_as_a_radio_s() {
    for (level, noise, doubt) in [(0.008, 0.006, 0.36), (0.0, 0.006, 1.0), (0.03, 0.01, 0.1), (0.004, 0.003, 0.0)] {
        near(Reading { level, noise }.doubt(), doubt);
    }
}

#[test]
fn the_packets_of_a_pair_are_those_of_both_probes() {
    near(pair(0, 50.0, |_| 0.0, |_| 0.0).packets(), 20_000.0);
}

/// What is asked of the floor of a law at 50 Mbit/s, beside others on 100: the last of so many answers, an RTT apart.
struct Beside {
    law: Ascent,
    reading: PairReading,
    forecast: Forecast,
    at: u64,
}

impl Beside {
    fn queue(level: f64) -> Self {
        let mut law = probing();
        law.probing.max_delivery_rate = 12.5e6;
        let reading = reading(level);
        let forecast = law.foresee(&reading, 0.015, &path());
        Self { law, reading, forecast, at: 0 }
    }

    fn floors(&mut self, pairs: u64, utility: Evaluate<'_>) -> Option<f64> {
        let mut floor = None;
        for _ in 0..pairs {
            self.at += 1;
            self.reading.since = RTT.as_secs_f64();
            floor = self.law.floor(&self.reading, &self.forecast, utility, &path());
        }
        floor
    }

    fn fair(&mut self, pairs: u64) -> Option<f64> {
        self.floors(pairs, &|report: &Report| Fair::default().evaluate(report))
    }
}

#[test]
fn a_queue_too_long_for_a_crowd_brings_a_floor() {
    // Fair's thirty-second of 100 Mbit/s wants 3.4 ms.
    let fair = |report: &Report| Fair::default().evaluate(report);
    // Behind any queue of more than a tenth of a millisecond this one wants less.
    let strict = |report: &Report| {
        let queue = report.standing_queue().unwrap_or_default().as_secs_f64();
        report.achieved.mbit() * (1.0 - 1e4 * queue)
    };
    for (level, shared, utility, is_floor) in [
        (0.0045, true, &fair as Evaluate<'_>, true),
        (0.0045, false, &fair, false),
        (0.003, true, &fair, false),
        (0.003, true, &strict, true),
        (0.0001, true, &strict, false),
    ] {
        let mut beside = Beside::queue(level);
        beside.reading.shared = shared;
        let floor = beside.floors(60, utility);
        assert_eq!(floor.is_some(), is_floor, "{level} s of queue, shared {shared}");
    }
}

#[test]
fn losses_and_marks_do_not_decide_on_a_crowd() {
    for (level, is_floor) in [(0.0045, true), (0.003, false)] {
        for change in [
            |forecast: &mut Forecast| forecast.queue = 0.0,
            |forecast: &mut Forecast| forecast.queue = 0.01,
            |forecast: &mut Forecast| forecast.random = 0.006,
            // Costs as much as 0.6 ms: too much for a thirty-second behind 3 ms, and not for a half behind nothing.
            |forecast: &mut Forecast| forecast.marked = 0.006,
        ] {
            let mut beside = Beside::queue(level);
            change(&mut beside.forecast);
            assert_eq!(beside.fair(60).is_some(), is_floor, "{level} s: {:?}", beside.forecast);
        }
    }
}

#[test]
fn the_floor_grows_as_cubic_s_window_does() {
    let mut beside = Beside::queue(0.005);
    let began = (1..100).find(|_| beside.fair(1).is_some()).unwrap();
    for pairs in [1, 20, 79] {
        // From 125 packets an RTT to 250.
        let floor = beside.fair(pairs).unwrap();
        let t = (beside.at - began) as f64 * SECONDS;
        let window = 250.0 + 0.4 * (t - (125.0_f64 / 0.4).cbrt()).powi(3);
        near(floor, window * 1500.0 / SECONDS);
    }
}

#[test]
fn a_loss_that_is_likelier_somebody_s_takes_the_floor_away() {
    // Of 0.2 % that are random as far as is known, so much has a price.
    for (lost, priced, stays) in [(0.02, 0.0009, true), (0.02, 0.0011, false), (0.0, 0.0011, true)] {
        let mut beside = Beside::queue(0.005);
        beside.law.probing.loss.random = 0.002;
        assert!(beside.fair(60).is_some());
        beside.reading.pair = pair(0, 50.0, |_| lost, |_| 0.0);
        beside.forecast.random = priced;
        assert_eq!(beside.fair(1).is_some(), stays, "{lost} lost, {priced} priced");
    }
}

#[test]
fn no_floor_where_the_utility_does_not_bear_the_loss() {
    for (random, is_floor) in [(0.0, true), (0.005, true), (0.03, false)] {
        let mut beside = Beside::queue(0.005);
        // Neither what is carried now nor the queue to come has a say in it.
        beside.forecast = Forecast { capacity: 1e6, half_buffer: 0.005, queue: 0.02, random, ..beside.forecast };
        assert_eq!(beside.fair(60).is_some(), is_floor, "a price on {random} of the packets");
    }
}

/// Pairs of a law at 50 Mbit/s, to which it is brought back before each: the queue is as `queue` says of the pair, and grows by
/// so much for each e-fold of the rate, which is known to `error`.
fn pairs(
    law: &mut Ascent,
    pairs: u32,
    queue: impl Fn(u32) -> f64,
    (answers, error): (f64, f64),
    utility: Evaluate<'_>,
) {
    let mut rng = Rng::new(1);
    for at in 0..2 * pairs {
        if at % 2 == 0 {
            law.limit(Rate::from_mbit(50.0));
        }
        let plan = law.next(&path(), &mut rng);
        let rtt = Some(RTT + Duration::from_secs_f64(queue(at / 2)));
        let report = Report {
            rtt,
            rtt_least: rtt,
            rtt_gradient: Some(answers * (plan.rate.mbit() / 50.0).ln()),
            rtt_gradient_error: error,
            ..carried(plan, Duration::from_millis(15) * at, 1000.0)
        };
        law.on_report(plan, &report, utility, &path());
    }
}

#[test]
fn others_are_learnt_of_in_a_certainly_shared_queue() {
    // 5 ms for ten pairs, and then 25 for ten: half of it is ours, or all, or not certainly less.
    let queue = |pair: u32| if (pair / 10).is_multiple_of(2) { 0.005 } else { 0.025 };
    for (answers, error, deviation) in [(0.5, 1e-4, 0.003..0.008), (0.5, 0.012, 0.0..1e-6), (1.0, 1e-4, 0.0..1e-6)] {
        let mut law = probing();
        // Worth most at the rate where it is.
        pairs(&mut law, 200, queue, (answers, error), &|report: &Report| -(report.achieved.mbit() - 50.0).powi(2));
        let found = law.probing.deviation.mean;
        assert!(deviation.contains(&found), "{found} s where a response of {answers} is known to {error}");
    }
}

#[test]
fn where_no_queue_is_nobody_s_part_goes_through_it() {
    for (queue, is_shared) in [(0.0, false), (0.005, true)] {
        let mut law = probing();
        pairs(&mut law, 100, |_| queue, (0.5, 1e-4), &|report: &Report| -(report.achieved.mbit() - 50.0).powi(2));
        let total_throughput = law.probing.deviation.total_throughput / Rate::from_mbit(50.0).bytes_per_sec();
        assert_eq!(total_throughput > 1.5, is_shared, "{total_throughput} of what we sent, behind {queue} s");
    }
}

#[test]
fn steps_are_at_most_a_half_down_and_a_quarter_up() {
    for (sign, share) in [(-1.0, 0.5), (1.0, 1.25)] {
        let (mut law, mut rng) = (probing(), Rng::new(1));
        for at in 0..2 {
            let plan = law.next(&path(), &mut rng);
            let length = Duration::from_millis(15);
            let report = Report { sent: plan.rate * length, ..carried(plan, length * at, 1000.0) };
            law.on_report(plan, &report, &|report: &Report| sign * report.achieved.mbit(), &path());
        }
        let found = law.rate().bytes_per_sec() / law.probing.bottleneck.capacity();
        assert!((found / share - 1.0).abs() < 1e-3, "{found}, not {share}");
    }
}

#[test]
fn a_long_pair_may_step_as_far_as_several_short_ones() {
    let law = probing();
    for (pairs, step) in [(1.0, 0.25), (2.0, 0.5625), (3.0, 0.953_125), (4.0, 1.0)] {
        near(law.largest_step(pairs), step);
    }
    // A megabyte in each probe takes 0.32 s.
    let pair = pair(0, 50.0, |_| 0.0, |_| 0.0);
    for (rtt_ms, pairs) in [(1000, 1.0), (320, 1.0002), (100, 2.1006), (10, 16.5064)] {
        let path = Path { rtt: Duration::from_millis(rtt_ms), ..path() };
        assert!((pairs_of_one_rtt(&pair, &path) - pairs).abs() < 1e-3, "{rtt_ms} ms");
    }
}

#[test]
fn growth_within_its_error_takes_nothing_from_the_capacity() {
    for (error, falls) in [(2.0, false), (1e-4, true)] {
        let (mut law, mut growing) = (probing(), pair(0, 50.0, |_| 0.0, |_| 0.0));
        for probe in [&mut growing.first, &mut growing.second] {
            (probe.rtt_gradient, probe.rtt_gradient_error) = (Some(0.1), error);
        }
        law.take(growing, false, 1, &path());
        assert_eq!(law.probing.bottleneck.capacity() < 6.2e6, falls, "known to {error}");
    }
}

#[test]
fn only_a_pair_that_left_since_lets_the_capacity_grow() {
    for after_increase in [false, true] {
        let mut law = probing();
        law.probing.launched.push_back(Launched { trial: 2, after_increase: true, rate: 6.25e6, seconds: 0.015 });
        law.take(pair(0, 50.0, |_| 0.0, |_| 0.0), after_increase, 1, &path());
        assert_eq!(law.probing.launched.iter().all(|sent| !sent.after_increase), after_increase);
    }
}

#[test]
fn a_restart_forgets_only_the_probes_on_their_way() {
    let mut law = probing();
    run(&mut law, 41, 60.0);
    let most = law.probing.max_delivery_rate;
    law.restart();
    assert!(law.probing.second.is_none() && law.probing.launched.is_empty() && law.probing.first.is_none());
    assert_eq!(law.probing.max_delivery_rate.to_bits(), most.to_bits());
    law.begin(Rate::from_mbit(20.0), &path());
    assert_eq!((law.rate(), law.probing.max_delivery_rate), (Rate::from_mbit(20.0), 2.5e6));
    assert!(law.probing.share.at_most().is_infinite());
}
