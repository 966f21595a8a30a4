//! UDP sockets whose buffers hold what a fast path delivers while the application is busy.

use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// A bound socket, and what its user should be told.
#[derive(Debug)]
pub struct Bound {
    /// The socket, for [`noq::Endpoint::new`].
    pub socket: UdpSocket,
    /// One sentence to show once if the system granted too little buffer, with the command that helps.
    pub warning: Option<String>,
}

/// Asked for in each direction. A receiver that is not scheduled for 30 ms at 1 Gbit/s finds 3.75 MB waiting, and Linux
/// charges a packet of 1452 bytes as about 2304.
const WANTED: usize = 8 << 20;

/// Less than this is worth a warning: half of [`WANTED`], since distributions that raised the limit chose 4 MiB and up.
const ENOUGH: usize = 4 << 20;

/// Opens a UDP socket at `addr` with large buffers; an IPv6 address takes IPv4 peers too where the system can.
///
/// Errors: as [`UdpSocket::bind`]; buffers smaller than wished are no error but a warning.
pub fn bind(addr: SocketAddr) -> io::Result<Bound> {
    bind_within(addr, None)
}

/// The same for packets that come and go by one interface of this host only. Linux asks for no right for that since 5.7.
///
/// Errors: as [`bind`]; there is no such interface; this system cannot do so.
pub fn bind_to_interface(addr: SocketAddr, interface: &str) -> io::Result<Bound> {
    bind_within(addr, Some(interface))
}

fn bind_within(addr: SocketAddr, interface: Option<&str>) -> io::Result<Bound> {
    let socket = Socket::new(Domain::for_address(addr), Type::DGRAM, Some(Protocol::UDP))?;
    if addr.is_ipv6()
        && let Err(error) = socket.set_only_v6(false)
    {
        tracing::debug!(%error, "this socket takes IPv6 peers only");
    }
    let receive = enlarge(&socket, Direction::Receive);
    let send = enlarge(&socket, Direction::Send);
    if let Some(interface) = interface {
        limit_to_interface(&socket, interface)?;
    }
    socket.bind(&addr.into())?;
    Ok(Bound { socket: socket.into(), warning: warning(receive, send) })
}

/// Has a socket send and receive by one interface only.
///
/// Errors: there is no such interface; this system cannot do so.
#[cfg(target_os = "linux")]
pub fn limit_to_interface(socket: &impl std::os::fd::AsFd, interface: &str) -> io::Result<()> {
    socket2::SockRef::from(socket).bind_device(Some(interface.as_bytes()))
}

/// Has a socket send and receive by one interface only: Linux can.
#[cfg(not(target_os = "linux"))]
pub fn limit_to_interface<S>(_: &S, _: &str) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "only Linux limits a socket to an interface"))
}

#[derive(Clone, Copy, Debug)]
enum Direction {
    Receive,
    Send,
}

/// Raises one buffer as far as the system lets us, and answers what it is now, in bytes.
fn enlarge(socket: &Socket, direction: Direction) -> usize {
    let set = |bytes| match direction {
        Direction::Receive => socket.set_recv_buffer_size(bytes),
        Direction::Send => socket.set_send_buffer_size(bytes),
    };
    // Some systems refuse a size above their limit instead of granting the limit.
    let mut wish = WANTED;
    while wish > 1 << 17 && set(wish).is_err() {
        wish /= 2;
    }
    if granted(socket, direction) < WANTED {
        force(socket, direction);
    }
    granted(socket, direction)
}

/// The size of a buffer in bytes, zero if the system does not say.
fn granted(socket: &Socket, direction: Direction) -> usize {
    let reported = match direction {
        Direction::Receive => socket.recv_buffer_size(),
        Direction::Send => socket.send_buffer_size(),
    };
    reported.unwrap_or(0) / REPORTED_OVER_USABLE
}

/// Linux reports twice the size that was set, to cover its bookkeeping (`man 7 socket`).
const REPORTED_OVER_USABLE: usize = if cfg!(target_os = "linux") { 2 } else { 1 };

/// Goes past the system's limit, which a privileged process may.
#[cfg(target_os = "linux")]
fn force(socket: &Socket, direction: Direction) {
    use nix::sys::socket::{setsockopt, sockopt};
    let forced = match direction {
        Direction::Receive => setsockopt(socket, sockopt::RcvBufForce, &WANTED),
        Direction::Send => setsockopt(socket, sockopt::SndBufForce, &WANTED),
    };
    if let Err(error) = forced {
        tracing::debug!(%error, ?direction, "not privileged to exceed the system's limit for socket buffers");
    }
}

#[cfg(not(target_os = "linux"))]
fn force(_: &Socket, _: Direction) {}

/// The sentence for a person whose system granted `receive` and `send` bytes.
fn warning(receive: usize, send: usize) -> Option<String> {
    if receive >= ENOUGH && send >= ENOUGH {
        return None;
    }
    let kib = |bytes: usize| bytes / 1024;
    let granted = format!("UDP buffers are {} KiB to receive and {} KiB to send", kib(receive), kib(send));
    Some(format!("{granted}; packets may be dropped in this host above some 100 Mbit/s. {}", remedy()))
}

/// How the limit is raised here.
fn remedy() -> String {
    if cfg!(target_os = "linux") {
        format!("Raise the limit with: sudo sysctl -w net.core.rmem_max={WANTED} net.core.wmem_max={WANTED}")
    } else if cfg!(any(target_os = "macos", target_os = "freebsd")) {
        format!("Raise the limit with: sudo sysctl -w kern.ipc.maxsockbuf={}", 2 * WANTED)
    } else {
        format!("Raise the system's limit for socket buffers to {WANTED} bytes")
    }
}

/// Packets that arrived at `socket` since it was opened and were dropped because its receive buffer was full. `None`
/// where the system does not say. Keep a [`UdpSocket::try_clone`] to ask after the endpoint took the socket.
#[cfg(target_os = "linux")]
pub fn dropped(socket: &UdpSocket) -> Option<u32> {
    crate::sys::dropped(socket)
}

/// Packets dropped for want of receive buffer: unknown on this system.
#[cfg(not(target_os = "linux"))]
pub fn dropped(_: &UdpSocket) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::SockRef;

    #[test]
    fn a_small_buffer_is_one_warning_with_the_command() {
        let text = warning(212_992, WANTED).unwrap();
        assert!(text.contains("208 KiB to receive"), "{text}");
        assert_eq!(text.lines().count(), 1);
        if cfg!(target_os = "linux") {
            assert!(text.contains("sudo sysctl -w net.core.rmem_max=8388608 net.core.wmem_max=8388608"), "{text}");
        }
        assert_eq!(warning(ENOUGH, ENOUGH), None);
    }

    #[test]
    fn what_is_warned_of_is_what_was_granted() {
        let bound = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let socket = SockRef::from(&bound.socket);
        let usable = socket.recv_buffer_size().unwrap().min(socket.send_buffer_size().unwrap()) / REPORTED_OVER_USABLE;
        assert_eq!(bound.warning.is_none(), usable >= ENOUGH, "{usable} {:?}", bound.warning);
    }

    #[test]
    fn an_ipv6_socket_takes_ipv4_peers() {
        let Ok(bound) = bind("[::]:0".parse().unwrap()) else { return }; // no IPv6 here
        let port = bound.socket.local_addr().unwrap().port();
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        peer.send_to(b"hello", ("127.0.0.1", port)).unwrap();
        bound.socket.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
        assert_eq!(bound.socket.recv(&mut [0; 8]).unwrap(), 5);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn packets_dropped_for_want_of_buffer_are_counted() {
        let bound = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        SockRef::from(&bound.socket).set_recv_buffer_size(4096).unwrap();
        assert_eq!(dropped(&bound.socket), Some(0));
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..100 {
            peer.send_to(&[0; 1200], bound.socket.local_addr().unwrap()).unwrap();
        }
        bound.socket.set_nonblocking(true).unwrap();
        let received = std::iter::repeat_with(|| bound.socket.recv(&mut [0; 1500])).take_while(Result::is_ok).count();
        assert_eq!(dropped(&bound.socket), Some(100 - received as u32));
        assert!(received < 100);
    }
}
