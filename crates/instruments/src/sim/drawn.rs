//! `pcc-lab sim drawn`: PCC among other senders, on paths drawn at random, with CUBIC and with BBR in its place.

use crate::exit::{misuse, misused};
use pcc_lab::campaign::Shard;
use pcc_lab::each_at_once;
use pcc_sim::drawn::{Campaign, Drawn, Figures, SENDERS};
use std::io::Write as _;

#[derive(clap::Args, Debug)]
#[command(
    after_help = "The plan of it, with all distributions and limits: docs/results/drawn-plan.md.\n\nExamples:\n  \
                        pcc-lab sim drawn --shard 1/20 > drawn-1.csv\n  \
                        pcc-lab sim drawn --path 17 --seed 3 --commands"
)]
pub(super) struct Args {
    /// Only these paths, from 1 to 200
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=Campaign::PATHS))]
    path: Vec<u64>,
    /// Only the I-th of N parts: the paths I, I+N, I+2N and so on, a fair sample
    #[arg(long, value_name = "I/N", conflicts_with = "path")]
    shard: Option<Shard>,
    /// Only these seeds, from 1 to 10
    #[arg(long, value_name = "SEED", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=Campaign::SEEDS))]
    seed: Vec<u64>,
    /// Another campaign: the seed of which all is drawn
    #[arg(long, value_name = "SEED", default_value_t = Campaign::PUBLISHED.draws)]
    draws: u64,
    /// Virtual time of a run [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = crate::simulated::time)]
    time_limit: Option<std::time::Duration>,
    /// Print the paths and their senders, and run nothing
    #[arg(long, conflicts_with = "commands")]
    list: bool,
    /// Print the command of each run, and run nothing
    #[arg(long)]
    commands: bool,
}

/// A seed with a sender in PCC's place.
type Run = (u64, &'static str);

impl Args {
    fn campaign(&self) -> anyhow::Result<Campaign> {
        let duration = self.time_limit.unwrap_or(Campaign::PUBLISHED.duration);
        if duration.is_zero() {
            return Err(misuse!("--time-limit 0s: simulate longer"));
        }
        Ok(Campaign { draws: self.draws, duration })
    }

    fn paths(&self) -> Vec<u64> {
        let Shard { number, count } = self.shard.unwrap_or(Shard { number: 1, count: 1 });
        let is_wanted = |path: &u64| self.path.is_empty() || self.path.contains(path);
        (1..=Campaign::PATHS).filter(is_wanted).skip(number - 1).step_by(count).collect()
    }

    fn runs(&self) -> Vec<Run> {
        let is_wanted = |seed: &u64| self.seed.is_empty() || self.seed.contains(seed);
        let seeds = (1..=Campaign::SEEDS).filter(is_wanted);
        seeds.flat_map(|seed| SENDERS.map(|sender| (seed, sender))).collect()
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let (campaign, runs) = (args.campaign()?, args.runs());
    let mut out = std::io::stdout().lock();
    if args.list {
        writeln!(out, "number;path;buffer in products;bulk senders;files")?;
    } else if !args.commands {
        writeln!(out, "path,seed,sender,{}", Figures::COLUMNS)?;
    }
    for number in args.paths() {
        let drawn = campaign.path(number);
        if args.list {
            let Drawn { path, products, .. } = &drawn;
            writeln!(out, "{number};{path};{products:.3};{};{}", drawn.senders(), drawn.files())?;
            continue;
        }
        let commands = if args.commands { runs.as_slice() } else { &[] };
        for (seed, sender) in commands {
            writeln!(out, "{}", drawn.command(*seed, sender))?;
        }
        let simulated = if args.commands { &[] } else { runs.as_slice() };
        let figures = each_at_once(simulated, |(seed, sender)| drawn.run(*seed, sender));
        for ((seed, sender), figures) in simulated.iter().zip(figures) {
            writeln!(out, "{number},{seed},{sender},{}", figures.map_err(misused)?)?;
        }
        out.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_play::Play;
    use std::time::Duration;

    #[test]
    fn a_printed_command_repeats_its_run() {
        let drawn = Campaign { draws: 7, duration: Duration::from_secs(3) }.path(3);
        for sender in SENDERS {
            let command = drawn.command(2, sender);
            let words: Vec<&str> = command.split('\'').collect();
            let path = words[0].split(' ').nth(3).unwrap();
            assert!(words[2].ends_with("--time-limit 3s --seed 2"), "{command}");
            let time = Duration::from_secs(3);
            let (then, files, read) = (&[], &pcc_play::on_disk, &pcc_play::read);
            let play = Play {
                path,
                files,
                then,
                flows: words[1],
                read,
                objective: None,
                queue: None,
                ecn: false,
                policer: None,
                time,
            };
            let [one, other] = [play.stage().unwrap().seeded(2), drawn.scenario(2, sender).unwrap()]
                .map(|scenario| format!("{:?}", pcc_sim::run(&scenario).unwrap()));
            assert!(one == other, "{command}");
        }
    }
}
