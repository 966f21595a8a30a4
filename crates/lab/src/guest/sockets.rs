//! The few socket calls the guest needs beyond the standard library's.

use std::io;
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd, RawFd};

/// How much may wait unsent in a sender's buffer: enough for the rate, too little to fill the kernel's memory.
/// The receiver wakes for a sixteenth of it and no more: at 256 KB the receive window stopped growing.
const NOT_SENT: libc::c_int = 1 << 20;
const RECEIVE_AT_LEAST: libc::c_int = 64 << 10;

fn set(fd: RawFd, level: libc::c_int, name: libc::c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the pointer and the length describe `value`.
    let done = unsafe { libc::setsockopt(fd, level, name, value.as_ptr().cast(), value.len() as libc::socklen_t) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The largest receive buffer that the guest's kernel grants (`core/rmem_max`), of which a full packet takes 2304 bytes.
const RECEIVE_BUFFER: libc::c_int = 64 << 20;

/// Makes room for packets that arrive all at once, as behind a line with jitter: into what a socket has by default fit 92
/// of them, and the rest would pass for lost on the path.
pub(super) fn enlarge_receive_buffer(socket: &impl AsRawFd) -> io::Result<()> {
    set(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, &RECEIVE_BUFFER.to_ne_bytes())
}

/// Chooses a congestion control of the kernel by its name.
pub(super) fn set_congestion_control(socket: &impl AsRawFd, algorithm: &str) -> io::Result<()> {
    set(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, algorithm.as_bytes())
        .map_err(|error| io::Error::new(error.kind(), format!("no congestion control `{algorithm}`: {error}")))
}

/// A rate above any path's: asking for it makes the kernel pace, at its own rate.
const PACED: u64 = 1 << 40;

/// Connects with a congestion control of the kernel, by its name, and with pacing if asked for.
pub(super) fn connect(to: SocketAddrV4, algorithm: &str, paced: bool) -> io::Result<TcpStream> {
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and owned by nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    set_congestion_control(&socket, algorithm)?;
    if paced {
        set(fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &PACED.to_ne_bytes())?;
    }
    set(fd, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &NOT_SENT.to_ne_bytes())?;
    // SAFETY: sockaddr_in is plain data, for which all-zero bytes are valid.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_port = to.port().to_be();
    address.sin_addr.s_addr = u32::from_ne_bytes(to.ip().octets());
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `address`.
    if unsafe { libc::connect(fd, (&raw const address).cast(), length) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(TcpStream::from(socket))
}

/// Accepts one connection and prepares it for few, large reads.
pub(super) fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let (stream, _) = listener.accept()?;
    set(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, &RECEIVE_AT_LEAST.to_ne_bytes())?;
    Ok(stream)
}

/// Receives and throws away, without copying, until the connection ends. Returns how much it was.
pub(super) fn discard(stream: &TcpStream) -> u64 {
    let mut total = 0;
    loop {
        // SAFETY: with MSG_TRUNC TCP drops the data and writes nothing, so no buffer is needed.
        let got = unsafe { libc::recv(stream.as_raw_fd(), std::ptr::null_mut(), 1 << 20, libc::MSG_TRUNC) };
        match u64::try_from(got) {
            Ok(got) if got > 0 => total += got,
            _ => return total,
        }
    }
}

/// The kernel's figures of a connection, from `struct tcp_info` of Linux 6.12.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Info {
    pub(super) state: u8,
    pub(super) rtt: u32,
    pub(super) cwnd: u32,
    pub(super) received: u64,
    pub(super) busy: u64,
    pub(super) rwnd_limited: u64,
    pub(super) sndbuf_limited: u64,
    pub(super) sent: u64,
    pub(super) retransmitted: u64,
}

impl Info {
    /// Asks for it.
    pub(super) fn of(stream: &TcpStream) -> io::Result<Self> {
        let mut bytes = [0_u8; 256];
        let mut length = bytes.len() as libc::socklen_t;
        // SAFETY: the pointer and the length describe `bytes`.
        let done = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                bytes.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        let short = || io::Error::other("this kernel tells too little of a TCP connection");
        let word = |at| super::netlink::u32_at(&bytes, at).ok_or_else(short);
        let long = |at| super::netlink::u64_at(&bytes, at).ok_or_else(short);
        Ok(Self {
            state: bytes[1],
            rtt: word(68)?,
            cwnd: word(80)?,
            received: long(128)?,
            busy: long(168)?,
            rwnd_limited: long(176)?,
            sndbuf_limited: long(184)?,
            sent: long(200)?,
            retransmitted: long(208)?,
        })
    }
}
