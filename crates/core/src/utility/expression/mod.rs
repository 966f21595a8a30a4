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

use super::prices_queue::prices_queue;
use super::{ParseUtilityError, Utility};
use crate::interval::Report;
use core::str::FromStr;

crate::shared::shared_with_c!("EXPRESSION_"[program]);

/// A utility that somebody wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    program: Program,
    prices_queue: bool,
}

impl Expression {
    /// Reads a text, with other values for some of the constants that it defines: pairs of a name and a value with its
    /// unit, `("b", "2")`.
    ///
    /// Errors: as [`FromStr`]; or the text defines no such constant, or of another unit.
    pub fn with(text: &str, settings: &[(String, String)]) -> Result<Self, ParseUtilityError> {
        let tree = syntax::parse(text).map_err(|problem| problem.explain(text))?;
        let program = compile::compile(&tree, settings).map_err(|failure| match failure {
            compile::Failure::Text(problem) => problem.explain(text),
            compile::Failure::Setting(what) => ParseUtilityError::new(what),
        })?;
        let expression = Self { text: text.trim().to_owned(), program, prices_queue: false };
        let prices_queue = prices_queue(&expression);
        Ok(Self { prices_queue, ..expression })
    }

    /// The names that [`Expression::with`] takes: of the constants that a text defines, if it is an expression.
    pub fn constants(text: &str) -> Vec<String> {
        syntax::parse(text).map_or_else(|_| Vec::new(), |tree| compile::constants(&tree))
    }

    /// The compiled program.
    pub const fn program(&self) -> &Program {
        &self.program
    }
}

impl FromStr for Expression {
    type Err = ParseUtilityError;

    /// Errors: the text is no expression, has names or units that do not fit, or is too long; the error points at the
    /// spot.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::with(text, &[])
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

    /// Found out by asking it: whether at rates from 1 Mbit/s to 1 Gbit/s it wants more on an empty path, and less behind
    /// some queue of up to a second; unless growth has its price at once and the queue only from some length on.
    fn prices_queue(&self) -> bool {
        self.prices_queue
    }

    fn panic_loss(&self) -> f64 {
        self.program.panic_loss()
    }
}
