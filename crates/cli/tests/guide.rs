//! The documentation for users: its commands run, and its links lead somewhere.
//!
//! Sessions with `pcc-lab` are run by the test of that name in `crates/instruments`.

mod sessions;

use sessions::{is_page, pages};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_session_in_the_documentation_works_as_written() {
    sessions::work(env!("CARGO_BIN_EXE_pcc"), |script| !script.contains("pcc-lab "));
}

#[test]
fn every_link_between_pages_leads_to_a_file() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for target in links(&text) {
            let file = target.split('#').next().unwrap_or_default();
            let there = page.parent().unwrap_or(Path::new(".")).join(file);
            assert!(there.exists(), "{} links to {target}, which is not there", page.display());
        }
    }
}

#[test]
fn whoever_follows_links_from_the_readme_finds_every_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let (mut found, mut next) = (BTreeSet::new(), vec![root.join("README.md")]);
    while let Some(page) = next.pop() {
        let text = std::fs::read_to_string(&page).unwrap();
        let there = |target: &str| page.parent()?.join(target.split('#').next()?).canonicalize().ok();
        next.extend(links(&text).into_iter().filter_map(there).filter(|to| is_page(to) && !found.contains(to)));
        found.insert(page);
    }
    let lost: Vec<_> = pages().into_iter().filter(|page| !found.contains(&page.canonicalize().unwrap())).collect();
    assert!(lost.is_empty(), "no page that the README leads to links to {lost:?}");
}

/// Targets of links and pictures that are files of this project.
fn links(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    let targets = prose.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.starts_with('#')).collect()
}
