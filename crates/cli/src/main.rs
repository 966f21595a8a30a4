//! `pcc`: moves and measures data over bad networks at full speed, with nothing to configure.

#[cfg(test)]
mod allocated;
mod blocking;
mod dial;
mod disk;
mod emulate;
mod exit;
mod filename;
mod get;
mod interrupt;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod lab;
mod log;
mod manual;
mod page;
mod percent;
mod perf;
mod put;
mod race;
mod reserved;
mod sender;
mod serve;
mod session;
#[cfg(target_os = "linux")]
mod shell;
#[cfg(target_os = "linux")]
mod sim;
mod sink;
mod throttle;
mod tls;
mod token;
#[cfg(target_os = "linux")]
mod tun;
mod url;
mod utility;
mod wire;

use clap::{CommandFactory, Parser, Subcommand};
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
    /// Measure a path
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
            Self::Get(_) | Self::Put(_) => Builder::new_current_thread(),
            Self::Perf(args) if args.is_client() => Builder::new_current_thread(),
            _ => Builder::new_multi_thread(),
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
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
            Command::Completions(args) => manual::completions(&args, Cli::command()),
            Command::Man(args) => manual::man(&args, Cli::command()),
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
    // Whoever closed the pipe has seen enough.
    if failure != exit::Failure::Unread {
        complain(error);
    }
    failure.into()
}

#[expect(clippy::print_stderr, reason = "the one place where an error reaches the user")]
fn complain(error: &anyhow::Error) {
    eprintln!("pcc: {error:#}");
}
