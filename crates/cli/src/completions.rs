//! `pcc completions`: what clap writes, and names of other computers in bash, zsh and fish.

use pcc_command::manual::{self, CompletionsArgs, Shell};

/// Behind clap's script: each calls for all else what clap wrote, by its functions' names.
const FAR_IN_BASH: &str = include_str!("completions/far.bash");
const FAR_IN_FISH: &str = include_str!("completions/far.fish");

/// Between clap's functions and [`CALLS_IN_ZSH`]: zsh reads the file at the first tab, and wants the answer to that tab from it.
const FAR_IN_ZSH: &str = include_str!("completions/far.zsh");

/// How the end of clap's script begins, which calls its functions or tells zsh of them.
const CALLS_IN_ZSH: &str = "if [ \"$funcstack[1]\" = \"_pcc\" ]";

/// Prints the completions of a shell.
///
/// Errors: standard output cannot be written.
pub(crate) fn print(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut script = manual::script(args.shell, crate::command());
    let end = script.len();
    match args.shell {
        Shell::Bash => script.push_str(FAR_IN_BASH),
        Shell::Fish => script.push_str(FAR_IN_FISH),
        Shell::Zsh => script.insert_str(script.rfind(CALLS_IN_ZSH).unwrap_or(end), FAR_IN_ZSH),
        _ => {}
    }
    manual::print(&script)
}
