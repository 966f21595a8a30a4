//! A host of its own for one end of a connection: a network namespace with a single interface, whose packets are ours
//! to carry. It lasts as long as its interface and its socket do.

use super::unavailable::{Unavailable, refused};
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{setsockopt, sockopt};
use pcc_netem::Interface;
use socket2::{Domain, Protocol, Socket, Type};
use std::fs::File;
use std::net::Ipv4Addr;

/// The two ends. Nobody else can see them, so they may be anywhere.
pub(super) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 7, 7, 1);
pub(super) const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 7, 7, 2);

/// Packets as large as the QUIC runs': the largest UDP payload that its discovery tries, 1452, and 28 bytes of headers.
const MTU: u16 = 1480;

/// A host with a TCP socket.
#[derive(Debug)]
pub(super) struct Host {
    /// Where its packets come out and go in; it never blocks.
    pub(super) interface: File,
    pub(super) socket: Socket,
}

impl Host {
    /// Makes one with this address.
    pub(super) fn new(address: Ipv4Addr) -> Result<Self, Unavailable> {
        // A namespace is a thread's: this one ends when all is made in it.
        let make = move || -> Result<Self, Unavailable> {
            unshare(CloneFlags::CLONE_NEWNET).map_err(refused("no network namespace"))?;
            let interface = Interface { name: "pcc", address, prefix: 24, mtu: MTU }.up()?;
            let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP));
            let socket = socket.map_err(refused("no TCP socket"))?;
            Ok(Self { interface, socket })
        };
        let made =
            std::thread::Builder::new().name("race-host".to_owned()).spawn(make).map_err(refused("no thread"))?;
        made.join().map_err(|_| Unavailable::Thread)?
    }

    /// Has TCP use this algorithm, and `window` bytes of buffer in each direction.
    pub(super) fn prepare(&self, kernel: &str, window: usize) -> Result<(), Unavailable> {
        self.socket
            .set_tcp_congestion(kernel.as_bytes())
            .map_err(|reason| Unavailable::Algorithm { name: kernel.to_owned(), reason })?;
        // As large as QUIC's, so that no window caps either; beyond the system's limits, which are for many connections.
        setsockopt(&self.socket, sockopt::SndBufForce, &window)
            .and_then(|()| setsockopt(&self.socket, sockopt::RcvBufForce, &window))
            .map_err(refused("no buffers of the size that the path needs"))
    }
}
