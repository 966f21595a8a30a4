//! Utilities as text: `x^0.9 - 900*x*max(0, g) - 11.35*x*L`. The language is specified in `docs/utility.md`.
//!
//! ```text
//! text ──▶ syntax: a tree ──▶ compile: names, units ──▶ Program: a stack machine of bounded size
//! ```

mod compile;
mod function;
mod listing;
mod operator;
mod problem;
mod program;
mod syntax;
mod tree;
mod unit;
mod variable;

pub use operator::Operator;
pub use program::{MOST_DEPTH, MOST_OPS, MOST_SLOTS, Op, Program};
pub use variable::Variable;

use super::{ParseUtilityError, Utility};
use crate::interval::Report;
use core::str::FromStr;

/// A utility that somebody wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    program: Program,
}

impl Expression {
    /// What it became.
    pub const fn program(&self) -> &Program {
        &self.program
    }
}

impl FromStr for Expression {
    type Err = ParseUtilityError;

    /// Errors: the text is no expression, has names or units that do not fit, or is too long; the error points at the
    /// spot.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let program = syntax::parse(text).and_then(|tree| compile::compile(&tree));
        let program = program.map_err(|problem| problem.explain(text))?;
        Ok(Self { text: text.trim().to_owned(), program })
    }
}

impl Utility for Expression {
    fn evaluate(&self, report: &Report) -> f64 {
        self.program.run(|variable| variable.of(report))
    }

    /// The text itself.
    fn name(&self) -> &str {
        &self.text
    }

    fn panic_loss(&self) -> f64 {
        self.program.panic_loss()
    }
}
