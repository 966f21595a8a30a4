//! Connects to a server: finds it, speaks to it, checks that it is the right one.

mod local;
mod refused;
mod transport;

pub use transport::Transport;

use local::Local;

use crate::look_up;
use crate::tls::{self, Fingerprint, TlsError, Trust};
use crate::url::Peer;
use crate::via::Interface;
use core::time::Duration;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use noq::{ClientConfig, Connection, ConnectionError, Endpoint, EndpointConfig, TransportErrorCode};
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;

/// Everything about a connection but whom it is to.
#[derive(Clone, Debug)]
pub struct Dialer {
    /// The protocols to offer, the best first (TLS's ALPN).
    pub alpn: &'static [&'static [u8]],
    /// Which certificates are good.
    pub trust: Trust,
    /// Congestion control, windows, time-outs.
    pub transport: Transport,
    /// The endpoint's configuration.
    pub endpoint: EndpointConfig,
    /// How long to wait for the handshake with each address.
    pub timeout: Duration,
    /// Whether to use only addresses of one version of IP.
    pub family: Family,
    /// The interfaces of this host to use, at a time; those that the system chooses if none is named.
    pub via: Vec<Interface>,
}

/// Which version of IP to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// Whichever answers first.
    #[default]
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
    /// The one of this local address, which is used.
    Local(SocketAddr),
}

/// How long a handshake may take: QUIC repeats its first packet after 1, 3 and 7 seconds (RFC 9002 §6.2.4), so one
/// that is not answered by then will not be.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// How much later than the one before it the next address of a host is tried (RFC 8305 §5).
const STAGGER: Duration = Duration::from_millis(250);

/// When an address without an answer is tried a second time beside the first, from another socket: a NAT that has forgotten
/// the first one's port may send the answers elsewhere, and servers take no other address during a handshake (RFC 9000 §9).
/// QUIC has repeated its first packet twice by then.
const AGAIN: Duration = Duration::from_secs(3);

/// Addresses of a host that are tried at all.
const MOST_ADDRESSES: usize = 8;

/// An established connection.
#[derive(Debug)]
pub struct Dialed {
    /// The endpoint, which must live as long as the connection; close it and `wait_idle` for a clean goodbye.
    pub endpoint: Endpoint,
    /// The connection.
    pub connection: Connection,
    /// A warning about this host for the user, to be shown once.
    pub warning: Option<String>,
}

/// A peer as it was named, and the address that it has, where that says more.
fn at(peer: &Peer, address: SocketAddr) -> String {
    let (named, found) = (peer.to_string(), address.to_string());
    if named == found { named } else { format!("{named} ({found})") }
}

/// The remedy for a certificate that is not trusted, other than the one that was tried.
fn way_out(has_authorities: bool) -> String {
    let name_it = "write #sha256= and the certificate's fingerprint behind the URL, which `openssl x509 -in CERT.pem \
                   -outform der | sha256sum` prints on the server";
    if has_authorities {
        format!("what --ca names does not vouch for it: {name_it}")
    } else {
        format!(
            "ask whoever runs the server for the URL that `pcc serve` prints there, which names the certificate, name \
             its authority with --ca FILE, or {name_it}"
        )
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DialError {
    /// DNS.
    #[error("unknown host `{host}` ({reason}): check the spelling, or write its address instead")]
    UnknownHost {
        /// As it was written.
        host: String,
        /// The reason of the system, or of the other end.
        reason: String,
    },
    /// DNS knows it, but not under the version of IP that was asked for.
    #[error("`{host}` has no {family} address: leave out the option that asks for one")]
    NoAddress {
        /// As it was written.
        host: String,
        /// Which version of IP.
        family: &'static str,
    },
    /// The host says that nobody listens.
    #[error("{} refused: nothing listens on UDP port {} there; is `pcc serve` running, on that port?", at(peer, *address), address.port())]
    Refused {
        /// Whom to.
        peer: Peer,
        /// The one that was tried.
        address: SocketAddr,
    },
    /// This host knows no way there.
    #[error("no route to {}: {reason}; check this computer's network", at(peer, *address))]
    NoRoute {
        /// Whom to.
        peer: Peer,
        /// The one that was tried.
        address: SocketAddr,
        /// The reason of the system, or of the other end.
        reason: std::io::Error,
    },
    /// Silence.
    #[error(
        "{} did not answer within {timeout:?}: is the server running, and does a firewall let UDP through?",
        at(peer, *address)
    )]
    NoAnswer {
        /// Whom to.
        peer: Peer,
        /// The one that was tried.
        address: SocketAddr,
        /// How long it was waited for.
        timeout: Duration,
    },
    /// Another certificate than the pinned one.
    #[error(
        "{peer} shows another certificate than the URL names: expected {expected}, found {found}; if the server got a new one, use the URL it prints now, otherwise somebody is in between"
    )]
    WrongCertificate {
        /// Whom to.
        peer: Peer,
        /// The certificate that was named.
        expected: Fingerprint,
        /// The certificate that was shown.
        found: Fingerprint,
    },
    /// A certificate that no known authority vouches for. Its fingerprint is not told: whoever is in between would have
    /// it pasted into the URL.
    #[error("the certificate of {peer} is not trusted: {reason}; {}", way_out(*has_authorities))]
    Untrusted {
        /// Whom to.
        peer: Peer,
        /// The certificate that was shown.
        found: Fingerprint,
        /// Its fault.
        reason: String,
        /// Whether --ca was given.
        has_authorities: bool,
    },
    /// Some other server.
    #[error("{peer} does not speak {wanted}: is it the right port?")]
    WrongProtocol {
        /// Whom to.
        peer: Peer,
        /// The protocols that were offered.
        wanted: String,
    },
    /// The server is there, and has no place.
    #[error(
        "{peer} is full, or is being stopped: it takes no further connection; try again later, or ask whoever runs it for more"
    )]
    Full {
        /// Whom to.
        peer: Peer,
    },
    /// Anything else that ends a handshake.
    #[error("could not connect to {}: {reason}", at(peer, *address))]
    Handshake {
        /// Whom to.
        peer: Peer,
        /// The one that was tried.
        address: SocketAddr,
        /// The reason of the system, or of the other end.
        reason: ConnectionError,
    },
    /// The authorities for the peer's certificate, or our own certificate, can't be used.
    #[error(transparent)]
    Trust(#[from] TlsError),
    /// This side cannot even try.
    #[error("could not open a UDP socket to {peer}")]
    Local {
        /// Whom to.
        peer: Peer,
        /// The fault.
        source: LocalError,
    },
}

/// Why this side can't even try.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// No interface that was named has an address of this version of IP.
    #[error("none of the interfaces {0} has an address of {1}'s version of IP")]
    NoInterface(String, IpAddr),
    /// The interface is gone, or may not be used.
    #[error("could not use the interface {interface}")]
    Interface {
        /// The one to send by.
        interface: Interface,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The address is not this host's, or taken.
    #[error("could not use the address {address}")]
    Address {
        /// The one to send from.
        address: IpAddr,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The socket, or the timers, can't be used.
    #[error(transparent)]
    System(#[from] std::io::Error),
    /// QUIC refuses to begin.
    #[error(transparent)]
    Quic(#[from] noq::ConnectError),
}

impl DialError {
    /// Whether the peer could not be reached. Else it was, and is the wrong one or has no place, or the fault is on this side.
    pub fn is_unreachable(&self) -> bool {
        match self {
            Self::UnknownHost { .. }
            | Self::NoAddress { .. }
            | Self::Refused { .. }
            | Self::NoRoute { .. }
            | Self::NoAnswer { .. }
            | Self::Handshake { .. }
            | Self::Local { source: LocalError::NoInterface(..) | LocalError::Interface { .. }, .. } => true,
            Self::WrongCertificate { .. }
            | Self::Untrusted { .. }
            | Self::Full { .. }
            | Self::WrongProtocol { .. }
            | Self::Trust(_)
            | Self::Local { .. } => false,
        }
    }

    /// Whether the same attempt may succeed later.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Full { .. } => true,
            Self::NoAddress { .. } => false,
            _ => self.is_unreachable(),
        }
    }

    /// How much this error explains, when several addresses failed in different ways.
    fn weight(&self) -> u8 {
        match self {
            Self::Full { .. } => 3,
            Self::Refused { .. } => 2,
            Self::NoRoute { .. } => 0,
            _ => 1,
        }
    }
}

impl Dialer {
    /// Connects to `peer`: to the first of its addresses that answers, tried a little after one another.
    ///
    /// Errors: the most telling one of all addresses. A server that answers but is the wrong one ends the attempt.
    pub async fn dial(&self, peer: &Peer) -> Result<Dialed, DialError> {
        let ways = self.ways(&self.resolve(peer).await?);
        let ways = ways.map_err(|source| DialError::Local { peer: peer.clone(), source })?;
        let mut attempts: FuturesUnordered<_> = (0u32..)
            .zip(&ways)
            .map(|(place, (from, address))| async move {
                tokio::time::sleep(STAGGER * place).await;
                self.attempts(peer, from, *address).await
            })
            .collect();
        let mut told: Option<DialError> = None;
        while let Some(outcome) = attempts.next().await {
            match outcome {
                Ok(dialed) => return Ok(dialed),
                Err(error) if !error.may_pass() => return Err(error),
                Err(error) if told.as_ref().is_none_or(|told| told.weight() < error.weight()) => told = Some(error),
                Err(_) => {}
            }
        }
        Err(told.unwrap_or_else(|| self.no_address(peer)))
    }

    /// The addresses, each with all that this side may begin with there.
    ///
    /// Errors: no interface that was named reaches any.
    fn ways(&self, addresses: &[SocketAddr]) -> Result<Vec<(Local, SocketAddr)>, LocalError> {
        let (mut ways, mut told) = (Vec::new(), None);
        for &address in addresses {
            match Local::to(address, self.family, &self.via) {
                Ok(found) => ways.extend(found.into_iter().map(|from| (from, address))),
                Err(error) => told = Some(error),
            }
        }
        if ways.is_empty()
            && let Some(error) = told
        {
            Err(error)
        } else {
            Ok(ways)
        }
    }

    async fn resolve(&self, peer: &Peer) -> Result<Vec<SocketAddr>, DialError> {
        let found = look_up(&peer.host, peer.port, ()).await.map_err(|error| {
            // A resolver has one word for an unknown name and an unknown interface.
            let is_scoped = peer.name() != peer.host;
            let reason = if is_scoped { "no such interface here".to_owned() } else { error.to_string() };
            DialError::UnknownHost { host: peer.host.clone(), reason }
        })?;
        let wanted = |address: &SocketAddr| match self.family {
            Family::Any => true,
            Family::V4 => address.is_ipv4(),
            Family::V6 => address.is_ipv6(),
            Family::Local(local) => address.is_ipv4() == local.is_ipv4(),
        };
        let addresses: Vec<_> = found.into_iter().filter(wanted).take(MOST_ADDRESSES).collect();
        if addresses.is_empty() { Err(self.no_address(peer)) } else { Ok(addresses) }
    }

    fn no_address(&self, peer: &Peer) -> DialError {
        let family = match self.family {
            Family::Any => "usable",
            Family::V4 | Family::Local(SocketAddr::V4(_)) => "IPv4",
            Family::V6 | Family::Local(SocketAddr::V6(_)) => "IPv6",
        };
        DialError::NoAddress { host: peer.host.clone(), family }
    }

    /// One attempt, and a second one beside it if that takes long: what the first comes to counts, unless the second
    /// connects.
    async fn attempts(&self, peer: &Peer, from: &Local, address: SocketAddr) -> Result<Dialed, DialError> {
        let mut first = pin!(self.attempt(peer, from, address));
        let second = async {
            tokio::time::sleep(AGAIN).await;
            self.attempt(peer, from, address).await
        };
        tokio::select! {
            outcome = &mut first => outcome,
            Ok(dialed) = second => Ok(dialed),
        }
    }

    async fn attempt(&self, peer: &Peer, from: &Local, address: SocketAddr) -> Result<Dialed, DialError> {
        let local = |source| DialError::Local { peer: peer.clone(), source };
        let (tls, refusal) = tls::client(&self.trust, self.alpn)?;
        let (endpoint, warning) = from.open(address, self.endpoint.clone()).map_err(local)?;
        let mut config = ClientConfig::new(Arc::new(tls));
        config.transport_config(from.transport(self.transport.to(address.ip())));
        let connecting = endpoint.connect_with(config, address, peer.name()).map_err(|error| local(error.into()))?;
        let outcome = tokio::select! {
            outcome = tokio::time::timeout(self.timeout, connecting) => outcome,
            reason = refused::refused(address, from.interface()) => return Err(match reason.kind() {
                std::io::ErrorKind::ConnectionRefused => DialError::Refused { peer: peer.clone(), address },
                _ => DialError::NoRoute { peer: peer.clone(), address, reason },
            }),
        };
        match outcome {
            Ok(Ok(connection)) => {
                let warning = from.keep_paths(&connection, address).or(warning);
                Ok(Dialed { endpoint, connection, warning })
            }
            Ok(Err(reason)) => Err(self.explain(peer, address, reason, &refusal)),
            Err(_) => Err(DialError::NoAnswer { peer: peer.clone(), address, timeout: self.timeout }),
        }
    }

    fn explain(&self, peer: &Peer, address: SocketAddr, reason: ConnectionError, refusal: &tls::Refusal) -> DialError {
        let peer = peer.clone();
        if let Some((found, reason)) = refusal.reason() {
            return match self.trust {
                Trust::Pinned(expected) => DialError::WrongCertificate { peer, expected, found: *found },
                ref other => {
                    let has_authorities = matches!(other, Trust::Authorities(_));
                    DialError::Untrusted { peer, found: *found, reason: reason.clone(), has_authorities }
                }
            };
        }
        match reason {
            ConnectionError::TimedOut => DialError::NoAnswer { peer, address, timeout: self.timeout },
            ref alert if is_alert(alert, NO_APPLICATION_PROTOCOL) => {
                let wanted =
                    self.alpn.iter().map(|name| String::from_utf8_lossy(name)).collect::<Vec<_>>().join(" or ");
                DialError::WrongProtocol { peer, wanted }
            }
            ConnectionError::ConnectionClosed(close) if close.error_code == TransportErrorCode::CONNECTION_REFUSED => {
                DialError::Full { peer }
            }
            reason => DialError::Handshake { peer, address, reason },
        }
    }
}

/// TLS's alert for a server that speaks none of the offered protocols (RFC 7301 §3.2).
const NO_APPLICATION_PROTOCOL: u8 = 120;

/// Whether the handshake ended with this TLS alert, on either side.
fn is_alert(error: &ConnectionError, alert: u8) -> bool {
    let alert = TransportErrorCode::crypto(alert);
    match error {
        ConnectionError::TransportError(error) => error.code == alert,
        ConnectionError::ConnectionClosed(close) => close.error_code == alert,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
