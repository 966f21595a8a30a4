//! The lab's scenarios, by models: the same files, the same measures, the same table.

use super::Run;
use crate::exit::Failure;
use crate::reserved::Reserved;
use crate::say::say;
use anyhow::Context as _;
use pcc_lab::campaign::{self, Whole};
use pcc_lab::check::{self, Checked};
use pcc_lab::model::{KERNEL, Plan};
use pcc_lab::report::{self, Section};
use pcc_lab::scenario::{Scenario, Selection, Size};
use pcc_lab::spec::Outcome;
use pcc_lab::store::Store;
use pcc_lab::summary;
use pcc_report::provenance::Source;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

pub(super) fn run(name: &str, args: &Run) -> anyhow::Result<()> {
    let page = args.output.as_deref().map(|path| Reserved::at(path, "--output")).transpose()?;
    let size = if args.full { Size::Full } else { Size::Standard };
    let algorithms = args.algorithm.concat();
    let wanted = Selection { algorithms: &algorithms, points: &args.point, seeds: &args.seed, first_seeds: None };
    let mut plan = Plan::of(name, size, wanted).context(Failure::Usage)?;
    // A missing peer makes the others look good. It is told before the runs are divided: each part says what is missing.
    if !plan.missing.is_empty() {
        say(format!("NOT MODELLED, left out: {}; `pcc-lab run {name}` has them", plan.missing.join(", ")));
    }
    if let Some(shard) = args.shard {
        campaign::shard(std::slice::from_mut(&mut plan.scenario), shard, Whole::Point);
    }
    if plan.scenario.runs.is_empty() {
        say("nothing falls to this part: there are more of them than points");
    }
    if let Some(draws) = draws(&plan.scenario) {
        say(draws);
    }
    let ours = super::Ours::of(&args.utility_options)?;
    let outcomes = plan.run(&|flow| ours.apply(flow))?;
    print(&plan, &outcomes, args.json)?;
    if let Some(page) = page {
        // Nothing is stored: a store of its own has no times of earlier runs.
        let provenance = crate::program::provenance(Source::Simulator, Vec::new())?;
        let store = Store::at(Path::new(""), KERNEL);
        let section = Section::of(&plan.scenario, &outcomes, &store, provenance.command.clone());
        page.write(&report::page(&[section], &provenance))?;
    }
    Ok(())
}

/// The seed's part beside the path's randomness.
fn draws(scenario: &Scenario) -> Option<String> {
    let host_delay = scenario.runs.iter().map(|run| run.spec.host_delay).max().filter(|longest| *longest > 0)?;
    Some(format!(
        "each seed draws every flow's start within one RTT, or within the range that {} names, and up to {:?} that its host \
         takes for each acknowledgement and timer; `exact = true` in a scenario's file draws neither",
        scenario.name,
        Duration::from_nanos(host_delay)
    ))
}

fn print(plan: &Plan, outcomes: &[Option<Outcome>], json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", plan.document(outcomes))?;
        return Ok(());
    }
    let scenario = &plan.scenario;
    let mut cells = summary::cells(scenario, outcomes);
    cells.retain(|cell| !cell.runs.is_empty());
    let checked: Vec<Checked> = check::check(scenario, &cells).into_iter().flatten().collect();
    crate::lab::run::print(&mut out, scenario, &cells)?;
    for row in checked {
        let (verdict, sign, number) = (row.verdict.word(), row.sign(), pcc_chart::axis::number);
        writeln!(
            out,
            "{verdict}  row {}: {} of {} at {}: {} (must {sign} {}, goal {sign} {})",
            row.row,
            row.metric,
            row.algorithm,
            row.case,
            number(row.measured),
            number(row.must),
            number(row.goal)
        )?;
    }
    Ok(())
}
