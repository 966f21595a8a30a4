//! `pcc lab check`: stored results against what is promised.

use super::bench::{self, Stored};
use crate::exit::Failure as Exit;
use pcc_lab::check::{self, Checked, NotRun, Verdict};
use pcc_lab::summary;
use std::io::Write as _;

/// Hold stored results against what is promised; runs nothing
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Exit codes: 0 all promises are kept, 1 one is missed, 3 none is missed but some were not run.\n\
                        Example: pcc lab check shallow-buffer --json"
)]
pub(super) struct Args {
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
        let outcomes = bench::outcomes(scenario, &store);
        rows.extend(check::check(scenario, &summary::cells(scenario, &outcomes)));
    }
    let covered: Vec<_> = rows.iter().flatten().collect();
    let not_run: Vec<_> = rows.iter().filter_map(|row| row.as_ref().err()).collect();
    let missed = covered.iter().filter(|row| row.verdict == Verdict::Miss).count();
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::json!({ "rows": covered }))?;
    } else {
        write!(out, "{}", table(&rows))?;
    }
    if missed > 0 {
        let context = format!("{missed} of {} promises are missed, {} were not run", rows.len(), not_run.len());
        return Err(anyhow::anyhow!(context).context(Exit::Error));
    }
    if !not_run.is_empty() {
        let context = format!("{} of {} promises were not run: `pcc lab run` first", not_run.len(), rows.len());
        return Err(anyhow::anyhow!(context).context(Exit::Partial));
    }
    Ok(())
}

fn table(rows: &[Result<Checked, NotRun>]) -> String {
    let mut text = format!(
        "{:4} {:24} {:30} {:22} {:>9} {:>9} {:>9}  verdict\n",
        "row", "case", "metric", "algorithm", "measured", "must", "goal"
    );
    for row in rows {
        text += &match row {
            Ok(row) => {
                let verdict = match (row.verdict, row.reaches_goal) {
                    (Verdict::Pass, true) => "PASS, goal reached",
                    (Verdict::Pass, false) => "PASS",
                    (Verdict::Miss, _) => "MISS",
                };
                let sign = if row.at_most { "≤" } else { "≥" };
                let (have, want) = row.seeds;
                let seeds = if have < want { format!(" ({have} of {want} seeds)") } else { String::new() };
                format!(
                    "{:4} {:24} {:30} {:22} {:>9.3} {:>9} {:>9}  {verdict}{seeds}\n",
                    row.row,
                    row.case,
                    row.metric,
                    row.algorithm,
                    row.measured,
                    format!("{sign} {:.3}", row.must),
                    format!("{sign} {:.3}", row.goal),
                )
            }
            Err(row) => {
                let dash = "-";
                format!(
                    "{:4} {:24} {:30} {:22} {dash:>9} {dash:>9} {dash:>9}  not run: {}\n",
                    row.row, row.case, row.metric, row.algorithm, row.lacks
                )
            }
        };
    }
    text
}
