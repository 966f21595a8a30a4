//! `pcc-lab utility`: what PCC may strive for, and what comes of it.

mod check;
mod course;
mod list;
mod plot;
mod show;

/// Utilities: what PCC strives for
///
/// A utility makes one number of the goodput, loss and RTT of an interval of sending. PCC moves to rates with a larger
/// number. Take a built-in utility, give it other parameters, or write your own; docs/utility.md has the language.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
                  pcc-lab utility list\n  \
                  pcc-lab utility show scavenger\n  \
                  pcc-lab utility check 'x^0.9 - 900*x*max(0, g) - 11.35*x*L' --link satellite\n  \
                  pcc-lab utility check mine.utility --set b=300 --json\n  \
                  pcc-lab utility plot safe --link rate=50Mbit,rtt=40ms -o safe.html")]
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
