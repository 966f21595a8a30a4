//! `pcc completions` and `pcc man`: what packages install beside the program.

use anyhow::Context;
use clap::Command;
use std::path::PathBuf;

/// Print the completions of a shell to standard output
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  pcc completions bash > ~/.local/share/bash-completion/completions/pcc")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

/// Write the manual pages of all commands into a directory
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  pcc man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Made if it is not there
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub(crate) fn completions(args: &CompletionsArgs, mut command: Command) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "pcc", &mut script);
    std::io::Write::write_all(&mut std::io::stdout(), &script).context("could not write to standard output")
}

pub(crate) fn man(args: &ManArgs, command: Command) -> anyhow::Result<()> {
    std::fs::create_dir_all(&args.dir)
        .and_then(|()| clap_mangen::generate_to(command, &args.dir))
        .with_context(|| format!("could not write manual pages to {}", args.dir.display()))
}
