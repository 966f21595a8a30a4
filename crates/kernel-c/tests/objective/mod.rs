//! A built-in utility as both the core and the kernel take it.

use pcc::control::Worth;
use pcc::interval::Report;
use pcc::units::Rate;
use pcc::utility::expression::Program;
use pcc::utility::{self, Outlook, Utility};
use std::sync::Arc;

/// Its program, so that both evaluate the same operations, and what it says of its best response.
pub(crate) struct Objective {
    pub(crate) program: Program,
    itself: Option<Arc<dyn Utility>>,
}

impl Objective {
    /// The built-in utility of that name, whose text this is, with an example's value where a parameter has none.
    pub(crate) fn built_in(about: &utility::UtilityInfo) -> Self {
        let program = about.text.parse::<utility::Expression>().unwrap().program().clone();
        Self { program, itself: utility::by_name(about.name) }
    }
}

impl Worth for Objective {
    fn of(&self, report: &Report) -> f64 {
        let utility = self.program.run(|variable| variable.of(report));
        if utility.is_finite() { utility } else { f64::MIN / 4.0 }
    }

    fn best_response(&self, outlook: &Outlook) -> Option<Rate> {
        self.itself.as_ref()?.best_response(outlook)
    }
}
