//! One endpoint over several interfaces of this host: a socket for each, all behind one for noq, and a path over each.
//!
//! noq tells the paths of a client apart by the local address. An interface gets another address when it finds another network,
//! and two may have the same one, behind two routers of a kind. So an interface's number stands where noq has its address
//! ([`local_ip`]). The number never leaves this host: the system chooses the source address of each packet, by its routes
//! through that interface.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::num::NonZeroUsize;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use futures_util::FutureExt;
use noq::udp::{RecvMeta, Transmit};
use noq::{AsyncUdpSocket, Connection, FourTuple, PathId, PathStatus, UdpSender, WeakConnectionHandle};
use std::io::{self, IoSliceMut};

/// How often each interface is looked at, and a path opened over it if there is none.
const LOOK: Duration = Duration::from_secs(1);

/// How soon after the handshake, and twice as long each time from there on. The peer first tells the identifiers of further paths.
const SOON: Duration = Duration::from_millis(10);

/// The address that stands for an interface, counted from 0, on the way to `remote`. Nobody has it: RFC 6890 keeps 0.0.0.0/8 for
/// this, and RFC 6666 100::/64 for what is dropped.
pub fn local_ip(interface: u8, remote: SocketAddr) -> IpAddr {
    let number = interface.saturating_add(1);
    if remote.is_ipv6() {
        Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, number.into()).into()
    } else {
        Ipv4Addr::new(0, 0, 0, number).into()
    }
}

/// The sockets of several interfaces, as one.
///
/// A packet leaves by the interface that its path belongs to, and by the one of the handshake before noq knows. Where the
/// system has no room for it, it is dropped, since the other interfaces must not wait for one that stands still.
#[derive(Debug)]
pub struct Interfaces {
    sockets: Vec<Interface>,
    /// The place of the interface of the handshake.
    first: usize,
    /// The place of the socket that is asked first for what has arrived: each in turn.
    turn: usize,
}

/// An interface's number and its socket.
#[derive(Debug)]
struct Interface {
    ip: IpAddr,
    socket: Box<dyn AsyncUdpSocket>,
}

impl Interfaces {
    /// Sockets on the way to `remote`, each bound to the interface of that number; the handshake goes by the interface `first`.
    ///
    /// Errors: there is no such interface among them.
    pub fn new(
        remote: SocketAddr,
        sockets: impl IntoIterator<Item = (u8, Box<dyn AsyncUdpSocket>)>,
        first: u8,
    ) -> io::Result<Self> {
        let sockets = sockets.into_iter().map(|(number, socket)| Interface { ip: local_ip(number, remote), socket });
        let sockets: Vec<_> = sockets.collect();
        let place = sockets.iter().position(|interface| interface.ip == local_ip(first, remote));
        let first = place.ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { sockets, first, turn: 0 })
    }
}

impl AsyncUdpSocket for Interfaces {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        let senders = self.sockets.iter().map(|interface| (interface.ip, interface.socket.create_sender())).collect();
        Box::pin(Sender { senders, first: self.first })
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        for _ in 0..self.sockets.len() {
            self.turn = (self.turn + 1) % self.sockets.len();
            let Interface { ip, socket } = &mut self.sockets[self.turn];
            match socket.poll_recv(cx, buffers, meta) {
                Poll::Ready(Ok(count)) => {
                    for meta in &mut meta[..count] {
                        meta.dst_ip = Some(*ip);
                    }
                    return Poll::Ready(Ok(count));
                }
                // An interface that is gone ends nothing while there are others.
                Poll::Ready(Err(error)) => tracing::debug!(%error, interface = %ip, "could not receive"),
                Poll::Pending => {}
            }
        }
        Poll::Pending
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.sockets[self.first].socket.local_addr()
    }

    fn max_receive_segments(&self) -> NonZeroUsize {
        let segments = self.sockets.iter().map(|interface| interface.socket.max_receive_segments());
        segments.max().unwrap_or(NonZeroUsize::MIN)
    }

    fn may_fragment(&self) -> bool {
        self.sockets.iter().any(|interface| interface.socket.may_fragment())
    }
}

/// One connection's ways out.
#[derive(Debug)]
struct Sender {
    senders: Vec<(IpAddr, Pin<Box<dyn UdpSender>>)>,
    first: usize,
}

impl UdpSender for Sender {
    fn poll_send(mut self: Pin<&mut Self>, transmit: &Transmit<'_>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let place = match transmit.src_ip {
            Some(ip) => self.senders.iter().position(|(of, _)| *of == ip),
            None => Some(self.first),
        };
        let Some((_, sender)) = place.and_then(|place| self.senders.get_mut(place)) else {
            return Poll::Ready(Ok(())); // of no interface of ours: lost
        };
        let transmit = Transmit { src_ip: None, ..transmit.clone() };
        match sender.as_mut().poll_send(&transmit, cx) {
            Poll::Ready(Err(error)) => tracing::debug!(%error, "could not send"),
            Poll::Ready(Ok(())) | Poll::Pending => {}
        }
        Poll::Ready(Ok(()))
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
        let segments = self.senders.iter().map(|(_, sender)| sender.max_transmit_segments());
        segments.min().unwrap_or(NonZeroUsize::MIN)
    }
}

/// Keeps a path open over each of so many interfaces to `remote`, until the connection ends. A path that nothing was heard of for
/// long is given up by noq ([`transport::use_interfaces`](crate::transport::use_interfaces)), and opened anew here.
///
/// Without multipath (draft-ietf-quic-multipath) at the peer it ends at once.
pub async fn keep_paths(connection: WeakConnectionHandle, remote: SocketAddr, interfaces: u8) {
    let mut wait = SOON;
    loop {
        {
            let Some(connection) = connection.upgrade().filter(|connection| connection.close_reason().is_none()) else {
                return;
            };
            if !connection.is_multipath_enabled() {
                return;
            }
            if knows_first(&connection) {
                (0..interfaces).for_each(|number| open(&connection, remote, number));
            }
        }
        tokio::time::sleep(wait).await;
        wait = (2 * wait).min(LOOK);
    }
}

/// Whether noq has noticed by which interface the handshake went. Until then it would open a second path there.
fn knows_first(connection: &Connection) -> bool {
    let first = connection.path(PathId::ZERO).and_then(|path| path.local_ip().ok());
    first.is_none_or(|ip| ip.is_some())
}

/// Opens a path over that interface if there is none and the peer has told how to.
fn open(connection: &Connection, remote: SocketAddr, interface: u8) {
    let way = FourTuple::new(remote, Some(local_ip(interface, remote)));
    // At once it answers whether it will be tried; a path that fails later is gone the next time.
    if let Some(Err(why)) = connection.open_path_ensure(way, PathStatus::Available).now_or_never() {
        tracing::debug!(interface, %why, "no path yet");
    }
}
