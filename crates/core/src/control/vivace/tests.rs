use super::*;
use crate::control::driver::tests::path;
use crate::control::{Driver, Law};
use crate::utility::tests::report;
use crate::utility::{self, Utility};

/// A law past its start-up, at 50 Mbit/s.
fn probing(config: Config) -> Vivace {
    Vivace::new(config, Rate::from_mbit(50.0))
}

/// The report of an interval at this rate: packets beyond a path of `capacity` Mbit/s are lost.
fn carried(plan: IntervalPlan, capacity: f64) -> Report {
    let mbit = plan.rate.mbit();
    report(mbit, (1.0 - capacity / mbit).max(0.0))
}

/// Sends intervals and judges each before the next one begins; the last verdict.
fn run(law: &mut dyn RateControl, intervals: u32, seen: impl Fn(IntervalPlan) -> Report) -> Verdict {
    let (vivace, mut rng) = (utility::Vivace::default(), Rng::new(7));
    let mut verdict = Verdict::Wait;
    for _ in 0..intervals {
        let plan = law.next(&path(), &mut rng);
        if plan.trial.is_some() {
            verdict = law.on_report(plan, &seen(plan), &|report: &Report| vivace.evaluate(report), &path());
        }
    }
    verdict
}

#[test]
fn pair_is_one_probe_above_and_one_below_and_then_base_rate() {
    let mut law = probing(Config::default());
    let rates: Vec<_> = (0..4).map(|_| (law.next(&path(), &mut Rng::new(7)).rate.mbit() * 1e6).round() / 1e6).collect();
    assert!(rates[..2] == [52.5, 47.5] || rates[..2] == [47.5, 52.5], "{rates:?}");
    assert_eq!(rates[2..], [50.0, 50.0], "while the results are awaited");
}

#[test]
fn an_empty_path_is_climbed_by_the_gradient_and_ever_faster() {
    let mut law = probing(Config::default());
    let mut rates = Vec::new();
    for _ in 0..5 {
        assert_eq!(run(&mut law, 2, |plan| carried(plan, 1e5)), Verdict::Realign("gradient says up"));
        rates.push(law.rate().mbit());
    }
    // 0.9·50^−0.1 is 0.609; m is 1, 1, 2, 3, and then 5, of which the boundary leaves 5 % of 54.2.
    let steps: Vec<_> = rates.iter().zip([50.0].iter().chain(&rates)).map(|(after, before)| after - before).collect();
    for (step, expected) in steps.iter().zip([0.609, 0.608, 1.21, 1.81, 2.71]) {
        assert!((step - expected).abs() < 0.02, "{steps:?}");
    }
}

#[test]
fn a_full_path_is_left_downwards_by_no_more_than_the_boundary() {
    let mut law = probing(Config::default());
    run(&mut law, 2, |plan| Report { rtt_gradient: Some(0.05), ..carried(plan, 1e5) });
    assert!((law.rate().mbit() - 47.5).abs() < 1e-9, "both grew, the faster one costs more: {}", law.rate());
    let mut law = probing(Config::default());
    run(&mut law, 400, |plan| carried(plan, 60.0));
    assert!((52.0..66.0).contains(&law.rate().mbit()), "{}", law.rate());
}

#[test]
fn a_faster_probe_that_lost_less_is_checked_again() {
    let lossy =
        |plan: IntervalPlan| report(plan.rate.mbit(), if plan.rate < Rate::from_mbit(50.0) { 0.01 } else { 0.0 });
    let clean = |plan: IntervalPlan| carried(plan, 1e5);
    let bad = |plan: IntervalPlan| carried(plan, 40.0);
    for (again, check, change) in [
        // The loss below adds 0.0114·47.5/5 = 1.08 to 0.609 of reward: the mean is 1.15.
        (clean as fn(IntervalPlan) -> Report, "gradient says up", 1.15),
        (bad, "gradient says down", -2.5),
    ] {
        let mut law = probing(Config::default());
        assert_eq!(run(&mut law, 2, lossy), Verdict::Realign("double check"));
        assert_eq!(law.rate(), Rate::from_mbit(50.0));
        assert_eq!(run(&mut law, 2, again), Verdict::Realign(check));
        assert!((law.rate().mbit() - 50.0 - change).abs() < 0.02, "{check}: {}", law.rate());
    }
    let mut law = probing(Config::default());
    run(&mut law, 2, lossy);
    assert_eq!(run(&mut law, 2, lossy), Verdict::Realign("gradient says up"), "once is enough");
}

#[test]
fn of_three_pairs_one_may_be_wrong_upwards_and_none_downwards() {
    for (wrong, capacity, verdict) in [
        (1, 1e5, "gradient says up"),
        (2, 1e5, "pairs disagree"),
        (1, 40.0, "pairs disagree"),
        (0, 40.0, "gradient says down"),
    ] {
        let mut law = probing(Config::proteus());
        let mut last = Verdict::Wait;
        for pair in 0..3 {
            let other = if capacity > 50.0 { 40.0 } else { 1e5 };
            let seen = if pair < wrong { other } else { capacity };
            last = run(&mut law, 2, |plan| carried(plan, seen));
        }
        assert_eq!(last, Verdict::Realign(verdict), "{wrong} wrong at {capacity}");
    }
}

#[test]
fn a_probe_short_of_data_voids_its_round() {
    let mut law = Driver::new(Law::Vivace(Config::default()), Rate::from_mbit(50.0));
    law.back_off(Rate::from_mbit(50.0));
    let path = Path { delivery: Rate::from_mbit(10.0), ..path() };
    assert_eq!(law.next(&path, &mut Rng::new(7)).trial, None);
    let plan = law.next(&path, &mut Rng::new(7));
    let short = Report { app_limited: true, ..carried(plan, 1e5) };
    let verdict = law.on_report(plan, &short, &|_: &Report| 1.0, &path);
    assert_eq!(verdict, Verdict::Realign("probe short of data"));
    assert!((law.rate().mbit() - 19.0).abs() < 1e-9, "{}", law.rate());
    assert_eq!(law.next(&path, &mut Rng::new(7)).trial, Some(0), "a new round");
}

#[test]
fn back_off_forgets_how_confident_it_was_and_restart_only_round() {
    let mut law = probing(Config::default());
    run(&mut law, 20, |plan| carried(plan, 1e5));
    let confident = law.stride;
    assert_ne!(confident, Stride::default());
    law.next(&path(), &mut Rng::new(7));
    law.restart();
    assert_eq!((law.stride, law.next(&path(), &mut Rng::new(7)).trial), (confident, Some(0)));
    law.back_off(Rate::from_mbit(20.0));
    assert_eq!((law.stride, law.rate()), (Stride::default(), Rate::from_mbit(20.0)));
    assert_eq!((law.state(), law.next(&path(), &mut Rng::new(7)).trial), ("Probing", Some(0)));
}

#[test]
fn a_slow_path_is_probed_by_a_packet_at_least() {
    let mut law = probing(Config::default());
    law.rate = Rate::from_mbit(0.6);
    let probe = law.next(&path(), &mut Rng::new(7)).rate.mbit();
    // An interval has 10 packets but lasts 4 RTT at the most: 7.5 packets here.
    assert!(((probe / 0.6 - 1.0).abs() - 1.0 / 7.5).abs() < 1e-3, "{probe}");
}

#[test]
fn proteus_is_vivace_with_other_parameters() {
    let Config { pairs, boundary_step, least_change, moves, burst_ratio, tolerance, latency_filter, .. } =
        Config::proteus();
    assert_eq!((pairs, moves), (3, u8::MAX));
    assert_eq!([boundary_step, least_change, burst_ratio], [0.05, 0.5, 50.0]);
    assert_eq!([tolerance, latency_filter], [1.0, 0.0]);
}

#[test]
fn proteus_goes_on_without_probes_while_that_helps() {
    let config = Config { moves: 3, ..Config::default() };
    let clean = |plan: IntervalPlan| carried(plan, 1e5);
    // 5 % to the probe, and from there by the gradient of 0.609, or by all that the boundary lets through.
    for (capacity, expected) in [(1e5, 52.5 + 0.609), (40.0, 47.5 * 0.95)] {
        let mut law = probing(config.clone());
        run(&mut law, 2, |plan| carried(plan, capacity));
        assert!((law.rate().mbit() - expected).abs() < 2e-3 && law.state() == "Moving", "{}", law.rate());
    }
    let mut law = probing(config);
    run(&mut law, 2, clean);
    let mut rates = vec![law.rate().mbit()];
    for said in ["step helped", "step helped", "step helped"] {
        assert_eq!(run(&mut law, 1, clean), Verdict::Realign(said));
        rates.push(law.rate().mbit());
    }
    assert!(rates[1] > rates[0] + 0.5 && rates[2] > rates[1] + 0.5, "{rates:?}");
    assert_eq!((rates[3].to_bits(), law.state()), (rates[2].to_bits(), "Probing"), "three are enough");
    // A step of lower utility is taken back.
    run(&mut law, 2, clean);
    let before = law.rate().mbit();
    assert_eq!(run(&mut law, 1, |plan| carried(plan, 40.0)), Verdict::Realign("step did not help"));
    assert!(law.rate().mbit() < before - 0.5 && law.state() == "Probing", "{before} became {}", law.rate());
}

#[test]
fn who_begins_anew_begins_there_and_knows_nothing_of_the_path() {
    let mut law = probing(Config::proteus());
    run(&mut law, 20, |plan| carried(plan, 1e5));
    law.begin(Rate::from_mbit(20.0), &path());
    assert_eq!((law.rate(), law.stride, law.state()), (Rate::from_mbit(20.0), Stride::default(), "Probing"));
    assert_eq!(law.noise, Noise::default());
}
