//! `pcc-lab sim`: senders over emulated paths in virtual time, without any network stack: seconds where the lab takes minutes.

mod custom;
mod drawn;
mod scenarios;
mod score;

use crate::exit::misuse;
use clap::builder::PossibleValuesParser;
use pcc_command::UtilityOptions;
use pcc_lab::campaign::Shard;
use pcc_lab::scenario;
use pcc_utility::Objective;
use std::path::PathBuf;

/// Simulate senders over a path, or the lab's scenarios, in seconds
///
/// PCC runs as it is; kernel TCP is a model: bbr, cubic and reno as Linux 6.12 has them.
#[derive(clap::Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
                  pcc-lab sim random-loss                      the lab's scenario, by models\n  \
                  pcc-lab sim clean --flows 'pcc*2 cubic'      a path as of `pcc emulate`, and who sends\n  \
                  pcc-lab sim rate=40Mbit,rtt=20ms,buffer=1MB --queue codel --ecn -o page.html\n  \
                  pcc-lab sim score --short                    the promises, as far as a simulation can judge them"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Run,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Judge PCC by its promises, row by row
    Score(score::Args),
    /// Run PCC among other senders on 200 paths drawn at random, with CUBIC and with BBR in its place: a table for programs
    Drawn(drawn::Args),
}

/// A scenario or a path, and who sends over it.
#[derive(clap::Args, Debug)]
struct Run {
    /// A supplied scenario of the lab or a .toml file; or a path: a preset's name or its parameters
    #[arg(value_name = "WHAT", required_unless_present = "link")]
    what: Option<String>,
    /// A path, instead of WHAT
    #[arg(long, value_name = "PRESET|PARAMETERS", conflicts_with = "what")]
    link: Option<String>,
    /// Words behind WHAT: there is no place for them
    #[arg(hide = true, requires = "what")]
    more: Vec<String>,
    /// Take WHAT for a path, even if a scenario has the same name
    #[arg(long)]
    path: bool,
    /// The senders over a path, for example `pcc*2:stagger=5s cubic bbr:start=random:0..5s 20Mbit` [default: pcc]
    #[arg(long, value_name = "FLOWS")]
    flows: Option<String>,
    /// Virtual time over a path, at most 24h [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = crate::simulated::time)]
    time_limit: Option<std::time::Duration>,
    /// Another path behind the first, with a bottleneck of its own; may be given several times. Flows go through all,
    /// or through those of via=1..2
    #[arg(long, value_name = "PATH")]
    then: Vec<String>,
    /// The queue on the way down of all paths [default: that of each, as queue=pie says, or droptail]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(pcc_sim::Queue::NAMES.map(|(name, _)| name)))]
    queue: Option<String>,
    /// Queues may mark packets of all senders, and they answer marks; for one sender write cubic:ect0
    #[arg(long)]
    ecn: bool,
    /// Drop packets beyond a rate and a burst, before a path's bottleneck, for example 10Mbit:64kB
    #[arg(long, value_name = "RATE:BYTES")]
    policer: Option<String>,
    /// Tell what PCC leaves the other senders: the same run is made with each of their kinds in PCC's place
    #[arg(long)]
    harm: bool,
    /// Seeds, separated by commas [default: 1, or those of the scenario]
    #[arg(long, value_name = "SEED", value_delimiter = ',', value_parser = crate::written::seed)]
    seed: Vec<u64>,
    /// Only these algorithms, of a scenario or not, for example `quic:pcc/safe,queued=1+allegro+paper,cubic`
    #[arg(long, value_name = "NAME", value_parser = crate::lab::algorithms)]
    algorithm: Vec<Vec<String>>,
    /// Only these values of a scenario's sweep
    #[arg(long, value_name = "VALUE", value_delimiter = ',')]
    point: Vec<String>,
    /// The paper's size of a scenario instead of the standard one
    #[arg(long)]
    full: bool,
    /// Only the I-th of N parts of a scenario, for N machines; each part has whole points of the sweep
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    #[command(flatten)]
    utility_options: UtilityOptions,
    /// Write a page: of a path everything over time, by the first seed; of a scenario its figures, as `pcc-lab report`
    /// does
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// How PCC decides, where a flow does not say.
#[derive(Clone, Debug, Default)]
struct Ours(Option<Objective>);

impl Ours {
    /// As the command line says.
    fn of(utility_options: &UtilityOptions) -> anyhow::Result<Self> {
        utility_options.given().map(|_| utility_options.objective()).transpose().map(Self)
    }

    /// Suggests them to a flow.
    fn apply(&self, flow: &mut pcc_sim::Flow) {
        if let Self(Some(objective)) = self {
            pcc_play::suggest(objective, flow);
        }
    }
}

/// Runs it. Blocking: there is nothing to wait for.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        Some(Command::Score(score)) => return score::run(&score),
        Some(Command::Drawn(drawn)) => return drawn::run(&drawn),
        None => {}
    }
    let run = &args.run;
    if let (Some(flows), Some(next)) = (&run.flows, run.more.first()) {
        return Err(misuse!("`{next}` is one word too many: quote those of --flows, like --flows '{flows} {next}'"));
    }
    if let Some(next) = run.more.first() {
        return Err(misuse!("`{next}` is one word too many: one scenario or path at a time"));
    }
    let what = run.link.as_ref().or(run.what.as_ref()).map_or("", String::as_str);
    let is_scenario = what.ends_with(".toml") || scenario::names().any(|name| name == what);
    if is_scenario && !run.path && run.link.is_none() {
        if run.flows.is_some()
            || !run.then.is_empty()
            || run.time_limit.is_some()
            || run.queue.is_some()
            || run.ecn
            || run.policer.is_some()
            || run.harm
        {
            return Err(misuse!(
                "`{what}` is a scenario, which says itself who sends over what: --flows, --then, --time-limit, --queue, --ecn, \
                 --policer and --harm are about paths; {}",
                if what.parse::<pcc_link::Path>().is_ok() {
                    "--path takes the path of that name"
                } else {
                    "`pcc emulate --list` shows them"
                }
            ));
        }
        return scenarios::run(what, run);
    }
    if !run.algorithm.is_empty() || !run.point.is_empty() || run.full || run.shard.is_some() {
        return Err(misuse!("`{what}` is a path: --algorithm, --point, --full and --shard are about scenarios"));
    }
    custom::run(what, run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Failure;
    use clap::Parser as _;

    #[test]
    fn what_would_be_ignored_or_is_not_there_is_refused() {
        for (args, expected) in [
            (&["satellite", "--flows", "cubic"][..], "--path takes the path of that name"),
            (&["random-loss", "--time-limit", "1s"], "is a scenario"),
            (&["random-loss", "--ecn"], "is a scenario"),
            (&["random-loss", "--then", "clean"], "is a scenario"),
            (&["clean", "--then", "nowhere"], "--then nowhere"),
            (&["clean", "--then", "clean", "--flows", "pcc pcc:via=2..3"], "there are 2 bottlenecks"),
            (&["clean", "--point", "1"], "is a path"),
            (&["clean", "--flows", "pcc cubic:start=30s"], "cubic begins at 30s"),
            (&["clean", "--flows", "pcc*3:stagger=5s", "--time-limit", "10s"], "pcc 3 begins at 10s"),
            (&["clean", "--flows", "pcc:start=5s:stop=5s"], "never sends"),
            (&["clean", "--flows", "pcc:start=random:1s..30s"], "pcc may begin at 30s"),
            (&["clean", "--flows", "pcc*2", "--harm"], "write --flows 'pcc*2 cubic'"),
            (&["random-loss", "--harm"], "is a scenario"),
            (&["rate=50Mbit,rate=20Mbit"], "`rate` is given twice"),
            (&["clean", "--flows", "pcc", "cubic"], "--flows 'pcc cubic'"),
            (&["clean", "lossy"], "`lossy` is one word too many"),
            (&["--link", "random-loss"], "neither a scenario"),
            (&["clean", "--flows", "cubic 20Mbit", "--utility", "safe"], "none of these is PCC"),
            (&["score", "--row", "9999"], "choose from 1, 1k, 2"),
            (&["nowhere.toml"], "nowhere.toml"),
            (&["random-loss", "--point", "0.5"], "has no point `0.5`"),
            (&["random-loss", "--algorithm", "swift"], "unknown algorithm `swift`"),
            (&["random-loss", "--seed", "99"], "has no seed 99"),
            (&["random-loss", "--algorithm", "illinois"], "there are models of"),
        ] {
            let cli = crate::Cli::try_parse_from([&["pcc-lab", "sim"], args].concat()).unwrap();
            let crate::Command::Sim(args) = cli.command else { panic!("{args:?}") };
            let error = run(*args).unwrap_err();
            assert_eq!(crate::exit::failure_of(&error), Failure::Usage, "{error:#}");
            assert!(format!("{error:#}").contains(expected), "{error:#}");
        }
    }
}
