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
    path = { rate = "100Mbit", rtt = "30ms", buffer = "1bdp" }
    sweep = { parameter = "loss-both-ways", values = [0.01, 0.02] }
"#;

/// The scenario with these targets, and a run of each algorithm with its goodput in Mbit/s at both points.
fn checked(targets: &str, goodputs: &[(&str, [f64; 2])]) -> Vec<Result<Checked, NotRun>> {
    let scenario =
        scenario::parse("small", &format!("{SCENARIO}\n{targets}")).unwrap_or_else(|error| panic!("{error}"));
    let outcome = |run: &scenario::Run| {
        let (_, goodput) = goodputs.iter().find(|(name, _)| *name == run.algorithm)?;
        let mbit = goodput[usize::from(run.point == "0.02")];
        let at = run.spec.duration;
        let sample = FlowSample { at, delivered: (mbit * at as f64 / 8e3) as u64, ..FlowSample::default() };
        let flow = FlowOutcome { samples: vec![sample], ..FlowOutcome::default() };
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
    for (across, expected) in [("mean", 45.0), ("median", 45.0), ("p5", 31.5), ("p95", 58.5)] {
        verdict(&format!("across = '{across}'\nmust = 1.0"), &runs, ("goodput", expected, Verdict::Pass, true));
    }
}

#[test]
fn the_median_over_the_seeds_leaves_an_outlier_out() {
    let text = SCENARIO.replace("[1, 2]", "[1, 2, 3]");
    let target = "[[target]]\nrow = '1'\nmeasure = 'goodput'\nat = ['0.01']\nmust = 1.0";
    for (lines, metric, expected) in [("", "goodput", 40.0), ("median = true", "median goodput", 10.0)] {
        let scenario = scenario::parse("small", &format!("{text}\n{target}\n{lines}")).unwrap();
        let outcome = |run: &scenario::Run| {
            let mbit = if run.spec.seed == 3 { 100 } else { 10 };
            let at = run.spec.duration;
            let sample = FlowSample { at, delivered: mbit * at / 8000, ..FlowSample::default() };
            let flow = FlowOutcome { samples: vec![sample], ..FlowOutcome::default() };
            Some(Outcome { flows: vec![flow], ..Outcome::default() })
        };
        let outcomes: Vec<_> = scenario.runs.iter().map(outcome).collect();
        let rows = check(&scenario, &cells(&scenario, &outcomes));
        let row = rows[0].as_ref().unwrap_or_else(|row| panic!("{row:?}"));
        assert_eq!((row.metric.as_str(), row.measured.round()), (metric, expected));
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
            "measured": 50.0, "must": 40.0, "goal": 40.0, "verdict": "PASS",
        })
    );
}

#[test]
fn a_target_that_nothing_could_reach_is_refused() {
    for (target, expected) in [
        ("at = ['0.03']\nmust = 1.0", "no value of the sweep"),
        ("over = ['vegas']\nmust = 1.0", "none of its algorithms"),
        ("over = ['cubic']\nover_at = '0.03'\nmust = 1.0", "no value of the sweep"),
        ("over_at = '0.02'\nmust = 1.0", "without `over`"),
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
