//! `pcc sim`: senders over emulated paths in virtual time, without any network stack: seconds where the lab takes minutes.

mod custom;
mod jobs;
mod outcome;
mod page;
mod scenarios;
mod score;
mod table;
mod translate;

use crate::exit::Failure;
use crate::utility::{Aim, Objective};
use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use pcc_lab::scenario;
use std::path::PathBuf;

/// Simulate senders over a path, or the lab's scenarios, in seconds
///
/// PCC runs as it is; kernel TCP is a model: bbr, cubic and reno as Linux 6.12 has them.
#[derive(clap::Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
                  pcc sim random-loss                      the lab's scenario, by models\n  \
                  pcc sim clean --flows 'pcc*2 cubic'      a path as of `pcc emulate`, and who sends\n  \
                  pcc sim rate=40Mbit,rtt=20ms,buffer=1MB --queue codel --ecn -o page.html\n  \
                  pcc sim score --short                    what is promised, as far as a simulation can judge it"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Run,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Hold PCC against what is promised of it, row by row
    Score(score::Args),
}

/// What is simulated.
#[derive(clap::Args, Debug)]
struct Run {
    /// A supplied scenario of the lab or a .toml file; or a path: a preset's name or its parameters
    #[arg(value_name = "WHAT", required = true)]
    what: Option<String>,
    /// Take WHAT for a path, also where a scenario has the same name
    #[arg(long)]
    path: bool,
    /// Who sends over a path, for example `pcc*2:stagger=5s cubic bbr:start=10s 20Mbit`
    #[arg(long, value_name = "FLOWS", default_value = "pcc")]
    flows: String,
    /// For how long, in virtual time
    #[arg(long, value_name = "TIME", default_value = "30s")]
    time: humantime::Duration,
    /// What the bottleneck does with packets that wait
    #[arg(long, value_name = "NAME", default_value = "droptail", value_parser = PossibleValuesParser::new(pcc_sim::Queue::NAMES.map(|(name, _)| name)))]
    queue: String,
    /// The queue may mark packets, and senders answer marks
    #[arg(long)]
    ecn: bool,
    /// What exceeds a rate and a burst is dropped before the bottleneck, for example 10Mbit:64kB
    #[arg(long, value_name = "RATE:BYTES")]
    policer: Option<String>,
    /// Seeds, separated by commas [default: 1, or those of the scenario]
    #[arg(long, value_name = "SEED", value_delimiter = ',')]
    seed: Vec<u64>,
    /// Only these algorithms of a scenario
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    algorithm: Vec<String>,
    /// Only these values of a scenario's sweep
    #[arg(long, value_name = "VALUE", value_delimiter = ',')]
    point: Vec<String>,
    /// The paper's size of a scenario instead of the standard one
    #[arg(long)]
    full: bool,
    /// Only the I-th of N parts of a scenario, for N machines
    #[arg(long, value_name = "I/N")]
    shard: Option<String>,
    #[command(flatten)]
    objective: Objective,
    /// Write a page with everything over time
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// How PCC decides, where a flow does not say.
#[derive(Clone, Debug, Default)]
struct Ours(Option<Aim>);

impl Ours {
    /// As the command line says.
    fn of(objective: &Objective) -> anyhow::Result<Self> {
        objective.given().map(|_| objective.aim()).transpose().map(Self)
    }

    /// Gives them to a flow that has none of its own. A law that was named steers also who has a utility of its own.
    fn apply(&self, flow: &mut pcc_sim::Flow) {
        let Self(Some(aim)) = self else { return };
        let is_usual = flow.config.utility.name() == pcc_sim::Flow::default().config.utility.name();
        if is_usual {
            flow.config.utility = aim.utility.clone();
        }
        if flow.config.law.is_none() && (is_usual || aim.law_written.is_some()) {
            flow.config.law.clone_from(&aim.law);
        }
    }
}

/// Runs it. Blocking: there is nothing to wait for.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    if let Some(Command::Score(score)) = args.command {
        return score::run(&score);
    }
    let what = args.run.what.clone().unwrap_or_default();
    let is_scenario = what.ends_with(".toml") || scenario::names().any(|name| name == what);
    if is_scenario && !args.run.path {
        return scenarios::run(&what, &args.run);
    }
    if !args.run.algorithm.is_empty() || !args.run.point.is_empty() || args.run.full || args.run.shard.is_some() {
        let problem = format!("`{what}` is a path: --algorithm, --point, --full and --shard are about scenarios");
        return Err(anyhow!(problem).context(Failure::Usage));
    }
    custom::run(&what, &args.run)
}

#[expect(clippy::print_stderr, reason = "remarks beside the result are for the user")]
fn say(line: &str) {
    eprintln!("{line}");
}
