//! Tells the program what its QUIC flows without PCC depend on, see `stack.rs`; and puts PCC's BPF object into it, if the
//! environment says where that is.

mod commit;
mod stack;

use std::path::Path;
use std::process::Command;

/// Names the file that `kernel/build` made.
const OBJECT: &str = "PCC_KERNEL_OBJECT";

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
    ] {
        println!("cargo::rerun-if-changed={}", root.join(name).display());
    }
    for name in ["build.rs", "commit.rs", "stack.rs", "Cargo.toml", "../quic/Cargo.toml", "../core/Cargo.toml", "src"] {
        println!("cargo::rerun-if-changed={name}");
    }
    embed_object(&variable(OBJECT), &Path::new(&variable("OUT_DIR")).join("tcp_pcc.bpf.o"))?;
    let commit = commit::of_build(&root, &variable("PROFILE"), &variable(commit::NAMED));
    println!("cargo::rustc-env=PCC_COMMIT={commit}");
    println!("cargo::rustc-env=PCC_STACK={}", stack::hash(&root, &how)?.unwrap_or_default());
    Ok(())
}

/// Nothing is embedded if nothing is named: the tool then says how to get an object.
fn embed_object(named: &str, to: &Path) -> std::io::Result<()> {
    println!("cargo::rerun-if-env-changed={OBJECT}");
    if named.is_empty() {
        return std::fs::write(to, []);
    }
    println!("cargo::rerun-if-changed={named}");
    let copied = std::fs::copy(named, to);
    copied.map(drop).map_err(|error| std::io::Error::new(error.kind(), format!("{OBJECT}={named}: {error}")))
}
