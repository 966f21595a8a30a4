//! `pcc utility`, and the options by which other commands take one: what PCC strives for.

mod check;
mod course;
mod findings;
mod list;
pub(crate) mod objective;
mod plot;
mod rehearsed;
mod show;

pub(crate) use objective::Objective;

use crate::exit::misuse;
#[cfg(target_os = "linux")]
use pcc::utility::Utility;

/// A sender that bears any loss goes on until nearly all is lost, for everybody in the same queue: something else has to end it.
///
/// Errors: such a utility without a limit of the rate.
pub(crate) fn heeds_something(utility: &str, panic_loss: f64, limited: bool) -> anyhow::Result<()> {
    if panic_loss < 1.0 || limited {
        return Ok(());
    }
    Err(misuse!(
        "{utility} backs off for no loss, and in a queue that it shares nothing would end it: say how fast it may send at \
         the most, for example --limit 50Mbit"
    ))
}

/// Errors: a utility by which senders want ever more, without a limit of the rate.
#[cfg(target_os = "linux")]
pub(crate) fn gives_way(written: &str, utility: &dyn Utility, limited: bool) -> anyhow::Result<()> {
    let Some(senders) = pcc_utility::insatiable(utility).filter(|_| !limited) else { return Ok(()) };
    let who = if senders == 1 { "a lone sender wants".to_owned() } else { format!("{senders} senders want") };
    Err(misuse!(
        "{written} never gives way: {who} ever more, whatever is lost (`pcc utility check` says so too): say how fast a \
         connection may send at the most, for example --limit 50Mbit"
    ))
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
