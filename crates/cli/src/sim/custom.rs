//! A path and who sends over it, as the command line says.

use super::{Ours, Run, table};
use crate::exit::{misuse, misused};
use crate::reserved::Reserved;
use pcc_chart::provenance::Source;
use pcc_lab::{each_at_once, model};
use pcc_sim::{Results, Scenario};
use pcc_utility::play::{self, Play, Refused};
use std::io::Write as _;

pub(super) fn run(what: &str, args: &Run) -> anyhow::Result<()> {
    let page = args.output.as_deref().map(|path| Reserved::at(path, "--output")).transpose()?;
    let ours = Ours::of(&args.objective)?;
    let play = Play {
        path: what,
        then: &args.then,
        flows: args.flows.as_deref().unwrap_or("pcc"),
        read: &play::read,
        aim: ours.0.as_ref(),
        queue: args.queue.as_deref(),
        ecn: args.ecn,
        policer: args.policer.as_deref(),
        time: args.time_limit.unwrap_or(play::USUAL_TIME),
    };
    let staged = play.stage().map_err(|refused| misuse!(explained(what, &refused)))?;
    let names = &staged.names;
    let seeds = if args.seed.is_empty() { vec![1] } else { args.seed.clone() };
    let scenarios: Vec<Scenario> = seeds.iter().map(|&seed| staged.seeded(seed)).collect();
    let results = each_at_once(&scenarios, pcc_sim::run);
    let results = results.into_iter().collect::<Result<Vec<Results>, _>>().map_err(misused)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        let runs = scenarios.iter().zip(&results);
        let runs: Vec<_> = runs
            .map(|(scenario, results)| table::json(scenario, results, &table::lines(scenario, results, names)))
            .collect();
        writeln!(out, "{}", serde_json::json!({ "runs": runs }))?;
    } else {
        for (scenario, results) in scenarios.iter().zip(&results) {
            let lines = table::lines(scenario, results, names);
            writeln!(out, "{}, {:?}, seed {}", scenario.route(), scenario.duration, scenario.seed)?;
            write!(out, "{}", table::text(scenario, results, &lines))?;
        }
    }
    if let (Some(page), Some(scenario), Some(results)) = (page, scenarios.first(), results.first()) {
        let provenance = crate::program::provenance(Source::Simulator, vec![scenario.seed])?;
        let text = table::text(scenario, results, &table::lines(scenario, results, names));
        page.write(&model::page(scenario, results, names, &text, &provenance))?;
    }
    Ok(())
}

/// With the option that was wrong.
fn explained(what: &str, Refused { option, problem }: &Refused) -> String {
    match *option {
        "path" => {
            format!("`{what}` is neither a scenario (`pcc lab list`) nor a path (`pcc emulate --list`): {problem}")
        }
        "time" => format!("--time-limit: {problem}"),
        "then" | "policer" => format!("--{option} {problem}"),
        option => format!("--{option}: {problem}"),
    }
}
