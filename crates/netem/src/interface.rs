//! A TUN device: an interface whose packets a program reads and writes.

use crate::host::{Doing, HostError};
use core::mem::zeroed;
use socket2::{Domain, Socket, Type};
use std::fs::{File, OpenOptions};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

/// Packets that wait for us at most, if we are not scheduled: none must be lost that the path would have carried.
const QUEUE: i32 = 10_000;

/// The description of an interface.
#[derive(Clone, Copy, Debug)]
pub struct Interface<'a> {
    /// At most 15 letters, and none that this network namespace has.
    pub name: &'a str,
    /// Its own.
    pub address: Ipv4Addr,
    /// Bits of the address that name the network behind it.
    pub prefix: u8,
    /// The longest packet. Unit: bytes.
    pub mtu: u16,
}

impl Interface<'_> {
    /// Makes it, in this thread's network namespace, and sets it up. It does not block, and lasts as long as the file is
    /// open.
    ///
    /// Errors: no such device, no rights, or a name that is taken (`EBUSY` in the chain).
    pub fn up(self) -> Result<File, HostError> {
        let tun = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")
            .doing("could not open /dev/net/tun (`modprobe tun` brings it; a container is given it as a device)")?;
        let any = any_socket()?;
        let set = |what: &str, fd: RawFd, request: libc::Ioctl, fill: &dyn Fn(&mut libc::ifreq)| {
            control(self.name, fd, request, fill).doing(format!("could not set {what} of a TUN device"))
        };
        let kind = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
        // No multicast: the kernel would chat with its neighbours over our path.
        let up = (libc::IFF_UP | libc::IFF_NOARP) as i16;
        let netmask = Ipv4Addr::from(u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0));
        set("the kind", tun.as_raw_fd(), libc::TUNSETIFF, &|it| it.ifr_ifru.ifru_flags = kind)?;
        let any = any.as_raw_fd();
        set("the MTU", any, libc::SIOCSIFMTU as _, &|it| it.ifr_ifru.ifru_mtu = self.mtu.into())?;
        // The kernel allows it to root alone, also where a user namespace may do all the rest; there it stays at 500.
        if let Err(error) = set("the queue", any, libc::SIOCSIFTXQLEN as _, &|it| it.ifr_ifru.ifru_mtu = QUEUE) {
            tracing::debug!("{error:#}");
        }
        set("the address", any, libc::SIOCSIFADDR as _, &|it| it.ifr_ifru.ifru_addr = sockaddr(self.address))?;
        set("the netmask", any, libc::SIOCSIFNETMASK as _, &|it| it.ifr_ifru.ifru_addr = sockaddr(netmask))?;
        set("the state", any, libc::SIOCSIFFLAGS as _, &|it| it.ifr_ifru.ifru_flags = up)?;
        Ok(tun)
    }
}

/// Has this thread's network namespace reach itself by 127.0.0.1.
pub fn loopback_up() -> Result<(), HostError> {
    let up = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    control("lo", any_socket()?.as_raw_fd(), libc::SIOCSIFFLAGS as _, &|it| it.ifr_ifru.ifru_flags = up)
        .doing("could not set up the loopback interface")
}

/// Has this thread's network namespace send through this interface whatever it has no other way for.
pub fn default_route(name: &str) -> Result<(), HostError> {
    let mut device: Vec<u8> = name.bytes().take(libc::IFNAMSIZ - 1).collect();
    device.push(0);
    // SAFETY: a structure of numbers and pointers only, for which zero is a value.
    let mut route: libc::rtentry = unsafe { zeroed() };
    let nothing = sockaddr(Ipv4Addr::UNSPECIFIED);
    (route.rt_dst, route.rt_genmask, route.rt_gateway) = (nothing, nothing, nothing);
    route.rt_flags = libc::RTF_UP;
    route.rt_dev = device.as_mut_ptr().cast();
    let any = any_socket()?;
    // SAFETY: the request takes a pointer to such a structure, whose name outlives the call, and keeps neither.
    match unsafe { libc::ioctl(any.as_raw_fd(), libc::SIOCADDRT as _, &mut route) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()).doing("could not set the default route"),
    }
}

fn any_socket() -> Result<Socket, HostError> {
    Socket::new(Domain::IPV4, Type::DGRAM, None).doing("no socket")
}

/// One request about the interface of that name.
fn control(name: &str, fd: RawFd, request: libc::Ioctl, fill: &dyn Fn(&mut libc::ifreq)) -> io::Result<()> {
    // SAFETY: a structure of numbers only, for which zero is a value.
    let mut about: libc::ifreq = unsafe { zeroed() };
    // The last one stays zero, which ends the name.
    for (to, from) in about.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(name.bytes()) {
        *to = from as libc::c_char;
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
