//! The utility as a law sees it.

use crate::interval::Report;
use crate::units::Rate;
use crate::utility::{Outlook, Utility};

/// Ranks intervals for a law. Closures over a report do.
pub trait Worth {
    /// The utility of an interval, or of a variant of it that the law made. Finite.
    fn of(&self, report: &Report) -> f64;

    /// As [`Utility::best_response`].
    fn best_response(&self, _outlook: &Outlook) -> Option<Rate> {
        None
    }
}

impl<F: Fn(&Report) -> f64> Worth for F {
    fn of(&self, report: &Report) -> f64 {
        self(report)
    }
}

/// A utility as laws want it: they compare finite numbers, so where it is not defined for a variant that a law made, that is the
/// worst.
#[derive(Clone, Copy, Debug)]
pub struct Finite<'a>(pub &'a dyn Utility);

impl Worth for Finite<'_> {
    fn of(&self, report: &Report) -> f64 {
        let utility = self.0.evaluate(report);
        if utility.is_finite() { utility } else { f64::MIN / 4.0 }
    }

    fn best_response(&self, outlook: &Outlook) -> Option<Rate> {
        self.0.best_response(outlook)
    }
}
