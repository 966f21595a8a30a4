//! The dependencies of a flow of QUIC's CUBIC or BBR in this program: a hash of its source without PCC. With it the lab knows
//! that what these peers did holds for another build too. Included by the build script and by a test.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The QUIC stack, and what `pcc perf` is made of: of the core the units and the reordering thresholds alone.
const STACK: [&str; 19] = [
    "Cargo.lock",
    "Cargo.toml",
    "vendor/noq/patched/Cargo.toml",
    "vendor/noq/patched/src",
    "vendor/noq-proto/patched/Cargo.toml",
    "vendor/noq-proto/patched/src",
    "crates/core/Cargo.toml",
    "crates/core/src/recovery.rs",
    "crates/core/src/units.rs",
    "crates/quic/Cargo.toml",
    "crates/quic/src",
    "crates/net/Cargo.toml",
    "crates/net/src",
    "crates/perf/Cargo.toml",
    "crates/perf/src",
    "crates/command/Cargo.toml",
    "crates/command/src",
    "crates/cli/Cargo.toml",
    "crates/cli/src",
];

/// Commands that are not `pcc perf`, and what only they or PCC use: files and directories.
pub(crate) const APART: [&str; 21] = [
    "choice",
    "display",
    "doctor",
    "emulate",
    "errand",
    "far_terminal",
    "get",
    "kernel",
    "marks",
    "moved",
    "passed",
    "put",
    "relay",
    "remote",
    "send",
    "serve",
    "session",
    "shell",
    "ssh",
    "telling",
    "utility",
];

/// The part of the common ground that PCC alone uses.
const OF_PCC: &str = "crates/command/src/utility_options";

/// Hash of those files below the workspace `root`, of their names and contents, and of `how` they are compiled. None if
/// this is no workspace, as in a package of this crate alone.
pub(crate) fn hash(root: &Path, how: &str) -> io::Result<Option<String>> {
    if !root.join("vendor/noq-proto/patched").is_dir() {
        return Ok(None);
    }
    let mut hash = blake3::Hasher::new();
    let mut add = |part: &[u8]| {
        hash.update(&(part.len() as u64).to_le_bytes()).update(part);
    };
    add(how.as_bytes());
    for file in files(root)? {
        add(file.strip_prefix(root).unwrap_or(&file).to_string_lossy().as_bytes());
        // A working tree may have other ends of lines than another.
        let text = String::from_utf8_lossy(&fs::read(&file)?).replace("\r\n", "\n");
        add(without_members(&file, text).as_bytes());
    }
    Ok(Some(hash.finalize().to_hex().as_str()[..16].to_owned()))
}

/// Without what says which crates the workspace has: one more of them changes nothing here.
fn without_members(file: &Path, text: String) -> String {
    match file.file_name().and_then(|name| name.to_str()) {
        // Packages of others have a source.
        Some("Cargo.lock") => {
            text.split("\n\n").map(str::trim).filter(|package| package.contains("\nsource = ")).collect()
        }
        Some("Cargo.toml") => text.lines().filter(|line| !line.contains("\"crates/")).collect(),
        _ => text,
    }
}

/// Those files.
pub(crate) fn files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    STACK.iter().try_for_each(|name| collect(root, &root.join(name), &mut files))?;
    files.sort();
    Ok(files)
}

fn collect(root: &Path, path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let name = path.strip_prefix(root).unwrap_or(path).with_extension("");
    let is_test = name.file_name().is_some_and(|name| name == "tests");
    if is_test || name == Path::new(OF_PCC) || APART.iter().any(|apart| name == Path::new("crates/cli/src").join(apart))
    {
        return Ok(());
    }
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    fs::read_dir(path)?.try_for_each(|entry| collect(root, &entry?.path(), files))
}
