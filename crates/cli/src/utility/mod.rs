//! `pcc utility`, and the options by which other commands take one: what PCC strives for.

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
#[cfg(target_os = "linux")]
use pcc::{control::Law, units::Rate, utility::Utility};
#[cfg(target_os = "linux")]
use pcc_utility::{Bottleneck, Game};
#[cfg(target_os = "linux")]
use std::time::Duration;

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

/// A utility that wants ever more, whatever is lost, fills each queue that it shares, and several such senders lose ever more.
/// Looked for on a path of 100 Mbit/s and 30 ms, by the computation of `pcc utility check`.
///
/// Errors: such a utility without a limit of the rate.
#[cfg(target_os = "linux")]
pub(crate) fn gives_way(written: &str, utility: &dyn Utility, limited: bool) -> anyhow::Result<()> {
    let path = Bottleneck {
        capacity: Rate::from_mbit(100.0),
        base_rtt: Duration::from_millis(30),
        buffer: Duration::from_millis(30),
        loss: 0.0,
    };
    let law = Law::suited_to(utility);
    let game = Game::new(utility, &law, path);
    let Some(senders) = [1, 2, 10].into_iter().find(|senders| game.settle(*senders).unbounded) else { return Ok(()) };
    if limited {
        return Ok(());
    }
    let who = if senders == 1 { "a lone sender wants".to_owned() } else { format!("{senders} senders want") };
    Err(anyhow!(
        "{written} never gives way: {who} ever more, whatever is lost (`pcc utility check` says so too): say how fast a \
         connection may send at the most, for example --limit 50Mbit"
    )
    .context(Failure::Usage))
}

/// Utilities: what PCC strives for
///
/// A utility makes one number of the goodput, loss and RTT of an interval of sending. PCC moves to rates with a larger
/// number. Take a built-in utility, give it other parameters, or write your own; docs/utility.md has the language.
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
