//! A path and who sends over it, as the command line says.

use super::{Ours, Run};
use crate::exit::{misuse, misused};
use crate::reserved::Reserved;
use pcc_lab::each_at_once;
use pcc_play::page::page as drawn;
use pcc_play::{Play, Refused, Told};
use pcc_report::provenance::Source;
use pcc_sim::{Control, Harm, Results, Scenario};
use std::io::Write as _;

pub(super) fn run(what: &str, args: &Run) -> anyhow::Result<()> {
    let page = args.output.as_deref().map(|path| Reserved::at(path, "--output")).transpose()?;
    let ours = Ours::of(&args.utility_options)?;
    let written = args.flows.as_deref().unwrap_or("pcc");
    let play = Play {
        path: what,
        files: &pcc_play::on_disk,
        then: &args.then,
        flows: written,
        read: &pcc_play::read,
        objective: ours.0.as_ref(),
        queue: args.queue.as_deref(),
        ecn: args.ecn,
        policer: args.policer.as_deref(),
        time: args.time_limit.unwrap_or(pcc_play::USUAL_TIME),
    };
    let staged = play.stage().map_err(|refused| misuse!(explained(what, &refused)))?;
    let names = &staged.names;
    let seeds = if args.seed.is_empty() { vec![1] } else { args.seed.clone() };
    let scenarios: Vec<Scenario> = seeds.iter().map(|&seed| staged.seeded(seed)).collect();
    let harm = if args.harm { Some(asks(&scenarios, written)?) } else { None };
    let all: Vec<&Scenario> = scenarios.iter().chain(harm.iter().flatten().map(|(_, _, instead)| instead)).collect();
    let mut results = each_at_once(&all, |scenario| pcc_sim::run(scenario))
        .into_iter()
        .collect::<Result<Vec<Results>, _>>()
        .map_err(misused)?;
    let instead = results.split_off(scenarios.len());
    let harm = |place: usize| -> Vec<Harm> {
        let of = |((at, control, _), instead): (&Asked, &Results)| {
            (*at == place).then(|| Harm::of(&scenarios[place], control.clone(), &results[place], instead)).flatten()
        };
        harm.iter().flatten().zip(&instead).filter_map(of).collect()
    };
    let runs = scenarios.iter().zip(&results).enumerate();
    let told: Vec<_> = runs.map(|(place, run)| Told::of(run, names, harm(place))).collect();
    let mut out = std::io::stdout().lock();
    if args.json {
        let runs: Vec<_> = told.iter().map(Told::json).collect();
        writeln!(out, "{}", serde_json::json!({ "runs": runs }))?;
    } else {
        for told in &told {
            let scenario = told.scenario();
            writeln!(out, "{}, {:?}, seed {}", scenario.route(), scenario.duration, scenario.seed)?;
            write!(out, "{}", told.text())?;
        }
    }
    if let (Some(page), Some(told), Some(results)) = (page, told.first(), results.first()) {
        let (scenario, text) = (told.scenario(), told.text());
        let provenance = crate::program::provenance(Source::Simulator, vec![scenario.seed])?;
        page.write(&drawn(scenario, results, names, &text, &provenance))?;
    }
    Ok(())
}

/// With the option that was wrong.
fn explained(what: &str, Refused { option, problem }: &Refused) -> String {
    match *option {
        "path" => {
            format!("`{what}` is neither a scenario (`pcc-lab list`) nor a path (`pcc emulate --list`): {problem}")
        }
        "time" => format!("--time-limit: {problem}"),
        "then" | "policer" => format!("--{option} {problem}"),
        option => format!("--{option}: {problem}"),
    }
}

/// The place of a scenario, the kind of sender that its harm is asked of, and the scenario with that kind in PCC's place.
type Asked = (usize, Control, Scenario);

fn asks(scenarios: &[Scenario], written: &str) -> anyhow::Result<Vec<Asked>> {
    let of =
        |(place, scenario)| Harm::asks_for(scenario).into_iter().map(move |(kind, instead)| (place, kind, instead));
    let asked: Vec<Asked> = scenarios.iter().enumerate().flat_map(of).collect();
    if asked.is_empty() {
        return Err(misuse!(
            "--harm tells what PCC leaves others, and --flows '{written}' has not both: write --flows '{written} {}'",
            if scenarios.iter().all(|scenario| scenario.flows.iter().all(|flow| flow.control != Control::Pcc)) {
                "pcc"
            } else {
                "cubic"
            }
        ));
    }
    Ok(asked)
}
