//! `kernel/constants.h` has the core's constants under their names in C. `PCC_KERNEL_WRITE=1` writes it anew. C's comments name files
//! and items of Rust, and those are there.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it reads and writes files of the kernel")]

use pcc::{SharedValue, shared_constants};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn kernel() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel")
}

fn written(value: SharedValue) -> String {
    match value {
        SharedValue::Float(value) => format!("{:#x}ULL /* {value:?} */", value.to_bits()),
        SharedValue::Count(count) => count.to_string(),
        SharedValue::Time(time) => format!("{}ULL /* {time:?} */", time.as_nanos()),
    }
}

fn header() -> String {
    let mut text = "/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */\n\
        /* The core's constants; their reasons stand in the files named here. Numbers are the bits of\n \
        * an f64, times are nanoseconds. Written by\n \
        * `PCC_KERNEL_WRITE=1 cargo test -p pcc --test kernel_constants`.\n */\n\
        #ifndef PCC_CONSTANTS_H\n#define PCC_CONSTANTS_H\n"
        .to_owned();
    let mut file = String::new();
    for constant in shared_constants() {
        let of = constant.file.replace('\\', "/");
        if of != file {
            writeln!(text, "\n/* {of} */").unwrap();
            file = of;
        }
        writeln!(text, "#define {} {}", constant.name, written(constant.value)).unwrap();
    }
    text + "\n#endif\n"
}

#[test]
fn constants_h_has_the_values_of_the_core() {
    let path = kernel().join("constants.h");
    if std::env::var_os("PCC_KERNEL_WRITE").is_some() {
        fs::write(&path, header()).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let again = "PCC_KERNEL_WRITE=1 cargo test -p pcc --test kernel_constants";
    assert!(found == header(), "{} has not the core's values; write it anew: {again}", path.display());
}

/// The text of all headers and programs of `kernel/`.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let is_c = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "h" || ending == "c");
    let texts = files.into_iter().filter(is_c).map(|path| (path.clone(), fs::read_to_string(path).unwrap()));
    texts.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

#[test]
fn each_shared_constant_is_used_by_c_and_defined_once() {
    let sources = sources(&kernel());
    let others: Vec<_> = sources.iter().filter(|(path, _)| !path.ends_with("constants.h")).collect();
    let words = others.iter().flat_map(|(_, text)| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    let words: BTreeSet<_> = words.collect();
    for constant in shared_constants() {
        assert!(words.contains(constant.name), "{} of {} is used nowhere", constant.name, constant.file);
        let defined = format!("#define {} ", constant.name);
        let again = others.iter().find(|(_, text)| text.contains(&defined));
        assert!(again.is_none(), "{} is defined in {again:?} again", constant.name);
    }
}

/// An item of Rust that a comment of C names: `control/starting.rs, Starting::carried`, or `control/path.rs, within_reach()`. Files
/// are below the core's `src`, or begin with `crates/`.
#[derive(Debug, PartialEq)]
struct Reference {
    file: String,
    item: Option<String>,
}

/// The item that a word names: a type, a member of one, or a function with its brackets. Other words are the comment's own.
fn item(word: &str) -> Option<String> {
    let word = word.trim_matches(|c: char| ".,;:`".contains(c));
    let is_name = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let bare = word.strip_suffix("()").unwrap_or(word);
    let is_marked = bare != word || bare.starts_with(|c: char| c.is_ascii_uppercase());
    (is_marked && bare.split("::").all(is_name)).then(|| bare.to_owned())
}

fn references(text: &str) -> Vec<Reference> {
    let comments = text.split("/*").skip(1).filter_map(|rest| rest.split("*/").next());
    let in_comment = |comment: &str| {
        let words: Vec<_> = comment.split_whitespace().filter(|word| *word != "*").collect();
        let named = |place: usize| {
            let end = words[place].find(".rs")? + 3;
            let file = words[place][..end].trim_start_matches(['(', '`']).to_owned();
            let next = words.get(place + 1).filter(|_| words[place][end..].starts_with(','));
            Some(Reference { file, item: next.and_then(|word| item(word)) })
        };
        (0..words.len()).filter_map(named).collect::<Vec<_>>()
    };
    comments.flat_map(in_comment).collect()
}

/// Whether this text of Rust defines the item: as rustfmt writes it, where members stand below their type's line.
fn defines(rust: &str, item: &str) -> bool {
    let words =
        |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect::<Vec<_>>();
    let kinds = ["fn", "struct", "enum", "trait", "const", "type"];
    let introduces = |line: &str, name: &str| {
        let follows = |pair: &[String]| kinds.contains(&pair[0].as_str()) && pair[1] == name;
        !line.trim().starts_with("//") && words(line).windows(2).any(follows)
    };
    let Some((of, name)) = item.rsplit_once("::") else { return rust.lines().any(|line| introduces(line, item)) };
    let is_variant = |line: &str| line.trim().strip_prefix(name).is_some_and(|rest| rest.starts_with([',', ' ', '(']));
    let mut within = false;
    rust.lines().any(|line| {
        if line.ends_with('{') && line.starts_with(|c: char| c.is_ascii_lowercase()) {
            within = words(line).iter().any(|word| word == of);
        }
        within &= line != "}";
        within && line.starts_with(' ') && (introduces(line, name) || is_variant(line))
    })
}

#[test]
fn each_rust_item_that_comments_of_c_name_is_there() {
    let root = kernel().join("..");
    let mut items = 0;
    for (path, text) in sources(&kernel()) {
        for reference in references(&text) {
            let file = &reference.file;
            let base = if file.starts_with("crates/") { root.clone() } else { root.join("crates/core/src") };
            let rust = fs::read_to_string(base.join(file));
            let rust =
                rust.unwrap_or_else(|why| panic!("{} names {file}: {why}", path.display())).replace("\r\n", "\n");
            let Some(item) = reference.item else { continue };
            assert!(defines(&rust, &item), "{} names {item} of {file}, which does not define it", path.display());
            items += 1;
        }
    }
    assert!(items > 30, "only {items} items were found in comments");
}

#[test]
fn references_are_found_and_compared_with_rust() {
    let named = |file: &str, item: Option<&str>| Reference { file: file.into(), item: item.map(Into::into) };
    let text = "/* rtt.rs, RttEstimator::pto. Unit: s. */ code /* what for (crates/bpf/src/a.rs), and\n * path.rs, within_reach() */";
    let expected = [
        named("rtt.rs", Some("RttEstimator::pto")),
        named("crates/bpf/src/a.rs", None),
        named("path.rs", Some("within_reach")),
    ];
    assert_eq!(references(text), expected);
    assert_eq!(references("/* a.rs, whose sums are rounded */"), [named("a.rs", None)]);
    let rust = "use x;\n\n/// Says.\nimpl A {\n    pub fn f() {}\n}\n\npub enum B {\n    One,\n    Two(u8),\n}\n\nfn g() {\n}\n";
    for there in ["A::f", "B::One", "B::Two", "B", "g"] {
        assert!(defines(rust, there), "{there}");
    }
    for absent in ["A::g", "B::f", "A::One", "h", "Says"] {
        assert!(!defines(rust, absent), "{absent}");
    }
}
