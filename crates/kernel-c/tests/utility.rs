//! The kernel's interpreter gives what `vectors/utility` says, and its numbers are those of the processor.
#![cfg(target_os = "linux")]

use pcc::rng::Rng;
use pcc::utility::expression::{Operator, Program, Variable};
use pcc::utility::{Expression, built_in};
use std::collections::BTreeMap;

const EXPRESSIONS: &str = include_str!("../../../vectors/utility/expressions.txt");
const BUILT_IN: &str = include_str!("../../../vectors/utility/built-in.txt");

/// Runs one file's cases; `program` makes one of what a line that begins with `utility` or `listing` says.
fn check(file: &str, first: &str, program: impl Fn(&str) -> Program) -> usize {
    let (mut current, mut given, mut checked) = (None, BTreeMap::new(), 0);
    for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        if what == first {
            let program = pcc_kernel_c::Program::new(&program(rest));
            current = Some((rest, program));
        } else if what == "given" {
            let pairs = rest.split_whitespace().map(|one| one.split_once('=').unwrap());
            given = pairs.map(|(name, value)| (name, value.parse::<f64>().unwrap())).collect();
        } else if what == "is" {
            let (text, program) = current.as_ref().unwrap();
            let result = program.run(|variable: Variable| given.get(variable.names()[0]).copied().unwrap_or(f64::NAN));
            let right = match rest.parse::<f64>() {
                Ok(number) => (result - number).abs() <= 1e-12 * number.abs(),
                Err(_) => rest == "undefined" && result.is_nan(),
            };
            assert!(right, "{text} with {given:?} is {result}, not {rest}");
            checked += 1;
        }
    }
    checked
}

#[test]
fn expressions_give_what_the_vectors_say() {
    let program = |text: &str| text.replace("\\n", "\n").parse::<Expression>().unwrap().program().clone();
    assert!(check(EXPRESSIONS, "utility", program) >= 67);
}

#[test]
fn listings_of_the_built_in_utilities_give_what_the_vectors_say() {
    assert_eq!(check(BUILT_IN, "listing", |listing| listing.parse().unwrap()), 5 * built_in().count());
}

/// Zero, NaN, neighbours of one, integers, and any bits; what is smaller than the least normal number is zero, and what is
/// infinite is not defined.
fn operand(rng: &mut Rng) -> f64 {
    let bits = rng.next_u64();
    let number = match rng.next_u64() % 8 {
        0 => f64::from_bits(bits),
        1 => (bits as i64 >> (rng.next_u64() % 64)) as f64,
        2 => {
            *[0.0, -0.0, f64::MIN_POSITIVE, f64::MIN, f64::NAN, f64::MAX, 1.0 - f64::EPSILON / 2.0, 1.0 + f64::EPSILON]
                .get(bits as usize % 8)
                .unwrap()
        }
        _ => f64::from_bits((bits & 0x800f_ffff_ffff_ffff) | ((1023 - 30 + rng.next_u64() % 60) << 52)),
    };
    match number {
        small if small.is_subnormal() => 0.0,
        large if large.is_infinite() => f64::NAN,
        number => number,
    }
}

#[test]
fn operations_equal_the_processor_s_to_the_last_bit() {
    let mut rng = Rng::new(11);
    for _ in 0..runs(300_000) {
        let (a, b, c) = (operand(&mut rng), operand(&mut rng), operand(&mut rng));
        for (place, operator) in Operator::ALL.into_iter().enumerate() {
            let (got, expected) = (pcc_kernel_c::apply(place, a, b, c), operator.apply(a, b, c));
            let base_offset = match operator {
                Operator::Exp | Operator::Log | Operator::Sigmoid => 2_f64.powi(-51),
                // The exponent's error grows with it: e^700 is known to 700 units.
                Operator::Power => 2_f64.powi(-50) * (1.0 + (b * a.abs().ln()).abs()),
                _ => 0.0,
            };
            // A kernel has no numbers below the least normal one.
            let small = expected.abs() <= f64::MIN_POSITIVE && got == 0.0;
            let edge =
                expected.is_nan() != got.is_nan() && base_offset > 0.0 && (got.abs().max(expected.abs()) > 1e300);
            let right = got == expected
                || (expected.is_nan() && got.is_nan())
                || small
                || edge
                || (got - expected).abs() <= base_offset * expected.abs();
            assert!(right, "{operator:?} of {a:e}, {b:e}, {c:e} is {got:e}, not {expected:e}");
        }
        let nanoseconds = rng.next_u64() >> (rng.next_u64() % 64);
        let time = core::time::Duration::from_nanos(nanoseconds);
        assert_eq!(pcc_kernel_c::seconds(nanoseconds).to_bits(), time.as_secs_f64().to_bits(), "{time:?}");
    }
}

/// Numbers whose sums, products and quotients carry, cancel, are ties, overflow or vanish.
fn edges() -> Vec<f64> {
    let mantissas =
        [0, 1, 2, (1 << 26) - 1, 1 << 26, (1 << 51) - 1, 1 << 51, (1 << 51) + 1, (1 << 52) - 2, (1 << 52) - 1];
    let exponents =
        [1, 2, 54, 511, 960, 969, 970, 971, 1021, 1022, 1023, 1024, 1075, 1076, 1077, 1085, 1535, 2045, 2046];
    let pairs =
        exponents.into_iter().flat_map(|exponent: u64| mantissas.map(|mantissa: u64| exponent << 52 | mantissa));
    pairs.chain([0]).flat_map(|bits| [f64::from_bits(bits), -f64::from_bits(bits)]).collect()
}

#[test]
fn numbers_are_rounded_as_by_the_processor_at_their_edges() {
    let edges = edges();
    let exact = [Operator::Add, Operator::Subtract, Operator::Multiply, Operator::Divide, Operator::Sqrt];
    for (place, operator) in Operator::ALL.into_iter().enumerate().filter(|(_, one)| exact.contains(one)) {
        for &a in &edges {
            for &b in &edges {
                let (got, expected) = (pcc_kernel_c::apply(place, a, b, 0.0), operator.apply(a, b, 0.0));
                let vanished = expected.abs() <= f64::MIN_POSITIVE && got == 0.0;
                let undefined = expected.is_nan() && got.is_nan();
                assert!(
                    got == expected || vanished || undefined,
                    "{operator:?} of {a:e}, {b:e} is {got:e}, not {expected:e}"
                );
            }
        }
    }
}

/// `PCC_KERNEL_RUNS=N` does N times as much.
fn runs(normal: u64) -> u64 {
    std::env::var("PCC_KERNEL_RUNS").map_or(normal, |times| normal * times.parse::<u64>().unwrap())
}

#[test]
fn an_invalid_program_is_harmless_if_run() {
    let mut rng = Rng::new(12);
    let text = "let a = x; let b = if(known(E), E, L); a^0.9 - 900*a*max(0, g) - 11.35*a*b*sigmoid(-log(rtt))";
    let sound = pcc_kernel_c::Program::new(text.parse::<Expression>().unwrap().program());
    for _ in 0..runs(100_000) {
        let byte = (rng.next_u64() % 1024) as usize;
        let damaged = sound.damaged(byte, (rng.next_u64() | 1) as u8);
        let result = damaged.run(|_| byte as f64 / 100.0);
        assert!(result.is_finite() || result.is_nan());
    }
}
