//! A utility as people write it: a name, a formula, or a file with one.

use crate::file::{is_file, read};
use pcc::utility::{ParseUtilityError, Utility};
use std::io;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// A utility function, and how the user wrote it.
#[derive(Clone, Debug)]
pub struct Choice {
    /// On the command line: a name, a formula, or a file.
    pub written: String,
    /// Its text: the name, the formula, or the file's content.
    pub text: String,
    /// The function.
    pub utility: Arc<dyn Utility>,
}

/// Why there is no utility.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// The words, or the content of a file, are no utility.
    #[error("{file}{problem}{hint}")]
    Text {
        /// The file, with a comma, if it is one.
        file: String,
        /// The fault.
        problem: ParseUtilityError,
        /// A likely meaning.
        hint: String,
    },
    /// The file cannot be read.
    #[error("cannot read the utility in {file}: {problem}")]
    File {
        /// The file.
        file: String,
        /// The system's reason.
        problem: io::Error,
    },
}

impl Choice {
    /// The words, or the content of the file that they name.
    pub fn text_of(written: &str) -> Result<String, ChoiceError> {
        if !is_file(written) {
            return Ok(written.to_owned());
        }
        read(Path::new(written)).map_err(|problem| ChoiceError::File { file: written.to_owned(), problem })
    }
}

impl FromStr for Choice {
    type Err = ChoiceError;

    fn from_str(written: &str) -> Result<Self, Self::Err> {
        let text = Self::text_of(written)?;
        let file = if is_file(written) { format!("{written}, ") } else { String::new() };
        let utility = pcc::utility::parse(&text).map_err(|problem| {
            let forgotten = file.is_empty() && Path::new(written).is_file();
            let hint =
                if forgotten { format!("\nto read the file of that name, write ./{written}") } else { String::new() };
            ChoiceError::Text { file, problem, hint }
        })?;
        Ok(Self { written: written.to_owned(), text, utility })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_hold_what_could_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mine.utility");
        std::fs::write(&file, "# mine\nlet b = 5;\nx - b*x*L\n").unwrap();
        let choice: Choice = file.to_str().unwrap().parse().unwrap();
        assert!(choice.text.contains("let b = 5") && choice.written.ends_with("mine.utility"), "{choice:?}");
        std::fs::write(&file, "vivace,b=2").unwrap();
        assert_eq!(file.to_str().unwrap().parse::<Choice>().unwrap().utility.name(), "vivace");
    }

    #[test]
    fn what_is_no_utility_is_refused_with_file_place_and_way_out() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str, content: &[u8]| {
            let file = dir.path().join(name);
            std::fs::write(&file, content).unwrap();
            file.to_str().unwrap().to_owned()
        };
        let long = "x".to_owned() + &" + x".repeat(1000);
        for (written, expected) in [
            (place("a.utility", b"x -\n  los*x"), "a.utility, line 2, column 3: `los` is no measurement"),
            (place("b.utility", b"\xff\xfe"), "b.utility: it holds no text"),
            (place("c.utility", b""), "c.utility, line 1, column 1: expected"),
            (place("d.utility", long.as_bytes()), "d.utility, line 1"),
            (dir.path().join("no.utility").to_str().unwrap().to_owned(), "no.utility: No such file"),
            (dir.path().to_str().unwrap().to_owned(), "cannot read the utility in"),
            ("x/rtt/".to_owned(), "expected a number"),
            ("x/0".to_owned(), "line 1, column 3: this is zero, whatever is measured"),
        ] {
            let error = written.parse::<Choice>().unwrap_err().to_string();
            assert!(error.contains(expected), "{written}: {error}");
        }
    }

    #[test]
    fn a_formula_with_a_slash_is_no_file() {
        assert_eq!("x/rtt".parse::<Choice>().unwrap().text, "x/rtt");
    }
}
