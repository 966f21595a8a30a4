//! A directory or a file, served on connections that the program accepted itself.

use super::body;
use super::budget::{self, Budget};
use super::connection::{self, Visit};
use super::descriptors;
use super::digest::Digests;
use super::guests::{Admission, Guests};
use super::log::Log;
use super::look_ups::LookUps;
use super::metrics::Metrics;
use super::privacy::Privacy;
use super::root::Root;
use super::service::Service;
use super::start_error::StartError;
use core::net::{Ipv6Addr, SocketAddr};
use noq::{Connection, PathId};
use pcc_quic::Sight;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;

/// Connections at a time: one that is used, and one that its client has given up.
const CONNECTIONS: usize = 2;

/// The served directory or file, for whoever the program has let in. Nobody can upload.
#[derive(Debug)]
pub struct Carried {
    service: Arc<Service>,
    guests: Guests,
    closing: watch::Sender<bool>,
}

impl Carried {
    /// Serves this directory, or this one file and nothing beside it.
    ///
    /// Errors: it cannot be read.
    pub fn open(path: &Path) -> Result<Self, StartError> {
        let service = Service {
            root: Root::open(path)?,
            privacy: Privacy::Public,
            digests: Digests::default(),
            requests: Budget::new(descriptors::requests(false)),
            ahead: Budget::new(body::MOST_AHEAD),
            sent: Budget::new(budget::MOST_SENT),
            unwritten: Budget::new(budget::MOST_UNWRITTEN),
            uploads: None,
            tunnels: None,
            look_ups: LookUps::default(),
            log: Log::default(),
            metrics: Metrics::default(),
            same_user: false,
        };
        let (closing, _) = watch::channel(false);
        Ok(Self { service: Arc::new(service), guests: Guests::new(CONNECTIONS, CONNECTIONS), closing })
    }

    /// Serves one connection to its end: HTTP/3 has yet to begin on it. A connection too many is closed.
    pub async fn serve(&self, connection: Connection) {
        let address = connection.path(PathId::ZERO).and_then(|path| path.remote_address().ok());
        let address = address.unwrap_or(SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)));
        match self.guests.enter(address.ip(), true) {
            Admission::Welcome(guest) => {
                let visit = Visit { connection, peer: address, sight: Sight::default() };
                connection::serve(self.service.clone(), visit, guest, self.closing.subscribe()).await;
            }
            Admission::Unproven | Admission::Full => connection.close(connection::TOO_MANY, b"too many connections"),
        }
    }
}
