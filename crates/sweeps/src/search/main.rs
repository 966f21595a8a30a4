//! Looks for states of several PCC senders that hold themselves up: a standing queue, losses, unequal shares.
//!
//! ```sh
//! cargo run --release -p pcc-sweeps --bin search                           # a hundred draws
//! cargo run --release -p pcc-sweeps --bin search -- --count 1000 --seed 1 --shard 2/8
//! ```
//!
//! Each draw has a path, a queue, and senders that come and go in the first half of the run. The second half is in a bad
//! state if the 95th percentile of the queue is longer than 20 ms and than half of the buffer, if the loss is more than three
//! times CUBIC's and 0.3 %, or if Jain's index is below 0.85. A bad draw is printed as the command that repeats it.
//! Virtual time: the same on every machine.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

mod draw;
#[path = "../sweep/each.rs"]
mod each;
#[cfg(test)]
mod tests;
mod verdict;

use draw::{Draw, Ranges};
use std::process::ExitCode;
use verdict::Verdict;

const HELP: &str = "usage: search [--count N] [--seed FIRST] [--shard I/N] [--short]
  --count N    so many draws, of the seeds from FIRST on [default: 100]
  --shard I/N  only the I-th of N parts of them
  --short      paths and crowds that a test can afford";

/// Draws between two looks at what was found.
const AT_ONCE: usize = 16;

struct Asked {
    seeds: Vec<u64>,
    ranges: Ranges,
}

fn main() -> ExitCode {
    let found = asked(std::env::args().skip(1)).and_then(|asked| search(&asked));
    match found {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            println!("{problem}");
            ExitCode::from(2)
        }
    }
}

fn asked(mut args: impl Iterator<Item = String>) -> Result<Asked, String> {
    let (mut count, mut first, mut shard, mut ranges) = (100, 1, (1, 1), Ranges::WHOLE);
    while let Some(arg) = args.next() {
        if arg == "--short" {
            ranges = Ranges::SHORT;
            continue;
        }
        let value = args.next().ok_or_else(|| format!("{arg} needs a value\n{HELP}"))?;
        let number = |text: &str| text.parse::<u64>().map_err(|error| format!("{arg} {value}: {error}\n{HELP}"));
        match arg.as_str() {
            "--count" => count = number(&value)?,
            "--seed" => first = number(&value)?,
            "--shard" => {
                let (part, parts) = value.split_once('/').ok_or(format!("{arg} {value}: write 2/8\n{HELP}"))?;
                shard = (number(part)?, number(parts)?);
                if !(1..=shard.1).contains(&shard.0) {
                    return Err(format!("{arg} {value}: the part is one of 1 to the number of parts"));
                }
            }
            _ => return Err(format!("unknown option {arg}\n{HELP}")),
        }
    }
    let seeds = (first..first.saturating_add(count)).filter(|seed| (seed - first) % shard.1 == shard.0 - 1);
    Ok(Asked { seeds: seeds.collect(), ranges })
}

fn search(asked: &Asked) -> Result<(), String> {
    let mut table = Table::default();
    for seeds in asked.seeds.chunks(AT_ONCE) {
        let draws: Vec<Draw> = seeds.iter().map(|seed| Draw::of(*seed, &asked.ranges)).collect();
        for verdict in each::each(&draws, Verdict::of)? {
            let faults = verdict.faults();
            table.count(&verdict.draw, !faults.is_empty());
            if !faults.is_empty() {
                println!("{}   # {}", verdict.draw, faults.join("; "));
            }
        }
    }
    println!("{}", table.text());
    Ok(())
}

/// How many draws were bad, by senders and buffer.
#[derive(Default)]
struct Table([[(u64, u64); 5]; 5]);

/// The last is of all that are more.
const SENDERS: [u64; 5] = [4, 8, 16, 32, u64::MAX];
const BUFFERS: [f64; 5] = [1.0, 2.0, 4.0, 8.0, f64::INFINITY];

impl Table {
    fn count(&mut self, draw: &Draw, is_bad: bool) {
        let row = SENDERS.iter().position(|most| draw.senders <= *most).unwrap_or(SENDERS.len() - 1);
        let column = BUFFERS.iter().position(|most| draw.buffer <= *most).unwrap_or(BUFFERS.len() - 1);
        let (bad, all) = &mut self.0[row][column];
        (*bad, *all) = (*bad + u64::from(is_bad), *all + 1);
    }

    fn text(&self) -> String {
        let (bad, all) = self.0.iter().flatten().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let mut lines = vec![
            format!("\n{bad} of {all} draws are bad\n"),
            "| senders | to 1 BDP | 1 to 2 | 2 to 4 | 4 to 8 | more |".to_owned(),
            "|---|--:|--:|--:|--:|--:|".to_owned(),
        ];
        for (row, name) in self.0.iter().zip(["2 to 4", "5 to 8", "9 to 16", "17 to 32", "33 to 64"]) {
            let cells: Vec<_> = row.iter().map(|(bad, all)| format!("{bad} of {all}")).collect();
            lines.push(format!("| {name} | {} |", cells.join(" | ")));
        }
        lines.join("\n")
    }
}
