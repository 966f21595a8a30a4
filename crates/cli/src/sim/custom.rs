//! A path and who sends over it, as the command line says.

use super::table::Told;
use super::{Ours, Run};
use crate::exit::{misuse, misused};
use crate::reserved::Reserved;
use pcc::utility::Utility;
use pcc_chart::provenance::Source;
use pcc_lab::{each_at_once, model};
use pcc_link::Path;
use pcc_sim::{Cast, Control, Harm, Queue, Results, Scenario};
use pcc_utility::Choice;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// What is simulated where nobody says for how long.
const USUAL_TIME: Duration = Duration::from_secs(30);

pub(super) fn run(what: &str, args: &Run) -> anyhow::Result<()> {
    let page = args.output.as_deref().map(|path| Reserved::at(path, "--output")).transpose()?;
    let path: Path = what.parse().map_err(|error| {
        misuse!("`{what}` is neither a scenario (`pcc lab list`) nor a path (`pcc emulate --list`): {error}")
    })?;
    let then = |text: &String| text.parse::<Path>().map_err(|error| misuse!("--then {text}: {error}"));
    let beyond = args.then.iter().map(then).collect::<anyhow::Result<Vec<_>>>()?;
    let written = args.flows.as_deref().unwrap_or("pcc");
    let Cast(mut flows) = Cast::parse(written, &read).map_err(|error| misuse!("--flows: {error}"))?;
    let ours = Ours::of(&args.objective)?;
    if let Some(given) = args.objective.given()
        && flows.iter().all(|flow| flow.control != Control::Pcc)
    {
        return Err(misuse!("{given} steers PCC, which --flows does not name: leave out one of the two"));
    }
    let there = beyond.len() + 1;
    if let Some(flow) = flows.iter().find(|flow| flow.via.1 != usize::MAX && flow.via.1 >= there) {
        return Err(misuse!(
            "--flows: via={}..{}, and there are {there} bottlenecks: --then adds one",
            flow.via.0 + 1,
            flow.via.1 + 1
        ));
    }
    for flow in &mut flows {
        flow.ecn = args.ecn;
        ours.apply(flow);
    }
    let names = Cast::names(written, &read);
    let policer = args
        .policer
        .as_ref()
        .map(|text| text.parse().map_err(|error| misuse!("--policer {text}: {error}")))
        .transpose()?;
    let queue = args.queue.as_deref().and_then(Queue::by_name).unwrap_or_default();
    let time = args.time_limit.unwrap_or(USUAL_TIME);
    if time.is_zero() {
        return Err(misuse!("--time-limit 0 simulates nothing: write it like 60s"));
    }
    if let Some((flow, name)) = flows.iter().zip(&names).find(|(flow, _)| flow.latest_start() >= time) {
        return Err(misuse!(
            "--flows: {name} {} at {:?}, when the simulation is over after {time:?}: simulate longer with --time-limit, or \
             have it start earlier",
            if flow.start_within.is_zero() { "begins" } else { "may begin" },
            flow.latest_start()
        ));
    }
    let seeds = if args.seed.is_empty() { vec![1] } else { args.seed.clone() };
    let scenarios: Vec<Scenario> = seeds
        .iter()
        .map(|&seed| {
            let mut flows = flows.clone();
            for (number, flow) in (0..).zip(&mut flows) {
                flow.config.seed = seed.wrapping_mul(1000).wrapping_add(number);
            }
            Scenario { beyond: beyond.clone(), queue, policer, ..Scenario::new(path.clone(), flows, seed, time) }
        })
        .collect();
    let harm = if args.harm { Some(asks(&scenarios, written)?) } else { None };
    let all: Vec<&Scenario> = scenarios.iter().chain(harm.iter().flatten().map(|(_, _, instead)| instead)).collect();
    let mut results = each_at_once(&all, |scenario| pcc_sim::run(scenario))
        .into_iter()
        .collect::<Result<Vec<Results>, _>>()
        .map_err(misused)?;
    let instead = results.split_off(scenarios.len());
    let harm = |place: usize| -> Vec<Harm> {
        let of = |((at, control, _), instead): (&Asked, &Results)| {
            (*at == place).then(|| Harm::of(&scenarios[place], *control, &results[place], instead)).flatten()
        };
        harm.iter().flatten().zip(&instead).filter_map(of).collect()
    };
    let runs = scenarios.iter().zip(&results).enumerate();
    let told: Vec<_> = runs.map(|(place, run)| Told::of(run, &names, harm(place))).collect();
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
        page.write(&model::page(scenario, results, &names, &text, &provenance))?;
    }
    Ok(())
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

/// A utility may be in a file.
fn read(utility: &str) -> Result<Arc<dyn Utility>, String> {
    utility.parse::<Choice>().map(|choice| choice.utility).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_may_have_utilities_of_files() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("my.utility");
        std::fs::write(&file, "vivace,b=2").unwrap();
        let written = format!("pcc/{}*2 cubic", file.display());
        let Cast(flows) = Cast::parse(&written, &read).unwrap();
        let names = Cast::names(&written, &read);
        assert_eq!((flows.len(), flows[1].config.utility.name()), (3, "vivace"));
        assert!(names[0].ends_with("my.utility 1"), "{:?}", names);
        assert!(
            Cast::parse("pcc/gone.utility", &read)
                .unwrap_err()
                .to_string()
                .contains("cannot read the utility in gone.utility")
        );
    }
}
