//! Experiments on a real Linux stack in virtual time.

mod bench;
mod check;
mod merge;
mod progress;
mod report;
pub(crate) mod run;

use crate::exit::Failure;
use clap::Subcommand;
use pcc_lab::scenario::{self, Options};
use pcc_lab::{cost, guest, kernel};
use std::io::Write as _;
use std::path::PathBuf;

/// The names of `--algorithm`.
pub(crate) fn algorithms(list: &str) -> Result<Vec<String>, std::convert::Infallible> {
    Ok(scenario::algorithm::algorithms(list))
}

/// The commands about experiments on a real Linux stack.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Build the guest kernel (user-mode Linux 6.12); once, 3 to 4 minutes of two quiet cores
    Build(Build),
    /// List the scenarios
    List,
    Run(Box<run::Args>),
    Check(check::Args),
    Report(report::Args),
    Merge(merge::Args),
}

#[derive(clap::Args, Debug)]
#[command(after_help = "Example: pcc-lab build --source linux-6.12.tar.xz")]
pub(crate) struct Build {
    /// Source of Linux 6.12: a directory or a tarball [default: Debian's package linux-source-6.12]
    #[arg(long, value_name = "DIR|TARBALL")]
    source: Option<PathBuf>,
}

/// Says to the guest's kernel what to begin with: this program, as [`guest()`]. User-mode Linux adds words of its own.
pub(crate) const GUEST: &str = "guest-init";

/// Is the guest's first process, if the command line says so: a command for nobody else, and in no help or completion.
///
/// Errors: this is no guest.
pub(crate) fn guest() -> Option<anyhow::Error> {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_none_or(|given| given != GUEST) {
        return None;
    }
    let dir = PathBuf::from(words.next().unwrap_or_default());
    Some(anyhow::Error::new(guest::run_as_init(&dir)).context(Failure::Usage))
}

/// Runs it. Blocking: the lab is a work queue of processes and needs the async runtime for signals only.
pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Build(build) => {
            kernel::build(&kernel::cache_dir(), build.source.as_deref(), &mut |line| crate::say::say(line))?;
            Ok(())
        }
        Command::List => list(),
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Merge(args) => merge::run(&args),
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
