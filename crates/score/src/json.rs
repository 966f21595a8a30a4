//! The score for programs.

use crate::{Score, problem, verdict};
use pcc_sim::score::{Judged, Row};
use serde_json::Value;

/// An object a row, and how many promises each sender keeps.
pub(crate) fn document(score: &Score) -> Value {
    let rows: Vec<_> = score.rows.iter().map(|row| json(row, &score.name)).collect();
    let kept: serde_json::Map<_, _> =
        score.kept().into_iter().map(|(name, kept)| (name.to_owned(), Value::from(kept))).collect();
    serde_json::json!({ "rows": rows, "promises_kept": kept })
}

/// The measure as programs have it: as `pcc-lab check` writes it.
pub fn metric(row: &Row) -> String {
    let metric = row.over.map_or(row.measure.metric(), |peer| format!("{}/{peer}", row.measure.metric()));
    let behind = row.over_behind.and_then(pcc_sim::Queue::name);
    let metric = behind.map_or(metric.clone(), |queue| format!("{metric} at {queue}"));
    row.statistic.of(&metric)
}

fn json(row: &Judged, algorithm: &str) -> serde_json::Value {
    let peers: serde_json::Map<String, serde_json::Value> =
        row.peers.iter().map(|(name, value)| ((*name).to_owned(), serde_json::json!(value))).collect();
    serde_json::json!({
        "row": row.row.number,
        "case": row.row.case,
        "metric": metric(&row.row),
        "algorithm": algorithm,
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
    use pcc_sim::score::ROWS;

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
        assert_eq!(json(&judged, "pcc"), expected);
    }
}
