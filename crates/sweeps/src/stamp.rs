//! The law that a page's figures are of: its commit and date, by which `.ci/sweeps` tells the pages that are of an older law.

use std::path::Path;
use std::process::Command;

/// Where the laws are.
const LAWS: &str = "crates/core/src/control";
/// How the line begins.
pub(crate) const BEGINS: &str = "The law is that of commit ";

/// A line about the law of today.
pub(crate) fn stamp() -> String {
    let git = |arguments: &[&str]| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let answer = Command::new("git").current_dir(root).args(arguments).args(["--", LAWS]).output().ok()?;
        answer.status.success().then(|| String::from_utf8_lossy(&answer.stdout).trim().to_owned())
    };
    let commit = git(&["log", "-1", "--abbrev=8", "--format=%h, %cs"]).filter(|commit| !commit.is_empty());
    let is_changed = git(&["status", "--porcelain"]).is_none_or(|changes| !changes.is_empty());
    match commit {
        Some(commit) if is_changed => format!("{BEGINS}{commit}, with changes that were not committed."),
        Some(commit) => format!("{BEGINS}{commit}."),
        None => format!("{BEGINS}unknown: git does not tell it here."),
    }
}

/// A page with that line at its end.
pub(crate) fn stamped(page: &str) -> String {
    format!("{}\n\n{}", page.trim_end(), stamp())
}
