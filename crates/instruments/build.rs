//! Tells the program which commit it is built of.

#[path = "../cli/commit.rs"]
mod commit;

use std::env;
use std::path::Path;

fn main() {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    for name in ["build.rs", "../cli/commit.rs"] {
        println!("cargo::rerun-if-changed={name}");
    }
    let commit = commit::of_build(&root, &variable("PROFILE"), &variable(commit::NAMED));
    println!("cargo::rustc-env=PCC_COMMIT={commit}");
}
