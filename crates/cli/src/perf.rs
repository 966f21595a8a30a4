//! `pcc perf`: measures a path, and compares congestion control algorithms on it.

mod args;
mod habits;
mod output;
mod runner;
mod text;

use crate::exit::misuse;
use crate::log::LogArgs;
pub(crate) use args::Args;
pub(crate) use runner::explained;

/// Runs it.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    LogArgs::default().start(); // for warnings of what this host cannot do
    if let Some(answer) = args.habits.answer() {
        return Err(misuse!(answer));
    }
    if args.server { runner::serve(args).await } else { runner::measure(args).await }
}
