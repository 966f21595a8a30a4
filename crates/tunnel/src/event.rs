//! What happens to tunnels, for whoever runs them.

use crate::target::Target;
use std::net::SocketAddr;
use std::sync::Arc;

/// Something that happened.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A tunnel is open.
    Opened {
        /// The program at this end.
        from: SocketAddr,
        /// Where its bytes go.
        target: &'a Target,
    },
    /// A tunnel has ended as both sides wanted.
    Closed {
        /// The program at this end.
        from: SocketAddr,
        /// Where its bytes went.
        target: &'a Target,
        /// Bytes in both directions.
        bytes: u64,
    },
    /// A connection has no tunnel, or its tunnel broke; it was reset.
    Broken {
        /// The program at this end.
        from: SocketAddr,
        /// Bytes that went through before.
        bytes: u64,
        /// Why.
        reason: &'a str,
    },
    /// The connection to the server is lost, and all tunnels with it.
    Lost {
        /// Why.
        reason: &'a str,
    },
    /// The server is connected again.
    Again,
}

/// Hears of events. It is called while tunnels wait.
pub type Hear = Arc<dyn Fn(Event<'_>) + Send + Sync>;

impl Event<'_> {
    /// Tells it to those who read the log.
    pub fn log(&self) {
        match self {
            Self::Opened { from, target } => tracing::debug!(%from, %target, "opened"),
            Self::Closed { from, target, bytes } => tracing::info!(%from, %target, bytes, "closed"),
            Self::Broken { from, reason, .. } => tracing::warn!("{from}: {reason}"),
            Self::Lost { reason } => tracing::warn!("{reason}; its tunnels are reset; connecting again"),
            Self::Again => tracing::warn!("connected again"),
        }
    }
}
