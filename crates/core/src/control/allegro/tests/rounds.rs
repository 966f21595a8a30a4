//! A round of trials: when it decides, how far it probes, what is compared and learnt.

use super::super::better::{Better, worthless_loss};
use super::super::trials::merged;
use super::*;

/// The next trial's distance from the base rate, in percent; the trial is the next step's.
fn probe(flow: &mut Flow<Allegro>) -> f64 {
    let plan = flow.next();
    flow.plan = Some(plan);
    (plan.rate.mbit() / flow.law.rate().mbit() - 1.0).abs() * 100.0
}

#[test]
fn rounds_that_tell_nothing_probe_farther_up_to_five_percent() {
    let mut flow = Flow::at(50.0, 100.0);
    for percent in [1.0, 2.0, 3.0, 4.0, 5.0, 5.0] {
        let probed = probe(&mut flow);
        assert!((probed - percent).abs() < 1e-6, "{probed} instead of {percent}");
        // The host sent all four alike.
        for _ in 0..4 {
            flow.step_as(|report| Report { achieved: Rate::from_mbit(50.0), ..report });
        }
        flow.is("Decision Making", 50.0, 50.0);
    }
}

#[test]
fn probe_is_at_least_packet_of_its_interval_and_at_most_quarter() {
    for (mbit, percent) in [(0.6, 100.0 / 7.5), (0.2, 25.0)] {
        let mut flow = Flow::at(mbit, 100.0);
        let probed = probe(&mut flow); // an interval is 4 RTT here: 120 ms
        assert!((probed - percent).abs() < 1e-3, "{probed} % of {mbit} Mbit/s instead of {percent}");
    }
}

/// A round on a path with capacity to spare, in which the trials of one pair are seen otherwise.
fn round(pair: [usize; 2], otherwise: impl Fn(Report) -> Report) -> Flow<Allegro> {
    let mut flow = Flow::at(50.0, 100.0);
    for trial in 0..4 {
        flow.step_as(|report| if pair.contains(&trial) { otherwise(report) } else { report });
    }
    flow
}

#[test]
fn both_pairs_must_agree() {
    let alike = |report: Report| Report { achieved: Rate::from_mbit(50.0), ..report };
    let lost_above = |report: Report| match report.target > Rate::from_mbit(50.0) {
        true => Report { lost: Bytes::new(report.sent.get() / 2), packets_lost: report.packets / 2, ..report },
        false => report,
    };
    for pair in [[0, 1], [2, 3]] {
        round(pair, alike).is("Decision Making", 50.0, 50.0);
        round(pair, lost_above).is("Decision Making", 50.0, 50.0);
    }
    let last = |flow: Flow<Allegro>| flow.story.last().cloned().unwrap();
    let up = last(round([0, 1], |report| report));
    assert!(up.contains("both pairs say up"), "{up}");
    let mut full = Flow::at(50.0, 40.0);
    full.steps(4);
    assert!(last(full).contains("both pairs say down"));
}

#[test]
fn the_queue_of_starting_drains_in_a_round_trip() {
    for (queue_ms, share) in [(0, 1.0), (10, 0.75), (38, 0.5)] {
        let mut flow = Flow::starting_at(1.0, 100.0);
        let path = Path { rtt: Duration::from_millis(40), queue: Duration::from_millis(queue_ms), ..flow.path() };
        for _ in 0..8 {
            let plan = flow.law.next(&path, &mut flow.rng);
            let report = flow.report(plan.rate);
            flow.law.on_report(plan, &report, &|report: &Report| Safe::default().evaluate(report), &path);
        }
        assert_eq!(flow.law.state(), "Draining");
        let drain = flow.law.next(&path, &mut flow.rng);
        assert!((drain.rate.mbit() / flow.law.rate().mbit() - share).abs() < 1e-9, "{drain:?} with {queue_ms} ms");
        assert_eq!(drain.trial, None);
    }
}

#[test]
fn a_step_up_must_bring_a_quarter_of_its_full_gain() {
    let (low, high) = (50.0, 55.0);
    let reports = |lost_low: u32, lost_high: u32| {
        let seen =
            |id, mbit: f64, packets_lost| Report { id, packets_lost, ..crate::utility::tests::report(mbit, 0.0) };
        (seen(0, low, lost_low), seen(1, high, lost_high))
    };
    // The low one is worth 10, the high one this much more, and would be worth 11 if all of it arrived.
    for (gain, lost, direction) in [
        (0.26, (0, 0), 1.0),
        (0.25, (0, 0), -1.0),
        (0.10, (0, 0), -1.0),
        (0.10, (0, 1), 0.0),
        (0.10, (1, 0), 0.0),
        (0.00, (1, 1), 0.0),
        (-0.10, (1, 1), -1.0),
    ] {
        let (low, high) = reports(lost.0, lost.1);
        let worth = |report: &Report| match report.id {
            1 => 10.0 + gain,
            _ if report.achieved > low.achieved => 11.0,
            _ => 10.0,
        };
        let better = |config: &Config| Better::of(&high, &low, &worth, config).direction(&high, &low);
        assert_eq!(better(&Config::default()), direction, "{gain} more, lost {lost:?}");
        let paper = if gain == 0.0 { 0.0 } else { f64::signum(gain) };
        assert_eq!(better(&Config::paper()), paper, "{gain} more is more, lost {lost:?}");
    }
}

#[test]
fn chance_losses_are_equal_where_the_utility_is_negative() {
    let lost = |packets, packets_lost| Report { packets, packets_lost, ..crate::utility::tests::report(50.0, 0.0) };
    // Worth more the more is lost, so that a rate computed wrongly shows.
    let negative = |report: &Report| report.loss() - 0.5;
    for (a, b, alike) in [
        (lost(1000, 100), lost(1000, 120), true),
        (lost(1000, 100), lost(1000, 130), false),
        (lost(1000, 100), lost(250, 35), true),
        (lost(1000, 100), lost(250, 37), false),
        (lost(250, 37), lost(1000, 100), false),
        (lost(10, 3), lost(10, 6), true),
        (lost(10, 3), lost(10, 8), false),
        (lost(1000, 0), lost(1000, 0), false),
    ] {
        let counts = |report: &Report| (report.packets_lost, report.packets);
        let pooled = f64::from(a.packets_lost + b.packets_lost) / f64::from(a.packets + b.packets);
        let expected = alike.then_some(pooled);
        assert_eq!(worthless_loss(&a, &b, &negative, 2.0), expected, "{:?} and {:?}", counts(&a), counts(&b));
        assert_eq!(worthless_loss(&a, &b, &|_: &Report| 0.0, 2.0), None, "where the utility is not negative");
    }
}

#[test]
fn two_intervals_at_same_rate_are_one_of_their_sums_and_means() {
    let ms = Duration::from_millis;
    let a = Report {
        rtt: Some(ms(30)),
        rtt_least: Some(ms(28)),
        rtt_gradient: Some(0.1),
        rtt_gradient_error: 0.03,
        rtt_deviation: ms(2),
        ..crate::utility::tests::report(40.0, 0.1)
    };
    let b = Report {
        duration: ms(300),
        sent: Bytes::new(2_000_000),
        rtt: Some(ms(40)),
        rtt_least: Some(ms(35)),
        rtt_gradient: Some(0.3),
        rtt_gradient_error: 0.04,
        rtt_deviation: ms(4),
        ..crate::utility::tests::report(40.0, 0.3)
    };
    let both = merged(&a, &b);
    assert_eq!((both.duration, both.sent, both.lost), (ms(200), Bytes::new(3_000_000), Bytes::new(400_000)));
    assert_eq!((both.packets, both.packets_lost, both.loss_bursts, both.rtt_samples), (2000, 400, 400, 2000));
    assert_eq!((both.rtt, both.rtt_least, both.rtt_deviation), (Some(ms(35)), Some(ms(28)), ms(3)));
    assert!((both.achieved.mbit() - 60.0).abs() < 1e-9, "{both:?}");
    assert!((both.rtt_gradient.unwrap() - 0.2).abs() < 1e-12 && (both.rtt_gradient_error - 0.025).abs() < 1e-12);
}

#[test]
fn constant_loss_is_no_part_of_the_elasticity() {
    let mut flow = Flow::at(50.0, 1000.0);
    let fifth_lost = |mbit: f64| crate::utility::tests::report(mbit, 0.2);
    for _ in 0..100 {
        flow.law.elasticity.learn(&fifth_lost(52.0), &fifth_lost(48.0));
    }
    assert!((flow.law.elasticity.0 - 1.0).abs() < 1e-3, "{:?}", flow.law.elasticity);
}

#[test]
fn steps_that_delivered_three_quarters_are_far_below() {
    let began = Origin { achieved: Rate::from_mbit(10.0), delivered: Rate::from_mbit(10.0) };
    for (mbit, loss, far) in [(15.0, 0.0, true), (14.9, 0.0, false), (15.0, 0.08, true), (15.0, 0.1, false)] {
        let report = crate::utility::tests::report(mbit, loss);
        assert_eq!(began.is_far_below(&report), far, "{mbit} Mbit/s, {loss} of it lost");
    }
}

#[test]
fn restart_forgets_round_and_keeps_rate_and_back_off_lowers_it() {
    let mut flow = Flow::at(50.0, 100.0);
    let trials = |flow: &mut Flow<Allegro>| (0..5).filter(|_| flow.next().trial.is_some()).count();
    flow.next();
    flow.law.restart();
    assert_eq!(trials(&mut flow), 4, "all of them anew");
    flow.law.back_off(Rate::from_mbit(20.0));
    assert_eq!((flow.law.rate(), trials(&mut flow)), (Rate::from_mbit(20.0), 4));
}

#[test]
fn only_starting_ends_before_all_is_known() {
    let mut flow = Flow::starting_at(50.0, 100.0);
    let path = flow.path();
    let worthless = |_: &Report| -1.0;
    let report = flow.report(Rate::from_mbit(50.0));
    assert!(flow.law.ends_early(&report, &worthless, &path));
    assert!(!flow.law.ends_early(&report, &|_: &Report| 1.0, &path));
    flow.law.back_off(Rate::from_mbit(50.0));
    assert!(!flow.law.ends_early(&report, &worthless, &path));
}

#[test]
fn an_unreached_rate_stays_near_the_delivered_one() {
    for (limited_by, mbit) in [(LimitedBy::Host, 19.0), (LimitedBy::Network, 50.0)] {
        let mut flow = Flow::started_at(50.0, 100.0);
        let path = Path { delivery: Rate::from_mbit(10.0), ..flow.path() };
        let plan = flow.law.next(&path, &mut flow.rng);
        let report = Report { limited_by, ..flow.report(plan.rate) };
        flow.law.on_report(plan, &report, &|_: &Report| 1.0, &path);
        assert!((flow.law.rate().mbit() - mbit).abs() < 1e-9, "{} by {limited_by:?}", flow.law.rate());
    }
}

/// A law with the paper's parameters at 50 Mbit/s.
fn published(capacity: f64) -> Flow<Allegro> {
    Flow::of(Allegro::new(Config::paper(), Rate::from_mbit(50.0)), capacity)
}

#[test]
fn the_paper_s_steps_grow_and_a_failed_one_goes_back() {
    let mut flow = published(60.0);
    flow.steps(4).is("Rate Adjusting", 51.00, 51.01); // 50 · 1.01 · 1.01
    flow.step().is("Rate Adjusting", 52.02, 52.03); // · 1.02
    flow.step().is("Rate Adjusting", 53.58, 53.59); // · 1.03
    flow.steps(2).is("Rate Adjusting", 58.51, 58.52); // · 1.04 · 1.05
    flow.step().is("Rate Adjusting", 62.02, 62.03); // · 1.06, above the capacity
    flow.step().is("Decision Making", 58.51, 58.52);
}

#[test]
fn the_paper_s_steps_never_go_back_to_doubling() {
    let mut orders = std::collections::BTreeSet::new();
    let mut flow = published(1000.0);
    for _ in 0..64 {
        for _ in 0..8 {
            flow.law.decide(0.01);
            orders.insert((0..4).map(|_| flow.next().rate > flow.law.rate()).collect::<Vec<_>>());
        }
    }
    assert_eq!(orders.len(), 4, "{orders:?}");
    assert!(orders.iter().all(|order| order[0] != order[1] && order[2] != order[3]), "{orders:?}");
    let mut flow = published(1000.0);
    for _ in 0..30 {
        flow.step();
        assert!(!flow.story.iter().any(|line| line.contains("far below")), "{}", flow.story.join("\n"));
    }
    assert!(flow.law.rate() > Rate::from_mbit(150.0), "{}", flow.story.join("\n"));
}

#[test]
fn to_paper_no_loss_is_chance_and_equal_worth_decides_nothing() {
    let seen = |mbit: f64, packets_lost| Report {
        packets_lost,
        lost: Bytes::new(1000 * u64::from(packets_lost)),
        ..crate::utility::tests::report(mbit, 0.0)
    };
    let (high, low) = (seen(51.0, 100), seen(49.0, 110));
    let safe = |report: &Report| Safe::default().evaluate(report);
    let direction = |config: &Config| Better::of(&high, &low, &safe, config).direction(&high, &low);
    assert_eq!((direction(&Config::paper()), direction(&Config::default())), (1.0, -1.0));
    let alike = Better::of(&high, &low, &|_: &Report| 5.0, &Config::paper()).direction(&high, &low);
    assert_eq!(alike, 0.0);
}

#[test]
fn the_paper_s_parameters_are_the_paper_s() {
    let Config { step_min, step_max, interval_rtts, paper, .. } = Config::paper();
    assert_eq!((step_min, step_max, interval_rtts, paper), (0.01, 0.5, (1.7, 2.2), true));
}

#[test]
fn joined_intervals_add_marks_and_take_the_least_rtt() {
    let one = |marked, least_ms| Report {
        packets_marked: marked,
        rtt_least: Some(Duration::from_millis(least_ms)),
        ..crate::utility::tests::report(50.0, 0.0)
    };
    for (a, b) in [(one(3, 30), one(4, 29)), (one(4, 29), one(3, 30))] {
        let both = merged(&a, &b);
        assert_eq!((both.packets_marked, both.rtt_least), (7, Some(Duration::from_millis(29))));
    }
}

#[test]
fn a_mark_is_not_counted_as_a_loss_beside_itself() {
    // Three per cent are marked, and five may be.
    let marked = Report { packets_marked: 30, ..crate::utility::tests::report(50.0, 0.0) };
    assert_eq!(worthless_loss(&marked, &marked, &|report: &Report| 0.05 - report.loss(), 2.0), None);
    assert_eq!(worthless_loss(&marked, &marked, &|report: &Report| 0.02 - report.loss(), 2.0), Some(0.03));
}

#[test]
fn joined_equal_intervals_have_the_utility_of_each() {
    let ms = Duration::from_millis;
    let one = Report {
        rtt: Some(ms(31)),
        rtt_least: Some(ms(30)),
        rtt_base: Some(ms(30)),
        rtt_gradient: Some(0.005),
        rtt_gradient_error: 1e-5,
        rtt_span: ms(95),
        rtt_pause: ms(2),
        rtt_residual: Duration::from_micros(700),
        rtt_deviation: ms(1),
        sent: Bytes::new(625_000),
        lost: Bytes::new(6250),
        ..crate::utility::tests::report(50.0, 0.01)
    };
    for name in crate::utility::NAMES {
        let written = match name {
            "weighted" => "weighted,share=0.5",
            "hybrid" => "hybrid,needed=20Mbit",
            "rate-limiter" => "rate-limiter,limit=20Mbit",
            name => name,
        };
        let utility = crate::utility::parse(written).unwrap();
        let (each, both) = (utility.evaluate(&one), utility.evaluate(&merged(&one, &one)));
        assert!((each - both).abs() < 1e-6 * each.abs().max(1.0), "{name}: {each}, and both {both}");
    }
}
