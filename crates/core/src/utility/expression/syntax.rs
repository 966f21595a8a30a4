//! From text to a tree. The grammar is in `docs/utility.md`.

use super::function::Function;
use super::operator::Operator;
use super::problem::{Problem, quoted};
use super::program::MOST_OPS;
use super::tree::{Definition, Node, Script, Tree};
use crate::utility::quantity::{SUFFIXES, quantity};
use core::ops::Range;
use winnow::ModalResult;
use winnow::Parser;
use winnow::ascii::{digit0, digit1, multispace1, till_line_ending};
use winnow::combinator::{Infix, Prefix, alt, cut_err, expression, fail, not, opt, peek, preceded, repeat};
use winnow::error::{ErrMode, ParserError};
use winnow::stream::{LocatingSlice, Location, Stateful, Stream};
use winnow::token::{any, one_of, take_while};

type Input<'a> = Stateful<LocatingSlice<&'a str>, Budget>;
type Parsed<T> = ModalResult<T, Problem>;

/// A text's use of its bounds.
#[derive(Clone, Debug, Default)]
struct Budget {
    /// Numbers, names and signs: each is at least one operation.
    operands: usize,
    /// Brackets that are open.
    nesting: usize,
}

/// Comments included.
const LONGEST_TEXT: usize = 64 << 10;
/// Brackets within brackets; the program's stack bounds what is useful.
const MOST_NESTING: usize = 48;

const OPERAND: &str = "a number, a name or `(`";

/// Reads a whole text.
pub(super) fn parse(text: &str) -> Result<Script, Problem> {
    if text.len() > LONGEST_TEXT {
        let what = format!("the text has {} bytes; a utility has at most {LONGEST_TEXT}", text.len());
        return Err(Problem::new(0..0, what));
    }
    let mut input = Stateful { input: LocatingSlice::new(text), state: Budget::default() };
    script(&mut input).map_err(|error| match error {
        ErrMode::Backtrack(problem) | ErrMode::Cut(problem) => problem,
        ErrMode::Incomplete(_) => Problem::new(text.len()..text.len(), "the text ends too early"),
    })
}

impl ParserError<Input<'_>> for Problem {
    type Inner = Self;

    fn from_input(input: &Input<'_>) -> Self {
        expected(input, OPERAND)
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

/// Something else stands here than expected.
fn expected(input: &Input<'_>, wanted: &str) -> Problem {
    let rest: &str = input.input.as_ref();
    let length = match rest.chars().next() {
        None => 0,
        Some(first) if is_letter(first) => rest.find(|c| !in_name(c)).unwrap_or(rest.len()),
        Some(first) => first.len_utf8(),
    };
    let found = if length == 0 { "the end".to_owned() } else { quoted(&rest[..length]) };
    let hint = match &rest[..length] {
        "<" | ">" => "; comparisons do not chain: write `a < b and b < c`",
        "=" => "; a definition is `let NAME = VALUE;`, and a comparison <, <=, > or >=",
        "&" | "|" | "!" => "; write `and`, `or`, `not`",
        _ => "",
    };
    let start = input.current_token_start();
    Problem::new(start..start + length, format!("expected {wanted}, found {found}{hint}"))
}

fn cut<T>(problem: Problem) -> Parsed<T> {
    Err(ErrMode::Cut(problem))
}

const fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

const fn in_name(c: char) -> bool {
    is_letter(c) || c.is_ascii_digit()
}

/// White space and comments.
fn blank(input: &mut Input<'_>) -> Parsed<()> {
    repeat(0.., alt((multispace1.void(), ('#', till_line_ending).void()))).parse_next(input)
}

fn word<'a>(input: &mut Input<'a>) -> Parsed<&'a str> {
    (one_of(is_letter), take_while(0.., in_name)).take().parse_next(input)
}

/// This letter, or an error that names what else would do.
fn letter(input: &mut Input<'_>, wanted: char, else_wanted: &str) -> Parsed<()> {
    blank(input)?;
    match opt(wanted).parse_next(input)? {
        Some(_) => Ok(()),
        None => cut(expected(input, &format!("{else_wanted} or `{wanted}`"))),
    }
}

fn script(input: &mut Input<'_>) -> Parsed<Script> {
    let mut definitions = Vec::new();
    while opt(preceded(blank, ("let", not(one_of(in_name))))).parse_next(input)?.is_some() {
        definitions.push(definition(input)?);
    }
    let result = tree(input)?;
    blank(input)?;
    if input.eof_offset() > 0 {
        return cut(expected(input, "an operator or the end"));
    }
    Ok(Script { definitions, result })
}

fn definition(input: &mut Input<'_>) -> Parsed<Definition> {
    blank(input)?;
    let Some((name, at)) = opt(word.with_span()).parse_next(input)? else {
        return cut(expected(input, "the name of a constant"));
    };
    let name = name.to_owned();
    letter(input, '=', "after the name of a constant nothing")?;
    count(input, &at)?;
    let value = tree(input)?;
    letter(input, ';', "an operator")?;
    Ok(Definition { name, at, value })
}

/// An expression up to what cannot belong to it.
fn tree(input: &mut Input<'_>) -> Parsed<Tree> {
    expression(operand).prefix(prefix).infix(infix).parse_next(input)
}

/// One more number, name or sign.
fn count(input: &mut Input<'_>, at: &Range<usize>) -> Parsed<()> {
    input.state.operands += 1;
    if input.state.operands > MOST_OPS {
        let what = format!("here begins operation {}; a utility has at most {MOST_OPS}", MOST_OPS + 1);
        return cut(Problem::new(at.clone(), what));
    }
    Ok(())
}

fn operand(input: &mut Input<'_>) -> Parsed<Tree> {
    blank(input)?;
    let start = input.current_token_start();
    match opt(peek(any)).parse_next(input)? {
        Some('0'..='9' | '.') => number(input),
        Some('(') => bracket(input, start),
        Some(c) if is_letter(c) => name_or_call(input),
        _ => fail(input),
    }
}

fn number(input: &mut Input<'_>) -> Parsed<Tree> {
    let exponent = (one_of(['e', 'E']), opt(one_of(['+', '-'])), digit1);
    let digits = alt(((digit1, opt(('.', digit0))).void(), ('.', digit1).void()));
    let (digits, at) = (digits, opt(exponent)).take().with_span().parse_next(input)?;
    let letters = take_while(0.., |c: char| c.is_alphabetic() || c == '%');
    // 3ms/sigma is a quotient.
    let (suffix, place) = (letters, opt(("/s", not(one_of(in_name))))).take().with_span().parse_next(input)?;
    let value: f64 = digits.parse().unwrap_or(f64::NAN);
    let Some((value, kind)) = quantity(value, suffix) else {
        return cut(Problem::new(place, format!("{} is no unit; choose from {SUFFIXES}", quoted(suffix))));
    };
    let at = at.start..place.end;
    count(input, &at)?;
    if !value.is_finite() {
        return cut(Problem::new(at, "this number is too large: at most 1.7e308"));
    }
    Ok(Tree { at, node: Node::Number(value, kind) })
}

fn bracket(input: &mut Input<'_>, start: usize) -> Parsed<Tree> {
    any.void().parse_next(input)?;
    nest(input, start)?;
    let inner = cut_err(tree).parse_next(input)?;
    letter(input, ')', "an operator")?;
    input.state.nesting -= 1;
    Ok(Tree { at: start..input.previous_token_end(), ..inner })
}

fn nest(input: &mut Input<'_>, start: usize) -> Parsed<()> {
    input.state.nesting += 1;
    if input.state.nesting > MOST_NESTING {
        let what = format!("more than {MOST_NESTING} brackets within each other; name a part of it with let");
        return cut(Problem::new(start..start + 1, what));
    }
    Ok(())
}

fn name_or_call(input: &mut Input<'_>) -> Parsed<Tree> {
    let checkpoint = input.checkpoint();
    let (name, at) = word.with_span().parse_next(input)?;
    if matches!(name, "not" | "and" | "or" | "let") {
        input.reset(&checkpoint);
        return fail(input);
    }
    count(input, &at)?;
    if opt(preceded(blank, '(')).parse_next(input)?.is_none() {
        return Ok(Tree { at, node: Node::Name(name.to_owned()) });
    }
    let Some(function) = Function::named(name) else { return cut(Function::unknown(name, at)) };
    nest(input, at.start)?;
    let mut arguments = vec![cut_err(tree).parse_next(input)?];
    while opt(preceded(blank, ',')).parse_next(input)?.is_some() {
        arguments.push(cut_err(tree).parse_next(input)?);
    }
    letter(input, ')', "an operator, `,`")?;
    input.state.nesting -= 1;
    let at = at.start..input.previous_token_end();
    function.apply(name, at, arguments).map_err(ErrMode::Cut)
}

fn prefix<'a>(input: &mut Input<'a>) -> Parsed<Prefix<Input<'a>, Tree, ErrMode<Problem>>> {
    blank(input)?;
    let start = input.current_token_start();
    let sign = opt(alt(('-'.value("-"), ("not", not(one_of(in_name))).value("not")))).parse_next(input)?;
    let prefix = match sign {
        Some("-") => Prefix(POWER_OF_SIGN, |_, tree| Ok(unary(Operator::Negate, tree))),
        Some(_) => Prefix(POWER_OF_NOT, |_, tree| Ok(unary(Operator::Not, tree))),
        None => return fail(input),
    };
    count(input, &(start..start + 1))?;
    Ok(prefix)
}

fn unary(operator: Operator, tree: Tree) -> Tree {
    Tree::apply(tree.at.clone(), operator, vec![tree])
}

// How tightly operators bind, loosely first.
const POWER_OF_OR: i64 = 10;
const POWER_OF_AND: i64 = 20;
const POWER_OF_NOT: i64 = 30;
const POWER_OF_COMPARISON: i64 = 40;
const POWER_OF_SUM: i64 = 50;
const POWER_OF_PRODUCT: i64 = 60;
const POWER_OF_SIGN: i64 = 70;
const POWER_OF_POWER: i64 = 80;

fn infix<'a>(input: &mut Input<'a>) -> Parsed<Infix<Input<'a>, Tree, ErrMode<Problem>>> {
    use Infix::{Left, Neither, Right};
    blank(input)?;
    let sign = alt((word, "<=", ">=", one_of(['+', '-', '*', '/', '^', '<', '>']).take())).parse_next(input)?;
    Ok(match sign {
        "or" => Left(POWER_OF_OR, |_, a, b| Ok(binary(Operator::Or, a, b))),
        "and" => Left(POWER_OF_AND, |_, a, b| Ok(binary(Operator::And, a, b))),
        "<" => Neither(POWER_OF_COMPARISON, |_, a, b| Ok(binary(Operator::Less, a, b))),
        "<=" => Neither(POWER_OF_COMPARISON, |_, a, b| Ok(binary(Operator::AtMost, a, b))),
        ">" => Neither(POWER_OF_COMPARISON, |_, a, b| Ok(binary(Operator::Greater, a, b))),
        ">=" => Neither(POWER_OF_COMPARISON, |_, a, b| Ok(binary(Operator::AtLeast, a, b))),
        "+" => Left(POWER_OF_SUM, |_, a, b| Ok(binary(Operator::Add, a, b))),
        "-" => Left(POWER_OF_SUM, |_, a, b| Ok(binary(Operator::Subtract, a, b))),
        "*" => Left(POWER_OF_PRODUCT, |_, a, b| Ok(binary(Operator::Multiply, a, b))),
        "/" => Left(POWER_OF_PRODUCT, |_, a, b| Ok(binary(Operator::Divide, a, b))),
        "^" => Right(POWER_OF_POWER, |_, a, b| Ok(binary(Operator::Power, a, b))),
        _ => return fail(input),
    })
}

fn binary(operator: Operator, a: Tree, b: Tree) -> Tree {
    Tree::apply(a.at.start..b.at.end, operator, vec![a, b])
}
