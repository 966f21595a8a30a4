//! `pcc-lab`: the instruments by which PCC is judged. Experiments on real Linux kernels, simulations, races, and the analysis of
//! utilities.

mod advice;
#[cfg(target_os = "linux")]
mod lab;
mod program;
mod race;
mod reserved;
#[cfg(target_os = "linux")]
mod sim;
mod simulated;
mod utility;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
#[cfg(target_os = "linux")]
use pcc_command::say;
use pcc_command::{command_line, exit, interrupt, manual, open_files, written};
use std::process::ExitCode;
use tokio::runtime::Runtime;

/// As `pcc` has it, for the transfers of a race.
#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The name of this tool.
const TOOL: &str = "pcc-lab";

/// Judges PCC: experiments on real Linux kernels in virtual time, simulations, races, and the analysis of utilities.
#[derive(Parser, Debug)]
#[command(name = TOOL, version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    Lab(lab::Command),
    #[cfg(target_os = "linux")]
    Sim(Box<sim::Args>),
    /// Race PCC against CUBIC and BBR over an emulated bad network
    Race(Box<race::Args>),
    Utility(utility::Args),
    #[command(after_help = "Example:
  pcc-lab completions bash > ~/.local/share/bash-completion/completions/pcc-lab")]
    Completions(manual::CompletionsArgs),
    #[command(after_help = "Example:
  pcc-lab man ~/.local/share/man/man1")]
    Man(manual::ManArgs),
}

/// All that can be written behind `pcc-lab`.
fn command() -> clap::Command {
    pcc_command::completed(Cli::command())
}

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(error) = lab::guest() {
        return failed(&error);
    }
    let parsed = Cli::from_arg_matches(&command().get_matches());
    let cli = parsed.unwrap_or_else(|error| error.format(&mut command()).exit());
    if let Err(error) = open_files::check(TOOL) {
        return failed(&error);
    }
    let runtime = match Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&anyhow::Error::new(error).context("could not start the I/O threads")),
    };
    let done = runtime.block_on(async {
        match cli.command {
            #[cfg(target_os = "linux")]
            Command::Lab(command) => lab::run(command),
            #[cfg(target_os = "linux")]
            Command::Sim(args) => sim::run(*args),
            Command::Race(args) => race::run(*args).await,
            Command::Utility(args) => utility::run(args),
            Command::Completions(args) => manual::completions(&args, command()),
            Command::Man(args) => manual::man(&args, command()),
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// Tells of an error, and how the program ends with it.
fn failed(error: &anyhow::Error) -> ExitCode {
    exit::failed(TOOL, error, |error| {
        let advice = advice::of(error).map(|advice| format!("; {advice}")).unwrap_or_default();
        format!("{error:#}{advice}")
    })
}

#[cfg(test)]
#[path = "../../command/help.rs"]
mod help;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_value_is_refused_for_what_it_is() {
        for words in ["race --size -5MB", "utility check fair --seed -1"] {
            let words = [TOOL].into_iter().chain(words.split(' '));
            let error = command().try_get_matches_from(words).unwrap_err().to_string();
            assert!(error.starts_with("error: invalid value '-"), "{error}");
        }
        assert!(command().try_get_matches_from([TOOL, "race", "-o", "-x"]).is_ok());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn every_command_with_a_path_takes_it_with_and_without_link() {
        for command in ["race", "sim"] {
            for path in ["lossy", "--link lossy", "--link=rate=1Mbit,rtt=1ms"] {
                let words = format!("{TOOL} {command} {path}");
                let parsed = super::command().try_get_matches_from(words.split(' '));
                assert!(parsed.is_ok(), "{words}: {}", parsed.unwrap_err());
            }
        }
        assert!(super::command().try_get_matches_from([TOOL, "sim"]).is_err());
    }

    #[test]
    fn what_is_for_the_lab_s_guest_is_offered_to_nobody() {
        let mut script = Vec::new();
        clap_complete::generate(clap_complete::Shell::Bash, &mut command(), TOOL, &mut script);
        let script = String::from_utf8(script).unwrap();
        assert!(script.contains("utility") && !script.contains("guest"), "{script}");
    }
}
