//! Tells the program what its QUIC flows without PCC depend on, see `stack.rs`, and which commit it is built of.

mod commit;
mod stack;

use std::path::Path;
use std::process::Command;

fn main() -> std::io::Result<()> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    let compiler = Command::new(variable("RUSTC")).arg("-vV").output()?.stdout;
    let how = ["TARGET", "PROFILE", "OPT_LEVEL", "CARGO_ENCODED_RUSTFLAGS"].map(variable).join("\n");
    let how = String::from_utf8_lossy(&compiler) + how.as_str();
    for name in [
        "Cargo.lock",
        "Cargo.toml",
        "vendor/noq/patched",
        "vendor/noq-proto/patched",
        "crates/core/src/units.rs",
        "crates/quic/src",
        "crates/net/src",
        "crates/command/src",
        "crates/perf/src",
    ] {
        println!("cargo::rerun-if-changed={}", root.join(name).display());
    }
    for name in [
        "build.rs",
        "commit.rs",
        "stack.rs",
        "Cargo.toml",
        "../quic/Cargo.toml",
        "../core/Cargo.toml",
        "../net/Cargo.toml",
        "../perf/Cargo.toml",
        "../command/Cargo.toml",
        "src",
    ] {
        println!("cargo::rerun-if-changed={name}");
    }
    let commit = commit::of_build(&root, &variable("PROFILE"), &variable(commit::NAMED));
    println!("cargo::rustc-env=PCC_COMMIT={commit}");
    let told = if commit.is_empty() { String::new() } else { format!(", commit {commit}") };
    println!("cargo::rustc-env=PCC_OF_COMMIT={told}");
    println!("cargo::rustc-env=PCC_STACK={}", stack::hash(&root, &how)?.unwrap_or_default());
    Ok(())
}
