//! Links, addresses, routes and queues through one netlink socket.
//!
//! Every `exec` in the guest costs tens of milliseconds of real time and Debian 12's `tc` does not know all options of
//! this kernel; the handful of messages the lab needs are shorter to write than to wrap.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// Nanoseconds in a tick of the kernel's packet scheduler.
const TICK: u64 = 64;

/// A netlink message under construction.
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// A request of `kind` that wants to be acknowledged, with further flags.
    pub(super) fn new(kind: u16, flags: i32) -> Self {
        let mut bytes = vec![0; 16];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        Self { bytes }
    }

    /// Fields of a fixed header, in the order of the C structure and already without padding holes.
    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self.pad()
    }

    /// An attribute with a value. Its length leaves out the padding that follows.
    pub(super) fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        let length = (4 + value.len()) as u16;
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.raw(value)
    }

    /// An attribute with a NUL-terminated string.
    pub(super) fn string(self, kind: u16, value: &str) -> Self {
        self.attribute(kind, &[value.as_bytes(), &[0]].concat())
    }

    /// An attribute that holds what `fill` adds.
    pub(super) fn nest(mut self, kind: u16, fill: impl FnOnce(Self) -> Self) -> Self {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        let mut filled = fill(self);
        let length = (filled.bytes.len() - start) as u16;
        filled.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        filled
    }

    fn pad(mut self) -> Self {
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
        self
    }

    fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

/// A socket into the network namespace in which it was made.
#[derive(Debug)]
pub(super) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    /// Opens one in the namespace of the calling thread.
    pub(super) fn open() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and owned by nobody else.
        Ok(Self { socket: unsafe { OwnedFd::from_raw_fd(fd) }, sequence: 0 })
    }

    /// Sends a request and waits until the kernel has carried it out.
    pub(super) fn request(&mut self, message: Message) -> io::Result<()> {
        self.talk(message, &mut |_, _| ())
    }

    /// Sends a request and hands every answer, without its netlink header, to `each`.
    pub(super) fn talk(&mut self, message: Message, each: &mut dyn FnMut(u16, &[u8])) -> io::Result<()> {
        self.sequence += 1;
        let bytes = message.finish(self.sequence);
        // SAFETY: the pointer and the length describe `bytes`.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut buffer = vec![0_u8; 1 << 16];
        loop {
            // SAFETY: the pointer and the length describe `buffer`.
            let got = unsafe { libc::recv(self.socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
            let Ok(got) = usize::try_from(got) else { return Err(io::Error::last_os_error()) };
            let mut rest = &buffer[..got];
            while let (Some(length), Some(kind)) = (u32_at(rest, 0), u16_at(rest, 4)) {
                let length = length as usize;
                let Some(body) = rest.get(16..length) else {
                    return Err(io::Error::other("the kernel sent a netlink message that is cut off"));
                };
                match i32::from(kind) {
                    libc::NLMSG_ERROR => return error_of(body),
                    libc::NLMSG_DONE => return Ok(()),
                    _ => each(kind, body),
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }
}

fn error_of(body: &[u8]) -> io::Result<()> {
    match u32_at(body, 0).unwrap_or(0) as i32 {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(-code)),
    }
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// The value of the attribute `kind` in a list of attributes.
fn attribute(mut list: &[u8], kind: u16) -> Option<&[u8]> {
    while let (Some(length), Some(found)) = (u16_at(list, 0), u16_at(list, 2)) {
        let length = usize::from(length);
        let value = list.get(4..length)?;
        // The two highest bits are flags.
        if found & 0x3fff == kind {
            return Some(value);
        }
        list = list.get(length.next_multiple_of(4)..)?;
    }
    None
}

fn link_header(index: u32, flags: i32) -> Vec<u8> {
    let mut header = vec![0; size_of::<libc::ifinfomsg>()];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..16].copy_from_slice(&flags.to_ne_bytes());
    header
}

/// Every interface has this address, so that nobody needs to ask for one: ARP would suffer the path's loss and delay.
const HARDWARE_ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// A cable between two namespaces: one end `(namespace, name)` each.
pub(super) fn add_cable(
    netlink: &mut Netlink,
    near: (BorrowedFd<'_>, &str),
    far: (BorrowedFd<'_>, &str),
) -> io::Result<()> {
    const VETH_INFO_PEER: u16 = 1;
    let end = |message: Message, (namespace, name): (BorrowedFd<'_>, &str)| {
        message
            .string(libc::IFLA_IFNAME, name)
            .attribute(libc::IFLA_ADDRESS, &HARDWARE_ADDRESS)
            .attribute(libc::IFLA_NET_NS_FD, &namespace.as_raw_fd().to_ne_bytes())
    };
    let message = Message::new(libc::RTM_NEWLINK, libc::NLM_F_CREATE | libc::NLM_F_EXCL).raw(&link_header(0, 0));
    netlink.request(end(message, near).nest(libc::IFLA_LINKINFO, |info| {
        info.string(libc::IFLA_INFO_KIND, "veth")
            .nest(libc::IFLA_INFO_DATA, |data| data.nest(VETH_INFO_PEER, |peer| end(peer.raw(&link_header(0, 0)), far)))
    }))
}

/// Switches an interface on, without ARP.
pub(super) fn set_up(netlink: &mut Netlink, index: u32) -> io::Result<()> {
    let flags = libc::IFF_UP | libc::IFF_NOARP;
    netlink.request(Message::new(libc::RTM_NEWLINK, 0).raw(&link_header(index, flags)))
}

/// Gives an interface an IPv4 address in a network of 256.
pub(super) fn add_address(netlink: &mut Netlink, index: u32, address: [u8; 4]) -> io::Result<()> {
    let mut header = vec![libc::AF_INET as u8, 24, 0, 0];
    header.extend_from_slice(&index.to_ne_bytes());
    netlink.request(
        Message::new(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL)
            .raw(&header)
            .attribute(libc::IFA_LOCAL, &address)
            .attribute(libc::IFA_ADDRESS, &address),
    )
}

/// Sends packets for everybody who is not on a cable here to `gateway`, or only those for a network of 256.
pub(super) fn add_route(netlink: &mut Netlink, network: Option<[u8; 4]>, gateway: [u8; 4]) -> io::Result<()> {
    const UNIVERSE: u8 = 0;
    let prefix = if network.is_some() { 24 } else { 0 };
    let (table, protocol) = (libc::RT_TABLE_MAIN, libc::RTPROT_BOOT);
    let header = [libc::AF_INET as u8, prefix, 0, 0, table, protocol, UNIVERSE, libc::RTN_UNICAST, 0, 0, 0, 0];
    let message = Message::new(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_EXCL).raw(&header);
    let message = match network {
        Some(network) => message.attribute(libc::RTA_DST, &network),
        None => message,
    };
    netlink.request(message.attribute(libc::RTA_GATEWAY, &gateway))
}

fn queue_message(index: u32, kind: &str) -> Message {
    const ROOT: u32 = 0xffff_ffff;
    let mut header = vec![0; 4];
    for word in [index, 0, ROOT, 0] {
        header.extend_from_slice(&word.to_ne_bytes());
    }
    Message::new(libc::RTM_NEWQDISC, libc::NLM_F_CREATE | libc::NLM_F_REPLACE).raw(&header).string(libc::TCA_KIND, kind)
}

/// A bottleneck (`tbf`): `rate` in bit/s behind a drop-tail queue of `limit` bytes, letting single packets through.
pub(super) fn add_bottleneck(netlink: &mut Netlink, index: u32, rate: u64, limit: u64) -> io::Result<()> {
    const TBF_PARMS: u16 = 1;
    const TBF_RATE64: u16 = 4;
    const TBF_BURST: u16 = 6;
    const LINKLAYER_ETHERNET: u8 = 1;
    /// One full packet, with room for a VLAN tag's worth of headers.
    const BURST: u32 = 1600;
    let bytes_per_sec = rate / 8;
    let low = u32::try_from(bytes_per_sec).unwrap_or(u32::MAX);
    let limit = u32::try_from(limit).map_err(|_| io::Error::other("a queue cannot hold 4 GB or more"))?;
    let mut options = vec![0; 36];
    options[1] = LINKLAYER_ETHERNET;
    options[8..12].copy_from_slice(&low.to_ne_bytes());
    options[24..28].copy_from_slice(&limit.to_ne_bytes());
    netlink.request(queue_message(index, "tbf").nest(libc::TCA_OPTIONS, |nest| {
        let nest = nest.attribute(TBF_PARMS, &options).attribute(TBF_BURST, &BURST.to_ne_bytes());
        if low == u32::MAX { nest.attribute(TBF_RATE64, &bytes_per_sec.to_ne_bytes()) } else { nest }
    }))
}

/// A line (`netem`) that delays every packet by `delay` ns and loses a share of them.
pub(super) fn add_line(netlink: &mut Netlink, index: u32, delay: u64, loss: f64, seed: u64) -> io::Result<()> {
    const NETEM_LATENCY64: u16 = 10;
    const NETEM_PRNG_SEED: u16 = 14;
    /// The limit counts the packets on the line too, so it must never be the one that bites.
    const LIMIT: u32 = 10_000_000;
    let mut options = vec![0; 24];
    let ticks = u32::try_from(delay / TICK).unwrap_or(u32::MAX);
    options[0..4].copy_from_slice(&ticks.to_ne_bytes());
    options[4..8].copy_from_slice(&LIMIT.to_ne_bytes());
    options[8..12].copy_from_slice(&((loss * f64::from(u32::MAX)) as u32).to_ne_bytes());
    // The options begin with the old structure; attributes follow it.
    netlink.request(queue_message(index, "netem").nest(libc::TCA_OPTIONS, |nest| {
        nest.raw(&options)
            .attribute(NETEM_LATENCY64, &delay.to_ne_bytes())
            .attribute(NETEM_PRNG_SEED, &seed.to_ne_bytes())
    }))
}

/// What a queue counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueCounts {
    pub(super) bytes: u64,
    pub(super) drops: u32,
    pub(super) backlog: u32,
}

/// Reads the counters of the queue of interface `index`.
pub(super) fn queue_counts(netlink: &mut Netlink, index: u32) -> io::Result<QueueCounts> {
    const STATS_BASIC: u16 = 1;
    const STATS_QUEUE: u16 = 3;
    let mut header = vec![0; 20];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    let mut counts = None;
    netlink.talk(Message::new(libc::RTM_GETQDISC, libc::NLM_F_DUMP).raw(&header), &mut |_, body| {
        let is_root = u32_at(body, 12) == Some(u32::MAX);
        if u32_at(body, 4) != Some(index) || !is_root {
            return;
        }
        let stats = body.get(20..).and_then(|list| attribute(list, libc::TCA_STATS2));
        counts = stats.and_then(|stats| {
            let queue = attribute(stats, STATS_QUEUE)?;
            Some(QueueCounts {
                bytes: u64_at(attribute(stats, STATS_BASIC)?, 0)?,
                drops: u32_at(queue, 8)?,
                backlog: u32_at(queue, 4)?,
            })
        });
    })?;
    counts.ok_or_else(|| io::Error::other(format!("interface {index} has no queue with counters")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_s_length_leaves_out_its_padding() {
        let bytes = Message::new(16, 0).string(3, "s0").finish(7);
        assert_eq!(bytes.len(), 24);
        assert_eq!((u32_at(&bytes, 0), u32_at(&bytes, 8)), (Some(24), Some(7)));
        assert_eq!((u16_at(&bytes, 16), u16_at(&bytes, 18)), (Some(7), Some(3)));
        assert_eq!(&bytes[20..], b"s0\0\0");
    }

    #[test]
    fn a_nested_attribute_is_found_again() {
        let bytes = Message::new(16, 0).nest(7, |nest| nest.string(1, "a").attribute(3, &[1, 2, 3, 4])).finish(1);
        let outer = attribute(&bytes[16..], 7).unwrap();
        assert_eq!(attribute(outer, 3), Some(&[1, 2, 3, 4][..]));
        assert_eq!(attribute(outer, 4), None);
    }

    #[test]
    fn a_list_of_attributes_that_is_cut_off_yields_nothing() {
        assert_eq!(attribute(&[8, 0, 1, 0, 1], 1), None);
        assert_eq!(attribute(&[0, 0, 2, 0], 1), None);
        assert_eq!(attribute(&[3], 1), None);
    }
}
