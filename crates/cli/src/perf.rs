//! `pcc perf`: measures a path, and compares congestion control algorithms on it.

mod args;
mod client;
mod compare;
pub(crate) mod cpu;
mod datagram;
mod flow;
mod habits;
pub(crate) mod intervals;
mod json;
mod load;
mod output;
mod protocol;
mod reports;
mod runner;
mod server;
mod side;
mod text;
pub(crate) mod watch;
mod windows;

#[cfg(test)]
mod tests;

use crate::log::LogArgs;
pub(crate) use args::Args;
use windows::Windows;

/// Runs it.
pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    LogArgs::default().start(); // for warnings of what this host cannot do
    if let Some(answer) = args.habits.answer() {
        return Err(anyhow::anyhow!(answer).context(crate::exit::Failure::Usage));
    }
    if args.server { runner::serve(args).await } else { runner::measure(args).await }
}
