//! `pcc race`.

/// Arguments of `pcc race`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

/// Runs it.
pub(crate) async fn run(_args: Args) -> anyhow::Result<()> {
    anyhow::bail!("not built yet")
}
