//! A host of its own for one end of a connection: a network namespace with a single interface, whose packets are ours
//! to carry. It lasts as long as its interface and its socket do.

use anyhow::{Context, anyhow};
use core::mem::zeroed;
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, Socket, Type};
use std::fs::{File, OpenOptions};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

/// The two ends. Nobody else can see them, so they may be anywhere.
pub(super) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 7, 7, 1);
pub(super) const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 7, 7, 2);
const NETMASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 0);

/// Packets as large as the QUIC runs': the largest UDP payload that its discovery tries, 1452, and 28 bytes of headers.
const MTU: i32 = 1480;

/// Packets that wait for us at most, if we are not scheduled: none must be lost that the path would have carried.
const QUEUE: i32 = 10_000;

/// A host with a TCP socket.
#[derive(Debug)]
pub(super) struct Host {
    /// Where its packets come out and go in; it never blocks.
    pub(super) interface: File,
    pub(super) socket: Socket,
}

impl Host {
    /// Makes one with this address.
    pub(super) fn new(address: Ipv4Addr) -> anyhow::Result<Self> {
        // A namespace is a thread's: this one ends when all is made in it.
        let make = move || -> anyhow::Result<Self> {
            unshare(CloneFlags::CLONE_NEWNET).context("no network namespace")?;
            let interface = interface(address)?;
            let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).context("no TCP socket")?;
            Ok(Self { interface, socket })
        };
        let made = std::thread::Builder::new().name("race-host".to_owned()).spawn(make).context("no thread")?;
        made.join().map_err(|_| anyhow!("the thread that makes a host failed"))?
    }

    /// Has TCP use this algorithm, and `window` bytes of buffer in each direction.
    pub(super) fn prepare(&self, kernel: &str, window: usize) -> anyhow::Result<()> {
        self.socket
            .set_tcp_congestion(kernel.as_bytes())
            .with_context(|| format!("this kernel has no TCP {kernel} (`modprobe tcp_{kernel}` may bring it)"))?;
        // As large as QUIC's, so that no window caps either; beyond the system's limits, which are for many connections.
        setsockopt(&self.socket, sockopt::SndBufForce, &window)
            .and_then(|()| setsockopt(&self.socket, sockopt::RcvBufForce, &window))
            .context("no buffers of the size that the path needs")
    }
}

/// A TUN device that is up.
fn interface(address: Ipv4Addr) -> anyhow::Result<File> {
    let tun = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")
        .context("could not open /dev/net/tun")?;
    let any = Socket::new(Domain::IPV4, Type::DGRAM, None).context("no socket")?;
    let set = |what: &str, fd: RawFd, request: libc::Ioctl, fill: &dyn Fn(&mut libc::ifreq)| {
        control(fd, request, fill).with_context(|| format!("could not set {what} of a TUN device"))
    };
    let kind = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
    // No multicast: the kernel would chat with its neighbours over our path.
    let up = (libc::IFF_UP | libc::IFF_NOARP) as i16;
    set("the kind", tun.as_raw_fd(), libc::TUNSETIFF, &|it| it.ifr_ifru.ifru_flags = kind)?;
    let any = any.as_raw_fd();
    set("the MTU", any, libc::SIOCSIFMTU as _, &|it| it.ifr_ifru.ifru_mtu = MTU)?;
    set("the queue", any, libc::SIOCSIFTXQLEN as _, &|it| it.ifr_ifru.ifru_mtu = QUEUE)?;
    set("the address", any, libc::SIOCSIFADDR as _, &|it| it.ifr_ifru.ifru_addr = sockaddr(address))?;
    set("the netmask", any, libc::SIOCSIFNETMASK as _, &|it| it.ifr_ifru.ifru_addr = sockaddr(NETMASK))?;
    set("the state", any, libc::SIOCSIFFLAGS as _, &|it| it.ifr_ifru.ifru_flags = up)?;
    Ok(tun)
}

/// One request about the interface `pcc`.
fn control(fd: RawFd, request: libc::Ioctl, fill: &dyn Fn(&mut libc::ifreq)) -> io::Result<()> {
    // SAFETY: a structure of numbers only, for which zero is a value.
    let mut about: libc::ifreq = unsafe { zeroed() };
    for (to, from) in about.ifr_name.iter_mut().zip(b"pcc") {
        *to = *from as libc::c_char;
    }
    fill(&mut about);
    // SAFETY: each of the requests above takes a pointer to such a structure, and keeps it no longer than the call.
    match unsafe { libc::ioctl(fd, request, &mut about) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// An address as the requests take it: two bytes of port, then its four.
fn sockaddr(address: Ipv4Addr) -> libc::sockaddr {
    let mut data = [0; 14];
    for (to, from) in data.iter_mut().skip(2).zip(address.octets()) {
        *to = from as libc::c_char;
    }
    libc::sockaddr { sa_family: libc::AF_INET as libc::sa_family_t, sa_data: data }
}
