//! The programs of docs/own-law.md are those that `.ci/stranger` builds and runs outside the workspace.

const GUIDE: &str = include_str!("../../../docs/own-law.md");
const CLIMBER: &str = include_str!("stranger/src/bin/climber.rs");
const HASTY: &str = include_str!("stranger/src/bin/hasty.rs");

#[test]
fn the_page_s_programs_are_the_stranger_s() {
    let blocks: Vec<_> = GUIDE.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks, [CLIMBER, HASTY]);
}

#[test]
fn a_law_with_its_score_takes_60_lines() {
    assert!(CLIMBER.lines().count() <= 60, "{} lines", CLIMBER.lines().count());
}
