//! What one look has shown, for people and for programs.

use serde_json::{Value, json};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grade {
    Good,
    /// It works less well, or not all of it.
    Note,
    /// No transfer is possible.
    Missing,
}

impl Grade {
    const fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Note => "note",
            Self::Missing => "MISSING",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) what: &'static str,
    pub(super) grade: Grade,
    pub(super) found: String,
    /// What to do, if anything.
    pub(super) remedy: String,
}

/// Columns of a screen, and those in front of what was found.
const COLUMNS: usize = 80;
const MARGIN: usize = 20;

impl Finding {
    pub(super) fn good(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, grade: Grade::Good, found: found.into(), remedy: String::new() }
    }

    pub(super) fn note(what: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what, grade: Grade::Note, found: found.into(), remedy: remedy.into() }
    }

    pub(super) fn missing(what: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what, grade: Grade::Missing, found: found.into(), remedy: remedy.into() }
    }

    pub(super) fn object(&self) -> Value {
        let remedy = (!self.remedy.is_empty()).then_some(&self.remedy);
        json!({"what": self.what, "grade": self.grade.word().to_lowercase(), "found": self.found, "remedy": remedy})
    }
}

/// All of them for a screen of 80 columns.
pub(super) fn page(findings: &[Finding]) -> String {
    let mut page = String::new();
    for Finding { what, grade, found, remedy } in findings {
        let lines = wrapped(found).into_iter().chain(wrapped(remedy));
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
