//! Programs of utilities drawn at random, run with measurements of every size and none: each gives a number or nothing, and
//! what the machine's bounded stack gives is what an unbounded one gives.
//!
//! `PCC_STORM_PROGRAMS=N cargo test --release -p pcc --test utility_storm` draws N of them; each is run a hundred times.

use pcc::rng::Rng;
use pcc::utility::expression::{MOST_DEPTH, MOST_OPS, MOST_SLOTS, Op, Operator, Program, Variable};

const PROGRAMS: u64 = 2_000;
const RUNS: u64 = 100;
/// Numbers on which operators turn: signs, zero, the ends of what is finite, the edges of exp and of integers.
const EDGES: [f64; 14] =
    [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 709.8, -745.2, 1e-308, 5e-324, f64::MAX, f64::MIN, 9_007_199_254_740_993.0];

fn below(rng: &mut Rng, bound: usize) -> usize {
    (rng.next_u64() % bound as u64) as usize
}

fn number(rng: &mut Rng) -> f64 {
    let number = match rng.next_u64() % 4 {
        0 => EDGES[below(rng, EDGES.len())],
        1 => f64::from_bits(rng.next_u64()),
        _ => (rng.unit() - 0.5) * 10f64.powi(below(rng, 12) as i32 - 6),
    };
    if number.is_finite() { number } else { 1.0 }
}

/// What a measurement may be: a number, nothing, or what no monitor would say.
fn measurement(rng: &mut Rng) -> f64 {
    match rng.next_u64() % 8 {
        0 => f64::NAN,
        1 => f64::INFINITY,
        _ => number(rng),
    }
}

/// The listing of a program within the bounds: at each step one of those that are possible there.
fn listing(rng: &mut Rng) -> String {
    // Short ones more often: a long one is seldom defined.
    let longest = 1 + below(rng, MOST_OPS - MOST_DEPTH - 1);
    let length = 1 + below(rng, longest);
    let (mut text, mut held, mut set) = ("pcc-utility/1 panic_loss=0.5".to_owned(), 0_usize, Vec::new());
    for step in 0.. {
        let operator = Operator::ALL[below(rng, Operator::ALL.len())];
        let is_over = step >= length;
        if is_over && held == 1 {
            return text;
        }
        let word = match rng.next_u64() % 8 {
            _ if is_over && held > 1 => {
                held -= 1;
                "add".to_owned()
            }
            0 | 1 if held < MOST_DEPTH => {
                held += 1;
                format!("{:?}", number(rng))
            }
            2 | 3 if held < MOST_DEPTH => {
                held += 1;
                Variable::ALL[below(rng, Variable::ALL.len())].names()[0].to_owned()
            }
            4 if held > 0 => {
                held -= 1;
                let slot = below(rng, MOST_SLOTS);
                set.push(slot);
                format!("set{slot}")
            }
            5 if held < MOST_DEPTH && !set.is_empty() => {
                held += 1;
                format!("get{}", set[below(rng, set.len())])
            }
            _ if held >= operator.operands() => {
                held = held - operator.operands() + 1;
                operator.word().to_owned()
            }
            _ if held < MOST_DEPTH => {
                held += 1;
                "x".to_owned()
            }
            _ => continue,
        };
        text.push(' ');
        text.push_str(&word);
    }
    text
}

/// The steps one by one, on a stack without bounds.
fn run(program: &Program, measure: impl Fn(Variable) -> f64) -> f64 {
    let (mut stack, mut slots) = (Vec::new(), [None; MOST_SLOTS]);
    for op in program.ops() {
        match *op {
            Op::Push(value) => stack.push(value),
            Op::Load(variable) => {
                stack.push(Some(measure(variable)).filter(|value| value.is_finite()).unwrap_or(f64::NAN))
            }
            Op::Set(slot) => slots[usize::from(slot)] = stack.pop(),
            Op::Get(slot) => stack.push(slots[usize::from(slot)].expect("it was set before")),
            Op::Apply(operator) => {
                let operands = stack.split_off(stack.len() - operator.operands());
                let operand = |nth: usize| operands.get(nth).copied().unwrap_or(f64::NAN);
                stack.push(operator.apply(operand(0), operand(1), operand(2)));
            }
        }
    }
    assert_eq!(stack.len(), 1);
    stack[0]
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how long to go on is the caller's choice")]
fn any_program_runs_as_on_an_unbounded_stack() {
    let programs = std::env::var("PCC_STORM_PROGRAMS").ok().map_or(PROGRAMS, |n| n.parse().expect("a number"));
    let (mut rng, mut defined, mut undefined) = (Rng::new(1), 0_u64, 0_u64);
    for _ in 0..programs {
        let text = listing(&mut rng);
        let program: Program = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
        for _ in 0..RUNS {
            let given: Vec<f64> = Variable::ALL.iter().map(|_| measurement(&mut rng)).collect();
            let measure = |wanted: Variable| given[Variable::ALL.iter().position(|one| *one == wanted).unwrap()];
            let (result, expected) = (program.run(measure), run(&program, measure));
            assert!(result.is_finite() || result.is_nan(), "{text} with {given:?} is {result}");
            let same = result.to_bits() == expected.to_bits() || result.is_nan() && expected.is_nan();
            assert!(same, "{text} with {given:?} is {result}, not {expected}");
            *(if result.is_nan() { &mut undefined } else { &mut defined }) += 1;
        }
    }
    // Neither kind is rare, or the storm would say little.
    let most = programs * RUNS * 19 / 20;
    assert!(defined < most && undefined < most, "{defined} defined, {undefined} not");
}
