//! Why there was no greeting.

use std::io;

/// Why there was no greeting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GreetingError {
    /// ssh ended.
    #[error("ssh took nothing more")]
    Said(#[source] io::Error),
    /// The pipe to ssh broke.
    #[error("could not read what ssh brought")]
    Heard(#[source] io::Error),
}
