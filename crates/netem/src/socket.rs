//! A UDP socket that says when each packet came in.

#[cfg(target_os = "linux")]
use core::time::Duration;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Instant;

/// The largest UDP payload.
pub(super) const LARGEST: usize = 65_535;

/// A packet as it came in.
pub(super) struct Received {
    pub(super) from: SocketAddr,
    pub(super) len: usize,
    pub(super) at: Instant,
}

/// A socket that never blocks, with buffers as large as the system grants.
#[derive(Debug)]
pub(super) struct Socket {
    inner: UdpSocket,
    /// Dropped by the kernel for want of receive buffer, as of when the socket was opened.
    dropped_before: u32,
}

impl Socket {
    /// Opens a socket at `addr`; the warning tells the user what to do about small buffers.
    pub(super) fn bind(addr: SocketAddr) -> io::Result<(Self, Option<String>)> {
        let bound = pcc_quic::socket::bind(addr)?;
        bound.socket.set_nonblocking(true)?;
        stamp(&bound.socket);
        let dropped_before = pcc_quic::socket::dropped(&bound.socket).unwrap_or(0);
        Ok((Self { inner: bound.socket, dropped_before }, bound.warning))
    }

    /// Opens a socket that talks to `peer` alone.
    pub(super) fn connect(peer: SocketAddr) -> io::Result<Self> {
        let any: SocketAddr = if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0; 16], 0).into() };
        let (socket, _) = Self::bind(any)?;
        socket.inner.connect(peer)?;
        Ok(socket)
    }

    pub(super) const fn inner(&self) -> &UdpSocket {
        &self.inner
    }

    /// Packets that the kernel dropped before we could read them.
    pub(super) fn missed(&self) -> u64 {
        let dropped = pcc_quic::socket::dropped(&self.inner).unwrap_or(self.dropped_before);
        u64::from(dropped.wrapping_sub(self.dropped_before))
    }

    /// The next packet, if one is there.
    pub(super) fn receive(&self, buffer: &mut [u8], clock: &Clock) -> io::Result<Received> {
        receive(&self.inner, buffer, clock)
    }
}

/// Both clocks at one moment, to turn the kernel's time stamps into ours.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) now: Instant,
    #[cfg(target_os = "linux")]
    wall: Duration,
}

/// A stamp farther away than this is not believed: somebody set the clock.
#[cfg(target_os = "linux")]
const FARTHEST: Duration = Duration::from_secs(2);

impl Clock {
    pub(super) fn read() -> Self {
        // In this order: stopped between the two, we take a packet for later than it was. Earlier, and it would leave the path
        // faster than light.
        #[cfg(target_os = "linux")]
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self {
            now: Instant::now(),
            #[cfg(target_os = "linux")]
            wall,
        }
    }

    /// The moment of a wall-clock stamp, which may be later than this one; now, if the stamp makes no sense.
    #[cfg(target_os = "linux")]
    fn at(&self, stamp: Duration) -> Instant {
        let (age, lead) = (self.wall.saturating_sub(stamp), stamp.saturating_sub(self.wall));
        let believed = age.max(lead) < FARTHEST;
        self.now.checked_sub(age).filter(|_| believed).map_or(self.now, |then| then + lead)
    }
}

/// Lets the kernel note when each packet arrives: this process may be busy, or not scheduled, when it does, and a
/// small buffer must see packets as they came and not as they were read.
#[cfg(target_os = "linux")]
fn stamp(socket: &UdpSocket) {
    use nix::sys::socket::{setsockopt, sockopt::ReceiveTimestampns};
    if let Err(error) = setsockopt(socket, ReceiveTimestampns, &true) {
        tracing::debug!(%error, "no time stamps on received packets: they count from when they are read");
    }
}

#[cfg(not(target_os = "linux"))]
fn stamp(_: &UdpSocket) {}

#[cfg(target_os = "linux")]
fn receive(socket: &UdpSocket, buffer: &mut [u8], clock: &Clock) -> io::Result<Received> {
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
    use std::net::{SocketAddrV4, SocketAddrV6};
    use std::os::fd::AsRawFd;

    let mut slices = [io::IoSliceMut::new(buffer)];
    // Room for the time stamp and for what other options might add.
    let mut control = [0u8; 128];
    let message =
        recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(&mut control), MsgFlags::MSG_DONTWAIT)?;
    let stamp = message.cmsgs().ok().and_then(|mut all| {
        all.find_map(|one| match one {
            ControlMessageOwned::ScmTimestampns(time) => Some(Duration::from(time)),
            _ => None,
        })
    });
    let address = message.address.as_ref();
    let v4 = address.and_then(|addr| addr.as_sockaddr_in()).map(|addr| SocketAddr::V4(SocketAddrV4::from(*addr)));
    let v6 = || address.and_then(|addr| addr.as_sockaddr_in6()).map(|addr| SocketAddr::V6(SocketAddrV6::from(*addr)));
    let from = v4.or_else(v6).ok_or_else(|| io::Error::other("a packet without a sender"))?;
    Ok(Received { from, len: message.bytes, at: stamp.map_or(clock.now, |stamp| clock.at(stamp)) })
}

#[cfg(not(target_os = "linux"))]
fn receive(socket: &UdpSocket, buffer: &mut [u8], clock: &Clock) -> io::Result<Received> {
    let (len, from) = socket.recv_from(buffer)?;
    Ok(Received { from, len, at: clock.now })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_moved_to_the_monotonic_clock() {
        let clock = Clock { now: Instant::now(), wall: Duration::from_secs(1_000_000) };
        let ms = Duration::from_millis;
        assert_eq!(clock.at(clock.wall - ms(3)), clock.now - ms(3));
        assert_eq!(clock.at(clock.wall + ms(3)), clock.now + ms(3), "it came while others were read");
        for set in [ms(2000), ms(3_600_000)] {
            assert_eq!((clock.at(clock.wall - set), clock.at(clock.wall + set)), (clock.now, clock.now));
        }
    }
}
