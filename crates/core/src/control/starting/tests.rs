//! The conditions that end Starting, each by itself.

use super::*;
use crate::units::{Bytes, Timestamp};
use crate::utility::tests::report;
use core::time::Duration;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// 32 ms without a queue, so a rise of the RTT is visible from 4 ms on.
fn path() -> Path {
    Path {
        rtt: ms(32),
        queue: Duration::ZERO,
        packet: Bytes::new(1000),
        monitor: crate::monitor::Config::default(),
        floor: Rate::from_mbit(0.01),
        initial: Rate::from_mbit(5.0),
        ceiling: Rate::from_mbit(1e6),
        delivery: Rate::from_mbit(100.0),
        capacity: None,
        trains: None,
    }
}

/// Worth what was asked for, whatever became of it.
fn asked_for(report: &Report) -> f64 {
    report.target.mbit()
}

/// Results so far: this one, at 10 Mbit/s.
fn after(first: &Report) -> Starting {
    let mut starting = Starting::at(Rate::from_mbit(10.0));
    assert_eq!(judged(&mut starting, first), Judgement::Good { awaited: false });
    starting
}

fn judged(starting: &mut Starting, report: &Report) -> Judgement {
    judged_by(starting, report, &asked_for)
}

fn judged_by(starting: &mut Starting, report: &Report, utility: Evaluate<'_>) -> Judgement {
    let plan = IntervalPlan { trial: Some(0), ..IntervalPlan::filler(report.target) };
    starting.on_report(plan, report, utility, &path())
}

#[test]
fn queue_that_surely_grows_beyond_usual_rtt_ends_it_at_once() {
    let usual = Report { rtt: Some(ms(26)), rtt_deviation: ms(3), ..report(10.0, 0.0) }; // reaches 32 ms
    let starting = after(&usual);
    let growing = Report {
        rtt: Some(ms(35)),
        rtt_gradient: Some(1.0),
        rtt_gradient_error: 0.1,
        rtt_span: ms(6),
        rtt_samples: 5,
        ..report(20.0, 0.0)
    };
    let ends = |seen: &Report| starting.ends_early(seen, &asked_for, &path());
    assert!(ends(&growing));
    // As where a sender of a tenth of the rate comes to a full path.
    let slowly = Report { rtt_gradient: Some(0.1), rtt_gradient_error: 0.01, rtt_span: ms(60), ..growing.clone() };
    assert!(ends(&slowly), "however slowly it grows");
    for (what, seen) in [
        ("four samples", Report { rtt_samples: 4, ..growing.clone() }),
        ("a rise of 3 ms", Report { rtt_span: ms(3), rtt: Some(ms(40)), ..growing.clone() }),
        ("an end at 35.5 ms", Report { rtt_span: ms(5), rtt: Some(ms(33)), ..growing.clone() }),
        ("an error of a third", Report { rtt_gradient_error: 0.33, ..growing.clone() }),
    ] {
        assert!(!ends(&seen), "{what}: {seen:?}");
    }
}

#[test]
fn it_goes_on_at_what_was_carried_seen_through_loss_of_before() {
    let mut starting = after(&report(10.0, 0.2));
    let seen = Report { delivery_rate: Some(Rate::from_mbit(12.0)), ..report(30.0, 0.0) };
    let worthless = |_: &Report| f64::MIN;
    let Judgement::Over(carried) = judged_by(&mut starting, &seen, &worthless) else { panic!("{starting:?}") };
    assert!((carried.mbit() - 12.0 * 0.95 / 0.8).abs() < 1e-9, "{carried}");
}

#[test]
fn starting_ends_at_the_highest_delivered_rate() {
    let mut starting = Starting::at(Rate::from_mbit(10.0));
    for mbit in [10.0, 14.0, 9.0] {
        let plan = IntervalPlan { trial: Some(0), ..IntervalPlan::filler(Rate::from_mbit(mbit)) };
        let judgement =
            starting.on_report(plan, &report(mbit, 0.0), &|report: &Report| 1.0 / report.target.mbit(), &path());
        assert_eq!(judgement, Judgement::Good { awaited: false });
    }
    let seen = Report { delivery_rate: Some(Rate::from_mbit(5.0)), ..report(30.0, 0.9) };
    let worthless = |_: &Report| f64::MIN;
    let Judgement::Over(carried) = judged_by(&mut starting, &seen, &worthless) else { panic!("{starting:?}") };
    assert!((carried.mbit() - 14.0 * 0.95).abs() < 1e-9, "{carried}");
}

#[test]
fn held_acks_understate_what_passed_a_growing_queue() {
    for (error, passed) in [(0.1, 15.0), (0.3, 12.0)] {
        let mut starting = after(&report(10.0, 0.0));
        let seen = Report {
            delivery_rate: Some(Rate::from_mbit(12.0)),
            rtt_gradient: Some(1.0),
            rtt_gradient_error: error,
            rtt_samples: 5,
            ..report(30.0, 0.0)
        };
        let worthless = |_: &Report| f64::MIN;
        let plan = IntervalPlan { trial: Some(0), ..IntervalPlan::filler(seen.target) };
        let Judgement::Over(carried) = starting.on_report(plan, &seen, &worthless, &path()) else {
            panic!("{starting:?}")
        };
        assert!((carried.mbit() - 0.95 * passed).abs() < 1e-9, "{carried} with an error of {error}");
    }
}

#[test]
fn released_acks_overstate_what_passed_its_own_queue() {
    let first = Report { rtt: Some(ms(33)), rtt_deviation: ms(1), ..report(10.0, 0.0) }; // reaches 35 ms
    for (least, error, passed) in [(39, 0.02, 20.0), (34, 0.02, 27.0), (39, 0.2, 27.0)] {
        let mut starting = after(&first);
        let seen = Report {
            delivery_rate: Some(Rate::from_mbit(27.0)),
            rtt_least: Some(ms(least)),
            rtt_gradient: Some(0.5),
            rtt_gradient_error: error,
            rtt_span: ms(20),
            rtt_samples: 3,
            ..report(30.0, 0.0)
        };
        let Judgement::Over(carried) = judged_by(&mut starting, &seen, &|_: &Report| f64::MIN) else {
            panic!("{starting:?}")
        };
        assert!((carried.mbit() - 0.95 * passed).abs() < 1e-9, "{carried} of {seen:?}");
    }
}

#[test]
fn worse_is_less_than_nothing_or_doubling_that_is_worth_no_more() {
    let known = Best {
        target: Rate::from_mbit(10.0),
        achieved: Rate::from_mbit(10.0),
        utility: 6.0,
        loss: 0.0,
        least_utility: 5.0,
    };
    for (best, worth, mbit, worse) in [
        (None, -1.0, 10.0, true),
        (None, 0.0, 10.0, false),
        (Some(known), 5.0, 16.0, true),
        (Some(known), 5.0, 15.0, false),
        (Some(known), 5.1, 30.0, false),
        (Some(known), 0.0, 10.0, false),
        (Some(known), -1.0, 10.0, true),
    ] {
        let starting = Starting { best, ..Starting::at(Rate::from_mbit(10.0)) };
        let judged = starting.is_worse(&report(mbit, 0.0), worth);
        assert_eq!(judged, worse, "{worth} at {mbit} Mbit/s after {best:?}");
    }
}

#[test]
fn of_equal_results_the_first_stays_the_best() {
    let mut starting = Starting::at(Rate::from_mbit(10.0));
    for mbit in [10.0, 14.0] {
        let plan = IntervalPlan { trial: Some(0), ..IntervalPlan::filler(Rate::from_mbit(mbit)) };
        let judgement = starting.on_report(plan, &report(mbit, 0.0), &|_: &Report| 1.0, &path());
        assert_eq!(judgement, Judgement::Good { awaited: false });
    }
    assert_eq!(starting.best.map(|best| best.target), Some(Rate::from_mbit(10.0)));
}

#[test]
fn one_doubling_runs_ahead_of_the_last_known_result_and_no_more() {
    let mut starting = Starting::at(Rate::from_mbit(10.0));
    let plans: Vec<_> = (0..4).map(|_| starting.next(1.0, &path())).collect();
    let rates: Vec<_> = plans.iter().map(|plan| (plan.rate.mbit().round(), plan.trial)).collect();
    assert_eq!(rates, [(10.0, Some(0)), (20.0, Some(0)), (20.0, None), (20.0, None)]);
}

/// The first interval of a sender whose packets leave in trains: this RTT, where the path's is 32 ms, that rise of it, and so much
/// lost.
fn first_trains(rtt: u64, rise: f64, lost: f64) -> Judgement {
    let path = Path { trains: Some(report(10.0, lost).started), ..path() };
    let seen = Report {
        rtt: Some(ms(rtt)),
        rtt_gradient: Some(rise / 0.02),
        rtt_gradient_error: f64::INFINITY,
        rtt_span: ms(20),
        rtt_samples: 4,
        ..report(10.0, lost)
    };
    let plan = IntervalPlan { trial: Some(0), ..IntervalPlan::filler(seen.target) };
    let worth = |report: &Report| if report.loss() > 0.2 { -1.0 } else { 1.0 };
    Starting::at(seen.target).on_report(plan, &seen, &worth, &path)
}

#[test]
fn losses_of_trains_without_a_queue_are_no_congestion() {
    assert_eq!(first_trains(35, 0.0, 0.1), Judgement::Good { awaited: false });
    assert_eq!(first_trains(35, 0.0, 0.5), Judgement::Unknown, "no queue stands, and half of it lost");
    assert!(matches!(first_trains(40, 0.0, 0.5), Judgement::Over(_)), "a queue of 8 ms, and half of it lost");
    // An interval lasts 100 ms; 38 ms more, and it passes at 0.725 of its rate, 80 and at 0.56.
    let duration = report(10.0, 0.0).duration;
    assert_eq!(duration, ms(100));
    assert_eq!(first_trains(60, 0.038, 0.0), Judgement::Good { awaited: false });
    assert!(matches!(first_trains(60, 0.08, 0.0), Judgement::Over(_)));
    assert_eq!(first_trains(35, 0.08, 0.0), Judgement::Good { awaited: false }, "no queue stands");
    // The same of an interval in which no train left.
    let later = Path { trains: Some(Timestamp::ZERO), ..path() };
    let seen = Report { started: Timestamp::from_nanos(1), ..report(10.0, 0.5) };
    let plan = IntervalPlan { trial: Some(0), ..IntervalPlan::filler(seen.target) };
    let judged = Starting::at(seen.target).on_report(plan, &seen, &|report: &Report| 0.2 - report.loss(), &later);
    assert!(matches!(judged, Judgement::Over(_)), "{judged:?}");
}

#[test]
fn a_rate_of_lossy_trains_is_tried_again_without_them() {
    let lossy = |mbit: f64| report(mbit, 0.5);
    let worth = |report: &Report| report.target.mbit() * (0.2 - report.loss());
    let with_trains = Path { trains: Some(lossy(10.0).started), ..path() };
    let mut starting = Starting::at(Rate::from_mbit(10.0));
    let mbits = |starting: &mut Starting, path: &Path| starting.next(1.0, path).rate.mbit().round();
    assert_eq!((mbits(&mut starting, &with_trains), mbits(&mut starting, &with_trains)), (10.0, 20.0));
    for mbit in [10.0, 20.0] {
        let plan = IntervalPlan { trial: Some(0), ..IntervalPlan::filler(Rate::from_mbit(mbit)) };
        let judgement = starting.on_report(plan, &lossy(mbit), &worth, &with_trains);
        assert_eq!(judgement, Judgement::Unknown, "{mbit} Mbit/s");
        assert!(starting.best.is_none() && starting.delivered == Rate::ZERO);
        assert_eq!(mbits(&mut starting, &with_trains), mbit, "not doubled");
    }
    // The same rate, each packet paced: all is well, or it is over.
    assert_eq!(judged_by(&mut starting.clone(), &report(20.0, 0.0), &worth), Judgement::Good { awaited: true });
    assert!(matches!(judged_by(&mut starting, &lossy(20.0), &worth), Judgement::Over(_)));
}

#[test]
fn trains_may_tell_a_rate_despite_one_lost_packet() {
    let seen = Report { packets: 18, packets_lost: 1, loss_bursts: 1, ..report(10.0, 1.0 / 18.0) };
    let worth = |report: &Report| 0.05 - report.loss();
    for (capacity, judgement) in
        [(None, Judgement::Unknown), (Some(Rate::from_mbit(200.0)), Judgement::Good { awaited: false })]
    {
        let mut starting = Starting::at(Rate::from_mbit(10.0));
        let with_trains = Path { trains: Some(seen.started), capacity, ..path() };
        let plan = IntervalPlan { trial: Some(0), ..IntervalPlan::filler(seen.target) };
        assert_eq!(starting.on_report(plan, &seen, &worth, &with_trains), judgement, "{capacity:?}");
    }
}

#[test]
fn a_certainly_negative_utility_ends_starting() {
    // Eighteen packets of which ten are lost in a row: from nothing to all of them.
    let burst = Report { packets: 18, packets_lost: 10, loss_bursts: 1, ..report(10.0, 10.0 / 18.0) };
    let worth = |report: &Report| report.target.mbit() * (0.05 - report.loss());
    let mut starting = Starting::at(Rate::from_mbit(10.0));
    assert_eq!(judged_by(&mut starting, &burst, &worth), Judgement::Good { awaited: false });
    assert!(starting.best.is_some_and(|best| best.least_utility < -9.0), "{starting:?}");
    let judgement = judged_by(&mut starting, &report(11.0, 0.2), &worth);
    assert!(matches!(judgement, Judgement::Over(_)), "{judgement:?}");
}

#[test]
fn a_passed_capacity_ends_the_approach() {
    let told = Path { capacity: Some(Rate::from_mbit(200.0)), ..path() };
    let mut starting = Starting::at(Rate::from_mbit(10.0));
    let tried = starting.next(1.0, &told);
    assert_eq!(tried.rate.mbit(), 10.0, "nothing has passed yet");
    let good = |starting: &mut Starting, plan: IntervalPlan| {
        let mbit = plan.rate.mbit();
        starting.on_report(plan, &report(mbit, 0.0), &asked_for, &told)
    };
    let doubling = starting.next(1.0, &told);
    assert_eq!(doubling.rate.mbit(), 20.0);
    // The doubling that runs is not waited for.
    assert_eq!(good(&mut starting, tried), Judgement::Good { awaited: false });
    let step = starting.next(1.0, &told);
    assert_eq!((step.rate.mbit(), step.rtts), (80.0, (0.25, 0.25)));
    assert_eq!(starting.next(1.0, &told).trial, None);
    assert_eq!(good(&mut starting, step), Judgement::Good { awaited: false });
    let last = starting.next(1.0, &told);
    assert!((last.rate.mbit() - 190.0).abs() < 1e-6 && last.rtts == (1.0, 1.0), "{last:?}");
    assert_eq!(good(&mut starting, last), Judgement::Reached(last.rate));
}

#[test]
fn a_rate_far_above_the_capacity_refutes_the_trains() {
    for (mbit, reached) in [(94.0, false), (95.5, true), (105.0, true), (106.0, false), (300.0, false)] {
        let told = Path { capacity: Some(Rate::from_mbit(100.0)), ..path() };
        let plan = IntervalPlan { trial: Some(0), ..IntervalPlan::filler(Rate::from_mbit(mbit)) };
        let judged = Starting::at(plan.rate).on_report(plan, &report(mbit, 0.0), &asked_for, &told);
        assert_eq!(judged == Judgement::Reached(plan.rate), reached, "{mbit}: {judged:?}");
        let short = IntervalPlan { rtts: (0.25, 0.25), ..plan };
        let judged = Starting::at(plan.rate).on_report(short, &report(mbit, 0.0), &asked_for, &told);
        assert!(!matches!(judged, Judgement::Reached(_)), "{mbit} for a quarter of a round trip: {judged:?}");
    }
}

#[test]
fn a_capacity_is_no_goal_once_more_has_passed() {
    // Noise made a low rate the best one; 10 Mbit/s passed all the same, and trains tell of less.
    for (capacity, goal) in [(7.4, None), (7.6, Some(7.22)), (30.0, Some(8.0))] {
        let told = Path { capacity: Some(Rate::from_mbit(capacity)), ..path() };
        let mut starting = after(&report(1.0, 0.0));
        starting.delivered = Rate::from_mbit(10.0);
        starting.rate = Rate::from_mbit(10.0);
        let next = starting.next(1.0, &told).rate.mbit();
        assert_eq!((next * 100.0).round() / 100.0, goal.unwrap_or(20.0), "{capacity} Mbit/s told");
    }
}

#[test]
fn a_rate_that_is_the_highest_allowed_and_passed_ends_it() {
    let limited = Path { ceiling: Rate::from_mbit(20.0), ..path() };
    let mut starting = after(&report(10.0, 0.0));
    let doubling = starting.next(1.0, &limited);
    let busy = Report { limited_by: LimitedBy::Host, achieved: Rate::from_mbit(11.0), ..report(20.0, 0.0) };
    let judgement = starting.on_report(doubling, &busy, &asked_for, &limited);
    assert!(matches!(judgement, Judgement::Good { .. }), "{judgement:?} of a host that was busy");
    let mut starting = after(&report(10.0, 0.0));
    let again = starting.next(1.0, &limited);
    let good = Report { achieved: Rate::from_mbit(19.5), ..report(20.0, 0.0) };
    let judgement = starting.on_report(again, &good, &asked_for, &limited);
    assert_eq!((again.rate.mbit(), judgement), (20.0, Judgement::Reached(good.achieved)));
}

#[test]
fn who_is_short_of_data_or_of_a_host_leaves_the_approach() {
    let told = Path { capacity: Some(Rate::from_mbit(200.0)), ..path() };
    for short in [
        Report { app_limited: true, ..report(80.0, 0.0) },
        Report { limited_by: LimitedBy::Host, achieved: Rate::from_mbit(30.0), ..report(80.0, 0.0) },
    ] {
        let mut starting = after(&report(10.0, 0.0));
        let step = starting.next(1.0, &told);
        assert_eq!(step.rate.mbit(), 80.0);
        starting.on_report(step, &short, &asked_for, &told);
        let next = starting.next(1.0, &told);
        assert!(next.rate <= step.rate && next.trial.is_some(), "{next:?} after {short:?}");
    }
}

#[test]
fn its_own_queue_counts_as_far_as_it_certainly_grew() {
    let first = Report { rtt: Some(ms(33)), rtt_deviation: ms(1), ..report(10.0, 0.0) }; // reaches 35 ms
    let starting = after(&first);
    let growing = Report {
        rtt: Some(ms(43)),
        rtt_least: Some(ms(39)),
        rtt_gradient: Some(0.4),
        rtt_gradient_error: 0.02,
        rtt_span: ms(20),
        ..report(20.0, 0.0)
    };
    for (what, seen, ours) in [
        ("half of 8 ms less five errors of 0.4 ms", growing.clone(), 0.003),
        ("no more than it stands", Report { rtt_least: Some(ms(36)), ..growing.clone() }, 0.001),
        ("a radio's least RTT", Report { rtt_least: Some(ms(34)), ..growing.clone() }, 0.0),
        (
            "a radio's leap of 9.5 ms, where twice of what had passed was sent for 5 ms",
            Report { rtt_gradient: Some(2.0), rtt_span: ms(5), ..growing.clone() },
            0.0025,
        ),
        ("a growth in doubt", Report { rtt_gradient_error: 0.08, ..growing.clone() }, 0.0),
        ("a queue of others", Report { rtt_gradient: Some(0.0), ..growing.clone() }, 0.0),
    ] {
        assert!((starting.own_queue(&seen) - ours).abs() < 1e-9, "{what}: {}", starting.own_queue(&seen));
    }
    assert!(Starting::at(Rate::from_mbit(10.0)).own_queue(&growing).abs() < 1e-9, "nothing to compare with");
    let fair = |report: &Report| crate::utility::Utility::evaluate(&crate::utility::Fair::default(), report);
    let based = Report { rtt_base: Some(ms(32)), ..growing };
    let mut starting = Starting::at(Rate::from_mbit(10.0));
    judged_by(&mut starting, &first, &fair);
    assert!(starting.ends_early(&based, &fair, &path()));
    let others = Report { rtt_gradient: Some(0.0), ..based };
    assert!(!starting.ends_early(&others, &fair, &path()));
}

#[test]
fn nothing_faster_is_tried_with_two_results_awaited() {
    let mut starting = Starting::at(Rate::from_mbit(10.0));
    let plans = [0, 1, 2].map(|_| starting.next(1.0, &path()));
    let asked = plans.map(|plan| (plan.rate.mbit().round(), plan.trial, plan.rtts));
    assert_eq!(asked, [(10.0, Some(0), (1.0, 1.0)), (20.0, Some(0), (1.0, 1.0)), (20.0, None, WAIT)]);
}

#[test]
fn while_results_are_late_the_best_one_so_far_goes_on() {
    let mut starting = after(&report(10.0, 0.0));
    assert_eq!(judged(&mut starting, &report(20.0, 0.0)), Judgement::Good { awaited: false });
    let rates = [0, 1, 2].map(|_| starting.next(1.0, &path()).rate.mbit().round());
    assert_eq!(rates, [20.0, 40.0, 20.0]);
}
