//! `pcc lab`: experiments on a real Linux stack in virtual time.

use clap::Subcommand;
use pcc_lab::kernel;
use std::path::PathBuf;

/// Arguments of `pcc lab`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Build the guest kernel (user-mode Linux 6.12); once, about 3 minutes on 2 cores
    Build(Build),
}

#[derive(clap::Args, Debug)]
struct Build {
    /// Source of Linux 6.12: a directory or a tarball [default: Debian's package linux-source-6.12]
    #[arg(long, value_name = "DIR|TARBALL")]
    source: Option<PathBuf>,
}

/// Runs it. Blocking: the lab is a work queue of processes and needs no async runtime.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        Command::Build(build) => {
            kernel::build(&kernel::cache_dir(), build.source.as_deref(), &mut say)?;
        }
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "progress of a command is for the user")]
fn say(line: &str) {
    eprintln!("{line}");
}
