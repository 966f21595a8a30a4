//! Analyses a utility on a path, by computation alone: where its senders settle, which disturbances they bear, and the
//! traps.
//!
//! Senders share one first-in-first-out bottleneck, as fluids. How congested it is, is one number: from hardly used, over
//! full use with a queue of any length, to a full buffer that overflows. For each such [`State`] a utility says
//! whether a sender of some rate wants more or less; where it changes its mind, senders settle ([`Game::settle`]).
//!
//! A law that compares what two rates achieved sees what its own rate does to the queue within an interval. One that
//! foresees the queue ([`Law::Ascent`]) takes the queue for a price that everybody pays alike. Both are modelled; what a
//! law does beyond that, its steps and its noise, is not: that is what simulations are for.

mod bears;
mod choice;
pub mod file;
mod findings;
pub mod formula;
mod objective;
mod settle;
mod shape;
mod traps;

pub use bears::{Bears, Disturbance};
pub use choice::{Choice, ChoiceError};
pub use findings::Findings;
pub use objective::{LawChoice, Objective, ObjectiveError, Setting};
pub use settle::{Equilibria, Settled};
pub use shape::Shape;
pub use traps::Trap;

use core::time::Duration;
use pcc::control::Law;
use pcc::interval::Previous;
use pcc::units::Rate;
use pcc::utility::{OF_A_QUEUE, Preference, SIDE, SenderView, Utility};

/// The path that senders share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bottleneck {
    /// Its capacity.
    pub capacity: Rate,
    /// RTT without a queue.
    pub base_rtt: Duration,
    /// Queueing delay when the buffer is full.
    pub buffer: Duration,
    /// Share of packets that get lost behind it, whatever is sent; 0 to 1.
    pub loss: f64,
}

/// How congested the path is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// The rate of all senders together.
    pub total: Rate,
    /// Queueing delay.
    pub queue: Duration,
}

/// A utility, the kind of law that climbs it, and a path.
#[derive(Clone, Copy, Debug)]
pub struct Game<'a> {
    utility: &'a dyn Utility,
    path: Bottleneck,
    /// The queue is a price.
    foresees: bool,
}

impl<'a> Game<'a> {
    /// Senders with this utility and law on this path. Rates of zero and shares beyond 1 are moved to the nearest path
    /// that there could be.
    pub fn new(utility: &'a dyn Utility, law: &Law, path: Bottleneck) -> Self {
        let path = Bottleneck {
            capacity: path.capacity.max(Rate::from_mbit(1e-3)),
            base_rtt: path.base_rtt.max(Duration::from_micros(1)),
            buffer: path.buffer.max(Duration::from_nanos(100)),
            loss: path.loss.clamp(0.0, 0.99),
        };
        Self { utility, path, foresees: matches!(law, Law::Ascent(_)) }
    }

    /// The path.
    pub const fn path(&self) -> &Bottleneck {
        &self.path
    }

    /// The utility.
    pub const fn utility(&self) -> &'a dyn Utility {
        self.utility
    }

    /// The utility of an interval at this rate while others send so much, begun behind a queue of this length; `None`
    /// where it is not defined.
    pub fn value(&self, rate: Rate, others: Rate, queue: Duration) -> Option<f64> {
        let sight = self.sight(rate.mbit(), others.mbit(), queue.as_secs_f64(), None);
        Some(self.utility.evaluate(&sight.report())).filter(|value| value.is_finite())
    }

    /// The queue after an interval of one round trip in which all send so much. Units: Mbit/s, s.
    fn queue_after(&self, total: f64, queue: f64) -> f64 {
        let seconds = self.path.base_rtt.as_secs_f64() + queue;
        let grown = queue + (total / self.path.capacity.mbit() - 1.0) * seconds;
        grown.clamp(0.0, self.path.buffer.as_secs_f64())
    }

    /// The view of an interval of one round trip.
    fn sight(&self, rate: f64, others: f64, queue: f64, previous: Option<Previous>) -> SenderView {
        let (capacity, buffer) = (self.path.capacity.mbit(), self.path.buffer.as_secs_f64());
        let base = self.path.base_rtt.as_secs_f64();
        let seconds = base + queue;
        let total = rate + others;
        let wanted = queue + (total / capacity - 1.0) * seconds;
        let end = self.queue_after(total, queue);
        // The share of the sent bytes that do not fit any more.
        let overflow = ((wanted - buffer).max(0.0) * capacity / (total * seconds).max(1e-12)).min(1.0);
        let loss = 1.0 - (1.0 - self.path.loss) * (1.0 - overflow);
        let mut sight =
            SenderView { rate, loss, queue: (queue, end), seconds, previous, ..SenderView::clear(rate, base) };
        if self.foresees {
            sight.growth = Some((end - queue) / seconds.max(1e-9));
            sight.queue = (queue, queue);
            sight.own_loss = Some(overflow);
            sight.foreseen = OF_A_QUEUE * queue;
        }
        sight
    }

    /// Which way a sender at this rate wants to go, while all together send so much. Units: Mbit/s, s.
    fn wish(&self, rate: f64, total: f64, queue: f64) -> Preference {
        let others = (total - rate).max(0.0);
        let previous = self.sight(rate, others, queue, None).report().summary();
        let at = |factor: f64| {
            let sight = self.sight(rate * factor, others, queue, Some(previous));
            self.utility.evaluate(&sight.report())
        };
        Preference::between(at(1.0 - SIDE), at(1.0 + SIDE))
    }
}

/// How many senders with this utility want ever more, whatever is lost; `None` if they give way. Such senders fill each queue
/// that they share, and lose ever more. Looked for on a path of 100 Mbit/s and 30 ms.
pub fn insatiable(utility: &dyn Utility) -> Option<u32> {
    let path = Bottleneck {
        capacity: Rate::from_mbit(100.0),
        base_rtt: Duration::from_millis(30),
        buffer: Duration::from_millis(30),
        loss: 0.0,
    };
    let law = Law::suited_to(utility);
    let game = Game::new(utility, &law, path);
    [1, 2, 10].into_iter().find(|senders| game.settle(*senders).unbounded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc::utility::parse;

    #[test]
    fn an_interval_sees_what_its_own_rate_does_to_the_queue() {
        let path = Bottleneck {
            capacity: Rate::from_mbit(100.0),
            base_rtt: Duration::from_millis(30),
            buffer: Duration::from_millis(30),
            loss: 0.0,
        };
        let linear = parse("linear").unwrap();
        let game = Game::new(&*linear, &Law::Allegro(Default::default()), path);
        let sight = game.sight(60.0, 60.0, 0.0, None);
        assert!((sight.queue.1 - 0.006).abs() < 1e-12, "a fifth too much for 30 ms: {sight:?}");
        let sight = game.sight(60.0, 60.0, 0.03, None);
        assert!((sight.loss - 1.0 / 6.0).abs() < 1e-12 && sight.queue.1 == 0.03, "{sight:?}");
        let sight = game.sight(40.0, 40.0, 0.03, None);
        assert!((sight.queue.1 - 0.018).abs() < 1e-12 && sight.loss == 0.0, "{sight:?}");
        let foreseeing = Game::new(&*linear, &Law::Ascent(Default::default()), path).sight(60.0, 60.0, 0.0, None);
        assert_eq!(foreseeing.queue, (0.0, 0.0));
        assert!((foreseeing.growth.unwrap() - 0.2).abs() < 1e-12);
    }
}
