//! Findings for people, on a screen of 80 columns.

use pcc_chart::finding::Finding;

/// Columns of a screen, and those in front of what was found.
const COLUMNS: usize = 80;
const MARGIN: usize = 20;

/// All of them for a screen of 80 columns.
pub(super) fn page(findings: &[Finding]) -> String {
    let mut page = String::new();
    for Finding { what, grade, found, remedy } in findings {
        let lines = wrapped(found).into_iter().chain(remedy.iter().flat_map(|remedy| wrapped(remedy)));
        for (number, line) in lines.enumerate() {
            let margin = if number == 0 { format!("{:8}{what}", grade.word()) } else { String::new() };
            page += &format!("{margin:MARGIN$}{line}\n");
        }
    }
    page
}

/// Broken between words, but for words that are longer than a line.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= COLUMNS - MARGIN => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
