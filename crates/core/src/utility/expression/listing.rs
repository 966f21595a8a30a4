//! A program as a line of text, for what runs it elsewhere: `pcc-utility/1 panic_loss=0.5 x 0.9 pow x L mul sub`.

use super::operator::Operator;
use super::program::{Op, Program};
use super::variable::Variable;
use crate::utility::ParseUtilityError;
use core::fmt;
use core::str::FromStr;

/// The beginning of a listing. The number changes with the meaning of any word.
const VERSION: &str = "pcc-utility/1";
/// A listing is no longer: each word of the largest program has at most 25 letters.
const LONGEST: usize = 16 << 10;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{VERSION} panic_loss={:?}", self.panic_loss())?;
        for op in self.ops() {
            match op {
                // The shortest digits that give the same number again.
                Op::Push(value) => write!(f, " {value:?}")?,
                Op::Load(variable) => write!(f, " {}", variable.names()[0])?,
                Op::Set(slot) => write!(f, " set{slot}")?,
                Op::Get(slot) => write!(f, " get{slot}")?,
                Op::Apply(operator) => write!(f, " {}", operator.word())?,
            }
        }
        Ok(())
    }
}

impl FromStr for Program {
    type Err = ParseUtilityError;

    /// Errors: another version, a word that is none, or steps that leave a program's bounds.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |what: String| ParseUtilityError::new(format!("not a program's listing: {what}"));
        if text.len() > LONGEST {
            return Err(error(format!("it has {} bytes; at most {LONGEST}", text.len())));
        }
        let mut words = text.split_ascii_whitespace();
        if words.next() != Some(VERSION) {
            return Err(error(format!("it does not begin with `{VERSION}`")));
        }
        let panic_loss = words.next().and_then(|word| word.strip_prefix("panic_loss=")?.parse().ok());
        let panic_loss = panic_loss.ok_or_else(|| error("panic_loss=NUMBER does not come next".to_owned()))?;
        let ops = words.map(|word| op(word).ok_or_else(|| error(format!("`{word}` is no operation"))));
        let ops = ops.collect::<Result<Vec<_>, _>>()?;
        Self::new(ops, panic_loss).map_err(|invalid| error(format!("its steps are no program ({invalid:?})")))
    }
}

fn op(word: &str) -> Option<Op> {
    let slot = |prefix| word.strip_prefix(prefix).and_then(|slot| slot.parse().ok());
    let operator = Operator::ALL.into_iter().find(|operator| operator.word() == word);
    let variable = Variable::ALL.into_iter().find(|variable| variable.names()[0] == word);
    None.or(operator.map(Op::Apply))
        .or(variable.map(Op::Load))
        .or_else(|| slot("set").map(Op::Set))
        .or_else(|| slot("get").map(Op::Get))
        .or_else(|| word.parse().ok().filter(|value: &f64| value.is_finite()).map(Op::Push))
}
