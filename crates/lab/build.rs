//! Tells the crate which code it measures with, so that results of other code are not taken for its own.

mod measuring;

fn main() -> std::io::Result<()> {
    let root = std::path::PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    for name in measuring::MEASURING.iter().chain(&["build.rs", "measuring.rs"]) {
        println!("cargo::rerun-if-changed={name}");
    }
    println!("cargo::rustc-env=PCC_LAB_MEASURING={}", measuring::hash(&root)?);
    Ok(())
}
