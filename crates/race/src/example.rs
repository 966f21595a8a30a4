//! A race for tests, of this crate and of the tool.

use super::{Course, Score, Source, Summary, Trace};
use core::time::Duration;

/// A race over `satellite`, of these runners with their goodputs in Mbit/s; this host sent one packet of 100 so `late`.
pub(crate) fn race(goodputs: &[(&'static str, f64)], late: Option<Duration>, check: impl FnOnce(&Summary<'_>)) {
    let (course, source) = (Course::parse("satellite", 1).unwrap(), Source::open(None, 1_000_000, 1).unwrap());
    let trace = |(algorithm, _): &(&'static str, f64)| Trace {
        algorithm,
        bytes: 123_456,
        time: Duration::from_millis(1_234_500),
        verified: true,
        late,
        ..Trace::default()
    };
    let score = |(_, mbit): &(&'static str, f64)| Score {
        goodput_mbps: *mbit,
        share: 1.0,
        share_started: 1.0,
        started: Duration::ZERO,
        loss: 0.1234,
        waste: 9.999,
        rtt_added_ms: 1234.5,
    };
    let traces: Vec<_> = goodputs.iter().map(trace).collect();
    let scores: Vec<_> = goodputs.iter().map(score).collect();
    check(&Summary { course: &course, source: &source, scores: &scores, traces: &traces });
}
