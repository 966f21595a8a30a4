//! The score for people.

use crate::{Score, problem, verdict};
use pcc_chart::axis::{number, number_beside};
use pcc_report::columns::{Column, aligned};
use pcc_sim::score::Row;

/// The measure as a table has it.
fn measure(row: &Row) -> String {
    let measure = row.measure.name();
    let measure = row.over.map_or(measure.clone(), |peer| format!("{measure} / {peer}'s"));
    row.statistic.of(&measure)
}

/// A row a promise, and how many each sender keeps.
pub(crate) fn table(score: &Score) -> String {
    let heads = ["row", "case", "measure", "measured", "seeds", "median", "must", "goal", "kept", "verdict", "peers"];
    let mut rows = vec![heads.map(String::from).to_vec()];
    rows.extend(score.rows.iter().map(|row| {
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
    let kept: Vec<_> = score.kept().into_iter().map(|(name, kept)| format!("{name} {kept}")).collect();
    format!("{}promises kept, of {}: {}\n", aligned(&COLUMNS, &rows), score.rows.len(), kept.join(", "))
}

const COLUMNS: [Column; 11] = {
    use Column::{Left, Right};
    [Left(3), Left(28), Left(28), Right(8), Right(16), Right(7), Right(7), Right(7), Right(4), Left(10), Left(0)]
};
