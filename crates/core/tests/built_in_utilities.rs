//! A built-in utility is its text. The function in Rust equals it (`utility_text.rs`), the kernel's program is compiled from it
//! (`kernel/programs.h`), and what users read names the same utilities and the same defaults.

use pcc::utility::built_in;
use std::collections::{BTreeMap, BTreeSet};

/// `let NAME = VALUE;` of a text: its parameters as written.
fn parameters(text: &str) -> BTreeMap<&str, &str> {
    let lets = text.lines().filter_map(|line| line.strip_prefix("let ")?.strip_suffix(';')?.split_once(" = "));
    lets.filter(|(_, value)| value.starts_with(|c: char| c.is_ascii_digit())).collect()
}

/// `NAME = VALUE` of a formula for people, as texts write values: `5 %` is `5%`.
fn defaults(formula: &str) -> Vec<(&str, String)> {
    let written = |part: &str| part.split_whitespace().take_while(|word| !word.starts_with('(')).collect::<String>();
    let parts = formula.split(" = ").collect::<Vec<_>>();
    let pairs = parts.windows(2).filter_map(|pair| {
        let value = pair[1].split(", ").next()?.split(';').next()?;
        Some((pair[0].rsplit([' ', '(']).next()?, written(value)))
    });
    pairs.collect()
}

#[test]
fn the_formula_shown_has_the_defaults_of_the_text() {
    let mut compared = BTreeSet::new();
    for about in built_in() {
        let parameters = parameters(about.text);
        for (name, value) in defaults(about.formula) {
            if let Some(parameter) = parameters.get(name) {
                assert_eq!(value, *parameter, "{}: {name} in {}", about.name, about.formula);
                compared.insert((about.name, name));
            }
        }
    }
    for seen in [("vivace", "b"), ("safe", "loss_cap"), ("deadline", "jitter"), ("scavenger", "d")] {
        assert!(compared.contains(&seen), "{seen:?} among {compared:?}");
    }
}

#[test]
fn the_guide_lists_every_built_in_utility_once() {
    let guide = include_str!("../../../docs/utility.md");
    let (_, table) = guide.split_once("## Built-in utilities").unwrap();
    let rows =
        table.lines().skip_while(|line| !line.starts_with("|---")).skip(1).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').nth(1).unwrap());
    let words = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(|word| word.split(',').next().unwrap());
    let (mut listed, mut names): (Vec<_>, Vec<_>) = (words.collect(), built_in().map(|about| about.name).collect());
    listed.sort_unstable();
    names.sort_unstable();
    assert_eq!(listed, names);
}
