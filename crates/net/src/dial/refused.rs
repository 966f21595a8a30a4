//! Hears that nobody listens, which QUIC cannot: its sockets serve many peers, and the system reports refusals only to
//! sockets with one.

use crate::via::Interface;
use core::time::Duration;
use pcc_quic::socket::limit_to_interface;
use std::io::{Error, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use tokio::net::UdpSocket;

/// Silence of the server after which it is worth asking: more than the round trip of most paths.
const PATIENCE: Duration = Duration::from_millis(250);

/// How often to ask; a question or its answer may get lost.
const QUESTIONS: u32 = 4;

/// Ends when the system knows that `address` cannot be reached, with the reason, and otherwise never.
pub(super) async fn refused(address: SocketAddr, interface: Option<&Interface>) -> Error {
    match ask(address, interface).await {
        Err(error) if is_final(error.kind()) => error,
        _ => core::future::pending().await,
    }
}

async fn ask(address: SocketAddr, interface: Option<&Interface>) -> std::io::Result<()> {
    let any: IpAddr = if address.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).await?;
    if let Some(interface) = interface {
        limit_to_interface(&socket, interface.name())?;
    }
    socket.connect(address).await?; // fails at once where there is no route
    let mut wait = PATIENCE;
    for _ in 0..QUESTIONS {
        tokio::time::sleep(wait).await;
        // One zero byte: too short to be QUIC, so every server drops it unanswered.
        socket.send(&[0]).await?;
        if let Ok(answer) = tokio::time::timeout(PATIENCE, socket.recv(&mut [0; 16])).await {
            answer?;
        }
        wait *= 2;
    }
    Ok(())
}

fn is_final(kind: ErrorKind) -> bool {
    use ErrorKind::{ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable};
    // Windows calls a refused packet a reset connection.
    matches!(kind, ConnectionRefused | ConnectionReset | NetworkUnreachable | HostUnreachable)
}
