//! This program's own file, and which build it is.

use anyhow::Context as _;
use pcc_chart::provenance::{Build, Provenance, Source};
use std::path::PathBuf;

/// Hexadecimal digits of its hash that are told: as many as the lab keeps results by.
const HASH: usize = 16;

pub(crate) fn path() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("could not find this program's own file")
}

/// Where what this command measures is from.
pub(crate) fn provenance(source: Source, seeds: Vec<u64>) -> anyhow::Result<Provenance> {
    Ok(Provenance { source, build: build()?, command: crate::command_line::this(), seeds })
}

/// Which build measures: for pages, so that somebody else can build and ask the same one.
fn build() -> anyhow::Result<Build> {
    let path = path()?;
    let bytes = std::fs::read(&path).with_context(|| format!("could not read {}", path.display()))?;
    let program = blake3::hash(&bytes).to_hex().as_str()[..HASH].to_owned();
    let commit = Some(env!("PCC_COMMIT")).filter(|commit| !commit.is_empty()).map(Into::into);
    Ok(Build { version: env!("CARGO_PKG_VERSION").into(), program, commit })
}
