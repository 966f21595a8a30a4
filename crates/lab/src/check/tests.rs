use super::*;
use crate::scenario;
use crate::spec::{FlowOutcome, FlowSample, Outcome};
use crate::summary::cells;

const SCENARIO: &str = r#"
    title = "t"
    source = "s"
    algorithms = ["quic:pcc", "cubic", "bbr"]
    duration = "10s"
    seeds = [1, 2]
    exact = true
    path = { rate = "100Mbit", rtt = "30ms", buffer = "1bdp" }
    sweep = { parameter = "loss-both-ways", values = [0.01, 0.02] }
"#;

/// The scenario with these targets, and a run of each algorithm with its goodput in Mbit/s at both points.
fn checked(targets: &str, goodputs: &[(&str, [f64; 2])]) -> Vec<Result<Checked, NotJudged>> {
    of_runs(&format!("{SCENARIO}\n{targets}"), |run| {
        let (_, goodput) = goodputs.iter().find(|(name, _)| *name == run.algorithm)?;
        Some(goodput[usize::from(run.point == "0.02")])
    })
}

/// A scenario whose runs have so many Mbit/s; `None` for those that were not made.
fn of_runs(text: &str, mbit: impl Fn(&scenario::Run) -> Option<f64>) -> Vec<Result<Checked, NotJudged>> {
    let scenario = scenario::parse("small", text).unwrap_or_else(|error| panic!("{error}"));
    let outcome = |run: &scenario::Run| {
        let at = run.spec.duration;
        let sample = FlowSample { at, delivered: (mbit(run)? * at as f64 / 8e3) as u64, ..FlowSample::default() };
        // Two seeds are two runs, though they may come to one figure.
        let flow = FlowOutcome { samples: vec![sample], busy: run.spec.seed, ..FlowOutcome::default() };
        Some(Outcome { flows: vec![flow], ..Outcome::default() })
    };
    let outcomes: Vec<_> = scenario.runs.iter().map(outcome).collect();
    check(&scenario, &cells(&scenario, &outcomes))
}

#[track_caller]
fn verdict(target: &str, goodputs: &[(&str, [f64; 2])], expected: (&str, f64, Verdict, bool)) {
    let rows = checked(&format!("[[target]]\nrow = '1'\nmeasure = 'goodput'\n{target}"), goodputs);
    let row = rows[0].as_ref().unwrap_or_else(|row| panic!("{row:?}"));
    let (metric, measured, verdict, goal) = expected;
    assert_eq!((row.metric.as_str(), row.verdict, row.reaches_goal), (metric, verdict, goal), "{target}: {row:?}");
    assert!((row.measured - measured).abs() < 1e-3, "{target}: {row:?}");
}

#[test]
fn a_measure_is_held_against_must_and_goal() {
    use Verdict::{Miss, Pass};
    let both = |mbit| [("quic:pcc", [mbit, 0.0])];
    for (target, mbit, pass, goal) in [
        ("must = 80.0\ngoal = 90.0", 91.0, Pass, true),
        ("must = 80.0\ngoal = 90.0", 85.0, Pass, false),
        ("must = 80.0\ngoal = 90.0", 79.0, Miss, false),
        ("must = 80.0", 80.5, Pass, true),
        ("must = 20.0\ngoal = 10.0\nat_most = true", 21.0, Miss, false),
        ("must = 20.0\ngoal = 10.0\nat_most = true", 15.0, Pass, false),
        ("must = 20.0\ngoal = 10.0\nat_most = true", 9.0, Pass, true),
    ] {
        verdict(&format!("at = ['0.01']\n{target}"), &both(mbit), ("goodput", mbit, pass, goal));
    }
}

#[test]
fn peers_are_divided_by_and_the_best_of_several_counts() {
    let runs = [("quic:pcc", [60.0, 30.0]), ("cubic", [6.0, 3.0]), ("bbr", [20.0, 60.0])];
    verdict("at = ['0.01']\nover = ['cubic']\nmust = 10.0", &runs, ("goodput/cubic", 10.0, Verdict::Pass, true));
    let over = "over = ['cubic', 'bbr']\nmust = 1.0";
    verdict(&format!("at = ['0.01']\n{over}"), &runs, ("goodput/best of 2 peers", 3.0, Verdict::Pass, true));
    verdict(&format!("at = ['0.02']\n{over}"), &runs, ("goodput/best of 2 peers", 0.5, Verdict::Miss, false));
    // Where less is better, the best is the least.
    let least = "at_most = true\nat = ['0.01']\nover = ['cubic', 'bbr']\nmust = 1.0";
    verdict(least, &runs, ("goodput/best of 2 peers", 10.0, Verdict::Miss, false));
}

#[test]
fn so_many_times_what_a_peer_reaches_may_be_taken_off() {
    let runs = [("quic:pcc", [60.0, 30.0]), ("cubic", [6.0, 3.0])];
    let less = |must: f64| format!("at = ['0.01']\nover = ['cubic']\nless = 2.0\nat_most = true\nmust = {must:.1}");
    verdict(&less(50.0), &runs, ("goodput-2*cubic", 48.0, Verdict::Pass, true));
    verdict(&less(40.0), &runs, ("goodput-2*cubic", 48.0, Verdict::Miss, false));
}

#[test]
fn a_peer_may_be_that_of_another_point() {
    let runs = [("quic:pcc", [60.0, 30.0]), ("cubic", [6.0, 3.0])];
    let over = "at = ['0.01']\nover = ['cubic']\nover_at = '0.02'\nmust = 15.0";
    verdict(over, &runs, ("goodput/cubic at 0.02", 20.0, Verdict::Pass, true));
    let missing = checked(&format!("[[target]]\nrow = '1'\nmeasure = 'goodput'\n{over}"), &runs[..1]);
    assert_eq!(missing[0].as_ref().unwrap_err().lacks, "cubic at 0.02");
}

#[test]
fn points_are_judged_one_by_one_or_together() {
    let runs = [("quic:pcc", [60.0, 30.0])];
    let rows = checked("[[target]]\nrow = '1'\nmeasure = 'goodput'\nmust = 40.0", &runs);
    let cases: Vec<_> =
        rows.iter().map(|row| row.as_ref().unwrap()).map(|row| (row.case.as_str(), row.verdict)).collect();
    assert_eq!(cases, [("loss=0.01", Verdict::Pass), ("loss=0.02", Verdict::Miss)], "one row a point");
    verdict("across = 'mean'\nmust = 1.0", &runs, ("goodput", 45.0, Verdict::Pass, true));
    verdict("across = 'worst'\nmust = 1.0", &runs, ("goodput", 30.0, Verdict::Pass, true));
    verdict("across = 'worst'\nat_most = true\nmust = 50.0", &runs, ("goodput", 60.0, Verdict::Miss, false));
    for across in ["median", "p5", "p95"] {
        let rows =
            checked(&format!("[[target]]\nrow = '1'\nmeasure = 'goodput'\nmust = 1.0\nacross = '{across}'"), &runs);
        assert_eq!(rows[0].as_ref().unwrap_err().lacks, "more points than 2 for an interval", "{across}");
    }
}

#[test]
fn median_over_seeds_leaves_outlier_out_and_worst_is_one() {
    let text = SCENARIO.replace("[1, 2]", "[1, 2, 3, 4, 5, 6]");
    let target = "[[target]]\nrow = '1'\nmeasure = 'goodput'\nat = ['0.01']\nmust = 1.0";
    for (lines, metric, expected) in [
        ("", "goodput", 25.0),
        ("seeds = 'median'", "median goodput", 10.0),
        ("seeds = 'worst'", "worst goodput", 10.0),
        ("seeds = 'worst'\nat_most = true", "worst goodput", 100.0),
    ] {
        let rows =
            of_runs(&format!("{text}\n{target}\n{lines}"), |run| Some(if run.spec.seed == 3 { 100.0 } else { 10.0 }));
        let row = rows[0].as_ref().unwrap_or_else(|row| panic!("{row:?}"));
        assert_eq!((row.metric.as_str(), row.measured.round()), (metric, expected));
    }
}

#[test]
fn of_a_sample_of_points_one_run_of_each_is_enough() {
    let values: Vec<f64> = (1..=12).map(|number| f64::from(number) / 100.0).collect();
    let text = SCENARIO.replace("[1, 2]", "[1]").replace("[0.01, 0.02]", &format!("{values:?}"));
    let across = |across: &str| {
        let target = format!("[[target]]\nrow = '1'\nmeasure = 'goodput'\nmust = 5.5\nacross = '{across}'");
        let mut rows = of_runs(&format!("{text}\n{target}"), |run| Some(run.point.parse::<f64>().unwrap() * 100.0));
        rows.remove(0).map(|row| (row.measured.round(), row.verdict))
    };
    assert_eq!(across("worst").unwrap(), (1.0, Verdict::Miss));
    // Between the third and the tenth.
    assert_eq!(across("median").unwrap().1, Verdict::Open);
    assert!(across("mean").unwrap_err().lacks.contains("one has no confidence interval"));
}

#[test]
fn paired_seeds_are_compared_seed_by_seed() {
    // Twice what the peer has on every path, and the paths differ by far more than that.
    for (line, metric, measured, verdict) in [
        ("must = 1.5", "goodput/cubic", 2.0, Verdict::Open),
        ("must = 1.5\npaired = true", "goodput/cubic, seed by seed", 2.0, Verdict::Pass),
        ("must = 0.0\nat_most = true\nless = 2.0\npaired = true", "goodput-2*cubic, seed by seed", 0.0, Verdict::Pass),
    ] {
        let target = "[[target]]\nrow = '1'\nmeasure = 'goodput'\nat = ['0.01']\nover = ['cubic']";
        let rows = of_runs(&format!("{SCENARIO}\n{target}\n{line}"), |run| {
            let path = if run.spec.seed == 1 { 1.0 } else { 20.0 };
            Some(path * if run.algorithm == "cubic" { 1.0 } else { 2.0 })
        });
        let row = rows[0].as_ref().unwrap_or_else(|row| panic!("{row:?}"));
        assert_eq!((row.metric.as_str(), row.verdict), (metric, verdict), "{row:?}");
        assert!((row.measured - measured).abs() < 1e-9 && row.seeds == 2, "{row:?}");
    }
}

#[test]
fn what_was_not_run_is_neither_kept_nor_missed() {
    let target = "[[target]]\nrow = '1'\nmeasure = 'goodput'\nat = ['0.02']\nover = ['bbr']\nmust = 1.0";
    for runs in [&[("bbr", [1.0, 1.0])][..], &[("quic:pcc", [1.0, 1.0])], &[]] {
        let rows = checked(target, runs);
        let missing = rows[0].as_ref().unwrap_err();
        assert!(missing.lacks.ends_with("at 0.02"), "{missing:?}");
    }
}

#[test]
fn the_row_is_written_as_documented() {
    let rows = checked(
        "[[target]]\nrow = '1'\nmeasure = 'goodput'\nat = ['0.02']\nmust = 40.0",
        &[("quic:pcc", [60.0, 50.0])],
    );
    assert_eq!(
        serde_json::to_value(rows[0].as_ref().unwrap()).unwrap(),
        serde_json::json!({
            "row": "1", "case": "loss=0.02", "metric": "goodput", "algorithm": "pcc",
            "measured": 50.0, "interval": null, "seeds": 2, "must": 40.0, "goal": 40.0, "verdict": "PASS",
        })
    );
}

/// The verdict on PCC's goodputs at the first point, seed by seed; `None` was not run.
fn judged(target: &str, goodputs: &[Option<f64>]) -> Result<Verdict, String> {
    let seeds = format!("{:?}", (1..=goodputs.len()).collect::<Vec<_>>());
    let text = SCENARIO.replace("[1, 2]", &seeds);
    let target = format!("[[target]]\nrow = '1'\nmeasure = 'goodput'\nat = ['0.01']\n{target}");
    let scenario = scenario::parse("small", &format!("{text}\n{target}")).unwrap_or_else(|error| panic!("{error}"));
    let outcome = |run: &scenario::Run| {
        let mbit = goodputs[run.spec.seed as usize - 1].filter(|_| run.algorithm == "quic:pcc")?;
        let at = run.spec.duration;
        let sample = FlowSample { at, delivered: (mbit * at as f64 / 8e3) as u64, ..FlowSample::default() };
        let held = FlowOutcome { samples: vec![sample], busy: run.spec.seed, ..FlowOutcome::default() };
        let rejected = (mbit == 0.0).then(|| "held back".to_owned());
        Some(Outcome { flows: vec![held], rejected, ..Outcome::default() })
    };
    let outcomes: Vec<_> = scenario.runs.iter().map(outcome).collect();
    let row = check(&scenario, &cells(&scenario, &outcomes)).remove(0);
    row.map(|row| row.verdict).map_err(|row| row.lacks)
}

#[test]
fn a_verdict_needs_the_whole_interval_of_the_seeds() {
    let three = [Some(89.0), Some(90.0), Some(91.0)];
    // 90 ± 2.5: a mean that reaches the limit by a hair says nothing.
    for (must, expected) in [(87.0, Verdict::Pass), (89.9, Verdict::Open), (90.1, Verdict::Open), (93.0, Verdict::Miss)]
    {
        assert_eq!(judged(&format!("must = {must:.1}"), &three), Ok(expected), "{must}");
    }
    let upper = |must: f64| judged(&format!("must = {must:.1}\nat_most = true"), &three);
    assert_eq!([93.0, 90.1, 87.0].map(upper), [Ok(Verdict::Pass), Ok(Verdict::Open), Ok(Verdict::Miss)]);
}

#[test]
fn seeds_that_are_one_run_are_one_sample_and_no_verdict() {
    let target = "[[target]]\nrow = '1'\nmeasure = 'goodput'\nat = ['0.01']\nover = ['cubic']\nmust = 1.0";
    let of_seeds = |seeds: &str, statistic: &str, alike: u64| {
        let text = format!("{}\n{target}\n{statistic}", SCENARIO.replace("[1, 2]", seeds));
        let scenario = scenario::parse("small", &text).unwrap();
        let outcome = |run: &scenario::Run| {
            let seed = if run.algorithm == "cubic" { run.spec.seed.max(alike) } else { run.spec.seed };
            let sample = FlowSample { at: run.spec.duration, delivered: 1_000_000 + seed, ..FlowSample::default() };
            let flow = FlowOutcome { samples: vec![sample], ..FlowOutcome::default() };
            Some(Outcome { flows: vec![flow], ..Outcome::default() })
        };
        let outcomes: Vec<_> = scenario.runs.iter().map(outcome).collect();
        check(&scenario, &cells(&scenario, &outcomes)).remove(0)
    };
    for statistic in ["seeds = 'mean'", "seeds = 'worst'", "paired = true"] {
        let lacks = |alike| of_seeds("[1, 2, 3]", statistic, alike).map_err(|row| row.lacks);
        assert_eq!(lacks(3).unwrap_err(), "seeds that differ: those of cubic at 0.01 are one sample");
        assert_eq!(lacks(2).unwrap_err(), "seeds that differ: those of cubic at 0.01 are 2 samples");
        assert!(lacks(1).is_ok(), "{statistic}");
    }
}

#[test]
fn the_worst_of_seeds_has_no_interval() {
    let interval = |statistic: &str| {
        let target = format!("[[target]]\nrow = '1'\nmeasure = 'goodput'\nat = ['0.01']\nmust = 1.0\n{statistic}");
        let mut rows = of_runs(&format!("{SCENARIO}\n{target}"), |run| Some(run.spec.seed as f64));
        rows.remove(0).unwrap().interval
    };
    assert!(interval("seeds = 'worst'").is_none());
    assert!(interval("").is_some_and(|[low, high]| low < high));
}

#[test]
fn the_best_of_peers_is_best_by_its_upper_end() {
    // BBR's mean is below CUBIC's, and its seeds may be far above.
    let target = "[[target]]\nrow = '1'\nmeasure = 'goodput'\nat = ['0.01']\nover = ['cubic', 'bbr']\nmust = 1.0";
    let mut rows = of_runs(&format!("{SCENARIO}\n{target}"), |run| {
        let first = run.spec.seed == 1;
        Some(match run.algorithm.as_str() {
            "cubic" => {
                if first {
                    10.0
                } else {
                    10.2
                }
            }
            "bbr" => {
                if first {
                    7.0
                } else {
                    13.0
                }
            }
            _ => {
                if first {
                    11.0
                } else {
                    11.2
                }
            }
        })
    });
    let row = rows.remove(0).unwrap();
    assert!((row.measured - 11.1 / 10.1).abs() < 1e-3 && row.verdict == Verdict::Open, "{row:?}");
}

#[test]
fn a_fortieth_of_verdicts_by_intervals_may_be_wrong() {
    let targets = "[[target]]\nrow = '1'\nmeasure = 'goodput'\nat = ['0.01']\nmust = 1.0";
    let targets = format!("{targets}\n{targets}\nseeds = 'worst'\n{}", targets.replace("1.0", "1000.0"));
    let rows = of_runs(&format!("{SCENARIO}\n{targets}"), |run| Some(100.0 + run.spec.seed as f64 / 10.0));
    let rows: Vec<_> = rows.into_iter().map(Result::unwrap).collect();
    assert_eq!(rows.iter().map(|row| row.verdict).collect::<Vec<_>>(), [Verdict::Pass, Verdict::Pass, Verdict::Miss]);
    // The worst of seeds is no estimate.
    assert!((wrong_by_chance(&rows) - 0.05).abs() < 1e-9);
}

#[test]
fn a_promise_without_all_seeds_is_not_judged_and_says_why() {
    for (goodputs, expected) in [
        (&[Some(95.0), Some(95.0), None][..], "1 of 3 seeds of quic:pcc at 0.01"),
        (&[Some(95.0), Some(95.0), Some(0.0)], "quic:pcc at 0.01, seed 3 (its hosts held it back)"),
        (&[Some(95.0)], "more seeds than 1 of quic:pcc at 0.01: one has no confidence interval"),
        (&[None, None], "quic:pcc at 0.01"),
    ] {
        assert_eq!(judged("must = 90.0", goodputs), Err(expected.to_owned()));
    }
    let few = judged("must = 90.0\nseeds = 'median'", &[Some(95.0); 5]);
    assert_eq!(few.unwrap_err(), "more seeds than 5 of quic:pcc at 0.01: so few have no confidence interval");
}

#[test]
fn a_target_that_nothing_could_reach_is_refused() {
    for (target, expected) in [
        ("at = ['0.03']\nmust = 1.0", "no value of the sweep"),
        ("over = ['vegas']\nmust = 1.0", "none of its algorithms"),
        ("over = ['cubic']\nover_at = '0.03'\nmust = 1.0", "no value of the sweep"),
        ("over_at = '0.02'\nmust = 1.0", "`over_at` without `over`"),
        ("less = 2.0\nmust = 1.0", "`less` without `over`"),
        ("paired = true\nmust = 1.0", "name one peer"),
        ("paired = true\nover = ['cubic', 'bbr']\nmust = 1.0", "name one peer"),
        ("must = 1.0\ngoal = 0.5", "easier"),
        ("must = 1.0\ngoal = 2.0\nat_most = true", "easier"),
    ] {
        let text = format!("{SCENARIO}\n[[target]]\nrow = '1'\nmeasure = 'goodput'\n{target}");
        let error = scenario::parse("small", &text).unwrap_err().to_string();
        assert!(error.contains(expected), "{target}: {error}");
    }
    let text = format!("{SCENARIO}\n[[target]]\nrow = '1'\nmeasure = 'speed'\nmust = 1.0");
    assert!(scenario::parse("small", &text).unwrap_err().to_string().contains("choose from"));
}

#[test]
fn what_was_left_out_on_purpose_is_not_promised() {
    let targets = r#"
        [[target]]
        row = "1"
        at = ["0.01", "0.02"]
        measure = "goodput"
        must = 1.0
        [[target]]
        row = "2"
        at = ["0.01"]
        measure = "goodput"
        over = ["bbr"]
        must = 1.0
        [[target]]
        row = "3"
        at = ["0.01", "0.02"]
        across = "worst"
        measure = "goodput"
        must = 1.0
    "#;
    let rows = |algorithms: &[&str], points: &[&str]| {
        let mut scenarios = [scenario::parse("small", &format!("{SCENARIO}\n{targets}")).unwrap()];
        let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (algorithms, points) = (owned(algorithms), owned(points));
        let selection =
            scenario::Selection { algorithms: &algorithms, points: &points, ..scenario::Selection::default() };
        selection.apply(&mut scenarios).unwrap();
        let none: Vec<_> = scenarios[0].runs.iter().map(|_| None).collect();
        let rows = check(&scenarios[0], &cells(&scenarios[0], &none));
        rows.into_iter().map(|row| row.map_or_else(|row| row.row, |row| row.row)).collect::<Vec<_>>()
    };
    assert_eq!(rows(&[], &[]), ["1", "1", "2", "3"]);
    assert_eq!(rows(&[], &["0.01"]), ["1", "2"], "neither a point nor the worst of all points");
    assert_eq!(rows(&["quic:pcc", "cubic"], &[]), ["1", "1", "3"], "no peer");
}
