//! The way of a connection.

use core::fmt;
use futures_util::StreamExt;
use iroh::TransportAddr;
use iroh::endpoint::Connection;
use std::net::SocketAddr;

/// The way that packets take now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// From one computer to the other, at this address of the other.
    Direct(SocketAddr),
    /// Through a relay.
    Relay(String),
}

/// Tells the way of a connection, and each change of it, until the connection ends.
pub(crate) async fn follow(connection: Connection, mut tell: impl FnMut(Route)) {
    let (mut paths, mut told) = (connection.paths_stream(), None);
    while paths.next().await.is_some() {
        let route = Route::of(&connection);
        if route.is_some() && route != told {
            told.clone_from(&route);
            if let Some(route) = route {
                tell(route);
            }
        }
    }
}

impl Route {
    /// The one of this connection; `None` before it has one, and behind its end.
    fn of(connection: &Connection) -> Option<Self> {
        let paths = connection.paths();
        let used = paths.iter().find(|path| path.is_selected()).or_else(|| paths.iter().next())?;
        match used.remote_addr() {
            TransportAddr::Ip(address) => Some(Self::Direct(*address)),
            TransportAddr::Relay(relay) => Some(Self::Relay(relay.host_str().unwrap_or_default().to_owned())),
            _ => None,
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct(address) => write!(f, "connected directly with {address}"),
            Self::Relay(relay) => write!(f, "connected through the relay {relay}"),
        }
    }
}
