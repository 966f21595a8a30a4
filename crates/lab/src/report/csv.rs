//! Tables for spreadsheets and scripts.

use super::Section;
use super::plot::Plot;
use crate::measure::Measure;

/// A line for every run: its point of the sweep, empty without one, and its measures. What is swept is no column's name, since some
/// of it is a measure's.
pub(super) fn runs(section: &Section<'_>) -> String {
    // What no run has is no column.
    let has = |measure: &Measure| {
        let runs = section.cells.iter().flat_map(|cell| &cell.runs);
        runs.into_iter().any(|(run, outcome)| measure.of(&run.spec, outcome).is_some())
    };
    let measures: Vec<_> = section.scenario.measures().into_iter().filter(has).collect();
    let mut table = line(&["scenario", "point", "algorithm", "seed"]);
    table.pop();
    table.extend(measures.iter().map(|measure| format!(",{measure}")));
    table.push('\n');
    for cell in &section.cells {
        for (run, outcome) in &cell.runs {
            let seed = run.spec.seed.to_string();
            table += line(&[&section.scenario.name, cell.point, cell.algorithm, &seed]).trim_end();
            for measure in &measures {
                let value = measure.of(&run.spec, outcome);
                table += &value.map_or(",".into(), |value| format!(",{value:.6}"));
            }
            table.push('\n');
        }
    }
    table
}

/// What a plot shows, a line a point.
pub(super) fn plot(plot: &Plot) -> String {
    let mut table = line(&["series", &plot.x.label, &plot.y.label, "margin"]);
    for series in &plot.series {
        for point in &series.points {
            let margin = point.y.margin.map_or(String::new(), |margin| format!("{margin:.6}"));
            table += &line(&[&series.name, &format!("{:.6}", point.x), &format!("{:.6}", point.y.mean), &margin]);
        }
    }
    table
}

fn line(fields: &[&str]) -> String {
    let quoted: Vec<_> = fields.iter().map(|field| quote(field)).collect();
    quoted.join(",") + "\n"
}

/// RFC 4180, section 2.
fn quote(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// A table as an address that a link can point to, in ASCII.
pub(super) fn address(table: &str) -> String {
    let mut address = String::from("data:text/csv;charset=utf-8,");
    for byte in table.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b',' | b'.' | b'-' | b'_' | b':' | b'/' | b'*' => {
                address.push(char::from(byte));
            }
            byte => address += &format!("%{byte:02X}"),
        }
    }
    address
}
