//! Whether a utility is concave in a sender's own rate.

use super::Game;
use core::time::Duration;
use pcc::units::Rate;
use pcc::utility::{SAME, SenderView};

/// A utility along a sender's own rate, while others and the queue before it stay as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// Where it is largest among its neighbours. Several: which one a sender finds depends on where it began.
    pub peaks: Vec<Rate>,
    /// The first rates between which it bends upwards, if it does: there it is not concave.
    pub convex: Option<(Rate, Rate)>,
    /// It is not defined at some of the rates.
    pub undefined: bool,
}

/// From a hundredth to twice of what the path carries.
const RANGE: (f64, f64) = (0.01, 2.0);
const STEPS: u32 = 400;
/// A bend counts if it changes the slope by this share: sums of terms that nearly cancel are not exact.
const BEND: f64 = 1e-6;

impl Game<'_> {
    /// The curve that is climbed: the utility at rates from a hundredth of the capacity to twice of it; `None` where it
    /// is not defined.
    ///
    /// A law that foresees the queue climbs the gains of the steps from rate to rate, each behind the queue that the
    /// rate would find. So the queue is a price, and the curve is the sum of the gains.
    pub fn curve(&self, others: Rate, queue: Duration) -> Vec<(Rate, Option<f64>)> {
        let (least, most) = RANGE;
        let rate = |step: u32| self.path.capacity * (least + (most - least) * f64::from(step) / f64::from(STEPS));
        if !self.foresees {
            return (0..=STEPS).map(|step| (rate(step), self.value(rate(step), others, queue))).collect();
        }
        let (others, begin) = (others.mbit(), queue.as_secs_f64());
        let priced = |rate: f64, queue: f64| {
            let sight = SenderView { queue: (queue, queue), ..self.sight(rate, others, begin, None) };
            self.utility.evaluate(&sight.report())
        };
        let mut sum = priced(rate(0).mbit(), begin);
        let later = (1..=STEPS).map(|step| {
            let (from, to) = (rate(step - 1).mbit(), rate(step).mbit());
            let queue = self.queue_after(f64::midpoint(from, to) + others, begin);
            sum += priced(to, queue) - priced(from, queue);
            (rate(step), Some(sum).filter(|value| value.is_finite()))
        });
        let first = (rate(0), Some(priced(rate(0).mbit(), begin)).filter(|value| value.is_finite()));
        core::iter::once(first).chain(later).collect()
    }

    /// Peaks and bends of that curve.
    pub fn shape(&self, others: Rate, queue: Duration) -> Shape {
        let curve = self.curve(others, queue);
        let known: Vec<(Rate, f64)> = curve.iter().filter_map(|(rate, value)| Some((*rate, (*value)?))).collect();
        let mut shape = Shape { undefined: known.len() < curve.len(), ..Shape::default() };
        let size = known.iter().map(|(_, value)| value.abs()).fold(0.0, f64::max);
        let slopes: Vec<f64> = known.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
        let steepest = slopes.iter().map(|slope| slope.abs()).fold(0.0, f64::max);
        // Where it rose to last; a plateau is one peak, at its lower end.
        let (mut top, mut falls) = (0, false);
        for (place, slope) in slopes.iter().enumerate() {
            if slope.abs() <= SAME * size {
                continue;
            }
            if *slope > 0.0 {
                (top, falls) = (place + 1, false);
            } else if !falls {
                falls = true;
                shape.peaks.extend(known.get(top).map(|(rate, _)| *rate));
            }
        }
        if !falls {
            shape.peaks.extend(known.get(top).map(|(rate, _)| *rate));
        }
        let bend = slopes.windows(2).position(|pair| pair[1] > pair[0] + BEND * steepest);
        shape.convex = bend.map(|at| {
            let end = slopes[at..].windows(2).position(|pair| pair[1] <= pair[0]).unwrap_or(slopes.len() - at - 1);
            (known[at].0, known[at + end].0)
        });
        shape
    }
}

impl Shape {
    /// Concave: whoever climbs it arrives at the top, by any steps that are small enough.
    pub const fn is_concave(&self) -> bool {
        self.convex.is_none() && !self.undefined
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bottleneck;
    use pcc::control::Law;
    use pcc::utility::parse;

    fn shape(written: &str) -> Shape {
        let path = Bottleneck {
            capacity: Rate::from_mbit(100.0),
            base_rtt: Duration::from_millis(30),
            buffer: Duration::from_millis(30),
            loss: 0.0,
        };
        let utility = parse(written).unwrap();
        Game::new(&*utility, &Law::suited_to(&*utility), path).shape(Rate::ZERO, path.buffer)
    }

    #[test]
    fn diminishing_returns_are_concave_and_a_cliff_is_not() {
        for written in ["vivace-loss", "rate-limiter,limit=20Mbit", "sqrt(x) - 5*x*q", "log(x) - 1*x*L"] {
            let shape = shape(written);
            assert!(shape.is_concave() && shape.peaks.len() == 1, "{written}: {shape:?}");
        }
        let safe = shape("safe");
        let (from, to) = safe.convex.expect("beyond the cliff it flattens");
        assert!(from.mbit() > 100.0 && to > from, "{safe:?}");
        assert_eq!(safe.peaks.len(), 1, "{safe:?}");
    }

    #[test]
    fn every_peak_is_found() {
        let shape = shape("abs(x - 50) - 30*L*x");
        let found: Vec<_> = shape.peaks.iter().map(|rate| rate.mbit().round()).collect();
        assert_eq!(found, [1.0, 100.0], "{shape:?}");
        assert!(shape.convex.is_some_and(|(from, to)| from.mbit() < 50.0 && to.mbit() > 49.0), "{shape:?}");
    }

    #[test]
    fn where_it_is_not_defined_it_says_so() {
        let shape = shape("x*log(L)");
        assert!(shape.undefined && !shape.is_concave());
    }
}
