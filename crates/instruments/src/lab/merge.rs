//! `pcc-lab merge`: results of several machines become one store.

use super::bench;
use anyhow::Context as _;
use pcc_lab::store::Store;
use std::io::Write as _;
use std::path::PathBuf;

/// Put results of other machines together
///
/// Results are files named by content, so merging is copying, with every file verified. Two different results of the
/// same run are an error: nothing here is overwritten.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example: pcc-lab merge shard-1 shard-2 --results all")]
pub(crate) struct Args {
    /// Directories of results
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,
    /// Where they go [default: ~/.cache/pcc/lab/results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    // Merging looks at the results of every kernel.
    let store = Store::at(&bench::results(args.results.as_deref()), "");
    let mut out = std::io::stdout().lock();
    for dir in &args.dirs {
        let merged = store.merge(dir).with_context(|| format!("could not merge {}", dir.display()))?;
        writeln!(out, "{}: {} new results, {} known", dir.display(), merged.copied, merged.known)?;
    }
    Ok(())
}
