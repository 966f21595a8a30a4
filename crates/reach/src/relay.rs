//! A relay of one's own: where two computers find each other, and through which their packets go while there is no direct path.

use crate::error::ReachError;
use crate::place::Relay;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU32, Ordering};
use iroh::EndpointId;
use iroh_relay::server::{
    Access, AccessControl, CertConfig, ClientRateLimit, ClientRequest, ConnectionId, QuicConfig, RelayConfig, Server,
    ServerConfig, TlsConfig,
};
use pcc_net::tls::{self, Identity};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

/// The load that a relay bears.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Computers connected at a time. Two are needed for a transfer.
    pub clients: u32,
    /// The highest rate of one computer, in bytes a second.
    pub rate: NonZeroU32,
}

/// A running relay. Dropping it ends it at once.
#[derive(Debug)]
pub struct RelayServer {
    server: Server,
    /// The TCP address for computers that want to be found.
    pub tcp: SocketAddr,
    /// The UDP address at which they learn their own.
    pub udp: SocketAddr,
}

impl RelayServer {
    /// Starts one at this TCP port, and at the UDP port of the same number (7842 beside 443). Port 0 takes a free one.
    ///
    /// Errors: a port is taken, or the certificate cannot be used.
    pub async fn start(listen: SocketAddr, identity: &Identity, limits: Limits) -> Result<Self, ReachError> {
        let system = |error: String| ReachError::Local(error);
        // The TCP port and the UDP port have one number, also where any will do.
        let listen = if listen.port() == 0 { UdpSocket::bind(listen)?.local_addr()? } else { listen };
        let acceptor = tls::server_over_tcp(identity, &[b"http/1.1"]).map_err(|error| system(error.to_string()))?;
        let server_config = acceptor.config().as_ref().clone();
        // The check for captive portals needs a port without TLS; pcc does not ask for it.
        let mut relay = RelayConfig::new((Ipv4Addr::LOCALHOST, 0));
        relay.tls = Some(TlsConfig::new(listen, CertConfig::Manual { server_config }));
        relay.limits.client_rx = Some(ClientRateLimit::new(limits.rate));
        relay.access = Arc::new(Places { most: limits.clients, taken: AtomicU32::new(0) });
        let mut config = ServerConfig::default();
        config.relay = Some(relay);
        config.quic = Some(QuicConfig::new(SocketAddr::new(listen.ip(), Relay::udp_port(listen.port()))));
        let server = Server::spawn(config).await.map_err(|error| system(format!("{error:#}")))?;
        let addresses = server.https_addr().zip(server.quic_addr());
        let (tcp, udp) = addresses.ok_or_else(|| system("the relay has no address".to_owned()))?;
        Ok(Self { server, tcp, udp })
    }

    /// Runs until it is dropped.
    ///
    /// Errors: it could not go on.
    pub async fn run(&mut self) -> Result<(), ReachError> {
        match self.server.join().await {
            Ok(Err(error)) => Err(ReachError::Local(format!("{error:#}"))),
            Ok(Ok(())) | Err(_) => Err(ReachError::Closed),
        }
    }
}

/// Places for computers.
#[derive(Debug)]
struct Places {
    most: u32,
    taken: AtomicU32,
}

impl AccessControl for Places {
    async fn on_connect(&self, _: &ClientRequest) -> Access {
        let take = |taken: u32| (taken < self.most).then_some(taken + 1);
        match self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Access::Allow,
            Err(_) => Access::Deny { reason: Some("the relay is full".to_owned()) },
        }
    }

    fn on_disconnect(&self, _: EndpointId, _: ConnectionId) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }
}
