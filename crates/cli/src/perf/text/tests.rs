//! Rows fit the terminals that people have.

use super::super::runner::tests::test;
use super::*;
use pcc_perf::example::run;
use pcc_perf::load::Stream;
use pcc_perf::watch::PccState;

/// The longest words and numbers that a row has to take.
fn widest(state: &str, limited_by: &str) -> Flow {
    let mut flow = run("newreno", 1, 999.4).outcome.flows.remove(0).1;
    let pcc = PccState {
        mi_id: 123_456,
        state: state.to_owned(),
        rate_bps: 123.4e6,
        utility_value: Some(-123.456),
        limited_by: limited_by.to_owned(),
        ..PccState::default()
    };
    flow.lost = Some(999);
    flow.rtt = Duration::from_millis(1234);
    flow.pcc = Some(pcc);
    flow
}

fn fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn no_row_is_wider_than_80_columns() {
    for state in ["Starting", "Draining", "Probing", "Decision Making", "Rate Adjusting"] {
        for limited in ["network", "application", "receiver window", "host"] {
            for omitted in [false, true] {
                let streams = vec![(Stream { id: 1020, way: Way::Down }, 123_400_000); 2];
                let mut row = Interval {
                    start: 99.0,
                    end: 9999.5,
                    omitted,
                    flows: vec![(Way::Up, widest(state, limited)), (Way::Down, widest(state, limited))],
                    streams,
                    monitor_intervals: None,
                };
                let text = interval(&row, true);
                fits(&text);
                assert_eq!(text.contains("omitted"), omitted, "{text}");
                (row.start, row.end) = (98.95, 99.95);
                fits(&interval(&row, true));
            }
        }
    }
}

#[test]
fn a_time_is_told_as_it_was_asked_for() {
    for (asked_for, told) in
        [("-t 1.5", "upload for 1.5s,"), ("-t 10", "upload for 10s,"), ("-n 5MB -P 2", "of 5.00 MB in 2 ")]
    {
        let test = test(&format!("-c host {asked_for}"));
        assert!(start(&test).contains(told), "{}", start(&test));
    }
}

#[test]
fn neither_results_nor_comparisons_are_wider_than_80_columns() {
    let mut runs = Vec::new();
    for (algorithm, mbit) in [("pcc", 1234.0), ("newreno", 123.4), ("cubic", 0.12)] {
        runs.extend([1, 2, 3].map(|round| run(algorithm, round, mbit * f64::from(round))));
    }
    fits(&comparison(&runs));
    for mut run in runs {
        run.outcome.flows[0].1.algorithm = None;
        run.outcome.flows[0].1.counted = Counted::Sender;
        run.outcome.flows[0].1.seconds = 1234.56;
        fits(&summary(&run));
    }
}
