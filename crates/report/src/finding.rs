//! The result of a look at something: how bad it is, and what to do.

use crate::columns::wrapped;
use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Nothing is missing.
    #[serde(rename = "ok")]
    Good,
    /// It works less well, or not all of it.
    Note,
    /// It does not work.
    Missing,
}

impl Grade {
    /// In one word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Note => "note",
            Self::Missing => "MISSING",
        }
    }
}

/// The result of one look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The thing that was looked at.
    pub what: &'static str,
    /// How bad it is.
    pub grade: Grade,
    /// Its state.
    pub found: String,
    /// The remedy, if there is one.
    pub remedy: Option<String>,
}

impl Finding {
    /// Nothing is missing.
    pub fn good(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, grade: Grade::Good, found: found.into(), remedy: None }
    }

    /// It works less well, or not all of it.
    pub fn note(what: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            grade: Grade::Note,
            remedy: Some(remedy.into()).filter(|text| !text.is_empty()),
            ..Self::good(what, found)
        }
    }

    /// It does not work.
    pub fn missing(what: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { grade: Grade::Missing, ..Self::note(what, found, remedy) }
    }
}

/// Columns of a screen, and those in front of what was found.
const COLUMNS: usize = 80;
const MARGIN: usize = 20;

/// All findings for a screen of 80 columns.
pub fn page(findings: &[Finding]) -> String {
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
