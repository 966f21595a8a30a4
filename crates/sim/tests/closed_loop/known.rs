//! What reports tell that only a law can find out.
#![expect(clippy::disallowed_types, reason = "an observer is shared")]

use super::behaviour::{ms, s};
use pcc::interval::Report;
use pcc::observe::{Event, Observer};
use pcc_sim::{Flow, Scenario, run};
use std::sync::{Arc, Mutex};

#[derive(Debug, Default)]
struct Reports(Mutex<Vec<Report>>);

impl Observer for Reports {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Interval { report, utility: Some(_), .. } = event {
            self.0.lock().unwrap().push((*report).clone());
        }
    }
}

/// Those of one greedy flow, sent between these seconds.
fn reports(path: &str, seed: u64, from: u64, to: u64) -> Vec<Report> {
    reports_of(path, true, seed, from, to)
}

/// The same, and whether acknowledgements say when they left.
fn reports_of(path: &str, timed: bool, seed: u64, from: u64, to: u64) -> Vec<Report> {
    let log = Arc::new(Reports::default());
    let mut flow = Flow::default();
    flow.acks.timed = timed;
    flow.config.seed = seed;
    flow.config.observer = Some(log.clone());
    run(&Scenario::new(path.parse().unwrap(), vec![flow], seed, s(to))).unwrap();
    let sent = |report: &Report| report.started.as_nanos() >= s(from).as_nanos() as u64;
    log.0.lock().unwrap().iter().filter(|report| sent(report)).cloned().collect()
}

#[test]
fn a_longer_path_is_known_before_ten_seconds_are_over() {
    for seed in 1..=4 {
        let base = |report: &Report| report.rtt_base.unwrap();
        // A longer way back is a wait of acknowledgements, where they say when they left.
        for (timed, longer) in [(false, 50), (true, 40)] {
            let told = reports_of("rate=100Mbit,rtt=30ms,buffer=375KB,at=5s:rtt=50ms", timed, seed, 9, 12);
            let wrong = told.iter().filter(|report| !(ms(longer - 1)..ms(longer + 4)).contains(&base(report))).count();
            assert!(told.len() > 20 && wrong * 20 <= told.len(), "seed {seed}: {wrong} of {}", told.len());
        }
        // And one that never did.
        let told = reports("rate=100Mbit,rtt=30ms,buffer=375KB", seed, 0, 12);
        assert!(told.iter().all(|report| (ms(30)..ms(33)).contains(&base(report))), "seed {seed}");
    }
}

#[test]
fn loss_that_happens_anyway_is_told_from_that_of_the_rate() {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    for seed in 1..=4 {
        let told = reports("rate=100Mbit,rtt=30ms,buffer=375KB,loss=2%", seed, 0, 20);
        assert!(
            told.first().is_some_and(|first| first.excess_loss.is_none()),
            "nobody can know that of the first interval"
        );
        let late = &told[told.len() / 2..];
        let own: Vec<_> = late.iter().map(|report| report.excess_loss.unwrap()).collect();
        let all: Vec<_> = late.iter().map(Report::loss).collect();
        assert!(own.iter().zip(&all).all(|(own, all)| own <= all));
        // What an interval lost beyond the mean by chance counts too.
        assert!((0.016..0.024).contains(&mean(&all)) && mean(&own) < 0.6 * mean(&all), "{} {}", mean(&own), mean(&all));
    }
}
