//! What a utility makes of a path, by computation alone: where senders that climb it settle, what they bear, and the traps.
//!
//! Senders share one first-in-first-out bottleneck, as fluids. How congested it is, is one number: from hardly used, over
//! full use with a queue of any length, to a full buffer that overflows. For each such [`State`] a utility says
//! whether a sender of some rate wants more or less; where it changes its mind, senders settle ([`Game::settle`]).
//!
//! A law that compares what two rates achieved sees what its own rate does to the queue within an interval. One that
//! foresees the queue ([`Law::Ascent`]) takes the queue for a price that everybody pays alike. Both are modelled; what a
//! law does beyond that, its steps and its noise, is not: that is what simulations are for.

mod bears;
mod defined;
mod settle;
mod shape;
mod sight;
mod traps;

pub use bears::{Bears, Disturbance};
pub(super) use defined::nowhere;
pub use settle::{Equilibria, Settled};
pub use shape::Shape;
pub use traps::Trap;

use super::Utility;
use crate::control::Law;
use crate::control::ascent::OF_A_QUEUE;
use crate::interval::Previous;
use crate::units::Rate;
use core::time::Duration;
use sight::Sight;

/// The path that senders share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bottleneck {
    /// What it carries.
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
    /// What all send.
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

/// Which way a sender wants to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    More,
    /// More or less are worth the same.
    Indifferent,
    Less,
    /// The utility is not defined here.
    Undefined,
}

/// Slopes are taken over so much of the rate to both sides, as Ascent does: fine enough for losses of a per mille.
const SIDE: f64 = 1e-3;
/// What differs by less than this share of itself is the same: slopes over [`SIDE`] are not exact, by the third power of it.
const SAME: f64 = 1e-8;

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

    /// What an interval of one round trip sees.
    fn sight(&self, rate: f64, others: f64, queue: f64, previous: Option<Previous>) -> Sight {
        let (capacity, buffer) = (self.path.capacity.mbit(), self.path.buffer.as_secs_f64());
        let base = self.path.base_rtt.as_secs_f64();
        let seconds = base + queue;
        let total = rate + others;
        let wanted = queue + (total / capacity - 1.0) * seconds;
        let end = self.queue_after(total, queue);
        // What does not fit any more, by what was sent.
        let overflow = ((wanted - buffer).max(0.0) * capacity / (total * seconds).max(1e-12)).min(1.0);
        let loss = 1.0 - (1.0 - self.path.loss) * (1.0 - overflow);
        let mut sight = Sight { rate, loss, queue: (queue, end), seconds, previous, ..Sight::clear(rate, base) };
        if self.foresees {
            sight.growth = Some((end - queue) / seconds.max(1e-9));
            sight.queue = (queue, queue);
            sight.own_loss = Some(overflow);
            sight.foreseen = OF_A_QUEUE * queue;
        }
        sight
    }

    /// Which way a sender at this rate wants to go, while all together send so much. Units: Mbit/s, s.
    fn wish(&self, rate: f64, total: f64, queue: f64) -> Wish {
        let others = (total - rate).max(0.0);
        let previous = self.sight(rate, others, queue, None).report().summary();
        let at = |factor: f64| {
            let sight = self.sight(rate * factor, others, queue, Some(previous));
            self.utility.evaluate(&sight.report())
        };
        Wish::between(at(1.0 - SIDE), at(1.0 + SIDE))
    }
}

impl Wish {
    /// Of one who knows what a little less and a little more is worth.
    fn between(less: f64, more: f64) -> Self {
        match more - less {
            change if !change.is_finite() => Self::Undefined,
            change if change.abs() <= SAME * (more.abs() + less.abs()) => Self::Indifferent,
            change if change > 0.0 => Self::More,
            _ => Self::Less,
        }
    }
}

/// Rates and queues at which [`prices_queue`] asks: from a slow access line to a data centre's. Units: Mbit/s, s.
const RATES: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];
const QUEUES: [f64; 4] = [0.001, 0.01, 0.1, 1.0];
/// A growth that nobody overlooks. Unit: s/s.
const GROWTH: f64 = 0.1;
const USUAL_RTT: f64 = 0.03;

/// What [`Utility::prices_queue`] says of a utility that somebody wrote.
///
/// A queue alone, without loss and without growth, makes a sender want less that wants more on an empty path: so it settles
/// before packets are lost, if its law foresees the queue. So does one that is worth less behind a queue, as by its RTT, and
/// wants less on a full path by what the queue will have become in a round trip. One whose price begins at a longer queue but
/// who pays for growth at once is better served by a law that compares rates: `deadline` on 100 Mbit/s and 30 ms keeps 0.3 ms
/// by Allegro, and two of them 0.6 ms, by Ascent 2.7 and 25.9 ms (`pcc utility check deadline --law ascent`).
pub(super) fn prices_queue(utility: &dyn Utility) -> bool {
    let worth = |rate: f64, queue: f64, after: f64, growth: f64| {
        let (ends, foreseen) = ((queue, after), OF_A_QUEUE * queue);
        let clear = Sight::clear(rate, USUAL_RTT);
        let sight = Sight { queue: ends, growth: Some(growth), own_loss: Some(0.0), foreseen, ..clear };
        utility.evaluate(&sight.report())
    };
    let around =
        |rate: f64, queue: f64, growth: f64| [-SIDE, SIDE].map(|side| worth(rate * (1.0 + side), queue, queue, growth));
    let wish = |rate: f64, queue: f64| {
        let [less, more] = around(rate, queue, 0.0);
        Wish::between(less, more)
    };
    let slope = |rate: f64, queue: f64, growth: f64| {
        let [less, more] = around(rate, queue, growth);
        more - less
    };
    let foresees = |rate: f64, queue: f64| {
        let after = |side: f64| worth(rate * (1.0 + side), queue, queue + side * (USUAL_RTT + queue), side);
        let (empty, standing) = (worth(rate, 0.0, 0.0, 0.0), worth(rate, queue, queue, 0.0));
        empty - standing > SIDE * empty.abs() && Wish::between(after(-SIDE), after(SIDE)) == Wish::Less
    };
    let settles = |rate: f64| QUEUES.into_iter().any(|queue| wish(rate, queue) == Wish::Less || foresees(rate, queue));
    let compares = |rate: f64| {
        let clear = slope(rate, 0.0, 0.0);
        slope(rate, 0.0, GROWTH) < clear * (1.0 - SIDE) && slope(rate, QUEUES[0], 0.0) >= clear * (1.0 - SIDE)
    };
    let mut eager = RATES.into_iter().filter(|rate| wish(*rate, 0.0) == Wish::More).peekable();
    eager.peek().is_some() && eager.all(|rate| settles(rate) && !compares(rate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::parse;

    #[test]
    fn a_utility_prices_the_queue_if_the_queue_alone_makes_it_want_less() {
        for (written, prices) in [
            ("fair", true),
            ("sqrt(x) - 100*x*q", true),
            ("x*exp(-q*(x/1Mbit)/20ms)", true),
            ("if(q > 20ms, -x, x)", true),
            ("x^0.9 - 900*x*max(0, g) - 11.35*x*L", false),
            ("T/rtt", true),
            ("x/rtt", false),
            ("log(x) - 5*q", true),
            ("log(x) - 0.5*q", false),
            ("-x*q", false),
            ("1/q", false),
            ("x*(1 - 0.1*q/1s)", false),
            ("x - x*g - 100*x*max(0, q/1s - 0.02)", false),
            ("x - 100*x*max(0, q/1s - 0.02)", true),
        ] {
            assert_eq!(prices_queue(&*parse(written).unwrap()), prices, "{written}");
        }
    }

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
