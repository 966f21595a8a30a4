//! The functions that can be called, and what they are made of.

use super::operator::Operator;
use super::problem::{Problem, quoted};
use super::tree::Tree;
use crate::utility::nearest::did_you_mean;
use core::ops::Range;

/// A function of the language.
#[derive(Clone, Copy, Debug)]
pub(super) enum Function {
    /// An operation under its own word.
    Plain(Operator),
    /// Two or more arguments, from the left.
    Many(Operator),
    /// clamp(a, least, most) is max(min(a, most), least).
    Clamp,
}

const ALL: [(&str, Function); 10] = [
    ("min", Function::Many(Operator::Min)),
    ("max", Function::Many(Operator::Max)),
    ("abs", Function::Plain(Operator::Abs)),
    ("exp", Function::Plain(Operator::Exp)),
    ("log", Function::Plain(Operator::Log)),
    ("sqrt", Function::Plain(Operator::Sqrt)),
    ("sigmoid", Function::Plain(Operator::Sigmoid)),
    ("clamp", Function::Clamp),
    ("if", Function::Plain(Operator::If)),
    ("known", Function::Plain(Operator::Known)),
];

impl Function {
    pub(super) fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|(known, _)| *known == name).map(|(_, function)| function)
    }

    /// The message for a function that does not exist.
    pub(super) fn unknown(name: &str, at: Range<usize>) -> Problem {
        let names = ALL.map(|(name, _)| name);
        let meant = did_you_mean(name, &names);
        Problem::new(at, format!("{} is no function; choose from {}{meant}", quoted(name), names.join(", ")))
    }

    /// Its call with these arguments, which stands here.
    ///
    /// Errors: too few of them or too many.
    pub(super) fn apply(self, name: &str, at: Range<usize>, mut arguments: Vec<Tree>) -> Result<Tree, Problem> {
        let (wanted, fits) = match self {
            Self::Plain(operator) => (operator.operands().to_string(), arguments.len() == operator.operands()),
            Self::Many(_) => ("2 or more".to_owned(), arguments.len() >= 2),
            Self::Clamp => ("3".to_owned(), arguments.len() == 3),
        };
        if !fits {
            return Err(Problem::new(at, format!("`{name}` takes {wanted} arguments; these are {}", arguments.len())));
        }
        let pair = |operator, a: Tree, b: Tree| Tree::apply(at.clone(), operator, vec![a, b]);
        Ok(match self {
            Self::Plain(operator) => Tree::apply(at, operator, arguments),
            Self::Many(operator) => {
                let first = arguments.remove(0);
                arguments.into_iter().fold(first, |all, next| pair(operator, all, next))
            }
            Self::Clamp => {
                let (most, least) = (arguments.remove(2), arguments.remove(1));
                pair(Operator::Max, pair(Operator::Min, arguments.remove(0), most), least)
            }
        })
    }
}
