//! The file of the program that runs.

use anyhow::Context as _;
use std::path::PathBuf;

/// Where it is.
///
/// Errors: the system does not say.
pub fn path() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("could not find this program's own file")
}
