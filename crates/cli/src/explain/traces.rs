//! The traces that a word of the command means.

use super::misuse;
use anyhow::Context;
use std::path::{Path, PathBuf};

/// The number of traces of a directory that are read. `--qlog` keeps 100 of servers.
const MOST: usize = 1000;

/// A file, or the traces of a directory by name, of which those of `--qlog` begin with their time.
///
/// Errors: there is no such file, or the directory has no trace or too many.
pub(super) fn of(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let told = || pcc_net::escape_for_terminal(&path.display().to_string());
    let kind = path.metadata().with_context(|| format!("could not read {}", told()))?;
    if !kind.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in path.read_dir().with_context(|| format!("could not list {}", told()))? {
        let file = entry.with_context(|| format!("could not list {}", told()))?.path();
        if file.extension().is_some_and(|kind| kind == "sqlog" || kind == "qlog") {
            found.push(file);
        }
        if found.len() > MOST {
            return Err(misuse!("{} has more than {MOST} traces; name one of them", told()));
        }
    }
    if found.is_empty() {
        return Err(misuse!("{} has no file that ends in .sqlog or .qlog; --qlog DIR writes some", told()));
    }
    found.sort();
    Ok(found)
}
