//! The commit that a build is of: the last one that touched its sources, so that a commit of documents alone changes no
//! program. Part of the build script.

use std::path::Path;
use std::process::Command;

/// The sources that the program is made of.
const SOURCES: [&str; 7] =
    ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "crates", "vendor", "kernel", "scenarios"];
/// Says it where there is no git, as to those who make packages.
pub(crate) const NAMED: &str = "PCC_COMMIT";

/// The commit; empty if nobody knows it. Of a debug build none is told: it would be compiled again for each commit.
pub(crate) fn of_build(root: &Path, profile: &str, named: &str) -> String {
    println!("cargo::rerun-if-env-changed={NAMED}");
    if !named.is_empty() || profile != "release" {
        return named.to_owned();
    }
    commit(root).unwrap_or_default()
}

fn commit(root: &Path) -> Option<String> {
    let git = |words: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(words).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // A copy of the sources within another repository is of none of its commits.
    git(&["rev-parse", "--show-prefix"]).filter(String::is_empty)?;
    let branch = git(&["symbolic-ref", "-q", "HEAD"]).unwrap_or_else(|| "HEAD".into());
    for name in ["HEAD", &branch] {
        let path = root.join(git(&["rev-parse", "--git-path", name])?);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    for name in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(name).display());
    }
    let of = |words: &[&str]| git(&[words, &["--"], &SOURCES].concat());
    let commit = of(&["log", "-1", "--abbrev=12", "--format=%h"]).filter(|commit| !commit.is_empty())?;
    let changes = of(&["status", "--porcelain"])?;
    Some(if changes.is_empty() { commit } else { format!("{commit}+changes") })
}
