//! The lines of docs/library.md are the ones that a program outside the workspace is built with: .ci/stranger.

const GUIDE: &str = include_str!("../../../docs/library.md");
const STRANGER: &str = include_str!("stranger/src/main.rs");

#[test]
fn the_stranger_has_the_lines_of_the_guide() {
    let (_, section) = GUIDE.split_once("## A QUIC application on quinn").expect("the section");
    let (_, code) = section.split_once("```rust,ignore\n").expect("a program");
    let (code, _) = code.split_once("```").expect("its end");
    assert!(!code.is_empty());
    for line in code.lines() {
        assert!(STRANGER.contains(line), "the stranger has not: {line}");
    }
}
