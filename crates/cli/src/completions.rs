//! `pcc completions`: what clap writes, and for bash names of other computers.

use pcc_command::manual::{self, CompletionsArgs};

/// Behind clap's script: it calls clap's function `_pcc` for all else.
const FAR_IN_BASH: &str = include_str!("completions/far.bash");

/// Prints the completions of a shell.
///
/// Errors: standard output cannot be written.
pub(crate) fn print(args: &CompletionsArgs) -> anyhow::Result<()> {
    manual::completions(args, crate::command())?;
    if args.is_for_bash() { manual::print(FAR_IN_BASH.as_bytes()) } else { Ok(()) }
}
