//! Tables for spreadsheets and scripts.

use super::Section;
use crate::measure::Measure;
use crate::scenario::Run;
use crate::spec::Outcome;
use pcc_chart::plot::Plot;
use pcc_report::provenance::{Provenance, Source};

/// A line for every run: its point of the sweep, empty without one, and its measures. The swept parameter names no
/// column, since some parameters are measures, too.
pub(super) fn runs(section: &Section<'_>, provenance: &Provenance) -> String {
    // A measure that no run has is no column.
    let has = |measure: &Measure| {
        let runs = section.cells.iter().flat_map(|cell| &cell.runs);
        runs.into_iter().any(|(run, outcome)| measure.of(&run.spec, outcome).is_some())
    };
    let measures: Vec<_> = section.scenario.measures().into_iter().filter(has).collect();
    let mut table = line(&["scenario", "point", "algorithm", "seed"]);
    table.pop();
    table.extend(measures.iter().map(|measure| format!(",{measure}")));
    table += ",measured_by,program,commit\n";
    for cell in &section.cells {
        for (run, outcome) in &cell.runs {
            let seed = run.spec.seed.to_string();
            table += line(&[&section.scenario.name, cell.point, cell.algorithm, &seed]).trim_end();
            for measure in &measures {
                let value = measure.of(&run.spec, outcome);
                table += &value.map_or(",".into(), |value| format!(",{value:.6}"));
            }
            table += &format!(",{}", line(&made(run, outcome, provenance).each_ref().map(String::as_str)));
        }
    }
    table
}

/// The origin of a run: kernel, program, commit. A run of kernel TCP alone depends on no program. A run of the QUIC
/// stack without PCC depends on its source alone, whose hash is no program's.
fn made(run: &Run, outcome: &Outcome, provenance: &Provenance) -> [String; 3] {
    let build = &provenance.build;
    let (by, program) = match provenance.source {
        Source::Lab => (format!("Linux {}", outcome.kernel), run.spec.program.clone().unwrap_or_default()),
        _ => (provenance.source.word().to_lowercase(), build.program.clone()),
    };
    let commit = build.commit.clone().filter(|_| program == build.program).unwrap_or_default();
    [by, program, commit]
}

/// A plot's figures, a line a point.
pub(super) fn plot(plot: &Plot, source: Source) -> String {
    let mut table = line(&["series", &plot.x.label, &plot.y.label, "margin", "measured_by"]);
    let by = source.word().to_lowercase();
    for series in &plot.series {
        for point in &series.points {
            let margin = point.y.margin.map_or(String::new(), |margin| format!("{margin:.6}"));
            let (x, y) = (format!("{:.6}", point.x), format!("{:.6}", point.y.mean));
            table += &line(&[&series.name, &x, &y, &margin, &by]);
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
