//! Puts PCC's BPF object into the library, if the environment says where that is.

use std::path::Path;

/// Names the file that `kernel/build` made.
const OBJECT: &str = "PCC_KERNEL_OBJECT";

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    embed_object(&variable(OBJECT), &Path::new(&variable("OUT_DIR")).join("tcp_pcc.bpf.o"))
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
