//! How a command ends: the exit codes every subcommand uses.

use std::process::ExitCode;

/// Why a command did not do what was asked. Attach it to an error with `anyhow::Error::context`; `main` finds it in
/// the chain and turns it into the exit code, which scripts may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Something went wrong (1).
    Error = 1,
    /// The command was misused (2), the code clap uses too.
    Usage = 2,
    /// Some of it was done, not all (3).
    Partial = 3,
    /// What arrived is not what was sent (4).
    Integrity = 4,
    /// The peer could not be reached, or was lost for too long (5).
    Unreachable = 5,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Error => "failed",
            Self::Usage => "misused",
            Self::Partial => "only partly done",
            Self::Integrity => "data damaged",
            Self::Unreachable => "peer unreachable",
        })
    }
}

impl From<Failure> for ExitCode {
    fn from(failure: Failure) -> Self {
        Self::from(failure as u8)
    }
}

/// The failure an error carries; [`Failure::Error`] if it carries none.
pub(crate) fn failure_of(error: &anyhow::Error) -> Failure {
    error.downcast_ref::<Failure>().copied().unwrap_or(Failure::Error)
}
