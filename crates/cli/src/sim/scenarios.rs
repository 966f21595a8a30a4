//! The lab's scenarios, by models: the same files, the same measures, the same table.

use super::Run;
use crate::exit::{Failure, misuse};
use crate::reserved::Reserved;
use crate::say::say;
use anyhow::Context as _;
use pcc_chart::provenance::Source;
use pcc_lab::campaign::{self, Whole};
use pcc_lab::check::{self, Checked};
use pcc_lab::each_at_once;
use pcc_lab::model::{self, KERNEL};
use pcc_lab::report::{self, Section};
use pcc_lab::scenario::{self, Options, Scenario, Selection, Size};
use pcc_lab::spec::Outcome;
use pcc_lab::store::Store;
use pcc_lab::summary;
use std::io::Write as _;
use std::path::Path;

pub(super) fn run(name: &str, args: &Run) -> anyhow::Result<()> {
    let page = args.output.as_deref().map(|path| Reserved::at(path, "--output")).transpose()?;
    let options = Options { size: if args.full { Size::Full } else { Size::Standard }, ..Options::default() };
    let mut scenarios = [scenario::load(name, &options).context(Failure::Usage)?];
    let selection =
        Selection { algorithms: &args.algorithm, points: &args.point, seeds: &args.seed, first_seeds: None };
    selection.apply(&mut scenarios).context(Failure::Usage)?;
    // Before they are divided: each part says what is missing, and has some of the rest.
    leave_out(&mut scenarios[0])?;
    if let Some(shard) = args.shard {
        campaign::shard(&mut scenarios, shard, Whole::Point);
    }
    let [scenario] = scenarios;
    if scenario.runs.is_empty() {
        say("nothing falls to this part: there are more of them than points");
    }
    let ours = super::Ours::of(&args.objective)?;
    let outcomes = each_at_once(&scenario.runs, |run| model::run(&run.spec, &|flow| ours.apply(flow)));
    let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
    print(&scenario, &outcomes, args.json)?;
    if let Some(page) = page {
        // Nothing is stored: a store of its own has no times of earlier runs.
        let provenance = crate::program::provenance(Source::Simulator, Vec::new())?;
        let store = Store::at(Path::new(""), KERNEL);
        let section = Section::of(&scenario, &outcomes, &store, provenance.command.clone());
        page.write(&report::page(&[section], &provenance))?;
    }
    Ok(())
}

/// Runs of what there is no model of: said loudly, since a missing peer makes the others look good.
fn leave_out(scenario: &mut Scenario) -> anyhow::Result<()> {
    let missing = model::leave_out(scenario);
    if !missing.is_empty() {
        say(format!("NOT MODELLED, left out: {}; `pcc lab run {}` has them", missing.join(", "), scenario.name));
    }
    if scenario.runs.is_empty() {
        let problem = format!(
            "nothing of scenario {} is left to simulate: there are models of quic:pcc, reno, cubic, bbr",
            scenario.name
        );
        return Err(misuse!(problem));
    }
    Ok(())
}

fn print(scenario: &Scenario, outcomes: &[Option<Outcome>], json: bool) -> anyhow::Result<()> {
    let mut cells = summary::cells(scenario, outcomes);
    cells.retain(|cell| !cell.runs.is_empty());
    let checked: Vec<Checked> = check::check(scenario, &cells).into_iter().flatten().collect();
    let mut out = std::io::stdout().lock();
    if json {
        let object = serde_json::json!({
            "scenario": scenario.name,
            "kernel": KERNEL,
            "parameter": scenario.parameter,
            "rows": summary::rows(&cells, &scenario.measures()),
            "promises": checked,
        });
        writeln!(out, "{object}")?;
        return Ok(());
    }
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
