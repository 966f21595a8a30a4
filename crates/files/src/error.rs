//! Errors of this crate.

use crate::failure::{Failure, failure_of};
use std::fmt;

/// The error that ended a transfer. Its text says the remedy, and [`Error::failure`] its kind, for programs.
pub struct Error(anyhow::Error);

/// The result of a transfer.
pub type Result<T> = core::result::Result<T, Error>;

impl Error {
    /// Why it failed, as far as a program would act on it.
    pub fn failure(&self) -> Failure {
        failure_of(&self.0)
    }

    /// With all its causes: the types in the chain are no promise.
    pub fn as_anyhow(&self) -> &anyhow::Error {
        &self.0
    }

    /// The same, for a program that handles errors with anyhow.
    pub fn into_anyhow(self) -> anyhow::Error {
        self.0
    }
}

impl From<anyhow::Error> for Error {
    fn from(error: anyhow::Error) -> Self {
        Self(error)
    }
}

impl fmt::Display for Error {
    /// The error with its causes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_tells_its_causes_and_its_kind() {
        let error =
            Error::from(anyhow::anyhow!("no answer").context("the server is lost").context(Failure::Unreachable));
        assert_eq!(error.failure(), Failure::Unreachable);
        assert_eq!(error.to_string(), "peer unreachable: the server is lost: no answer");
        assert_eq!(Error::from(anyhow::anyhow!("x")).failure(), Failure::Error);
    }
}
