//! The commands `completions` and `man`: what packages install beside a program.

use anyhow::Context;
use clap::Command;
pub use clap_complete::Shell;
use std::path::PathBuf;

/// Print the completions of a shell to standard output
#[derive(clap::Args, Debug)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// Write the manual pages of all commands into a directory
#[derive(clap::Args, Debug)]
pub struct ManArgs {
    /// Made if it is not there
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Prints the completions of that tool.
///
/// Errors: standard output cannot be written.
pub fn completions(args: &CompletionsArgs, command: Command) -> anyhow::Result<()> {
    print(&script(args.shell, command))
}

/// The completions of that tool in a shell, as clap writes them.
pub fn script(shell: Shell, mut command: Command) -> String {
    let (name, mut script) = (command.get_name().to_owned(), Vec::new());
    clap_complete::generate(shell, &mut command, name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Prints a script.
///
/// Errors: standard output cannot be written.
pub fn print(script: &str) -> anyhow::Result<()> {
    std::io::Write::write_all(&mut std::io::stdout(), script.as_bytes()).context("could not write to standard output")
}

/// Writes a page for each command of that tool.
///
/// Errors: the directory or a page in it cannot be written.
pub fn man(args: &ManArgs, command: Command) -> anyhow::Result<()> {
    std::fs::create_dir_all(&args.dir)
        .and_then(|()| clap_mangen::generate_to(command, &args.dir))
        .with_context(|| format!("could not write manual pages to {}", args.dir.display()))
}
