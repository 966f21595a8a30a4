//! Which crates ask which, as their manifests say: `pcc` is built without the instruments, and ARCHITECTURE.md has the table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The rooms of those who judge PCC.
const INSTRUMENTS: [&str; 6] = ["instruments", "lab", "play", "race", "sim", "sweeps"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The crates of this workspace by directory, each with those that it is built with, but for the core.
fn asks() -> BTreeMap<String, BTreeSet<String>> {
    let crates = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap());
    let of = |entry: std::fs::DirEntry| {
        let manifest = std::fs::read_to_string(entry.path().join("Cargo.toml")).unwrap();
        Some((entry.file_name().into_string().unwrap(), dependencies(&manifest)))
    };
    crates.filter_map(of).collect()
}

/// Our crates in a manifest's dependencies, those for one system among them.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut is_inside = false;
    let mut found = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_inside = line == "[dependencies]" || line.ends_with(".dependencies]");
        }
        let name = line.split(['.', ' ']).next().and_then(|name| name.strip_prefix("pcc-"));
        found.extend(name.filter(|_| is_inside).map(str::to_owned));
    }
    found
}

#[test]
fn the_tool_is_built_without_the_instruments() {
    let asks = asks();
    let (mut found, mut next) = (BTreeSet::new(), vec!["cli".to_owned()]);
    while let Some(one) = next.pop() {
        next.extend(asks[&one].iter().filter(|other| !found.contains(*other)).cloned());
        found.insert(one);
    }
    assert!(found.len() > 10, "{found:?}");
    for room in INSTRUMENTS {
        assert!(asks.contains_key(room) && !found.contains(room), "{room} is in {found:?}");
    }
}

#[test]
fn the_architecture_says_which_crates_ask_which() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, table) = page.split_once("| crate | asks, besides the core |\n|---|---|\n").expect("the table");
    let rows = table.lines().map_while(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    let told: BTreeMap<_, BTreeSet<_>> =
        rows.map(|(one, others)| (one.to_owned(), others.split(", ").map(str::to_owned).collect())).collect();
    let manifests: BTreeMap<_, _> = asks().into_iter().filter(|(_, others)| !others.is_empty()).collect();
    assert_eq!(told, manifests);
}
