//! `pcc-lab sim score`: what is promised, as far as a simulation can judge it.

use super::Ours;
use crate::exit::{Failure, misuse};
use anyhow::anyhow;
use pcc_chart::axis::{number, number_beside};
use pcc_command::Objective;
use pcc_lab::campaign::Shard;
use pcc_lab::each_at_once;
use pcc_report::columns::{Column, aligned};
use pcc_sim::score::{self, Form, Judged, Problem, ROWS, Row, Size};
use std::io::Write as _;

/// The other algorithms that are put into PCC's place.
const PEERS: [&str; 3] = ["cubic", "bbr", "reno"];

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Exit codes: 0 all promises are kept, 1 one is missed, 2 misused, 3 none is missed but some could not be \
                  judged.\n\
                  Example: pcc-lab sim score --short --row 7,21 --law epsilon=0.02"
)]
pub(super) struct Args {
    /// Fewer seeds and shorter runs: two minutes instead of ten
    #[arg(long)]
    short: bool,
    /// Only these rows
    #[arg(long, value_name = "NUMBER", value_delimiter = ',')]
    row: Vec<String>,
    /// A directory with the recorded traces that row 30 replays, as mahimahi has them
    #[arg(long, value_name = "DIR")]
    traces: Option<String>,
    /// Only the I-th of N parts
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Leave out CUBIC, BBR and Reno in PCC's place
    #[arg(long)]
    no_peers: bool,
    #[command(flatten)]
    objective: Objective,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(unknown) = args.row.iter().find(|wanted| ROWS.iter().all(|row| row.number != wanted.as_str())) {
        let mut known: Vec<&str> = ROWS.iter().map(|row| row.number).collect();
        known.dedup();
        let problem = format!("no row {unknown} can be judged by a simulation: choose from {}", known.join(", "));
        return Err(misuse!(problem));
    }
    if let Some(traces) = args.traces.as_deref().filter(|traces| !std::path::Path::new(traces).is_dir()) {
        return Err(misuse!("--traces {traces}: there is no such directory"));
    }
    let is_wanted = |row: &Row| args.row.is_empty() || args.row.iter().any(|wanted| wanted == row.number);
    let rows: Vec<Row> = ROWS.iter().copied().filter(is_wanted).collect();
    let Shard { number, count } = args.shard.unwrap_or(Shard { number: 1, count: 1 });
    let rows: Vec<Row> = rows.into_iter().skip(number - 1).step_by(count).collect();
    let size = if args.short { Size::Short } else { Size::Whole };
    let peers: &[&'static str] = if args.no_peers { &[] } else { &PEERS };
    let ours = Ours::of(&args.objective)?;
    let form = Form { size, peers, traces: args.traces.as_deref() };
    let tasks = score::plan(&rows, &form, &|flow| ours.apply(flow));
    let figures = each_at_once(&tasks, score::Task::run);
    let judged = score::judge(&rows, &form, &figures);
    let mut out = std::io::stdout().lock();
    if args.json {
        let rows: Vec<_> = judged.iter().map(json).collect();
        writeln!(out, "{}", serde_json::json!({ "rows": rows }))?;
    } else {
        write!(out, "{}", table(&judged))?;
    }
    let missed = judged.iter().filter(|row| row.measured.is_some() && !row.keeps(row.row.must)).count();
    let open = judged.iter().filter(|row| row.measured.is_none()).count();
    let context = format!("of {} promises {missed} are missed, {open} could not be judged", judged.len());
    match (missed, open) {
        (0, 0) => Ok(()),
        (0, _) => Err(anyhow!(context).context(Failure::Partial)),
        _ => Err(anyhow!(context).context(Failure::Error)),
    }
}

/// Why it could not be judged, with the option that helps.
fn problem(row: &Judged) -> Option<String> {
    row.problem.as_ref().map(|problem| match problem {
        Problem::NoTrace(_) => format!("{problem} with --traces"),
        other => other.to_string(),
    })
}

fn verdict(row: &Judged) -> &'static str {
    match (row.measured, row.keeps(row.row.must), row.keeps(row.row.goal)) {
        (None, ..) => "OPEN",
        (_, false, _) => "MISS",
        (_, true, false) => "PASS",
        (_, true, true) => "PASS, goal",
    }
}

/// The measure as a table has it.
fn measure(row: &Row) -> String {
    let measure = row.measure.name();
    let measure = row.over.map_or(measure.clone(), |peer| format!("{measure} / {peer}'s"));
    row.statistic.of(&measure)
}

/// The measure as programs have it: as `pcc-lab check` writes it.
fn metric(row: &Row) -> String {
    let metric = row.over.map_or(row.measure.metric(), |peer| format!("{}/{peer}", row.measure.metric()));
    let behind = row.over_behind.and_then(pcc_sim::Queue::name);
    let metric = behind.map_or(metric.clone(), |queue| format!("{metric} at {queue}"));
    row.statistic.of(&metric)
}

fn table(judged: &[Judged]) -> String {
    let heads = ["row", "case", "measure", "measured", "seeds", "median", "must", "goal", "kept", "verdict", "peers"];
    let mut rows = vec![heads.map(String::from).to_vec()];
    rows.extend(judged.iter().map(|row| {
        let (promise, sign) = (&row.row, if row.row.at_most { "≤" } else { "≥" });
        let beside = |value: f64| number_beside(value, promise.must);
        let peers: Vec<_> =
            row.peers.iter().filter_map(|(name, value)| Some(format!("{name} {}", number((*value)?)))).collect();
        vec![
            promise.number.to_owned(),
            promise.case.to_owned(),
            measure(promise),
            row.measured.map_or("-".to_owned(), beside),
            row.range().map_or(String::new(), |range| range.map(number).join(" to ")),
            row.median().map_or("-".to_owned(), beside),
            format!("{sign} {}", number(promise.must)),
            format!("{sign} {}", number(promise.goal)),
            row.kept.map_or(String::new(), |kept| format!("{kept:.2}")),
            verdict(row).to_owned(),
            problem(row).unwrap_or_else(|| peers.join(", ")),
        ]
    }));
    aligned(&COLUMNS, &rows)
}

const COLUMNS: [Column; 11] = {
    use Column::{Left, Right};
    [Left(3), Left(28), Left(28), Right(8), Right(16), Right(7), Right(7), Right(7), Right(4), Left(10), Left(0)]
};

fn json(row: &Judged) -> serde_json::Value {
    let peers: serde_json::Map<String, serde_json::Value> =
        row.peers.iter().map(|(name, value)| ((*name).to_owned(), serde_json::json!(value))).collect();
    serde_json::json!({
        "row": row.row.number,
        "case": row.row.case,
        "metric": metric(&row.row),
        "algorithm": "pcc",
        "measured": row.measured,
        "interval": row.range(),
        "seeds": row.seeds.len(),
        "median": row.median(),
        "kept": row.kept,
        "must": row.row.must,
        "goal": row.row.goal,
        "at_most": row.row.at_most,
        "verdict": verdict(row).split(',').next(),
        "peers": peers,
        "problem": problem(row),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_lab::measure::Measure;

    /// A quantity that the lab has no measure for.
    const OURS_ALONE: [&str; 10] = [
        "fair-part",
        "first-share",
        "last-part",
        "last-fair-part",
        "first-fct",
        "frame-mean",
        "frame-most",
        "queue-p95",
        "late-jain@1s",
        "others-goodput",
    ];

    #[test]
    fn programs_read_the_lab_s_names() {
        for row in ROWS {
            let name = row.measure.metric();
            assert!(name.parse::<Measure>().is_ok() != OURS_ALONE.contains(&name.as_str()), "{name}");
        }
        let of = |number: &str| metric(ROWS.iter().find(|row| row.number == number).unwrap());
        assert_eq!(
            (of("1"), of("10"), of("11")),
            ("share".into(), "fct/cubic".into(), "power/cubic at fq_codel".into())
        );
    }

    #[test]
    fn a_json_row_has_its_seeds_and_its_interval() {
        let judged = Judged {
            row: ROWS[0],
            measured: Some(0.97),
            seeds: vec![0.96, 0.97, 0.98],
            by: None,
            peers: vec![("bbr", Some(0.9))],
            kept: None,
            problem: None,
        };
        let expected = serde_json::json!({
            "row": "1", "case": "no loss", "metric": "share", "algorithm": "pcc", "measured": 0.97, "interval": [0.96, 0.98],
            "seeds": 3, "median": 0.97, "kept": null, "must": 0.95, "goal": 0.95, "at_most": false, "verdict": "PASS", "peers": {"bbr": 0.9}, "problem": null,
        });
        assert_eq!(json(&judged), expected);
    }
}
