//! Tables of what a change moves.

use crate::measure::{Case, Figure, names};

/// Three decimals, or what three digits need.
pub(crate) fn number(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

/// A difference from the defaults' value below this is chance, whatever the seeds say.
const ALIKE: f64 = 0.01;

/// Whether a figure is out of the range of the defaults' seeds by half of that range, and by a hundredth.
pub(crate) fn moved(usual: &Figure, found: &Figure) -> bool {
    let ((low, high), found) = (usual.range(), found.median());
    let room = ((high - low) / 2.0).max(ALIKE * usual.median().abs());
    found.is_nan() || found < low - room || found > high + room
}

/// A line a figure that a variant moves, a column a variant; medians of the seeds. Figures that move are in bold.
pub(crate) fn moves(names: &[&str], usual: (&str, &[Figure]), others: &[(&str, &[Figure])]) -> String {
    let heads: Vec<_> = others.iter().map(|(name, _)| *name).collect();
    let mut lines =
        vec![format!("| | {} | {} |", usual.0, heads.join(" | ")), format!("|---|--:|{}", "--:|".repeat(others.len()))];
    for (place, name) in names.iter().enumerate() {
        let before = &usual.1[place];
        if !others.iter().any(|(_, figures)| moved(before, &figures[place])) {
            continue;
        }
        let cell = |(_, figures): &(&str, &[Figure])| {
            let value = number(figures[place].median());
            if moved(before, &figures[place]) { format!("**{value}**") } else { value }
        };
        let cells: Vec<_> = others.iter().map(cell).collect();
        lines.push(format!("| {name} | {} | {} |", number(before.median()), cells.join(" | ")));
    }
    match lines.len() {
        2 => "Nothing moves.".to_owned(),
        _ => lines.join("\n"),
    }
}

/// A line a figure, a column a row: its name and its figures.
pub(crate) fn columns(cases: &[Case], rows: &[(&str, Vec<Figure>)], cell: impl Fn(&Figure) -> String) -> String {
    let heads: Vec<_> = rows.iter().map(|(name, _)| *name).collect();
    let mut lines = vec![format!("| | {} |", heads.join(" | ")), format!("|---|{}", "--:|".repeat(rows.len()))];
    for (place, name) in names(cases).iter().enumerate() {
        let cells: Vec<_> = rows.iter().map(|(_, figures)| cell(&figures[place])).collect();
        lines.push(format!("| {name} | {} |", cells.join(" | ")));
    }
    lines.join("\n")
}
