//! Why a stream of a test broke.

use noq::{ClosedStream, ConnectionError, ReadError, ReadToEndError, StoppedError, WriteError};

/// Why a stream broke.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The connection was lost.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its answer could not be read.
    #[error(transparent)]
    Answer(#[from] ReadToEndError),
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// It was closed.
    #[error(transparent)]
    Closed(#[from] ClosedStream),
    /// The other end does not want more of it.
    #[error(transparent)]
    Stopped(#[from] StoppedError),
}
