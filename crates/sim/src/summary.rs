//! What became of a flow while it lived, as the numbers of a table.

use crate::results::{Results, jain};
use crate::scenario::{Control, Flow, Scenario};
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

pub(crate) fn life(scenario: &Scenario, results: &Results, place: usize) -> (Duration, Duration) {
    let (flow, told) = (&results.flows[place], &scenario.flows[place]);
    let end = flow.finished.or(told.stop).unwrap_or(scenario.duration).min(scenario.duration);
    (flow.start.min(end), end)
}

/// Jain's index over a second of the flows that go down, while all of them are there; `None` with fewer than two.
pub fn jain_together(scenario: &Scenario, results: &Results) -> Option<f64> {
    let down: Vec<_> = (0..results.flows.len()).filter(|place| !results.flows[*place].goes_back).collect();
    jain_of(scenario, results, &down, Duration::from_secs(1))
}

/// Jain's index of the flows at these places, over windows of `scale` while all of them are there; `None` with fewer than two.
pub(crate) fn jain_of(scenario: &Scenario, results: &Results, places: &[usize], scale: Duration) -> Option<f64> {
    let lives: Vec<_> = places.iter().map(|place| life(scenario, results, *place)).collect();
    let (from, to) = (lives.iter().map(|life| life.0).max()?, lives.iter().map(|life| life.1).min()?);
    let flows = places.iter().map(|place| &results.flows[*place]);
    (places.len() > 1 && to >= from + scale).then(|| jain(flows, scale, from, to))
}

/// How the senders fare together in the second half of the run, when they should have settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SecondHalf {
    /// 95th percentile of the queueing delay, of the bottlenecks together.
    pub queue_p95: Duration,
    /// Packets lost, of those sent.
    pub loss: f64,
    /// Jain's index, over a second if no other scale is named, of the flows that go down and send in all of it; `None`
    /// with fewer than two.
    pub jain: Option<f64>,
}

impl SecondHalf {
    /// That run's.
    pub fn of(scenario: &Scenario, results: &Results) -> Self {
        Self::on_scale(Duration::from_secs(1), scenario, results)
    }

    /// The same with Jain's index over such windows: where a flow has few packets a second, each second is luck.
    pub fn on_scale(scale: Duration, scenario: &Scenario, results: &Results) -> Self {
        let (half, end) = (scenario.duration / 2, scenario.duration);
        let sends_throughout = |place: &usize| {
            let (from, to) = life(scenario, results, *place);
            from <= half && to == end && !results.flows[*place].goes_back
        };
        let there: Vec<_> = (0..results.flows.len()).filter(sends_throughout).collect();
        let is_told = there.len() > 1 && end >= half + scale;
        let jain = || jain(there.iter().map(|place| &results.flows[*place]), scale, half, end);
        Self { queue_p95: results.queueing_delay(0.95, half), loss: results.loss_after(half), jain: is_told.then(jain) }
    }
}

/// What senders of one kind have beside PCC, and what they would have beside their own kind: harm, as Ware et al. define
/// it (`HotNets` 2019, section 4).
#[derive(Clone, Debug, PartialEq)]
pub struct Harm {
    /// The kind.
    pub control: Control,
    /// Mean goodput of its flows from the moment when the first of PCC is there too. Unit: Mbit/s.
    pub goodput: f64,
    /// The same with this kind in PCC's place. Unit: Mbit/s.
    pub instead: f64,
}

impl Harm {
    /// The same simulations with each other kind of sender in PCC's place; none where PCC sends alone.
    pub fn asks_for(scenario: &Scenario) -> Vec<(Control, Scenario)> {
        let mut kinds: Vec<Control> = Vec::new();
        if scenario.flows.iter().any(Flow::is_ours) {
            let others = scenario.flows.iter().filter(|flow| !flow.is_ours()).map(|flow| &flow.control);
            others.for_each(|control| {
                if !kinds.contains(control) {
                    kinds.push(control.clone())
                }
            });
        }
        let instead = |control: Control| {
            let by = |flow: &Flow| if flow.is_ours() { flow.by(control.clone()) } else { flow.clone() };
            let flows = scenario.flows.iter().map(by).collect();
            (control.clone(), Scenario { flows, ..scenario.clone() })
        };
        kinds.into_iter().map(instead).collect()
    }

    /// By the run with PCC and the one that [`Self::asks_for`] names; `None` if no flow of the kind was there beside PCC.
    pub fn of(scenario: &Scenario, control: Control, results: &Results, instead: &Results) -> Option<Self> {
        let mean = |results: &Results| goodput_of_others(scenario, results, |flow| flow.control == control);
        let (goodput, instead) = (mean(results)?, mean(instead)?);
        Some(Self { control, goodput, instead })
    }

    /// What they keep: 1 where PCC costs them no more than another of their own kind; `None` if they have nothing there either.
    pub fn kept(&self) -> Option<f64> {
        (self.instead > 0.0).then(|| self.goodput / self.instead)
    }
}

/// Mean goodput of these flows among those beside PCC, each while it lives and a flow of PCC has come. Unit: Mbit/s.
pub(crate) fn goodput_of_others(scenario: &Scenario, results: &Results, wanted: impl Fn(&Flow) -> bool) -> Option<f64> {
    let ours = scenario.flows.iter().zip(&results.flows).filter(|(flow, _)| flow.is_ours());
    let came = ours.map(|(_, result)| result.start).min()?;
    let goodputs = scenario.flows.iter().enumerate().filter(|(_, flow)| !flow.is_ours() && wanted(flow));
    let goodputs = goodputs.filter_map(|(place, _)| {
        let (from, to) = life(scenario, results, place);
        let from = from.max(came);
        (from < to).then(|| results.flows[place].goodput(from, to).mbit())
    });
    let goodputs: Vec<f64> = goodputs.collect();
    (!goodputs.is_empty()).then(|| goodputs.iter().sum::<f64>() / goodputs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast::Cast;
    use crate::running::run;

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

    fn simulated(flows: &str, seed: u64) -> (Scenario, Results) {
        let Cast(flows) = flows.parse().unwrap();
        let path = "rate=40Mbit,rtt=20ms,buffer=100KB".parse().unwrap();
        let scenario = Scenario::new(path, flows, seed, Duration::from_secs(6));
        let results = run(&scenario).unwrap();
        (scenario, results)
    }

    #[test]
    fn starts_are_drawn_for_each_flow_and_seed() {
        let starts = |seed| {
            let (_, results) = simulated("10Mbit*2:start=random:1s..3s 5Mbit", seed);
            results.flows.iter().map(|flow| flow.start).collect::<Vec<_>>()
        };
        let (one, other) = (starts(1), starts(2));
        for starts in [&one, &other] {
            assert!(starts[..2].iter().all(|start| (1.0..3.0).contains(&start.as_secs_f64())), "{starts:?}");
            assert!(starts[0] != starts[1] && starts[2].is_zero(), "{starts:?}");
        }
        assert!(one != other && one == starts(1), "{one:?} {other:?}");
    }

    #[test]
    fn the_second_half_is_of_flows_that_send_in_all_of_it() {
        let late = |flows| {
            let (scenario, results) = simulated(flows, 1);
            SecondHalf::of(&scenario, &results)
        };
        let calm = late("10Mbit 10Mbit:start=1s 15Mbit:stop=3s 1Mbit:start=4s");
        assert!(calm.loss == 0.0 && calm.queue_p95 < Duration::from_millis(1), "{calm:?}");
        assert!(calm.jain.unwrap() > 0.99, "the second and the last do not count: {calm:?}");
        let full = late("30Mbit 30Mbit:start=4s");
        assert!(full.loss > 0.1 && full.queue_p95 > Duration::from_millis(15), "{full:?}");
        assert_eq!(full.jain, None);
    }

    #[test]
    fn harm_is_what_others_keep_of_what_their_own_kind_leaves() {
        let (scenario, results) = simulated("25Mbit 30Mbit:start=4s pcc:start=1s", 1);
        let asked = Harm::asks_for(&scenario);
        let kinds: Vec<_> = asked.iter().map(|(kind, _)| kind.clone()).collect();
        assert_eq!(kinds, [25.0, 30.0].map(|mbit| Control::Fixed(pcc::units::Rate::from_mbit(mbit))));
        let (kind, instead) = &asked[0];
        assert_eq!((&instead.flows[2].control, instead.flows[2].start), (kind, Duration::from_secs(1)));
        let harm = Harm::of(&scenario, kind.clone(), &results, &run(instead).unwrap()).unwrap();
        assert!(harm.instead < 20.0 && harm.kept().unwrap() > 1.1, "PCC gives way to a fixed rate: {harm:?}");
        assert!(Harm::asks_for(&simulated("pcc*2", 1).0).is_empty());
    }
}
