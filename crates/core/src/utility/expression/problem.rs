use crate::utility::ParseUtilityError;
use core::ops::Range;

/// The fault of a text, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// In bytes.
    pub(super) at: Range<usize>,
    pub(super) what: String,
}

/// Letters of a longer line that are shown on each side of the spot.
const SHOWN: usize = 60;

/// The written text, in quotation marks, and no more of it than a message can bear.
pub(super) fn quoted(written: &str) -> String {
    const LONGEST: usize = 40;
    let short: String = written.chars().take(LONGEST).map(printable).collect();
    let more = if short.len() < written.len() { "…" } else { "" };
    format!("`{short}{more}`")
}

impl Problem {
    pub(super) fn new(at: Range<usize>, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }

    /// The message with its line, its column, and a mark under the spot.
    pub(super) fn explain(&self, text: &str) -> ParseUtilityError {
        let start = floor_boundary(text, self.at.start);
        let end = floor_boundary(text, self.at.end).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let (line, column) = (1 + text[..start].matches('\n').count(), 1 + text[line_start..start].chars().count());
        let before = &text[line_start..start];
        let skip = before.chars().count().saturating_sub(SHOWN);
        let before: String = before.chars().skip(skip).map(printable).collect();
        let after: String = text[start..line_end].chars().take(SHOWN).map(printable).collect();
        let marked = text[start..end.min(line_end)].chars().count().clamp(1, SHOWN);
        let (indent, mark) = (" ".repeat(before.chars().count()), "^".repeat(marked));
        let message = format!("line {line}, column {column}: {}\n  | {before}{after}\n  | {indent}{mark}", self.what);
        ParseUtilityError::at(line, column, message)
    }
}

/// Control characters would move the mark, or the terminal's cursor.
fn printable(letter: char) -> char {
    if letter.is_control() { ' ' } else { letter }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}
