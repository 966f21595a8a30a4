//! What became of a flow while it lived, as the numbers of a table.

use crate::results::Results;
use crate::scenario::Scenario;
use core::time::Duration;

/// A flow, from its start to its end or to that of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSummary {
    /// When it began.
    pub start: Duration,
    /// Unit: Mbit/s.
    pub goodput: f64,
    /// The same, of what the path allows it.
    pub share: f64,
    /// Packets lost, of those sent.
    pub loss: f64,
    /// RTT beyond that of the empty path: the median, and the 95th percentile.
    pub added: [Duration; 2],
    /// Packets sent for each that was useful.
    pub waste: Option<f64>,
    /// How long its volume took, if it came to its end.
    pub finished: Option<Duration>,
    /// Mean and largest delay of a call's frames.
    pub frames: Option<[Duration; 2]>,
}

impl FlowSummary {
    /// The flow at `place`.
    pub fn of(scenario: &Scenario, results: &Results, place: usize) -> Self {
        let flow = &results.flows[place];
        let (from, to) = life(scenario, results, place);
        let (allowed, goodput) = (results.capacity_for(place, from, to).mbit(), flow.goodput(from, to).mbit());
        Self {
            start: flow.start,
            goodput,
            share: if allowed > 0.0 { goodput / allowed } else { 0.0 },
            loss: flow.loss(),
            added: [0.5, 0.95].map(|quantile| flow.added_rtt(quantile)),
            waste: flow.waste(),
            finished: flow.finished.map(|at| at.saturating_sub(flow.start)),
            frames: flow.frame_delay(Duration::ZERO).map(|(mean, most)| [mean, most]),
        }
    }
}

fn life(scenario: &Scenario, results: &Results, place: usize) -> (Duration, Duration) {
    let (flow, told) = (&results.flows[place], &scenario.flows[place]);
    let end = flow.finished.or(told.stop).unwrap_or(scenario.duration).min(scenario.duration);
    (flow.start.min(end), end)
}

/// Jain's index over a second, while all flows are there; `None` with fewer than two.
pub fn jain_together(scenario: &Scenario, results: &Results) -> Option<f64> {
    let lives: Vec<_> = (0..results.flows.len()).map(|place| life(scenario, results, place)).collect();
    let (from, to) = (lives.iter().map(|life| life.0).max()?, lives.iter().map(|life| life.1).min()?);
    let second = Duration::from_secs(1);
    (lives.len() > 1 && to >= from + second).then(|| results.jain(second, from, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast::Cast;
    use crate::world::run;

    #[test]
    fn a_flow_is_judged_by_the_time_it_lives() {
        let Cast(flows) = "10Mbit:stop=2s 10Mbit:start=5s".parse().unwrap();
        let path = "rate=40Mbit,rtt=20ms,buffer=100KB".parse().unwrap();
        let scenario = Scenario::new(path, flows, 1, Duration::from_secs(6));
        let results = run(&scenario).unwrap();
        for place in [0, 1] {
            let summary = FlowSummary::of(&scenario, &results, place);
            assert!((9.0..10.5).contains(&summary.goodput), "{summary:?}");
            assert!((summary.share - summary.goodput / 40.0).abs() < 0.01 && summary.loss == 0.0, "{summary:?}");
        }
        assert_eq!(jain_together(&scenario, &results), None, "they never meet");
    }
}
