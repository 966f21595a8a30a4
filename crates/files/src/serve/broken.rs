//! Why a request got no complete response.

use core::time::Duration;
use h3::error::StreamError;
use std::io;

/// A client that takes not even a small part in so long has gone or means harm. Longer than the longest black-out that a
/// connection survives.
pub(super) const STALL: Duration = Duration::from_secs(60);

/// Why a request got no complete response.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// The client or the network ended it.
    #[error("the stream ended: {0}")]
    Stream(#[from] StreamError),
    /// The client went while something was done for it.
    #[error("the client left")]
    Left,
    /// The client reads or sends nothing any more.
    #[error("no progress for {0:?}")]
    Stalled(core::time::Duration),
    /// The announced bytes can no longer be sent.
    #[error("the file changed while it was being sent")]
    Changed,
    /// The disk.
    #[error("could not read the file: {0}")]
    Read(io::Error),
    /// A tunnel, on either side.
    #[error("{0}")]
    Tunnel(io::Error),
}
