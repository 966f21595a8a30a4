//! `pcc lab`: experiments on a real Linux stack in virtual time.

mod bench;
mod check;
mod merge;
mod progress;
mod report;
mod run;

use clap::Subcommand;
use pcc_lab::scenario::{self, Options};
use pcc_lab::{cost, guest, kernel};
use std::io::Write as _;
use std::path::PathBuf;

/// Arguments of `pcc lab`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Build the guest kernel (user-mode Linux 6.12); once, 3 to 4 minutes of two quiet cores
    Build(Build),
    /// List the scenarios
    List,
    Run(Box<run::Args>),
    Check(check::Args),
    Report(report::Args),
    Merge(merge::Args),
    /// The guest's first process
    #[command(hide = true)]
    GuestInit {
        dir: PathBuf,
        /// User-mode Linux adds words of its own for its first process
        #[arg(hide = true)]
        of_the_kernel: Vec<String>,
    },
}

#[derive(clap::Args, Debug)]
struct Build {
    /// Source of Linux 6.12: a directory or a tarball [default: Debian's package linux-source-6.12]
    #[arg(long, value_name = "DIR|TARBALL")]
    source: Option<PathBuf>,
}

/// Runs it. Blocking: the lab is a work queue of processes and needs the async runtime for signals only.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        Command::Build(build) => {
            kernel::build(&kernel::cache_dir(), build.source.as_deref(), &mut say)?;
            Ok(())
        }
        Command::List => list(),
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::GuestInit { dir, .. } => guest::run_as_init(&dir),
    }
}

fn list() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for name in scenario::names() {
        let scenario = scenario::load(name, &Options::default())?;
        let runs = scenario.runs.len();
        let minutes = scenario.runs.iter().map(|run| cost::estimate(&run.spec)).sum::<f64>() / 60.0;
        writeln!(out, "{name:22} {} ({}), {runs} runs, {minutes:.1} min", scenario.title, scenario.source)?;
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "progress of a command is for the user")]
fn say(line: &str) {
    eprintln!("{line}");
}
