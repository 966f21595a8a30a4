//! Why something failed, as far as a program would act on it.

use std::fmt;

/// Why something failed. It stands in the chain of an error's causes; [`failure_of`] finds it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// Something else.
    Error,
    /// The request cannot be done: another request can.
    Usage,
    /// The bytes that arrived are not those that were sent.
    Integrity,
    /// The peer could not be reached, or was lost for too long.
    Unreachable,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "failed",
            Self::Usage => "misused",
            Self::Integrity => "data damaged",
            Self::Unreachable => "peer unreachable",
        })
    }
}

/// The failure that an error carries; [`Failure::Error`] if it carries none.
pub fn failure_of(error: &anyhow::Error) -> Failure {
    error.downcast_ref::<Failure>().copied().unwrap_or(Failure::Error)
}
