//! `pcc serve`.
mod conditions;
mod digest;
pub(crate) mod path;
mod root;
mod version;

/// Arguments of `pcc serve`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

/// Runs it.
pub(crate) async fn run(_args: Args) -> anyhow::Result<()> {
    anyhow::bail!("not built yet")
}
