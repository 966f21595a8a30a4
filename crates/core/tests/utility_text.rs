//! Properties of utilities as text: nothing that is written panics, and what is written is what is computed.

use pcc::interval::Report;
use pcc::units::{Bytes, Rate};
use pcc::utility::expression::{MOST_DEPTH, MOST_OPS, MOST_SLOTS, Op, Operator, Program, Variable};
use pcc::utility::{Expression, SenderView, Utility, built_in, parse};
use proptest::collection::vec;
use proptest::prelude::*;
use std::fmt::Write;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// A formula, with no unit in it: every measurement is divided by its own.
#[derive(Clone, Debug)]
enum Formula {
    Number(f64),
    Measured(Variable),
    Apply(Operator, Vec<Formula>),
}

impl Formula {
    /// With as few brackets as the documented precedence allows, if `bare`, else with all.
    fn text(&self, bare: bool) -> String {
        self.level(bare).0
    }

    /// The text and how tightly its outermost operator binds.
    fn level(&self, bare: bool) -> (String, u8) {
        let inner = |formula: &Self, least: u8| {
            let (text, level) = formula.level(bare);
            if bare && level >= least { text } else { format!("({text})") }
        };
        let infix = |sign: &str, parts: &[Self], level: u8, left: u8, right: u8| {
            (format!("{} {sign} {}", inner(&parts[0], left), inner(&parts[1], right)), level)
        };
        match self {
            Self::Number(value) => (format!("{value:?}"), if *value < 0.0 { 7 } else { 9 }),
            Self::Measured(variable) => match variable.names()[0] {
                name @ ("x" | "T" | "prev_x" | "prev_T") => (format!("{name}/1Mbit"), 6),
                name @ ("L" | "E" | "marks" | "g" | "prev_L") => (name.to_owned(), 9),
                name => (format!("{name}/1s"), 6),
            },
            Self::Apply(operator, parts) => match operator {
                Operator::Negate => (format!("-{}", inner(&parts[0], 7)), 7),
                Operator::Add => infix("+", parts, 5, 5, 6),
                Operator::Subtract => infix("-", parts, 5, 5, 6),
                Operator::Multiply => infix("*", parts, 6, 6, 7),
                Operator::Divide => infix("/", parts, 6, 6, 7),
                Operator::Power => infix("^", parts, 8, 9, 7),
                Operator::If => {
                    let [condition, one, other] = &parts[..] else { panic!("{parts:?}") };
                    (format!("if({}, {}, {})", condition.text(bare), one.text(bare), other.text(bare)), 9)
                }
                Operator::Less => infix("<", parts, 4, 5, 5),
                Operator::AtMost => infix("<=", parts, 4, 5, 5),
                Operator::Greater => infix(">", parts, 4, 5, 5),
                Operator::AtLeast => infix(">=", parts, 4, 5, 5),
                Operator::Not => (format!("not {}", inner(&parts[0], 3)), 3),
                Operator::And => infix("and", parts, 2, 2, 3),
                Operator::Or => infix("or", parts, 1, 1, 2),
                function => {
                    let mut text = format!("{}({}", function.word(), parts[0].text(bare));
                    for part in &parts[1..] {
                        write!(text, ", {}", part.text(bare)).unwrap();
                    }
                    (text + ")", 9)
                }
            },
        }
    }

    fn value(&self, measure: &impl Fn(Variable) -> f64) -> f64 {
        match self {
            Self::Number(value) => *value,
            Self::Measured(variable) => measure(*variable),
            Self::Apply(operator, parts) => {
                let mut values = [f64::NAN; 3];
                for (value, part) in values.iter_mut().zip(parts) {
                    *value = part.value(measure);
                }
                operator.apply(values[0], values[1], values[2])
            }
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Apply(_, parts) => 1 + parts.iter().map(Self::size).sum::<usize>(),
            _ => 3,
        }
    }
}

fn variable() -> impl Strategy<Value = Variable> {
    (0..Variable::ALL.len()).prop_map(|nth| Variable::ALL[nth])
}

/// Numbers of a few digits, as people write them.
fn number() -> impl Strategy<Value = f64> {
    (-2000..2000i32, 0..4u32).prop_map(|(digits, point)| f64::from(digits) / f64::from(10u32.pow(point)))
}

fn formula() -> impl Strategy<Value = Formula> {
    let leaf = prop_oneof![number().prop_map(Formula::Number), variable().prop_map(Formula::Measured)];
    leaf.prop_recursive(5, 48, 3, |inner| {
        use Operator as O;
        let one = prop::sample::select(vec![O::Negate, O::Abs, O::Exp, O::Log, O::Sqrt, O::Sigmoid]);
        let two = vec![O::Add, O::Subtract, O::Multiply, O::Divide, O::Min, O::Max, O::Power];
        let compare = prop::sample::select(vec![O::Less, O::AtMost, O::Greater, O::AtLeast]);
        let pair = (inner.clone(), inner.clone()).prop_map(|(a, b)| vec![a, b]);
        let comparison = (compare, pair.clone()).prop_map(|(o, parts)| Formula::Apply(o, parts));
        let known = inner.clone().prop_map(|a| Formula::Apply(O::Known, vec![a]));
        let condition = prop_oneof![comparison, known].prop_recursive(2, 4, 2, |condition| {
            prop_oneof![
                condition.clone().prop_map(|a| Formula::Apply(O::Not, vec![a])),
                (prop::sample::select(vec![O::And, O::Or]), condition.clone(), condition)
                    .prop_map(|(o, a, b)| Formula::Apply(o, vec![a, b])),
            ]
        });
        prop_oneof![
            (one, inner.clone()).prop_map(|(o, a)| Formula::Apply(o, vec![a])),
            (prop::sample::select(two), pair).prop_map(|(o, parts)| Formula::Apply(o, parts)),
            (condition, inner.clone(), inner).prop_map(|(c, a, b)| Formula::Apply(O::If, vec![c, a, b])),
        ]
    })
}

/// What was measured; a quarter of it was not.
fn measurements() -> impl Strategy<Value = Vec<f64>> {
    vec(prop_oneof![1 => Just(f64::NAN), 1 => Just(0.0), 2 => -3.0..100.0f64], Variable::ALL.len())
}

fn of(measured: &[f64]) -> impl Fn(Variable) -> f64 {
    |variable| measured[Variable::ALL.iter().position(|one| *one == variable).unwrap()]
}

fn same(a: f64, b: f64) -> bool {
    a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-12 * a.abs()
}

/// How deep the stack gets, counted anew.
fn deepest(program: &Program) -> usize {
    let (mut held, mut deepest) = (0, 0);
    for op in program.ops() {
        match op {
            Op::Push(_) | Op::Load(_) | Op::Get(_) => held += 1,
            Op::Set(_) => held -= 1,
            Op::Apply(operator) => held = held + 1 - operator.operands(),
        }
        deepest = deepest.max(held);
    }
    assert_eq!(held, 1);
    deepest
}

/// Pieces of the language, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "x", "T", "L", "rtt", "g", "900", "0.9", "5%", "20ms", "100Mbit", "1e9", "+", "-", "*", "/", "^", "(", ")",
        ",", "<", ">=", "and", "or", "not", "if(", "min(", "known(", "exp(", "let a =", "a", ";", "# c\n", "\n", "µ",
        ".", "_",
    ]);
    vec(piece, 0..60).prop_map(|pieces| pieces.join(" "))
}

/// Each built-in utility and its text. What has no default has the text's value.
static TEXTS: LazyLock<Vec<(Arc<dyn Utility>, Expression)>> = LazyLock::new(|| {
    let with_example = |name| match name {
        "weighted" => "weighted,share=0.5",
        "hybrid" => "hybrid,needed=20Mbit",
        "rate-limiter" => "rate-limiter,limit=20Mbit",
        name => name,
    };
    built_in().map(|about| (parse(with_example(about.name)).unwrap(), about.text.parse().unwrap())).collect()
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}", pieces in pieces(), repeated in "\\PC{1,3}", times in 0..2000usize) {
        for text in [text, pieces, repeated.repeat(times)] {
            match text.parse::<Expression>() {
                Ok(utility) => prop_assert!(deepest(utility.program()) == utility.program().depth()),
                Err(error) => prop_assert!(error.place().is_some() && error.to_string().len() < 1000),
            }
            let _ = parse(&text);
            let _ = text.parse::<Program>();
        }
    }

    #[test]
    fn what_is_written_is_what_is_computed(formula in formula(), measured in measurements(), bare in any::<bool>()) {
        prop_assume!(formula.size() <= MOST_OPS);
        let text = formula.text(bare);
        let expected = formula.value(&of(&measured));
        let error = match text.parse::<Expression>() {
            Ok(utility) => {
                let program = utility.program();
                let result = program.run(of(&measured));
                prop_assert!(same(result, expected), "{text}: {result} is not {expected}; {program}");
                let depth = deepest(program);
                prop_assert!(depth == program.depth() && depth <= MOST_DEPTH && program.ops().len() <= MOST_OPS);
                let again: Program = program.to_string().parse().unwrap();
                prop_assert_eq!(&again, program);
                return Ok(());
            }
            Err(error) => error.to_string(),
        };
        // What is never defined is refused, and so is what needs too much at once.
        let reasons = ["not defined, whatever", "nothing can be divided by it", "stack of more than"];
        prop_assert!(reasons.iter().any(|reason| error.contains(reason)), "{text}: {error}");
    }

    #[test]
    fn the_text_of_a_built_in_utility_is_that_utility(report in report()) {
        for (built_in, text) in TEXTS.iter() {
            let name = built_in.name();
            let (one, other) = (built_in.evaluate(&report), text.evaluate(&report));
            let near = (one - other).abs() <= 1e-9 * one.abs().max(report.achieved.mbit());
            prop_assert!(near || !one.is_finite() && other.is_nan(), "{name}: {one} is not {other} for {report:?}");
            prop_assert_eq!(built_in.panic_loss(), text.panic_loss());
        }
    }
}

fn millis(most: f64) -> impl Strategy<Value = Duration> {
    (0.0..most).prop_map(|ms| Duration::from_secs_f64(ms / 1e3))
}

/// Any report that a monitor could make, and some that it could not.
fn report() -> impl Strategy<Value = Report> {
    let rtts = (proptest::option::weighted(0.9, millis(300.0)), proptest::option::weighted(0.9, millis(200.0)));
    let spread = (millis(20.0), millis(5.0), millis(100.0));
    let slope = (proptest::option::weighted(0.9, -1.0..1.0f64), 0.0..0.1f64);
    let fate = (1..1000u32, 0.0..=1.0f64, 0.0..=1.0f64, -3.0..4.0f64);
    (rtts, spread, slope, fate).prop_map(|((rtt, rtt_base), (deviation, residual, duration), slope, fate)| {
        let (packets, lost, marked, magnitude) = fate;
        let (rate, bytes) = (Rate::from_mbit(10f64.powf(magnitude)), u64::from(packets) * 1200);
        let mut report = SenderView::clear(1.0, 0.1).report();
        report.duration = duration;
        report.target = rate;
        report.achieved = rate;
        report.packets = packets;
        report.packets_lost = (f64::from(packets) * lost.powi(4)) as u32;
        report.loss_bursts = 1;
        report.packets_marked = (f64::from(packets) * marked.powi(6)) as u32;
        report.sent = Bytes::new(bytes);
        report.lost = Bytes::new((bytes as f64 * lost.powi(4)) as u64);
        report.excess_loss = (residual.subsec_nanos() % 2 == 0).then_some(lost.powi(4) / 2.0);
        report.delivery_rate = None;
        report.rtt = rtt;
        report.rtt_least = rtt;
        report.rtt_base = rtt_base;
        report.rtt_gradient = slope.0;
        report.rtt_gradient_error = slope.1;
        report.rtt_span = duration;
        report.rtt_samples = packets;
        report.rtt_residual = residual;
        report.rtt_deviation = deviation;
        let mut previous = report.summary();
        (previous.throughput, previous.loss) = (rate, lost);
        report.previous = Some(previous);
        report
    })
}

#[test]
fn a_thousand_terms_are_refused_with_the_number_that_fits() {
    let terms = |n: usize| vec!["x*L"; n].join(" + ");
    let error = terms(1000).parse::<Expression>().unwrap_err().to_string();
    assert!(error.contains("at most 256"), "{error}");
    let program = terms(64).parse::<Expression>().unwrap();
    assert_eq!((program.program().ops().len(), program.program().depth()), (255, 3));
    assert!(terms(65).parse::<Expression>().unwrap_err().to_string().contains("this has 259 operations"));
}

#[test]
fn too_deep_a_stack_is_refused_with_advice() {
    let nested = |n: usize| format!("{}x{}", "x + (".repeat(n), ")".repeat(n));
    assert_eq!(nested(MOST_DEPTH - 1).parse::<Expression>().unwrap().program().depth(), MOST_DEPTH);
    let error = nested(MOST_DEPTH).parse::<Expression>().unwrap_err().to_string();
    assert!(error.contains("more than 16 values; name parts of it with let"), "{error}");
    let error = nested(10_000).parse::<Expression>().unwrap_err().to_string();
    assert!(error.contains("more than 48 brackets"), "{error}");
    let named = |n: usize| (0..n).map(|i| format!("let a{i} = x;")).collect::<String>() + "a0";
    assert!(named(MOST_SLOTS).parse::<Expression>().is_ok());
    assert!(named(MOST_SLOTS + 1).parse::<Expression>().unwrap_err().to_string().contains("more than 16 names"));
}

#[test]
fn a_listing_that_is_no_program_is_refused() {
    let read = |steps: &str| format!("pcc-utility/1 panic_loss=0.5 {steps}").parse::<Program>();
    assert!(read("x 2.0 mul").is_ok() && read("x set3 get3").is_ok());
    let deep = "x ".repeat(17) + &"add ".repeat(16);
    let long = "x ".to_owned() + &"neg ".repeat(256);
    for steps in ["", "x x", "add", "x add", "get0", "x set16 x", "x set0", "inf", "NaN", "y", "x pow2", &deep, &long] {
        assert!(read(steps).is_err(), "{steps}");
    }
    for listing in ["", "x", "pcc-utility/2 panic_loss=0.5 x", "pcc-utility/1 x", "pcc-utility/1 panic_loss=2 x"] {
        assert!(listing.parse::<Program>().is_err(), "{listing}");
    }
}
