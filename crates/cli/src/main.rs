//! `pcc`: moves and measures data over bad networks at full speed, with nothing to configure.

mod advice;
mod choice;
#[cfg(target_os = "linux")]
mod columns;
mod command_line;
mod destination;
mod display;
mod doctor;
mod duration;
mod emulate;
mod exit;
mod get;
mod habits;
mod interrupt;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod lab;
mod link_args;
mod log;
mod manual;
mod open_files;
mod perf;
mod program;
mod put;
mod race;
mod remote;
mod reserved;
mod say;
mod seed;
mod sender;
mod serve;
mod session;
#[cfg(target_os = "linux")]
mod shell;
#[cfg(target_os = "linux")]
mod sim;
mod telling;
mod token;
mod tunnel;
mod utility;
mod wrapped;
mod written_url;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;
use tokio::runtime::Builder;

/// Buffers of a transfer come and go at gigabytes a second. The C library's allocator gives each back to the system and
/// fetches it again, page by page: a tenth of a sender's time. It does not ask for huge pages (`no_thp`): with them a server
/// at rest holds twice the memory, and nothing is faster.
#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Moves and measures data over lossy, long or shallow-buffered paths at full speed.
#[derive(Parser, Debug)]
#[command(name = "pcc", version, propagate_version = true)]
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
    Tunnel(Box<tunnel::Args>),
    Doctor(doctor::Args),
    Perf(Box<perf::Args>),
    /// Relay UDP through an emulated bad network
    Emulate(Box<emulate::Args>),
    /// Race PCC against CUBIC and BBR over an emulated bad network
    Race(race::Args),
    /// Experiments on a real Linux network stack in virtual time
    #[cfg(target_os = "linux")]
    Lab(lab::Args),
    #[cfg(target_os = "linux")]
    Sim(Box<sim::Args>),
    Utility(utility::Args),
    #[cfg(target_os = "linux")]
    Shell(Box<shell::Args>),
    #[cfg(target_os = "linux")]
    Kernel(Box<kernel::Args>),
    Completions(manual::CompletionsArgs),
    Man(manual::ManArgs),
}

impl Command {
    /// The threads for its packets. Whoever has a single connection has one: noq's lock lets only one of the application
    /// and the connection's driver work at a time, and two threads wake each other for every few packets.
    fn runtime(&self) -> Builder {
        match self {
            Self::Get(_) | Self::Put(_) | Self::Tunnel(_) | Self::Doctor(_) => Builder::new_current_thread(),
            Self::Perf(args) if args.is_client() => Builder::new_current_thread(),
            _ => Builder::new_multi_thread(),
        }
    }
}

/// All that can be written behind `pcc`.
fn command() -> clap::Command {
    with_exit_codes(values_may_begin_with_a_hyphen(Cli::command()))
}

/// Commands that do not tell their exit codes have those of all.
fn with_exit_codes(command: clap::Command) -> clap::Command {
    let told = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let does_something = !command.has_subcommands() || command.get_positionals().next().is_some();
    let command = if does_something && !told.contains("Exit codes:") {
        command.after_help(format!("{told}\n\nExit codes: 0 done, 1 error, 2 misused").trim_start().to_owned())
    } else {
        command
    };
    command.mut_subcommands(with_exit_codes)
}

/// A user who writes `--limit -5Mbit` is to hear what is wrong with -5Mbit, not that there is no option -5.
fn values_may_begin_with_a_hyphen(command: clap::Command) -> clap::Command {
    let must_have_one = |arg: &clap::Arg| arg.get_num_args().is_none_or(|number| number.min_values() > 0);
    let command = command.mut_args(|arg| {
        let has_value = !arg.is_positional() && arg.get_action().takes_values() && must_have_one(&arg);
        if has_value { arg.allow_hyphen_values(true) } else { arg }
    });
    command.mut_subcommands(values_may_begin_with_a_hyphen)
}

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(error) = lab::guest() {
        return failed(&error);
    }
    let parsed = Cli::from_arg_matches(&command().get_matches());
    let cli = parsed.unwrap_or_else(|error| error.format(&mut command()).exit());
    if let Err(error) = open_files::check() {
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
        Err(error) => {
            complain(&anyhow::Error::new(error).context("could not start the I/O threads"));
            return exit::Failure::Error.into();
        }
    };
    let done = runtime.block_on(async {
        match cli.command {
            Command::Serve(args) => serve::run(*args).await,
            Command::Get(args) => get::run(*args).await,
            Command::Put(args) => put::run(*args).await,
            Command::Tunnel(args) => tunnel::run(*args).await,
            Command::Doctor(args) => doctor::run(args).await,
            Command::Perf(args) => perf::run(*args).await,
            Command::Emulate(args) => emulate::run(*args).await,
            Command::Race(args) => race::run(args).await,
            #[cfg(target_os = "linux")]
            Command::Lab(args) => lab::run(args),
            #[cfg(target_os = "linux")]
            Command::Sim(args) => sim::run(*args),
            Command::Utility(args) => utility::run(args),
            #[cfg(target_os = "linux")]
            Command::Shell(_) | Command::Kernel(_) => Ok(()), // above
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
    let failure = exit::failure_of(error);
    // A reader that closed the pipe has seen enough.
    if failure != exit::Failure::Unread && error.downcast_ref::<exit::AlreadyTold>().is_none() {
        complain(error);
    }
    failure.into()
}

/// The one place where an error reaches the user.
fn complain(error: &anyhow::Error) {
    // Everything else that fails says what it tried.
    let is_full = |error: &std::io::Error| {
        use std::io::ErrorKind as Kind;
        matches!(error.kind(), Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge)
    };
    let bare = error.downcast_ref::<std::io::Error>().filter(|_| error.chain().count() == 1);
    let place = if bare.is_some_and(is_full) { "could not write to standard output: " } else { "" };
    let advice = advice::of(error).map(|advice| format!("; {advice}")).unwrap_or_default();
    say::say(format_args!("pcc: {place}{}{advice}", advice::told(error)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_value_is_refused_for_what_it_is() {
        for words in ["serve --limit -5Mbit .", "emulate --seed -1", "perf -c x -t -1", "race --size -5MB"] {
            let words = ["pcc"].into_iter().chain(words.split(' '));
            let error = command().try_get_matches_from(words).unwrap_err().to_string();
            assert!(error.starts_with("error: invalid value '-"), "{error}");
        }
        assert!(command().try_get_matches_from(["pcc", "race", "-o", "-x"]).is_ok());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn every_command_with_a_path_takes_it_with_and_without_link() {
        for command in ["emulate --to localhost:1", "race", "sim", "shell"] {
            for path in ["lossy", "--link lossy", "--link=rate=1Mbit,rtt=1ms"] {
                let words = format!("pcc {command} {path}");
                let parsed = super::command().try_get_matches_from(words.split(' '));
                assert!(parsed.is_ok(), "{words}: {}", parsed.unwrap_err());
            }
        }
        let without = ["pcc emulate --to localhost:1", "pcc sim", "pcc shell", "pcc shell -- true"];
        for words in without
            .into_iter()
            .chain(["pcc emulate clean --link lossy --to localhost:1", "pcc shell clean --link lossy"])
        {
            assert!(super::command().try_get_matches_from(words.split(' ')).is_err(), "{words}");
        }
    }

    #[test]
    fn what_is_for_the_lab_s_guest_is_offered_to_nobody() {
        let mut script = Vec::new();
        clap_complete::generate(clap_complete::Shell::Bash, &mut command(), "pcc", &mut script);
        let script = String::from_utf8(script).unwrap();
        assert!(script.contains("emulate") && !script.contains("guest"), "{script}");
    }
}
