//! Reads `vectors/utility`, which whatever runs programs of utilities can read too: `docs/utility.md` describes it.

use pcc::utility::expression::{Program, Variable};
use pcc::utility::{Expression, built_in};
use std::collections::BTreeMap;

const EXPRESSIONS: &str = include_str!("../../../vectors/utility/expressions.txt");
const BUILT_IN: &str = include_str!("../../../vectors/utility/built-in.txt");
const MALFORMED: &str = include_str!("../../../vectors/utility/malformed.txt");

/// The lines that are not comments, as a word and the rest.
fn lines(file: &str) -> impl Iterator<Item = (&str, &str)> {
    let told = file.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    told.map(|line| line.split_once(' ').unwrap_or((line, "")))
}

/// `x=100 L=0.05`
fn measurements(written: &str) -> BTreeMap<&str, f64> {
    written.split_whitespace().map(|one| one.split_once('=').unwrap()).map(|(n, v)| (n, v.parse().unwrap())).collect()
}

fn run(program: &Program, given: &BTreeMap<&str, f64>) -> f64 {
    program.run(|variable: Variable| given.get(variable.names()[0]).copied().unwrap_or(f64::NAN))
}

fn is_right(result: f64, expected: &str) -> bool {
    match expected {
        "undefined" => result.is_nan(),
        number => {
            let number: f64 = number.parse().unwrap();
            (result - number).abs() <= 1e-12 * number.abs()
        }
    }
}

/// Runs one file's cases; `program` makes one of what a line that begins with `utility` or `built-in` says.
fn check(file: &str, program: impl Fn(&str) -> Program) -> usize {
    let (mut current, mut given, mut checked) = (None, BTreeMap::new(), 0);
    for (what, rest) in lines(file) {
        match what {
            "utility" | "built-in" => current = Some((rest, program(rest))),
            "given" => given = measurements(rest),
            "listing" => assert_eq!(current.as_ref().unwrap().1.to_string(), rest),
            "is" => {
                let (text, program) = current.as_ref().unwrap();
                let result = run(program, &given);
                assert!(is_right(result, rest), "{text} with {given:?} is {result}, not {rest}");
                let again: Program = program.to_string().parse().unwrap();
                assert_eq!(&again, program, "{text} is read from its own listing as something else");
                checked += 1;
            }
            other => panic!("`{other}` means nothing here"),
        }
    }
    checked
}

#[test]
fn expressions_give_what_the_vectors_say() {
    let program = |text: &str| {
        let text = text.replace("\\n", "\n");
        text.parse::<Expression>().unwrap_or_else(|error| panic!("{error}")).program().clone()
    };
    assert!(check(EXPRESSIONS, program) >= 78);
}

#[test]
fn texts_of_built_in_utilities_give_what_vectors_say() {
    let program = |name: &str| {
        let about = built_in().find(|about| about.name == name).unwrap();
        about.text.parse::<Expression>().unwrap_or_else(|error| panic!("{name}: {error}")).program().clone()
    };
    assert_eq!(check(BUILT_IN, program), 5 * built_in().count());
    let listings = lines(BUILT_IN).filter(|(what, _)| *what == "listing").count();
    assert_eq!(listings, built_in().count(), "each is there as a program too");
}

#[test]
fn malformed_texts_are_refused_where_the_vectors_say() {
    let (mut text, mut wrong, mut checked) = (String::new(), Vec::new(), 0);
    for (what, rest) in lines(MALFORMED) {
        if what == "utility" {
            text = rest.replace("\\n", "\n");
            continue;
        }
        let mut parts = rest.splitn(3, ' ');
        let place = (parts.next().unwrap().parse().unwrap(), parts.next().unwrap().parse().unwrap());
        let said = parts.next().unwrap_or_default();
        match text.parse::<Expression>() {
            Ok(_) => wrong.push(format!("{text:?} is read")),
            Err(error) if error.place() == Some(place) && error.to_string().contains(said) => checked += 1,
            Err(error) => wrong.push(format!("{text:?}: not {place:?} and `{said}` but {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked >= 50);
}
