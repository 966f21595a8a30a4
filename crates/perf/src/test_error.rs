//! Why a test did not come to its end.

use crate::protocol::OverLimit;
use crate::stream_error::StreamError;
use noq::{ClosedPath, ConfigError};
use pcc_net::dial::DialError;
use std::io;
use tokio::task::JoinError;

/// Why a test did not come to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestError {
    /// There is no connection.
    #[error(transparent)]
    Dial(Box<DialError>),
    /// The server ended it for one of its limits.
    #[error(transparent)]
    OverLimit(#[from] OverLimit),
    /// The server did not answer the first requests.
    #[error("the server did not answer")]
    NoAnswer(#[source] StreamError),
    /// The server fell silent.
    #[error("the server has not answered since second {0:.1}")]
    Silent(f64),
    /// The connection ended before the test began.
    #[error("the connection ended at once")]
    EndedAtOnce,
    /// The same, a moment later.
    #[error(transparent)]
    Path(#[from] ClosedPath),
    /// A stream broke.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The program's task for a stream failed.
    #[error("a stream's task failed")]
    Task(#[from] JoinError),
    /// The largest datagram is none that a transport takes.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The system does not tell the addresses of the connection.
    #[error(transparent)]
    Address(#[from] io::Error),
    /// Whoever runs the test ended it, for this reason.
    #[error("{0}")]
    Stopped(String),
}

impl From<DialError> for TestError {
    fn from(error: DialError) -> Self {
        Self::Dial(Box::new(error))
    }
}

impl TestError {
    /// The error with its causes.
    pub fn told(&self) -> String {
        pcc_net::with_causes(self)
    }
}
