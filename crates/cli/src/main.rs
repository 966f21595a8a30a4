//! `pcc`: moves and measures data over bad networks at full speed, with nothing to configure.

mod advice;
mod bwlimit;
mod choice;
mod completions;
mod crossed;
mod destination;
mod display;
mod doctor;
mod emulate;
mod errand;
mod explain;
mod far_terminal;
mod get;
mod habits;
mod keep;
#[cfg(target_os = "linux")]
mod kernel;
mod link_args;
mod log;
#[cfg(target_os = "linux")]
mod marks;
mod moved;
mod passed;
mod perf;
mod put;
mod record;
mod relay;
mod remote;
mod rules;
mod send;
mod sender;
mod serve;
mod session;
#[cfg(target_os = "linux")]
mod shell;
#[cfg(unix)]
mod ssh;
mod telling;
mod token;
mod tunnel;
mod utility;
mod via;
mod whole_file;
mod written_url;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use pcc_command::{command_line, exit, interrupt, manual, open_files, say, written};
use std::process::ExitCode;
use tokio::runtime::Builder;

/// Buffers of a transfer come and go at gigabytes a second. The C library's allocator gives each back to the system and
/// fetches it again, page by page: a tenth of a sender's time. It does not ask for huge pages (`no_thp`): with them a server
/// at rest holds twice the memory, and nothing is faster.
#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The name of this tool.
const TOOL: &str = "pcc";

/// The version, and what else of this program somebody needs who is told of a fault.
const LONG_VERSION: &str = {
    macro_rules! version {
        ($kernel:literal) => {
            concat!(env!("CARGO_PKG_VERSION"), env!("PCC_OF_COMMIT"), "\nPCC for the kernel: ", $kernel)
        };
    }
    #[cfg(target_os = "linux")]
    const HAS_OBJECT: bool = pcc_bpf::object::is_built_in();
    #[cfg(not(target_os = "linux"))]
    const HAS_OBJECT: bool = false;
    if HAS_OBJECT { version!("built in") } else { version!("not built in") }
};

/// Moves and measures data over lossy, long or shallow-buffered paths at full speed.
#[derive(Parser, Debug)]
#[command(name = TOOL, version, long_version = LONG_VERSION, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Serve(Box<serve::Args>),
    /// Download a file or a directory
    Get(Box<get::Args>),
    Put(Box<put::Args>),
    Send(send::Args),
    Relay(relay::Args),
    #[cfg(unix)]
    Ssh(Box<ssh::Args>),
    Tunnel(Box<tunnel::Args>),
    Doctor(doctor::Args),
    Perf(Box<perf::Args>),
    Record(Box<record::Args>),
    Explain(explain::Args),
    /// Relay UDP through an emulated bad network
    Emulate(Box<emulate::Args>),
    #[cfg(target_os = "linux")]
    Shell(Box<shell::Args>),
    #[cfg(target_os = "linux")]
    Kernel(Box<kernel::Args>),
    #[command(after_help = "Examples:
  pcc completions bash > ~/.local/share/bash-completion/completions/pcc
  pcc completions fish > ~/.config/fish/completions/pcc.fish
  pcc completions zsh > ~/.zfunc/_pcc

Each directory must be there. zsh needs the line `fpath+=~/.zfunc` in ~/.zshrc, before the one that calls compinit.")]
    Completions(manual::CompletionsArgs),
    #[command(after_help = "Example:
  pcc man ~/.local/share/man/man1")]
    Man(manual::ManArgs),
}

impl Command {
    /// The threads for its packets. Whoever has a single connection has one: noq's lock lets only one of the application
    /// and the connection's driver work at a time, and two threads wake each other for every few packets.
    fn runtime(&self) -> Builder {
        match self {
            Self::Get(_) | Self::Put(_) | Self::Tunnel(_) | Self::Doctor(_) | Self::Record(_) => {
                Builder::new_current_thread()
            }
            #[cfg(unix)]
            Self::Ssh(_) => Builder::new_current_thread(),
            Self::Perf(args) if args.is_client() => Builder::new_current_thread(),
            _ => Builder::new_multi_thread(),
        }
    }
}

/// All that can be written behind `pcc`.
fn command() -> clap::Command {
    pcc_command::completed(Cli::command())
}

fn main() -> ExitCode {
    if let Some(answer) = moved::answer(std::env::args_os()) {
        say::say(format_args!("{TOOL}: {answer}"));
        return exit::Failure::Usage.into();
    }
    let parsed = Cli::from_arg_matches(&command().get_matches_from(habits::words(std::env::args_os())));
    let cli = parsed.unwrap_or_else(|error| error.format(&mut command()).exit());
    if let Err(error) = open_files::check(TOOL) {
        return failed(&error);
    }
    // Before there is any other thread: a user namespace is for a process of one. And the kernel answers at once.
    #[cfg(target_os = "linux")]
    let cli = match cli.command {
        Command::Shell(args) => return shell::run(&args).unwrap_or_else(|error| failed(&error)),
        Command::Kernel(args) => return kernel::run(*args).map_or_else(|error| failed(&error), |()| ExitCode::SUCCESS),
        command => Cli { command },
    };
    let runtime = match cli.command.runtime().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&anyhow::Error::new(error).context("could not start the I/O threads")),
    };
    let done = runtime.block_on(async {
        match cli.command {
            Command::Serve(args) => serve::run(*args).await,
            Command::Get(args) => get::run(*args).await,
            Command::Put(args) => put::run(*args).await,
            Command::Send(args) => send::run(args).await,
            Command::Relay(args) => relay::run(args).await,
            #[cfg(unix)]
            Command::Ssh(args) => ssh::run(*args).await,
            Command::Tunnel(args) => tunnel::run(*args).await,
            Command::Doctor(args) => doctor::run(args).await,
            Command::Perf(args) => perf::run(*args).await,
            Command::Record(args) => record::run(*args).await,
            Command::Explain(args) => explain::run(&args),
            Command::Emulate(args) => emulate::run(*args).await,
            #[cfg(target_os = "linux")]
            Command::Shell(_) | Command::Kernel(_) => Ok(()), // above
            Command::Completions(args) => completions::print(&args),
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
        format!("{}{advice}", advice::told(error))
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
        for words in ["serve --limit -5Mbit .", "emulate --seed -1", "perf -c x -t -1"] {
            let words = ["pcc"].into_iter().chain(words.split(' '));
            let error = command().try_get_matches_from(words).unwrap_err().to_string();
            assert!(error.starts_with("error: invalid value '-"), "{error}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn every_command_with_a_path_takes_it_with_and_without_link() {
        for command in ["emulate --to localhost:1", "shell"] {
            for path in ["lossy", "--link lossy", "--link=rate=1Mbit,rtt=1ms"] {
                let words = format!("pcc {command} {path}");
                let parsed = super::command().try_get_matches_from(words.split(' '));
                assert!(parsed.is_ok(), "{words}: {}", parsed.unwrap_err());
            }
        }
        let without = ["pcc emulate --to localhost:1", "pcc shell", "pcc shell -- true"];
        for words in without
            .into_iter()
            .chain(["pcc emulate clean --link lossy --to localhost:1", "pcc shell clean --link lossy"])
        {
            assert!(super::command().try_get_matches_from(words.split(' ')).is_err(), "{words}");
        }
    }
}
