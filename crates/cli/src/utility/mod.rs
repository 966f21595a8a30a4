//! `pcc utility`, and the options by which other commands take one: what PCC strives for.

mod chart;
mod check;
mod choice;
mod course;
mod findings;
mod list;
mod named;
pub(crate) mod objective;
mod plot;
mod rehearsal;
mod show;

pub(crate) use choice::Choice;
#[cfg(target_os = "linux")]
pub(crate) use named::{formula, named};
#[cfg(target_os = "linux")]
pub(crate) use objective::Setting;
pub(crate) use objective::{Aim, Objective};

use crate::exit::Failure;
use anyhow::anyhow;

/// Whoever bears any loss goes on until nearly all is lost, for everybody in the same queue: something else has to end it.
///
/// Errors: such a utility without a limit of the rate.
pub(crate) fn heeds_something(utility: &str, panic_loss: f64, limited: bool) -> anyhow::Result<()> {
    if panic_loss < 1.0 || limited {
        return Ok(());
    }
    Err(anyhow!(
        "{utility} backs off for no loss, and in a queue that it shares nothing would end it: say how fast it may send at \
         the most, for example --limit 50Mbit"
    )
    .context(Failure::Usage))
}

/// Utilities: what PCC strives for
///
/// A utility makes one number of what an interval of sending achieved, and PCC moves to the rates where that number is
/// larger. Take a built-in one, give it other parameters, or write your own; docs/utility.md has the language.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
                  pcc utility list\n  \
                  pcc utility show scavenger\n  \
                  pcc utility check 'x^0.9 - 900*x*max(0, g) - 11.35*x*L' --link satellite\n  \
                  pcc utility check mine.utility --set b=300 --json\n  \
                  pcc utility plot safe --link rate=50Mbit,rtt=40ms -o safe.html")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    List(list::Args),
    Show(show::Args),
    Check(Box<check::Args>),
    Plot(Box<plot::Args>),
}

/// Runs it. Blocking: there is nothing to wait for.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        Command::List(args) => list::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Plot(args) => plot::run(&args),
    }
}
