//! All that a computation finds out about a utility on a path.

use crate::objective::Objective;
use crate::{Bears, Bottleneck, Disturbance, Equilibria, Game, Shape, Trap};
use core::time::Duration;
use pcc::units::Rate;

/// All of it.
#[derive(Debug)]
pub struct Findings {
    /// The utility and its law.
    pub objective: Objective,
    /// The path.
    pub path: Bottleneck,
    /// Along a lone sender's rate: before an empty queue, and behind a full one.
    pub shapes: [(&'static str, Shape); 2],
    /// Where senders settle, for each number of them.
    pub equilibria: Vec<Equilibria>,
    /// At these rates: a tenth of the path's, its own, ten times that.
    pub rates: [Rate; 3],
    /// The disturbances that a sender bears at each of `rates`.
    pub bears: Vec<(Disturbance, [Bears; 3])>,
    /// Known traps.
    pub traps: Vec<Trap>,
}

impl Findings {
    /// On this path, for so many senders each.
    pub fn of(objective: Objective, path: Bottleneck, senders: &[u32]) -> Self {
        let game = objective.game(path);
        let shape = |queue| game.shape(Rate::ZERO, queue);
        let shapes = [("an empty queue", shape(Duration::ZERO)), ("a full buffer", shape(path.buffer))];
        let equilibria = senders.iter().map(|senders| game.settle(*senders)).collect();
        let rates = [0.1, 1.0, 10.0].map(|factor| path.capacity * factor);
        let bears = Disturbance::ALL.map(|what| (what, rates.map(|rate| game.bears(what, rate)))).to_vec();
        let traps = game.traps();
        Self { objective, path, shapes, equilibria, rates, bears, traps }
    }

    /// The game that all of it is found out by.
    pub fn game(&self) -> Game<'_> {
        self.objective.game(self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_utility_that_backs_off_for_no_loss_is_found_to_want_ever_more() {
        let path = Bottleneck {
            capacity: Rate::from_mbit(100.0),
            base_rtt: Duration::from_millis(30),
            buffer: Duration::from_millis(30),
            loss: 0.0,
        };
        let found = |written: &str| Findings::of(Objective::new(written, written, None, &[]).unwrap(), path, &[1, 10]);
        let (fair, resilient) = (found("fair"), found("loss-resilient"));
        assert!(fair.traps.is_empty() && fair.equilibria[1].stable.len() == 1, "{fair:?}");
        assert!(!resilient.traps.is_empty() && resilient.equilibria[1].unbounded, "{resilient:?}");
    }
}
