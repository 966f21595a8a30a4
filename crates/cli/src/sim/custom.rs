//! A path and who sends over it, as the command line says.

use super::{Ours, Run, jobs, page, table};
use crate::exit::Failure;
use crate::reserved::Reserved;
use anyhow::anyhow;
use pcc_chart::provenance::{Provenance, Source};
use pcc_link::Path;
use pcc_sim::{Cast, Control, ParseCastError, Policer, Queue, Results, Scenario};
use pcc_utility::Choice;
use std::io::Write as _;
use std::time::Duration;

/// What is simulated where nobody says for how long.
const USUAL_TIME: Duration = Duration::from_secs(30);

pub(super) fn run(what: &str, args: &Run) -> anyhow::Result<()> {
    let page = args.output.as_deref().map(|path| Reserved::at(path, "--output")).transpose()?;
    let misuse = |error: String| anyhow!(error).context(Failure::Usage);
    let path: Path = what.parse().map_err(|error| {
        misuse(format!("`{what}` is neither a scenario (`pcc lab list`) nor a path (`pcc emulate --list`): {error}"))
    })?;
    let then = |text: &String| text.parse::<Path>().map_err(|error| misuse(format!("--then {text}: {error}")));
    let beyond = args.then.iter().map(then).collect::<anyhow::Result<Vec<_>>>()?;
    let written = args.flows.as_deref().unwrap_or("pcc");
    let Cast(mut flows) = cast(written).map_err(|error| misuse(format!("--flows: {error}")))?;
    let ours = Ours::of(&args.objective)?;
    if let Some(given) = args.objective.given()
        && flows.iter().all(|flow| flow.control != Control::Pcc)
    {
        return Err(misuse(format!("{given} steers PCC, which --flows does not name: leave out one of the two")));
    }
    let there = beyond.len() + 1;
    if let Some(flow) = flows.iter().find(|flow| flow.via.1 != usize::MAX && flow.via.1 >= there) {
        return Err(misuse(format!(
            "--flows: via={}..{}, and there are {there} bottlenecks: --then adds one",
            flow.via.0 + 1,
            flow.via.1 + 1
        )));
    }
    for flow in &mut flows {
        flow.ecn = args.ecn;
        ours.apply(flow);
    }
    let names = names(written, flows.len());
    let policer = args.policer.as_deref().map(policer).transpose()?;
    let queue = args.queue.as_deref().and_then(Queue::by_name).unwrap_or_default();
    let time = args.time_limit.unwrap_or(USUAL_TIME);
    if time.is_zero() {
        return Err(misuse("--time-limit 0 simulates nothing: write it like 60s".to_owned()));
    }
    if let Some((flow, name)) = flows.iter().zip(&names).find(|(flow, _)| flow.start >= time) {
        return Err(misuse(format!(
            "--flows: {name} begins at {:?}, when the simulation is over after {time:?}: simulate longer with --time-limit, or \
             have it start earlier",
            flow.start
        )));
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
    let results = jobs::all(&scenarios, pcc_sim::run);
    let results =
        results.into_iter().collect::<Result<Vec<Results>, _>>().map_err(|error| misuse(error.to_string()))?;
    let mut out = std::io::stdout().lock();
    if args.json {
        let runs = scenarios.iter().zip(&results);
        let runs: Vec<_> = runs
            .map(|(scenario, results)| table::json(scenario, results, &table::lines(scenario, results, &names)))
            .collect();
        writeln!(out, "{}", serde_json::json!({ "runs": runs }))?;
    } else {
        for (scenario, results) in scenarios.iter().zip(&results) {
            let lines = table::lines(scenario, results, &names);
            writeln!(out, "{}, {:?}, seed {}", table::way(scenario), scenario.duration, scenario.seed)?;
            write!(out, "{}", table::text(scenario, results, &lines))?;
        }
    }
    if let (Some(page), Some(scenario), Some(results)) = (page, scenarios.first(), results.first()) {
        let (source, build) = (Source::Simulator, crate::program::build()?);
        let command = crate::command_line::this();
        let provenance = Provenance { source, build, command, seeds: vec![scenario.seed] };
        page.write(&page::render(scenario, results, &names, &provenance))?;
    }
    Ok(())
}

/// Who sends; a utility may be in a file.
fn cast(written: &str) -> Result<Cast, ParseCastError> {
    Cast::parse(written, &|utility| {
        utility.parse::<Choice>().map(|choice| choice.utility).map_err(|error| error.to_string())
    })
}

/// What the command line calls each flow.
fn names(flows: &str, count: usize) -> Vec<String> {
    let mut names = Vec::new();
    for word in flows.split_whitespace() {
        let Ok(alone) = cast(word) else { continue };
        let name = word.split(':').next().unwrap_or(word);
        let name = name.split('*').next().unwrap_or(name);
        let many = alone.0.len() > 1;
        names.extend((1..=alone.0.len()).map(|number| if many { format!("{name} {number}") } else { name.to_owned() }));
    }
    names.truncate(count);
    names
}

fn policer(text: &str) -> anyhow::Result<Policer> {
    let wrong = || anyhow!("--policer {text}: write a rate and a burst, like 10Mbit:64kB").context(Failure::Usage);
    let (rate, burst) = text.split_once(':').ok_or_else(wrong)?;
    Ok(Policer { rate: rate.parse().map_err(|_| wrong())?, burst: burst.parse().map_err(|_| wrong())? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_called_as_they_were_written() {
        let flows = "pcc*2:stagger=5s cubic bbr:start=1s";
        assert_eq!(names(flows, 4), ["pcc 1", "pcc 2", "cubic", "bbr"]);
    }

    #[test]
    fn flows_may_have_utilities_of_files() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("my.utility");
        std::fs::write(&file, "vivace,b=2").unwrap();
        let written = format!("pcc/{}*2 cubic", file.display());
        let Cast(flows) = cast(&written).unwrap();
        assert_eq!((flows.len(), flows[1].config.utility.name()), (3, "vivace"));
        assert!(names(&written, 3)[0].ends_with("my.utility 1"), "{:?}", names(&written, 3));
        assert!(cast("pcc/gone.utility").unwrap_err().to_string().contains("cannot read the utility in gone.utility"));
    }

    #[test]
    fn a_policer_is_a_rate_and_a_burst() {
        assert_eq!(policer("8Mbit:64kB").unwrap().burst.get(), 64_000);
        assert!(policer("8Mbit").is_err() && policer("fast:64kB").is_err());
    }
}
