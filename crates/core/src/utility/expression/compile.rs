//! From a tree to a program: names are looked up, units checked, and what is constant computed.

use super::operator::Operator;
use super::problem::{Problem, quoted};
use super::program::{Invalid, MOST_DEPTH, MOST_OPS, MOST_SLOTS, Op, Program};
use super::tree::{Definition, Node, Script, Tree};
use super::unit::Unit;
use super::variable::Variable;
use crate::utility::nearest::did_you_mean;
use crate::utility::quantity::{Kind, read};
use core::ops::Range;

/// The name whose value is not part of the formula, and what it is where nobody says.
const PANIC_LOSS: (&str, f64) = ("panic_loss", 0.5);

/// The kind of a part of the text.
#[derive(Clone, Copy, Debug)]
enum Type {
    Number(Unit),
    /// The result of a comparison.
    Truth,
}

/// A part that was compiled.
#[derive(Clone, Copy, Debug)]
struct Part {
    of: Type,
    /// Its value, if no measurement can change it: then it is a single step of the program.
    constant: Option<f64>,
}

/// The value of a user's name.
struct Named {
    name: String,
    part: Part,
    /// Where it is, unless it is constant.
    slot: u8,
}

/// Why there is no program.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// Something is wrong with the text.
    Text(Problem),
    /// A constant cannot have the value that was asked for.
    Setting(String),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Text(problem)
    }
}

struct Compiler {
    ops: Vec<Op>,
    named: Vec<Named>,
    slots: usize,
    panic_loss: f64,
}

/// Makes a program of a text, with these values for constants of it.
pub(super) fn compile(script: &Script, settings: &[(String, String)]) -> Result<Program, Failure> {
    let mut compiler = Compiler::default();
    for definition in &script.definitions {
        compiler.define(definition)?;
        for (name, value) in settings.iter().filter(|(name, _)| *name == definition.name) {
            compiler.set(name, value).map_err(Failure::Setting)?;
        }
    }
    if let Some((name, _)) = settings.iter().find(|(name, _)| !compiler.named.iter().any(|named| named.name == *name)) {
        let names = constants(script);
        let (known, meant) = (names.join(", "), did_you_mean(name, &names));
        let choice =
            if names.is_empty() { "it defines none (let NAME = VALUE;)".into() } else { format!("it has {known}") };
        return Err(Failure::Setting(format!("{} is no constant of this utility; {choice}{meant}", quoted(name))));
    }
    Ok(compiler.finish(script)?)
}

/// The constants that a text defines, as far as it can be compiled.
pub(super) fn constants(script: &Script) -> Vec<String> {
    let mut compiler = Compiler::default();
    let _ = script.definitions.iter().try_for_each(|definition| compiler.define(definition));
    compiler.named.into_iter().filter(|named| named.part.constant.is_some()).map(|named| named.name).collect()
}

impl Default for Compiler {
    fn default() -> Self {
        Self { ops: Vec::new(), named: Vec::new(), slots: 0, panic_loss: PANIC_LOSS.1 }
    }
}

impl Compiler {
    fn finish(mut self, script: &Script) -> Result<Program, Problem> {
        let result = &script.result;
        if let Type::Truth = self.part(result)?.of {
            return Err(Problem::new(result.at.clone(), "a utility is a number, and this is a condition; use if(...)"));
        }
        let steps = self.ops.len();
        Program::new(self.ops, self.panic_loss).map_err(|invalid| {
            let what = match invalid {
                Invalid::TooDeep => {
                    format!("this needs a stack of more than {MOST_DEPTH} values; name parts of it with let")
                }
                Invalid::TooLong => format!("this has {steps} operations; a utility has at most {MOST_OPS}"),
                Invalid::Malformed => "this makes no program".to_owned(),
            };
            Problem::new(result.at.clone(), what)
        })
    }

    /// Gives the constant of this name, which was defined just now, another value.
    fn set(&mut self, name: &str, written: &str) -> Result<(), String> {
        let Some(named) = self.named.iter_mut().find(|named| named.name == name) else { return Ok(()) };
        let Part { of: Type::Number(unit), constant: Some(was) } = named.part else {
            return Err(format!("{} is computed from measurements; only constants can be set", quoted(name)));
        };
        let wrong = |what: String| format!("{} is no {name}: {what}", quoted(written));
        let (value, kind) = read(written).ok_or_else(|| wrong("write a number, with its unit if it has one".into()))?;
        // Without a unit it is taken at its word, as in a text.
        let unit = match kind {
            Kind::Plain => unit,
            _ => Unit::of(kind).with(unit).ok_or_else(|| wrong(format!("it is {unit}")))?,
        };
        if name == PANIC_LOSS.0 {
            let share = Some(value).filter(|share| (0.0..=1.0).contains(share));
            self.panic_loss = share.ok_or_else(|| wrong(format!("it is from 0 to 1, and was {was}")))?;
        }
        named.part = Part { of: Type::Number(unit), constant: Some(value) };
        Ok(())
    }

    fn define(&mut self, definition: &Definition) -> Result<(), Problem> {
        let (name, at) = (&definition.name, || definition.at.clone());
        if Variable::named(name).is_some() {
            return Err(Problem::new(at(), format!("{} is a measurement; choose another name", quoted(name))));
        }
        if self.named.iter().any(|named| named.name == *name) {
            return Err(Problem::new(at(), format!("{} is defined already; choose another name", quoted(name))));
        }
        if matches!(name.as_str(), "let" | "not" | "and" | "or") {
            return Err(Problem::new(at(), format!("`{name}` is a word of the language; choose another name")));
        }
        let part = self.part(&definition.value)?;
        let slot = self.slots;
        if part.constant.is_some() {
            self.ops.pop();
        } else if slot == MOST_SLOTS {
            let what = format!("more than {MOST_SLOTS} names for what is not constant");
            return Err(Problem::new(at(), what));
        } else {
            self.slots += 1;
            self.ops.push(Op::Set(slot as u8));
        }
        if *name == PANIC_LOSS.0 {
            self.panic_loss = part.constant.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| {
                Problem::new(definition.value.at.clone(), "panic_loss is a constant from 0 to 1, 1 for never")
            })?;
        }
        self.named.push(Named { name: name.clone(), part, slot: slot as u8 });
        Ok(())
    }

    /// Appends the steps that leave its value on the stack.
    fn part(&mut self, tree: &Tree) -> Result<Part, Problem> {
        match &tree.node {
            Node::Number(value, kind) => {
                self.ops.push(Op::Push(*value));
                Ok(Part { of: Type::Number(Unit::of(*kind)), constant: Some(*value) })
            }
            Node::Name(name) => self.name(name, &tree.at),
            Node::Apply(operator, operands) => self.apply(*operator, operands, &tree.at),
        }
    }

    fn name(&mut self, name: &str, at: &Range<usize>) -> Result<Part, Problem> {
        if let Some(named) = self.named.iter().find(|named| named.name == name) {
            self.ops.push(named.part.constant.map_or(Op::Get(named.slot), Op::Push));
            return Ok(named.part);
        }
        if let Some(variable) = Variable::named(name) {
            self.ops.push(Op::Load(variable));
            return Ok(Part { of: Type::Number(variable.unit()), constant: None });
        }
        let own = self.named.iter().map(|named| named.name.as_str());
        let names: Vec<&str> = Variable::ALL.iter().flat_map(|variable| variable.names()).chain(own).collect();
        let known = Variable::ALL.map(|variable| variable.names()[0]).join(", ");
        let meant = did_you_mean(name, &names);
        Err(Problem::new(at.clone(), format!("{} is no measurement; there are {known}{meant}", quoted(name))))
    }

    fn apply(&mut self, operator: Operator, operands: &[Tree], at: &Range<usize>) -> Result<Part, Problem> {
        let begin = self.ops.len();
        let mut parts = Vec::with_capacity(operands.len());
        for operand in operands {
            parts.push(self.part(operand)?);
        }
        if let (Operator::Divide, [Part { constant: None, .. }, Part { constant: Some(0.0), .. }], [_, divisor]) =
            (operator, &parts[..], operands)
        {
            let what = "this is zero, whatever is measured, and nothing can be divided by it";
            return Err(Problem::new(divisor.at.clone(), what));
        }
        self.ops.push(Op::Apply(operator));
        let constant = |nth: usize| parts.get(nth).map_or(Some(f64::NAN), |part| part.constant);
        let constant = match (constant(0), constant(1), constant(2)) {
            (Some(a), Some(b), Some(c)) => Some(operator.apply(a, b, c)),
            _ => None,
        };
        if let Some(value) = constant {
            if value.is_nan() {
                return Err(Problem::new(at.clone(), "this is not defined, whatever is measured"));
            }
            self.ops.truncate(begin);
            self.ops.push(Op::Push(value));
        }
        Ok(Part { of: type_of(operator, operands, &parts)?, constant })
    }
}

/// The kind of its result, if it can be applied to these.
fn type_of(operator: Operator, operands: &[Tree], parts: &[Part]) -> Result<Type, Problem> {
    use Operator as O;
    let number = |nth: usize| match parts[nth].of {
        Type::Number(unit) => Ok(unit),
        Type::Truth => Err(Problem::new(operands[nth].at.clone(), "this is a condition, where a number is wanted")),
    };
    let truth = |nth: usize| match parts[nth].of {
        Type::Truth => Ok(()),
        Type::Number(_) => Err(Problem::new(operands[nth].at.clone(), "this is a number, where a condition is wanted")),
    };
    let alike = |first: usize, second: usize| {
        let (one, other) = (number(first)?, number(second)?);
        one.with(other).ok_or_else(|| {
            let what = format!("this is {other}, which does not go with {one}; give it a coefficient, as in 2*x, or divide it by its unit, as in q/10ms");
            Problem::new(operands[second].at.clone(), what)
        })
    };
    let without_unit = |nth: usize| {
        let unit = number(nth)?;
        let problem =
            || Problem::new(operands[nth].at.clone(), format!("this is {unit}; make it a ratio, as in q/10ms"));
        unit.may_be_none().then_some(()).ok_or_else(problem)
    };
    Ok(Type::Number(match operator {
        O::Negate | O::Abs => number(0)?,
        O::Add | O::Subtract | O::Min | O::Max => alike(0, 1)?,
        O::Multiply => number(0)?.times(number(1)?, 1.0),
        O::Divide => number(0)?.times(number(1)?, -1.0),
        O::Power => {
            without_unit(1)?;
            let base = number(0)?;
            match parts[1].constant {
                Some(power) => base.to_the(power),
                None if base.may_be_none() => base,
                None => without_unit(0).map(|()| base)?,
            }
        }
        O::Sqrt => number(0)?.to_the(0.5),
        // The logarithm of a rate or a time is allowed: another unit would only add a constant.
        O::Log => number(0).map(|_| Unit::NONE)?,
        O::Exp | O::Sigmoid => without_unit(0).map(|()| Unit::NONE)?,
        O::Less | O::AtMost | O::Greater | O::AtLeast => {
            alike(0, 1)?;
            return Ok(Type::Truth);
        }
        O::Not => return truth(0).map(|()| Type::Truth),
        O::And | O::Or => {
            truth(0)?;
            return truth(1).map(|()| Type::Truth);
        }
        O::Known => return number(0).map(|_| Type::Truth),
        O::If => {
            truth(0)?;
            alike(1, 2)?
        }
    }))
}
