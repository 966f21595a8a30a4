mod joins;

use super::bottleneck::Bottleneck;
use super::*;
use crate::control::{Driver, Law};
use crate::monitor;
use crate::units::Bytes;
use crate::utility::tests::report;
use crate::utility::{Fair, Utility};

const RTT: Duration = Duration::from_millis(30);

pub(super) fn path() -> Path {
    Path {
        rtt: RTT,
        queue: Duration::ZERO,
        packet: Bytes::new(1500),
        monitor: monitor::Config::default(),
        floor: Rate::from_mbit(0.05),
        initial: Rate::from_mbit(8.0),
        ceiling: Rate::from_mbit(1000.0),
        delivery: Rate::from_mbit(1000.0),
        capacity: None,
        trains: None,
    }
}

impl PairReading {
    /// Of a pair at 50 Mbit/s without a loss or a queue, and not the first since more was tried.
    pub(super) fn nothing() -> Self {
        let (pair, none) = (pair::tests::pair(0, 50.0, |_| 0.0, |_| 0.0), Estimate { mean: 0.0, variance: 1e-8 });
        let (carried, queue) = (pair.carried(), Reading { level: 0.0, noise: 1e-5 });
        let (own_loss, loss_above_random, shared) = (0.0, none, false);
        Self {
            pair,
            after_increase: false,
            since: 0.0,
            carried,
            own_loss,
            loss_above_random,
            shared,
            queue,
            pairs: 1.0,
            largest_step: 0.25,
        }
    }
}

/// A law past its start-up, at 50 Mbit/s.
fn probing() -> Ascent {
    Ascent::new(Config::default(), Rate::from_mbit(50.0), &path())
}

/// What a probe achieved on a path that carries this, at this time, behind nothing.
fn carried(plan: IntervalPlan, at: Duration, mbit: f64) -> Report {
    queued(plan, at, mbit, &mut 0.0)
}

/// The same behind a queue of so many seconds, which it makes longer or shorter.
fn queued(plan: IntervalPlan, at: Duration, mbit: f64, queue: &mut f64) -> Report {
    let length = Duration::from_millis(15);
    let before = *queue;
    *queue = (before + (plan.rate.mbit() / mbit - 1.0) * length.as_secs_f64()).max(0.0);
    let rtt = |queue: f64| Some(RTT + Duration::from_secs_f64(queue));
    Report {
        started: crate::units::Timestamp::ZERO + at,
        duration: length,
        rtt: rtt((before + *queue) / 2.0),
        rtt_least: rtt(before.min(*queue)),
        rtt_base: Some(RTT),
        rtt_gradient: Some((*queue - before) / length.as_secs_f64()),
        rtt_gradient_error: 1e-4,
        ..report(plan.rate.mbit(), 0.0)
    }
}

/// Sends and judges so many probes, each before the next.
fn run(law: &mut Ascent, probes: u32, mbit: f64) {
    let (fair, mut rng, mut queue) = (Fair::default(), Rng::new(1), 0.0);
    for i in 0..probes {
        let plan = law.next(&path(), &mut rng);
        let report = queued(plan, Duration::from_millis(15) * i, mbit, &mut queue);
        law.on_report(plan, &report, &|report: &Report| fair.evaluate(report), &path());
    }
}

#[test]
fn pairs_probe_both_sides_in_either_order() {
    let mut law = probing();
    let (mut first, mut rng) = (Vec::new(), Rng::new(1));
    for _ in 0..32 {
        let (a, b) = (law.next(&path(), &mut rng), law.next(&path(), &mut rng));
        let (high, low) = (a.rate.max(b.rate).mbit(), a.rate.min(b.rate).mbit());
        assert!((high - 51.0).abs() < 1e-9 && (low - 49.0).abs() < 1e-9, "{high} and {low}");
        first.push(a.rate > b.rate);
    }
    let high_first = first.iter().filter(|high| **high).count();
    assert!((8..=24).contains(&high_first), "{high_first} of 32");
}

#[test]
fn an_empty_path_is_climbed_and_a_full_one_is_not_left() {
    let mut law = probing();
    run(&mut law, 20, 1000.0);
    let climbed = law.rate().mbit();
    assert!(climbed > 80.0, "{climbed} after ten pairs");
    let mut law = probing();
    run(&mut law, 200, 60.0);
    assert!((57.0..63.0).contains(&law.rate().mbit()), "{}", law.rate());
}

#[test]
fn a_level_of_the_path_costs_nothing_any_more() {
    // Twenty milliseconds that are there at any rate, on a path that carried 50 Mbit/s.
    let (mut law, fair, mut rng) = (probing(), Fair::default(), Rng::new(1));
    let mut lowest = f64::INFINITY;
    for at in 0..120 {
        lowest = lowest.min(law.rate().mbit());
        let plan = law.next(&path(), &mut rng);
        let plain = carried(plan, Duration::from_millis(15) * at, 1000.0);
        // By and large: too noisy to tell that it does not answer, but by experiment.
        let late = Duration::from_secs_f64(0.018 + 0.004 * rng.unit());
        let report = Report {
            rtt: plain.rtt.map(|rtt| rtt + late),
            rtt_least: plain.rtt_least.map(|rtt| rtt + late),
            rtt_gradient: Some(rng.unit() - 0.5),
            rtt_gradient_error: 0.5,
            ..plain
        };
        law.on_report(plan, &report, &|report: &Report| fair.evaluate(report), &path());
    }
    assert!(law.probing.level.is_raised() && lowest < 45.0, "{lowest}");
    assert!(law.rate().mbit() > 55.0, "{} after {lowest}", law.rate());
}

#[test]
fn no_rate_of_ours_shortens_a_rival_s_queue() {
    let mut law = probing();
    law.probing.level.read(&pair::tests::pair(0, 50.0, |_| 0.0, |_| 0.02), 0.0);
    assert_eq!(law.standing_rtt(), Some(RTT));
    law.probing.rival = rival::tests::there();
    assert_eq!(law.standing_rtt(), Some(Duration::from_millis(50)));
}

#[test]
fn others_hear_of_the_base_rtt_and_of_random_loss() {
    let mut law = probing();
    law.probing.loss.random = 0.01;
    let known = law.known();
    assert_eq!((known.base_rtt, known.random_loss), (Some(RTT), Some(0.01)));
}

#[test]
fn an_empty_path_does_not_outweigh_the_first_queue_that_answers() {
    // It stood to the microsecond; how a queue grows is known to three milliseconds a second.
    let mut probing = probing().probing;
    let mut learn = |pairs: u64, steeper: f64, error: f64| {
        for at in 0..pairs {
            let mut pair = pair::tests::pair(at, 50.0, |_| 0.0, |_| 0.0);
            for probe in [&mut pair.first, &mut pair.second] {
                probe.rtt_gradient = Some(steeper * (probe.target.mbit() / 50.0 - 1.0));
                probe.rtt_gradient_error = error;
            }
            probing.growth(&pair);
        }
        probing.share
    };
    assert!(learn(200, 0.0, 1e-8).is_below(ALONE), "it did not answer");
    let share = learn(60, 1.0, 3e-3);
    assert!(share.at_least(ERRORS) > 0.5, "{share:?}");
}

#[test]
fn a_probe_short_of_data_voids_its_pair() {
    let mut law = Driver::new(Law::Ascent(Config::default()), Rate::from_mbit(50.0));
    law.back_off(Rate::from_mbit(50.0));
    assert_eq!(law.next(&path(), &mut Rng::new(1)).trial, None, "the queue drains first");
    let fair = Fair::default();
    let short = Path { delivery: Rate::from_mbit(10.0), ..path() };
    let plan = law.next(&path(), &mut Rng::new(1));
    let report = Report { app_limited: true, ..carried(plan, Duration::ZERO, 1000.0) };
    law.on_report(plan, &report, &|report: &Report| fair.evaluate(report), &short);
    assert!((law.rate().mbit() - 19.0).abs() < 1e-9, "{}", law.rate());
    let plan = law.next(&path(), &mut Rng::new(1));
    let second = carried(plan, Duration::from_millis(15), 1000.0);
    law.on_report(plan, &second, &|report: &Report| fair.evaluate(report), &path());
    assert!((law.rate().mbit() - 19.0).abs() < 1e-9, "half a pair says nothing: {}", law.rate());
}

#[test]
fn a_probe_short_of_data_interrupts_the_estimates() {
    let (mut law, fair) = (probing(), Fair::default());
    run(&mut law, 20, 50.0);
    let interrupted = |law: &Ascent| law.probing.reading_at.is_none();
    assert!(!interrupted(&law));
    let plan = law.next(&path(), &mut Rng::new(1));
    let report = Report { app_limited: true, ..carried(plan, Duration::from_secs(1), 1000.0) };
    law.on_report(plan, &report, &|report: &Report| fair.evaluate(report), &path());
    assert!(interrupted(&law));
    // So does whatever begins anew, but for a path that fell silent: we sent meanwhile.
    for (silent, expected) in [(true, false), (false, true)] {
        let mut law = probing();
        run(&mut law, 20, 50.0);
        if silent {
            law.back_off(Rate::from_mbit(20.0))
        } else {
            law.restart()
        }
        assert_eq!(interrupted(&law), expected);
    }
}

#[test]
fn results_of_an_abandoned_plan_are_not_paired() {
    let mut law = probing();
    let fair = Fair::default();
    let old = law.next(&path(), &mut Rng::new(1));
    law.back_off(Rate::from_mbit(20.0));
    let new = law.next(&path(), &mut Rng::new(1));
    for plan in [old, new] {
        law.on_report(plan, &carried(plan, Duration::ZERO, 1000.0), &|report: &Report| fair.evaluate(report), &path());
    }
    assert!((law.rate().mbit() - 20.0).abs() < 1e-9, "{}", law.rate());
}

#[test]
fn a_probe_lasts_half_an_rtt_or_the_time_of_its_packets() {
    let law = probing();
    let at = |rtt: u64| law.length(&Path { rtt: Duration::from_millis(rtt), ..path() });
    assert!((at(30) - 0.015).abs() < 1e-9);
    assert!((at(800) - 0.025).abs() < 1e-9, "no longer than is enough");
    let at = |mbit: f64, rtt: u64| {
        let mut law = probing();
        law.rate = Rate::from_mbit(mbit);
        law.length(&Path { rtt: Duration::from_millis(rtt), ..path() })
    };
    assert!((at(20.0, 30) - 0.024).abs() < 1e-9, "forty packets");
    assert!((at(2.0, 30) - 0.03).abs() < 1e-9, "but within an RTT");
    assert!((at(2.0, 1) - 0.004).abs() < 1e-9 && (at(2.0, 3) - 0.005).abs() < 1e-9, "or four, up to 5 ms");
    assert!((at(200.0, 1) - 0.0024).abs() < 1e-9, "if it takes them");
    let plan = probing().next(&path(), &mut Rng::new(1));
    assert!(!plan.is_stretched, "that is long enough");
}

#[test]
fn what_is_on_its_way_is_bounded() {
    let mut law = probing();
    (0..10_000).for_each(|_| {
        law.next(&path(), &mut Rng::new(1));
    });
    assert_eq!(law.probing.launched.len(), MAX_LAUNCHED);
}

#[test]
fn a_longer_base_rtt_is_told() {
    let (mut driver, mut rng, fair) =
        (Driver::new(Law::default(), Rate::from_mbit(50.0)), Rng::new(1), Fair::default());
    driver.back_off(Rate::from_mbit(50.0));
    driver.next(&path(), &mut rng);
    assert_eq!(driver.standing_rtt(), None, "it drains, and no law is at work");
    for at in 0..20 {
        let plan = driver.next(&path(), &mut rng);
        let plain = carried(plan, Duration::from_millis(15) * at, 1000.0);
        // Steady at any rate: it does not answer to ours.
        let longer = Some(RTT + Duration::from_millis(20));
        let report = Report { rtt: longer, rtt_least: longer, ..plain };
        driver.on_report(plan, &report, &|report: &Report| fair.evaluate(report), &path());
    }
    let found = driver.standing_rtt().unwrap();
    assert!(found.abs_diff(Duration::from_millis(50)) < Duration::from_micros(1), "{found:?}");
    driver.start(Rate::from_mbit(50.0));
    assert_eq!(driver.standing_rtt(), None);
}
