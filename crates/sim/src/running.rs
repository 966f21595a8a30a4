//! A simulation in stretches, for those who watch it.

use crate::results::{Results, Sample};
use crate::scenario::{Flow, Scenario};
use crate::world::{World, begin};
use core::time::Duration;
use pcc::units::Timestamp;
use pcc_link::Impossible;

/// A simulation that has come to some moment. Its results do not depend on the stretches in which it came there.
pub struct Running {
    scenario: Scenario,
    flows: Vec<Flow>,
    world: World,
    at: Duration,
}

impl core::fmt::Debug for Running {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Running").field("scenario", &self.scenario).field("at", &self.at).finish_non_exhaustive()
    }
}

impl Running {
    /// Before its first event.
    ///
    /// Errors: there can be no such path.
    pub fn begin(scenario: Scenario) -> Result<Self, Impossible> {
        let flows = scenario.flows_drawn().into_owned();
        let world = begin(&scenario, &flows)?;
        Ok(Self { scenario, flows, world, at: Duration::ZERO })
    }

    /// Simulates up to this moment, and never beyond the end.
    pub fn pass(&mut self, to: Duration) {
        self.at = to.min(self.scenario.duration).max(self.at);
        self.world.pass(Timestamp::ZERO + self.at);
    }

    /// The moment up to which everything happened.
    pub const fn at(&self) -> Duration {
        self.at
    }

    /// The simulation that it is.
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The samples so far of the flow at `place`.
    pub fn series(&self, place: usize) -> &[Sample] {
        self.world.series(place)
    }

    /// [`Results::waits`] so far.
    pub fn waits(&self) -> &[u32] {
        self.world.waits()
    }

    /// Simulates the rest.
    pub fn end(mut self) -> (Scenario, Results) {
        self.pass(self.scenario.duration);
        let results = self.world.results(&self.scenario, &self.flows);
        (self.scenario, results)
    }
}

/// Runs it. An error if there can be no such path.
pub fn run(scenario: &Scenario) -> Result<Results, Impossible> {
    Ok(Running::begin(scenario.clone())?.end().1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cast;

    #[test]
    fn stretches_of_any_length_give_the_same_results() {
        let Cast(flows) = "pcc cubic:start=random:0..1s 2Mbit:stop=2s".parse().unwrap();
        let path = "rate=20Mbit,rtt=20ms,buffer=40KB,loss=0.5%,jitter=1ms".parse().unwrap();
        let scenario = Scenario::new(path, flows, 7, Duration::from_secs(3));
        let whole = format!("{:?}", run(&scenario).unwrap());
        for millis in [1, 100, 700, 5000] {
            let mut running = Running::begin(scenario.clone()).unwrap();
            while running.at() < scenario.duration {
                running.pass(running.at() + Duration::from_millis(millis));
            }
            assert_eq!((running.series(2).len(), running.waits().len()), (30, 300), "in stretches of {millis} ms");
            assert_eq!(format!("{:?}", running.end().1), whole, "in stretches of {millis} ms");
        }
    }
}
