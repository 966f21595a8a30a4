//! The common needs of requests: the server's state, and whom an answer is for.

use super::budget::{Budget, Lease};
use super::connect::Tunnels;
use super::digest::Digests;
use super::guests::network;
use super::log::Log;
use super::look_ups::LookUps;
use super::metrics::Metrics;
use super::privacy::Privacy;
use super::root::Root;
use super::upload::uploads::Uploads;
use core::time::Duration;
use noq::{Connection, VarInt};
use pcc_quic::transport::Windows;
use pcc_quic::{PathFigures, Sight};
use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;
use tokio::sync::watch;

/// The common needs of requests.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) root: Root,
    pub(super) privacy: Privacy,
    pub(super) digests: Digests,
    /// Requests that are answered at a time.
    pub(super) requests: Budget,
    /// Bytes held for bodies: read ahead of what clients have taken, and names of pages.
    pub(super) ahead: Budget,
    /// Bytes that connections may have sent and not heard of, beyond the least.
    pub(super) sent: Budget,
    /// Bytes of uploads that connections may have to write yet.
    pub(super) unwritten: Budget,
    pub(super) uploads: Option<Uploads>,
    pub(super) tunnels: Option<Tunnels>,
    pub(super) look_ups: LookUps,
    pub(super) log: Log,
    pub(super) metrics: Metrics,
    /// Whether clients act for the user who runs the server.
    pub(super) same_user: bool,
}

/// Bytes of requests that a client may send unread, as long as it has not shown that it may upload.
pub(super) const REQUESTS_WINDOW: u32 = 256 << 10;

/// A handshake that takes longer has failed; the client's patience is the same.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(10);

/// Whom an answer is for.
pub(super) struct Asker {
    carrier: Carrier,
    pub(super) address: SocketAddr,
    /// The bytes that it may send beyond requests, once it has shown that it may upload.
    uploads: OnceLock<Lease>,
}

/// The transport that brings the answers.
enum Carrier {
    Quic(Connection, Sight),
    /// The channel by which it is told ends with the request.
    Tcp(watch::Receiver<()>),
}

impl Asker {
    pub(super) fn new(connection: Connection, address: SocketAddr, sight: Sight) -> Self {
        Self { carrier: Carrier::Quic(connection, sight), address, uploads: OnceLock::new() }
    }

    pub(super) fn over_tcp(address: SocketAddr, request: watch::Receiver<()>) -> Self {
        Self { carrier: Carrier::Tcp(request), address, uploads: OnceLock::new() }
    }

    /// Ends when nobody waits for the answer any more.
    pub(super) async fn gone(&self) {
        match &self.carrier {
            Carrier::Quic(connection, _) => drop(connection.closed().await),
            Carrier::Tcp(request) => drop(request.clone().changed().await),
        }
    }

    /// The findings about the way to it, if there are any.
    pub(super) fn path(&self) -> Option<PathFigures> {
        match &self.carrier {
            Carrier::Quic(_, sight) => sight.figures(),
            Carrier::Tcp(_) => None,
        }
    }

    /// Whose turns it is to have work done.
    pub(super) fn network(&self) -> IpAddr {
        network(self.address.ip())
    }

    /// Lets it send as much unread as an upload needs, and as there is room for, until the connection ends: credit that was
    /// given cannot be taken back.
    pub(super) fn may_upload(&self, unwritten: &Budget) {
        let Carrier::Quic(connection, _) = &self.carrier else { return };
        self.uploads.get_or_init(|| {
            let mut lease = unwritten.none(self.network());
            let window = u64::from(REQUESTS_WINDOW) + lease.grow_to(Windows::default().bytes().get());
            connection.set_receive_window(VarInt::from_u64(window).unwrap_or(VarInt::MAX));
            lease
        });
    }
}

/// Ends when the server is to end, or is dropped.
pub(super) async fn told(closing: &mut watch::Receiver<bool>) {
    let _ = closing.wait_for(|closing| *closing).await;
}
