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

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    /// The words of a line as a shell takes them, as far as help goes: quotes, files and pipes behind it, and remarks, which
    /// stand two spaces behind the command.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
        for c in line.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted && word.is_empty() => break,
                ' ' if !quoted => words.push(std::mem::take(&mut word)),
                _ => word.push(c),
            }
        }
        words.extend(Some(word).filter(|word| !word.is_empty()));
        words.truncate(words.iter().position(|word| word == ">" || word == "|").unwrap_or(words.len()));
        words
    }

    fn examples(command: &clap::Command, found: &mut Vec<Vec<String>>) {
        for help in [command.get_after_help(), command.get_after_long_help()].into_iter().flatten() {
            let help = help.to_string();
            let lines = help.lines().map(|line| line.trim_start_matches("Example:").trim_start());
            found.extend(
                lines
                    .filter(|line| line.starts_with("pcc ") && !line.contains("...") && !line.contains('…'))
                    .map(words),
            );
        }
        command.get_subcommands().for_each(|command| examples(command, found));
    }

    /// Commands that do something, each with the words before it.
    fn leaves(command: &clap::Command, before: &str, found: &mut Vec<(String, clap::Command)>) {
        let name = format!("{before} {}", command.get_name());
        if !command.has_subcommands() || command.get_positionals().next().is_some() {
            found.push((name.clone(), command.clone()));
        }
        command.get_subcommands().for_each(|command| leaves(command, &name, found));
    }

    #[test]
    fn each_command_shows_an_example_and_its_exit_codes() {
        let mut found = Vec::new();
        leaves(&crate::command(), "", &mut found);
        assert!(found.len() > 20, "{}", found.len());
        for (name, command) in found {
            let told = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(told.contains("Exit codes:"), "{name}: {told}");
            // A list of scenarios takes no option.
            assert!(told.contains("xample") || name == " pcc lab list", "{name}: {told}");
        }
    }

    #[test]
    fn every_example_in_the_help_is_understood() {
        let mut found = Vec::new();
        examples(&crate::Cli::command(), &mut found);
        assert!(found.len() > 20, "{found:?}");
        for example in found {
            if let Err(error) = crate::Cli::command().try_get_matches_from(&example) {
                panic!("{example:?}: {error}");
            }
        }
    }
}
