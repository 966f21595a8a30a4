//! `pcc-lab check`: stored results against what is promised.

use super::bench::Stored;
use crate::exit::Failure as Exit;
use pcc_chart::axis::{number, number_beside};
use pcc_lab::check::{self, Checked, NotJudged, Verdict};
use pcc_lab::summary;
use pcc_report::columns::{Column, aligned};
use std::io::Write as _;

/// Judge stored results by the promises; runs nothing
#[derive(clap::Args, Debug)]
#[command(
    after_help = "A promise is kept if the whole 95 % confidence interval over all seeds keeps it, missed if no part of it \
                  does, and open between.\n\
                  Exit codes: 0 all promises are kept, 1 one is missed, 2 misused, 3 none is missed but some are open or \
                  could not be judged.\n\
                  Example: pcc-lab check shallow-buffer --json"
)]
pub(crate) struct Args {
    /// Supplied scenarios by name, or .toml files [default: all supplied ones]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    stored: Stored,
    /// Print one JSON document, with the rows that the results cover
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let (scenarios, store, _) = args.stored.open(&args.names)?;
    let mut rows = Vec::new();
    for scenario in &scenarios {
        let outcomes = store.outcomes(scenario);
        rows.extend(check::check(scenario, &summary::cells(scenario, &outcomes)));
    }
    let covered: Vec<_> = rows.iter().flatten().collect();
    let not_judged = rows.len() - covered.len();
    let count = |verdict| covered.iter().filter(|row| row.verdict == verdict).count();
    let (missed, open) = (count(Verdict::Miss), count(Verdict::Open));
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::json!({ "rows": covered }))?;
    } else {
        write!(out, "{}", table(&rows))?;
        writeln!(out, "{}", by_chance(&covered))?;
    }
    let context = format!("of {} promises {missed} are missed, {open} open, {not_judged} not judged", rows.len());
    if missed > 0 {
        return Err(anyhow::anyhow!(context).context(Exit::Error));
    }
    if open + not_judged > 0 {
        return Err(anyhow::anyhow!("{context}: `pcc-lab run` makes what is lacking").context(Exit::Partial));
    }
    Ok(())
}

/// Multiplicity in a sentence.
fn by_chance(rows: &[&Checked]) -> String {
    let wrong = check::wrong_by_chance(rows.iter().copied());
    format!("Up to {wrong:.1} of these verdicts would be wrong by chance, were each true value at its limit.")
}

fn table(rows: &[Result<Checked, NotJudged>]) -> String {
    let heads = ["row", "case", "metric", "algorithm", "measured", "95 % interval", "must", "goal", "verdict"];
    let line = |row: &Result<Checked, NotJudged>| match row {
        Ok(row) => {
            let goal = if row.verdict == Verdict::Pass && row.reaches_goal { ", goal reached" } else { "" };
            vec![
                row.row.clone(),
                row.case.clone(),
                row.metric.clone(),
                row.algorithm.clone(),
                number_beside(row.measured, row.must),
                row.interval.map_or("-".to_owned(), |ends| ends.map(|end| number_beside(end, row.must)).join(" to ")),
                format!("{} {}", row.sign(), number(row.must)),
                format!("{} {}", row.sign(), number(row.goal)),
                format!("{}{goal}", row.verdict.word()),
            ]
        }
        Err(row) => {
            let mut line = [&row.row, &row.case, &row.metric, &row.algorithm].map(String::clone).to_vec();
            line.extend(["-"; 4].map(String::from));
            line.push(format!("not judged: lacks {}", row.lacks));
            line
        }
    };
    let mut all = vec![heads.map(String::from).to_vec()];
    all.extend(rows.iter().map(line));
    aligned(&COLUMNS, &all)
}

const COLUMNS: [Column; 9] = {
    use Column::{Left, Right};
    [Left(3), Left(23), Left(29), Left(21), Right(8), Right(17), Right(8), Right(8), Left(0)]
};
