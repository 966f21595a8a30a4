//! Going on from a decision without probes: as long as each step is worth more than the one before it, or less where it turned
//! back. Source: the authors' program of `SIGCOMM 2020`; `NSDI 2018` probes for each step.

use super::round::Probed;
use crate::interval::Report;

/// A run of steps in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moving {
    /// +1 or −1.
    direction: f64,
    /// The utility of the rate before this step.
    last: Probed,
    /// Steps whose worth is known.
    steps: u8,
    launched: bool,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// Another one in its direction, by this gradient.
    On(f64),
    /// Back by this gradient, whose sign is the other one, and then a round of probes. 0 if the rate did not change.
    Back(f64),
    /// It helped, and there have been so many that a round of probes is due.
    Enough,
}

impl Moving {
    /// From the better side of a round, in the direction of this gradient.
    pub(super) const fn from(last: Probed, gradient: f64) -> Self {
        Self { direction: gradient.signum(), last, steps: 0, launched: false }
    }

    /// Whether this step is not on its way yet; from now on it is.
    pub(super) const fn launch(&mut self) -> bool {
        !core::mem::replace(&mut self.launched, true)
    }

    /// Takes in what a step is worth, at most so many of them in a row.
    pub(super) fn on_result(&mut self, report: &Report, utility: f64, most: u8) -> Step {
        let probed = Probed::of(report, utility);
        let gradient = self.last.gradient(&probed, 0.0);
        if gradient * self.direction <= 0.0 {
            return Step::Back(gradient);
        }
        (self.last, self.launched) = (probed, false);
        self.steps = self.steps.saturating_add(1);
        if self.steps < most { Step::On(gradient) } else { Step::Enough }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;

    fn at(mbit: f64, utility: f64) -> Probed {
        Probed::of(&report(mbit, 0.0), utility)
    }

    #[test]
    fn a_better_step_goes_on_and_a_worse_one_goes_back() {
        for (gradient, mbit, utility, said) in [
            (1.0, 52.0, 14.0, Step::On(2.0)),
            (1.0, 52.0, 6.0, Step::Back(-2.0)),
            (-1.0, 48.0, 14.0, Step::On(-2.0)),
            (-1.0, 48.0, 6.0, Step::Back(2.0)),
            (1.0, 50.0, 20.0, Step::Back(0.0)),
            // The host sent slower than before, and that was worth less: more is better still.
            (1.0, 48.0, 6.0, Step::On(2.0)),
        ] {
            let mut moving = Moving::from(at(50.0, 10.0), gradient);
            assert!(moving.launch() && !moving.launch());
            let found = moving.on_result(&report(mbit, 0.0), utility, 255);
            assert_eq!(found, said, "{mbit} Mbit/s, worth {utility}");
            assert_eq!(moving.launch(), matches!(found, Step::On(_)));
        }
    }

    #[test]
    fn steps_are_compared_in_turn_and_their_number_is_bounded() {
        let mut moving = Moving::from(at(50.0, 10.0), 1.0);
        assert_eq!(moving.on_result(&report(51.0, 0.0), 12.0, 3), Step::On(2.0));
        assert_eq!(moving.on_result(&report(53.0, 0.0), 13.0, 3), Step::On(0.5));
        assert_eq!(moving.on_result(&report(54.0, 0.0), 14.0, 3), Step::Enough);
    }
}
