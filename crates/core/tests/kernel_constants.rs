//! `kernel/constants.h` has the core's constants under their names in C. `PCC_KERNEL_WRITE=1` writes it anew.

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
