use core::fmt;

/// Why a utility could not be read; the text says what may be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseUtilityError {
    message: String,
    /// Line and column, from 1; the column in letters.
    place: Option<(usize, usize)>,
}

impl ParseUtilityError {
    pub(super) const fn new(message: String) -> Self {
        Self { message, place: None }
    }

    /// The message says where in the text.
    pub(super) const fn at(line: usize, column: usize, message: String) -> Self {
        Self { message, place: Some((line, column)) }
    }

    /// A parameter of the built-in utility of this name.
    pub(super) fn parameter(name: &str, problem: &str) -> Self {
        Self::new(format!("the utility {name}: {problem}"))
    }

    /// Line and column of what is wrong in an expression, both from 1; the column counts letters.
    pub const fn place(&self) -> Option<(usize, usize)> {
        self.place
    }
}

impl fmt::Display for ParseUtilityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for ParseUtilityError {}
