//! Which build this program is, and the tool beside it.

use anyhow::Context as _;
pub(crate) use pcc_command::command_line::program as path;
use pcc_report::provenance::{Build, Provenance, Source};
#[cfg(target_os = "linux")]
use std::path::PathBuf;

/// Hexadecimal digits of its hash that are told: as many as the lab keeps results by.
const HASH: usize = 16;

/// The `pcc` that lies beside this program, if one does: its own is what the lab's QUIC flows run.
#[cfg(target_os = "linux")]
pub(crate) fn tool() -> Option<PathBuf> {
    path().ok().map(|path| path.with_file_name("pcc")).filter(|tool| tool.is_file())
}

/// Where what this command measures is from.
pub(crate) fn provenance(source: Source, seeds: Vec<u64>) -> anyhow::Result<Provenance> {
    Ok(Provenance { source, build: build()?, command: crate::command_line::this(crate::TOOL), seeds })
}

/// Which build measures: for pages, so that somebody else can build and ask the same one.
fn build() -> anyhow::Result<Build> {
    let path = path()?;
    let bytes = std::fs::read(&path).with_context(|| format!("could not read {}", path.display()))?;
    let program = blake3::hash(&bytes).to_hex().as_str()[..HASH].to_owned();
    let commit = Some(env!("PCC_COMMIT")).filter(|commit| !commit.is_empty()).map(Into::into);
    Ok(Build { version: env!("CARGO_PKG_VERSION").into(), program, commit })
}
