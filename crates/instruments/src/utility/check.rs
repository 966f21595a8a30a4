use super::course::Course;
use crate::exit::misused;
use anyhow::ensure;
use pcc_play::findings;
use pcc_play::rehearsal::Rehearsal;
use pcc_utility::Findings;
use std::io::Write as _;
use std::time::Duration;

/// How a utility behaves on a path: by computation, and in a simulation beside CUBIC
///
/// It answers: Is the utility concave in the rate? Where do its senders settle: rate, loss, standing queue? In one
/// state only, and all at the same rate? How much random loss, growth and deviation of the RTT does a sender bear?
/// Which traps are there? The computation takes senders for fluids on one first-in-first-out queue (docs/utility.md).
/// The simulation has packets, noise, and the law itself.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  pcc-lab utility check 'x^0.9 - 900*x*max(0, g) - 11.35*x*L' --link satellite\n  pcc-lab utility check fair --link rate=50Mbit,rtt=40ms,loss=1% --senders 1,20 --time 60s\n  pcc-lab utility check ./mine --set b=300 --strict\n\nExit codes: 0 done, 1 error, or traps with --strict, 2 misused"
)]
pub(super) struct Args {
    #[command(flatten)]
    course: Course,
    /// How many senders there are, separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2,5,10", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    senders: Vec<u32>,
    /// Virtual time of the simulation, at most 24h; 0s for none [default: 30s, or a hundred round trips]
    #[arg(long, value_name = "TIME", value_parser = crate::simulated::time)]
    time: Option<Duration>,
    /// Seed of everything random in the simulation
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = crate::written::seed)]
    seed: u64,
    /// End with exit code 1 if there are traps
    #[arg(long)]
    strict: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

const TIME: Duration = Duration::from_secs(30);
const ROUND_TRIPS: u32 = 100;

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let (objective, path) = (args.course.objective()?, args.course.bottleneck()?);
    let found = Findings::of(objective, path, &args.senders);
    let time = args.time.unwrap_or_else(|| TIME.max(path.base_rtt * ROUND_TRIPS));
    let rehearse = || Rehearsal::of(&found.objective, &args.course.link, args.seed, time).map_err(misused);
    let rehearsal = (time > Duration::ZERO).then(rehearse).transpose()?;
    tell(args, &found, rehearsal.as_ref())?;
    ensure!(!args.strict || found.traps.is_empty(), "--strict: the utility has traps, which are named above");
    Ok(())
}

fn tell(args: &Args, found: &Findings, rehearsal: Option<&Rehearsal>) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", findings::json(found, &args.course.link.to_string(), rehearsal))?;
        return Ok(());
    }
    write!(out, "{}", findings::text(found, rehearsal))?;
    if args.course.changes() {
        writeln!(out, "\nThe path changes with time: computed is its first moment, simulated all of it.")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser, Debug)]
    struct Alone {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn strict_fails_with_traps_and_without_them_does_not() {
        let check =
            |words: &str| run(&Alone::try_parse_from(format!("check --time 0s {words}").split(' ')).unwrap().args);
        assert!(check("fair --strict").is_ok() && check("loss-resilient").is_ok());
        assert!(check("loss-resilient --strict").unwrap_err().to_string().contains("--strict"));
    }
}
