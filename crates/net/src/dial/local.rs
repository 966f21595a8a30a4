//! This side of a connection: the sockets that packets leave from.

use super::{Family, LocalError};
use crate::via::{self, Interface};
use noq::{AsyncUdpSocket, Connection, Endpoint, EndpointConfig, Runtime, TransportConfig};
use pcc_quic::interfaces::{Interfaces, keep_paths};
use pcc_quic::socket::{self, Bound};
use pcc_quic::{PacedRuntime, transport};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// Where the packets of an attempt leave from.
#[derive(Clone, Debug)]
pub(super) enum Local {
    /// From this address, by the routes that the system has.
    Address(SocketAddr),
    /// By these interfaces, numbered in this order; the handshake goes by the one of the number `first`.
    Interfaces { named: Vec<Interface>, first: u8 },
}

fn any(remote: SocketAddr) -> SocketAddr {
    if remote.is_ipv6() { (Ipv6Addr::UNSPECIFIED, 0).into() } else { (Ipv4Addr::UNSPECIFIED, 0).into() }
}

impl Local {
    /// The ways to begin a connection to `remote`: by each of the interfaces, if some are named.
    ///
    /// Errors: none of them has an address for that.
    pub(super) fn to(remote: SocketAddr, family: Family, named: &[Interface]) -> Result<Vec<Self>, LocalError> {
        if named.is_empty() {
            let address = if let Family::Local(local) = family { local } else { any(remote) };
            return Ok(vec![Self::Address(address)]);
        }
        let usable = via::usable(named, remote)?;
        if usable.is_empty() {
            let names: Vec<_> = named.iter().map(Interface::name).collect();
            return Err(LocalError::NoInterface(names.join(", "), remote.ip()));
        }
        Ok(usable.into_iter().map(|first| Self::Interfaces { named: named.to_vec(), first }).collect())
    }

    /// The interface by which the connection begins, if one was named.
    pub(super) fn interface(&self) -> Option<&Interface> {
        let Self::Interfaces { named, first } = self else { return None };
        named.get(usize::from(*first))
    }

    /// An endpoint that can reach `remote`, and what the user should be told of this host.
    pub(super) fn open(
        &self,
        remote: SocketAddr,
        config: EndpointConfig,
    ) -> Result<(Endpoint, Option<String>), LocalError> {
        let runtime = PacedRuntime::new()?;
        let (socket, warning) = match self {
            Self::Address(local) => {
                let bound =
                    socket::bind(*local).map_err(|source| LocalError::Address { address: local.ip(), source })?;
                (runtime.wrap_udp_socket(bound.socket)?, bound.warning)
            }
            Self::Interfaces { named, first } => by_interfaces(named, *first, remote, &*runtime)?,
        };
        Ok((Endpoint::new_with_abstract_socket(config, None, socket, runtime)?, warning))
    }

    /// The same, for a connection from here.
    pub(super) fn transport(&self, transport: Arc<TransportConfig>) -> Arc<TransportConfig> {
        match self {
            Self::Interfaces { named, .. } if named.len() > 1 => {
                let mut transport = (*transport).clone();
                transport::use_interfaces(&mut transport);
                Arc::new(transport)
            }
            _ => transport,
        }
    }

    /// Has the connection use all interfaces from now on. If it cannot, the answer is for the user.
    pub(super) fn keep_paths(&self, connection: &Connection, remote: SocketAddr) -> Option<String> {
        let Self::Interfaces { named, .. } = self else { return None };
        if named.len() < 2 {
            return None;
        }
        if !connection.is_multipath_enabled() {
            let used = self.interface().map(ToString::to_string).unwrap_or_default();
            return Some(format!("this server takes one network at a time: {used} is used"));
        }
        let interfaces = u8::try_from(named.len()).unwrap_or(u8::MAX);
        tokio::spawn(keep_paths(connection.weak_handle(), remote, interfaces));
        None
    }
}

/// A socket for each interface, as one. An interface that is gone is left out, unless the handshake is to go there. One without an
/// address may get it.
fn by_interfaces(
    named: &[Interface],
    first: u8,
    remote: SocketAddr,
    runtime: &dyn Runtime,
) -> Result<(Box<dyn AsyncUdpSocket>, Option<String>), LocalError> {
    let (mut sockets, mut warning) = (Vec::new(), None);
    for (number, interface) in (0..).zip(named) {
        match socket::bind_to_interface(any(remote), interface.name()) {
            Ok(Bound { socket, warning: own }) => {
                sockets.push((number, runtime.wrap_udp_socket(socket)?));
                warning = warning.or(own);
            }
            Err(error) if number != first => tracing::debug!(%interface, %error, "not used"),
            Err(source) => return Err(LocalError::Interface { interface: interface.clone(), source }),
        }
    }
    match sockets.pop() {
        Some((_, only)) if named.len() == 1 => Ok((only, warning)),
        last => Ok((Box::new(Interfaces::new(remote, sockets.into_iter().chain(last), first)?), warning)),
    }
}
