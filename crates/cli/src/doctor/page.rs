//! Findings for people, on a screen of 80 columns.

use crate::wrapped::wrapped;
use pcc_report::finding::Finding;

/// Columns of a screen, and those in front of what was found.
const COLUMNS: usize = 80;
const MARGIN: usize = 20;

/// All of them for a screen of 80 columns.
pub(super) fn page(findings: &[Finding]) -> String {
    let mut page = String::new();
    for Finding { what, grade, found, remedy } in findings {
        let lines = wrapped(found, COLUMNS - MARGIN)
            .into_iter()
            .chain(remedy.iter().flat_map(|remedy| wrapped(remedy, COLUMNS - MARGIN)));
        for (number, line) in lines.enumerate() {
            let margin = if number == 0 { format!("{:8}{what}", grade.word()) } else { String::new() };
            page += &format!("{margin:MARGIN$}{line}\n");
        }
    }
    page
}
