//! Why a server did not start.

use pcc_net::tls::TlsError;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why [`start`](super::start) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The directory can't be opened.
    #[error("could not open {} to serve it: `mkdir` it first, or name another", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file that alone would be served can't be opened.
    #[error(
        "could not open {} to serve it: {}",
        path.display(),
        if *is_link { "name the file that the link leads to" } else { "make it readable" }
    )]
    File {
        /// The file.
        path: PathBuf,
        /// Whether it is a link, which is not followed out of its directory.
        is_link: bool,
        /// The system's error.
        source: io::Error,
    },
    /// The address is taken, or none of this host's.
    #[error("could not listen on UDP {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The same, for clients over TCP.
    #[error("could not listen on TCP {address}")]
    ListenTcp {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The certificate or its key can't be used.
    #[error(transparent)]
    Certificate(#[from] TlsError),
    /// The system refuses a socket or a timer.
    #[error(transparent)]
    System(#[from] io::Error),
}
