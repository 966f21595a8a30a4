//! `pcc put`.

/// Arguments of `pcc put`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) log: crate::log::LogArgs,
}

/// Runs it.
pub(crate) async fn run(_args: Args) -> anyhow::Result<()> {
    anyhow::bail!("not built yet")
}
