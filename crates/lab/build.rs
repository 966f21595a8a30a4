//! Tells the crate which code it measures with, so that results of other code are not taken for its own, and gives it the
//! source of PCC's kernel module.

mod measuring;

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    for name in measuring::MEASURING.iter().chain(&["build.rs", "measuring.rs"]) {
        println!("cargo::rerun-if-changed={name}");
    }
    println!("cargo::rustc-env=PCC_LAB_MEASURING={}", measuring::hash(&root)?);
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("sources.rs"), module_sources(&root.join("../../kernel"))?)
}

/// The files of which the module is built, as an array of names and contents. In a package of this crate alone there are
/// none.
fn module_sources(kernel: &Path) -> io::Result<String> {
    let mut names = Vec::new();
    if kernel.is_dir() {
        println!("cargo::rerun-if-changed={}", kernel.display());
        for dir in ["", "ascent/"] {
            for entry in fs::read_dir(kernel.join(dir))? {
                let name = entry?.file_name().to_string_lossy().into_owned();
                if name.ends_with(".h") || name == "Kbuild" || name == "tcp_pcc.c" {
                    names.push(format!("{dir}{name}"));
                }
            }
        }
    }
    names.sort();
    let mut array = String::from("&[\n");
    for name in names {
        let text = fs::read_to_string(kernel.join(&name))?.replace("\r\n", "\n");
        writeln!(array, "    ({name:?}, {text:?}),").map_err(io::Error::other)?;
    }
    Ok(array + "]\n")
}
