//! The disturbances that a sender bears.

use super::Game;
use pcc::interval::Previous;
use pcc::units::Rate;
use pcc::utility::{Preference, SIDE, SenderView};

/// A disturbance that does not depend on the sender's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// A share of its packets is lost. From 0 to 1.
    Loss,
    /// A share of its packets is marked (ECN). From 0 to 1.
    Marks,
    /// The RTT grows. Unit: s/s.
    Growth,
    /// The RTT scatters, with this standard deviation. Unit: s.
    Deviation,
    /// A queue of others stands before it. Unit: s.
    Queue,
}

/// The most of it that a sender bears before it wants less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bears {
    /// Up to this.
    UpTo(f64),
    /// As much as there may be.
    Any,
    /// None: it wants less even without.
    Nothing,
    /// The utility is not defined with some of it.
    Undefined,
}

impl Disturbance {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Loss, Self::Marks, Self::Growth, Self::Deviation, Self::Queue];

    /// The least and the most that is asked about: nobody measures less, and no path has more.
    const fn range(self) -> (f64, f64) {
        match self {
            Self::Loss | Self::Marks => (1e-6, 0.99),
            Self::Growth => (1e-8, 10.0),
            Self::Deviation | Self::Queue => (1e-6, 10.0),
        }
    }

    /// The view of an interval at this rate with this amount of it.
    fn sight(self, rate: f64, base: f64, amount: f64) -> SenderView {
        let clear = SenderView { own_loss: None, ..SenderView::clear(rate, base) };
        match self {
            Self::Loss => SenderView { loss: amount, ..clear },
            Self::Marks => SenderView { marks: amount, ..clear },
            Self::Growth => SenderView { queue: (0.0, amount * clear.seconds), ..clear },
            Self::Deviation => SenderView { noise: amount, ..clear },
            Self::Queue => SenderView { queue: (amount, amount), ..clear },
        }
    }
}

/// Steps of the search from the least to the most, and halvings of the step found.
const STEPS: u32 = 400;
const HALVINGS: u32 = 40;

impl Game<'_> {
    /// The most of a disturbance that a sender at this rate bears: with more, a lower rate has a higher utility.
    pub fn bears(&self, what: Disturbance, rate: Rate) -> Bears {
        let wish = |amount: f64| self.wish_under(what, rate.mbit(), amount);
        match wish(0.0) {
            Preference::More => {}
            Preference::Undefined => return Bears::Undefined,
            Preference::Indifferent | Preference::Less => return Bears::Nothing,
        }
        let (least, most) = what.range();
        let amount = |step: u32| least * (most / least).powf(f64::from(step) / f64::from(STEPS));
        let Some(step) = (0..=STEPS).find(|step| wish(amount(*step)) != Preference::More) else { return Bears::Any };
        if wish(amount(step)) == Preference::Undefined {
            return Bears::Undefined;
        }
        let (mut low, mut high) = (if step == 0 { 0.0 } else { amount(step - 1) }, amount(step));
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            *(if wish(middle) == Preference::More { &mut low } else { &mut high }) = middle;
        }
        Bears::UpTo(low)
    }

    fn wish_under(&self, what: Disturbance, rate: f64, amount: f64) -> Preference {
        let base = self.path.base_rtt.as_secs_f64();
        let own_loss = self.foresees.then_some(0.0); // of what happens to it, none is its doing
        let previous: Option<Previous> = Some(what.sight(rate, base, amount).report().summary());
        let at = |factor: f64| {
            let sight = SenderView { own_loss, previous, ..what.sight(rate * factor, base, amount) };
            self.utility.evaluate(&sight.report())
        };
        Preference::between(at(1.0 - SIDE), at(1.0 + SIDE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bottleneck;
    use core::time::Duration;
    use pcc::control::Law;
    use pcc::utility::parse;

    fn bears(written: &str, what: Disturbance, mbit: f64) -> Bears {
        let rate = Rate::from_mbit(mbit);
        let path = Bottleneck {
            capacity: rate,
            base_rtt: Duration::from_millis(30),
            buffer: Duration::from_millis(30),
            loss: 0.0,
        };
        let utility = parse(written).unwrap();
        Game::new(&*utility, &Law::suited_to(&*utility), path).bears(what, rate)
    }

    fn is_near(found: Bears, expected: f64, tolerance: f64) {
        let Bears::UpTo(found) = found else { panic!("{found:?} is not {expected}") };
        assert!((found / expected - 1.0).abs() < tolerance, "{found} is not {expected}");
    }

    /// t·x^(t − 1) is what a Mbit/s more is worth: by the price of loss, growth and deviation.
    #[test]
    fn vivace_bears_less_the_faster_the_path_is() {
        for (mbit, loss, growth, deviation) in [
            (0.5, 0.085, 10.7e-4, 0.64e-3),
            (1.0, 0.079, 10.0e-4, 0.60e-3),
            (10.0, 0.063, 7.9e-4, 0.48e-3),
            (100.0, 0.050, 6.3e-4, 0.38e-3),
            (1000.0, 0.040, 5.0e-4, 0.30e-3),
            (10_000.0, 0.032, 4.0e-4, 0.24e-3),
        ] {
            is_near(bears("vivace", Disturbance::Loss, mbit), loss, 0.02);
            is_near(bears("vivace", Disturbance::Growth, mbit), growth, 0.02);
            is_near(bears("scavenger,jitter=1ns,d=1500", Disturbance::Deviation, mbit), deviation, 0.02);
        }
    }

    #[test]
    fn safe_bears_losses_to_where_its_reward_is_gone() {
        for mbit in [1.0, 100.0] {
            is_near(bears("safe", Disturbance::Loss, mbit), 0.0744, 0.002);
            is_near(bears("safe,steepness=1000", Disturbance::Loss, mbit), 0.0528, 0.002);
        }
        assert_eq!(bears("safe", Disturbance::Queue, 100.0), Bears::Any);
    }

    #[test]
    fn fair_bears_its_queue_and_as_much_of_losses_as_of_marks() {
        is_near(bears("fair", Disturbance::Queue, 100.0), 0.6e-3, 0.01);
        is_near(bears("fair", Disturbance::Loss, 100.0), 0.006, 0.01);
        is_near(bears("fair", Disturbance::Marks, 100.0), 0.006, 0.01);
    }

    #[test]
    fn what_is_not_priced_is_borne_and_what_is_not_wanted_is_not() {
        assert_eq!(bears("loss-resilient", Disturbance::Loss, 10.0), Bears::Any);
        assert_eq!(bears("rate-limiter,limit=20Mbit", Disturbance::Loss, 40.0), Bears::Nothing);
        assert_eq!(bears("x*(1 - log(q/1ms))", Disturbance::Loss, 10.0), Bears::Undefined);
    }
}
