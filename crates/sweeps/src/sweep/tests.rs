//! The changes of `sweep parts` and `sweep constants` fit the law.

use crate::{rules, switches, turned};
use std::collections::{BTreeMap, BTreeSet};

fn source(file: &str) -> String {
    let core = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src");
    std::fs::read_to_string(core.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn every_switch_finds_its_place_in_the_law() {
    let mut texts = BTreeMap::new();
    for (file, from, to) in switches::SWITCHES {
        let text = texts.entry(file).or_insert_with(|| source(file));
        *text = switches::replaced(file, text, from, to).unwrap();
    }
}

#[test]
fn every_rule_of_the_page_has_a_switch_and_no_other() {
    let named = |text: &'static str| text.split("off(\"").skip(1).filter_map(|rest| rest.split('"').next());
    let switched: BTreeSet<_> = switches::SWITCHES.iter().flat_map(|(_, _, to)| named(to)).collect();
    let listed: Vec<_> = rules::RULES.iter().flat_map(|(_, rules)| rules.iter().map(|(rule, _)| *rule)).collect();
    assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), switched);
    assert_eq!(listed.len(), switched.len(), "no rule twice");
    for (group, rules) in rules::GROUPS {
        assert!(rules.iter().all(|rule| listed.contains(rule)), "{group}");
    }
}

#[test]
fn every_constant_of_the_law_can_be_turned_and_back() {
    let mut names = Vec::new();
    for file in turned::FILES {
        let text = source(file);
        let constants = turned::constants(file, &text);
        for constant in &constants {
            let (usual, turned) = constant.turned("2.0");
            let other = switches::replaced(file, &text, &usual, &turned).unwrap();
            assert!(other.contains(&format!("({}, 2.0);", constant.value)), "{turned}");
            assert_eq!(switches::replaced(file, &other, &turned, &usual).unwrap(), text);
        }
        names.extend(constants.into_iter().map(|constant| constant.name));
    }
    for name in ["SUSPICIOUS_FALL", "MOST_SPREAD", "PANIC_RUNS", "YIELD_RTTS"] {
        assert!(names.iter().any(|found| found == name), "{name} among {names:?}");
    }
    for (left, _) in turned::LEFT {
        let (file, name) = left.split_once(' ').unwrap();
        assert!(source(file).contains(&format!("const {name}: ")), "{left} is there");
    }
}
