//! Where a server of tests listens.

use crate::datagram::{self, LargestDatagram};
use noq::{ConfigError, Endpoint};
use pcc_quic::{PacedRuntime, socket};
use std::io;
use std::net::SocketAddr;

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The system refuses the address.
    #[error("could not listen on UDP {address}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// The largest datagram is none that a transport takes.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The system has no sockets or timers left.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Listens on this address, or where that is refused on `or`.
pub fn listen(
    address: SocketAddr,
    or: Option<SocketAddr>,
    largest: Option<LargestDatagram>,
) -> Result<Endpoint, ListenError> {
    let bind = |address| socket::bind(address).map_err(|source| ListenError::Address { address, source });
    let bound = match (bind(address), or) {
        (Err(_), Some(other)) => bind(other)?,
        (bound, _) => bound?,
    };
    if let Some(warning) = bound.warning {
        tracing::warn!("{warning}");
    }
    // The pacing runtime must be this one's: it is what makes PCC's rates true.
    Ok(Endpoint::new(datagram::endpoint(largest)?, None, bound.socket, PacedRuntime::new()?)?)
}
