//! The bounds of the short form of `pcc-lab sim score`: `today` in `src/score/table.rs`, where that is not `must`.

use crate::each::each;
use pcc::utility::Utility;
use pcc_sim::score::{Figures, Form, Judged, ROWS, Row, Size, Task, judge, plan};
use pcc_sim::{Control, Flow};
use std::sync::Arc;

/// The number of seeds beside those of the short form: a worst of them that about one harmless change in fifty falls below, however
/// many the short form has.
const MORE: u64 = 14;

/// A line a row, by the default utility and these instead; the rows of these numbers only, if any are named.
pub(crate) fn table(asked: &[String]) -> Result<String, String> {
    let is_number = |text: &&String| ROWS.iter().any(|row| row.number == text.as_str());
    let (numbers, utilities): (Vec<_>, Vec<_>) = asked.iter().partition(is_number);
    let rows: Vec<Row> = ROWS
        .iter()
        .copied()
        .filter(|row| row.is_of(Size::Short) && (numbers.is_empty() || numbers.iter().any(|one| *one == row.number)))
        .collect();
    let mut variants = vec![None];
    for written in utilities {
        variants.push(Some(pcc::utility::parse(written).map_err(|error| error.to_string())?));
    }
    let found: Vec<Vec<Bound>> =
        variants.iter().map(|utility| bounds(&rows, utility.as_ref())).collect::<Result<_, _>>()?;
    let mut lines =
        vec![format!("{:3} {:30} {:28} {:>7}  short form, worst seeds; today", "row", "case", "measure", "must")];
    for (place, row) in rows.iter().enumerate() {
        let all = found.iter().filter_map(|bounds| bounds.get(place));
        let figures: Vec<_> = all.clone().map(|bound| format!("{:.4}, {:.4}", bound.measured, bound.worst)).collect();
        let easier = |a: f64, b: f64| if row.at_most { a.max(b) } else { a.min(b) };
        let worst = all.map(|bound| bound.worst).reduce(easier);
        let wanted = worst.filter(|worst| !row.is_kept_by(row.must, *worst)).map(|worst| outwards(worst, row.at_most));
        let verdict = match (wanted, row.today) {
            (wanted, today) if wanted == today => wanted.map_or(String::new(), |value| value.to_string()),
            (wanted, today) => format!("{wanted:?}, and the table says {today:?}"),
        };
        let (measure, must) = (row.measure.name(), row.must);
        lines.push(format!(
            "{:3} {:30} {measure:28} {must:>7}  {}; {verdict}",
            row.number,
            row.case,
            figures.join("; ")
        ));
    }
    Ok(lines.join("\n"))
}

struct Bound {
    measured: f64,
    worst: f64,
}

fn bounds(rows: &[Row], utility: Option<&Arc<dyn Utility>>) -> Result<Vec<Bound>, String> {
    let usual = Flow::default().config.utility;
    let ours = |flow: &mut Flow| {
        if let (Control::Pcc, Some(utility)) = (&flow.control, utility)
            && flow.config.utility.name() == usual.name()
        {
            flow.config.utility = utility.clone();
        }
    };
    // The figure of the peer by which a row is divided does not change with PCC.
    let many: Vec<Row> = rows.iter().map(|row| Row { seeds: [row.seeds[0] + MORE; 2], over: None, ..*row }).collect();
    let tasks = plan(&[rows, &many].concat(), &Form::of(Size::Short), &ours);
    let figures: Vec<Figures> = each(&tasks, |task: &Task| Ok(task.run()))?;
    let short = judge(rows, &Form::of(Size::Short), &figures);
    let many = judge(&many, &Form::of(Size::Short), &figures);
    Ok(short.iter().zip(&many).map(|(short, many)| bound(short, many)).collect())
}

fn bound(short: &Judged, many: &Judged) -> Bound {
    let (row, by) = (short.row, short.by.unwrap_or(1.0));
    let mut sorted: Vec<f64> = many.seeds.iter().map(|value| value / by).collect();
    if row.at_most {
        sorted.reverse();
    }
    sorted.truncate(row.seeds[0] as usize);
    sorted.sort_by(f64::total_cmp);
    let or_nothing = |figure: Option<f64>| figure.unwrap_or(f64::NAN);
    Bound { measured: or_nothing(short.measured), worst: or_nothing(row.figure(&sorted)) }
}

/// Two digits of it, three from 1 to 2 and their like, and not harder.
fn outwards(value: f64, at_most: bool) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let first = 10_f64.powi(value.abs().log10().floor() as i32);
    let digits = if value.abs() < 2.0 * first { 100.0 } else { 10.0 } / first;
    let scaled = (value * digits * 1e6).round() / 1e6;
    let kept = if at_most { scaled.ceil() } else { scaled.floor() };
    // As it is written.
    format!("{:.6}", kept / digits).parse().unwrap_or(value)
}
