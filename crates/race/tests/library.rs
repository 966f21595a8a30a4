//! A race as another program than the tool has it.

use pcc_quic::Algorithm;
use pcc_race::carrier::Carrier;
use pcc_race::course::Course;
use pcc_race::entry::{Ended, Entry, Rules};
use pcc_race::score::Score;
use pcc_race::source::Source;
use pcc_race::summary::Summary;
use pcc_race::{page, runner};
use pcc_report::provenance::{Build, Provenance, Source as Measured};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

#[test]
fn runners_are_heard_of_judged_and_shown_on_a_page() {
    let course = Arc::new(Course::parse("rate=50Mbit,rtt=20ms", 1).unwrap());
    let source = Arc::new(Source::open(None, 500_000, 1).unwrap());
    let rules = Arc::new(Rules::new(Duration::from_secs(60), course.time_for(source.bytes)));
    let entry = |algorithm: &str| Entry {
        carrier: Carrier::Quic(algorithm.parse::<Algorithm>().unwrap()),
        course: Arc::clone(&course),
        source: Arc::clone(&source),
        rules: Arc::clone(&rules),
    };
    let (tell, mut told) = mpsc::unbounded_channel();
    let traces = runner::run_all(["pcc", "cubic"].map(entry).into(), true, &tell);
    drop(tell);
    let mut ends = Vec::new();
    while let Some(update) = told.blocking_recv() {
        ends.extend(update.ended.map(|end| (update.algorithm, end)));
    }
    assert_eq!(ends, [("pcc", Ended::Finished), ("cubic", Ended::Finished)]);
    assert!(traces.iter().all(|trace| trace.verified && trace.bytes == 500_000), "{traces:?}");

    let scores: Vec<_> = traces.iter().map(|trace| Score::of(trace, &course, source.bytes)).collect();
    let summary = Summary { course: &course, source: &source, scores: &scores, traces: &traces };
    assert_eq!(summary.strongest_peer().map(|(peer, _)| peer), Some("cubic"));
    let build = Build { version: "1".into(), program: "5ea1".into(), commit: None };
    let command = "cargo test".to_owned();
    let page = page::render(&summary, &Provenance { source: Measured::Emulator, build, command, seeds: vec![1] });
    assert!(page.contains(r#""algorithm":"pcc""#) && page.contains(&source.digest.to_string()), "{page}");
}
