//! A tool's help in its tests: each command has an example that is understood, and tells its exit codes. Both tools include it.

use crate::{Cli, TOOL, command};
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
                .filter(|line| line.starts_with(&format!("{TOOL} ")) && !line.contains("...") && !line.contains('…'))
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
    leaves(&command(), "", &mut found);
    assert!(found.len() > 12, "{}", found.len());
    for (name, command) in found {
        let told = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(told.contains("Exit codes:"), "{name}: {told}");
        // A list of scenarios takes no option.
        assert!(told.contains("xample") || name == " pcc-lab list", "{name}: {told}");
    }
}

#[test]
fn every_example_in_the_help_is_understood() {
    let mut found = Vec::new();
    examples(&Cli::command(), &mut found);
    assert!(found.len() > 12, "{found:?}");
    for example in found {
        if let Err(error) = Cli::command().try_get_matches_from(&example) {
            panic!("{example:?}: {error}");
        }
    }
}
