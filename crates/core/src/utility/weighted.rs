use super::built_in::{BuiltIn, UtilityInfo};
use super::function::Utility;
use super::parameter::Parameter;
use crate::interval::Report;

/// The least share of the data that counts as having arrived.
const LEAST_ARRIVED: f64 = 1e-6;

/// x − (x/s)·(1/(1−L) − 1): senders that are told to have the share s of one link take it. In Mbit/s.
/// Source: `NSDI 2018` §3.3, where 1/s is written `c_i`.
///
/// On a full link 1/(1−L) − 1 is by how much all senders together exceed the capacity. Where their shares sum to one,
/// the only stable state is that each has its share, without loss.
///
/// Where nothing arrives the excess is without bound, and would be no number. So the arriving share counts as a
/// millionth at least: less cannot be told from nothing, and its utility is below every other at that rate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weighted {
    /// The share s of the link's capacity that this sender is to have, 0 to 1. No default: with the 0 that `default()` leaves here it is
    /// defined for no interval, and its sender decides nothing.
    pub share: f64,
}

impl Utility for Weighted {
    fn evaluate(&self, report: &Report) -> f64 {
        let x = report.achieved.mbit();
        x - x / self.share * (1.0 / (1.0 - report.loss()).max(LEAST_ARRIVED) - 1.0)
    }

    fn name(&self) -> &str {
        Self::INFO.name
    }
}

/// The same in the language of `docs/utility.md`.
const TEXT: &str = "\
# weighted: takes its share of a link whose senders all have one (NSDI 2018, section 3.3).
let share = 0.5;
# Where nothing arrives the loss would cost without bound: a millionth counts as arrived.
x - x/share*(1/max(1 - L, 1e-6) - 1)
";

impl BuiltIn for Weighted {
    const INFO: UtilityInfo = UtilityInfo {
        name: "weighted",
        summary: "takes the share of the link that it is given, where all senders are given one",
        formula: "x - x/share*(1/max(1 - L, 1e-6) - 1); share has no default",
        unit: "Mbit/s",
        source: "NSDI 2018, section 3.3 (c_i = 1/share)",
        traps: &[
            "shares hold among senders that all use it, and sum to one; a share without the others' is only a tolerance",
            "proportional to x: alone it fills the path up to a random loss of share/(1 + share), and stops above",
        ],
        text: TEXT,
    };

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        vec![Parameter::number("share", &mut self.share, 1e-6..=1.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;

    /// The gain of a sender by 1 % more, if it has x of a full link of 100 Mbit/s and the others the rest.
    fn gain(share: f64, x: f64) -> f64 {
        let utility = Weighted { share };
        let at = |x: f64, others: f64| {
            let loss = (1.0 - 100.0 / (x + others)).max(0.0);
            utility.evaluate(&Report { lost: crate::units::Bytes::new((loss * 1e6).round() as u64), ..report(x, 0.0) })
        };
        at(x * 1.01, 100.0 - x) - at(x, 100.0 - x)
    }

    #[test]
    fn it_wants_more_below_its_share_and_not_above() {
        for share in [0.1, 0.25, 0.5] {
            assert!(gain(share, 95.0 * share) > 0.0 && gain(share, 105.0 * share) < 0.0, "{share}");
        }
    }

    #[test]
    fn losing_everything_has_the_least_utility() {
        let worth = |mbit: f64, loss: f64| Weighted { share: 0.5 }.evaluate(&report(mbit, loss));
        assert!((worth(10.0, 1.0) / -2e7 - 1.0).abs() < 1e-5, "{}", worth(10.0, 1.0));
        assert!(worth(10.0, 1.0) < worth(10.0, 0.999) && worth(11.0, 1.0) < worth(10.0, 1.0));
        assert_eq!(worth(0.0, 1.0), 0.0);
    }
}
