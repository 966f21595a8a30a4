//! Links, addresses, routes and queues through one netlink socket.
//!
//! Every `exec` in the guest costs tens of milliseconds of real time and Debian 12's `tc` does not know all options of
//! this kernel; the handful of messages the lab needs are shorter to write than to wrap.

use super::late::Table;
use crate::spec::{LossChain, PACKET};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::sync::Arc;

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

/// Keeps TCP from handing more than one packet at a time to an interface, so that its pacing spaces single packets.
pub(super) fn send_single_segments(netlink: &mut Netlink, index: u32) -> io::Result<()> {
    const GSO_MAX_SEGS: u16 = 40;
    let message = Message::new(libc::RTM_NEWLINK, 0).raw(&link_header(index, 0));
    netlink.request(message.attribute(GSO_MAX_SEGS, &1_u32.to_ne_bytes()))
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

/// Sends packets for everybody who is not on a cable here to `gateway`, or only those for a network of 65,536.
pub(super) fn add_route(netlink: &mut Netlink, network: Option<[u8; 4]>, gateway: [u8; 4]) -> io::Result<()> {
    const UNIVERSE: u8 = 0;
    let prefix = if network.is_some() { 16 } else { 0 };
    let (table, protocol) = (libc::RT_TABLE_MAIN, libc::RTPROT_BOOT);
    let header = [libc::AF_INET as u8, prefix, 0, 0, table, protocol, UNIVERSE, libc::RTN_UNICAST, 0, 0, 0, 0];
    let message = Message::new(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_EXCL).raw(&header);
    let message = match network {
        Some(network) => message.attribute(libc::RTA_DST, &network),
        None => message,
    };
    netlink.request(message.attribute(libc::RTA_GATEWAY, &gateway))
}

/// A queue's place: the root of an interface, or below the queue there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Root,
    Below,
}

/// The queue at the root has this handle, so that another one can stand below it.
const ROOT_HANDLE: u32 = 0x0001_0000;
const ROOT: u32 = 0xffff_ffff;
/// Every classful queue used here has one class.
const ONLY_CLASS: u32 = ROOT_HANDLE | 1;

/// Adds a queue of this kind, or gives the one that is there other parameters: what waits in it stays.
fn queue_message(index: u32, place: Place, kind: &str) -> Message {
    let (handle, parent) = match place {
        Place::Root => (ROOT_HANDLE, ROOT),
        Place::Below => (2 * ROOT_HANDLE, ONLY_CLASS),
    };
    let mut header = vec![0; 4];
    for word in [index, handle, parent, 0] {
        header.extend_from_slice(&word.to_ne_bytes());
    }
    Message::new(libc::RTM_NEWQDISC, libc::NLM_F_CREATE | libc::NLM_F_REPLACE).raw(&header).string(libc::TCA_KIND, kind)
}

/// Parameters of a bottleneck: of `tbf`, or of `cake`, which is a shaper and a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bottleneck {
    /// Unit: bit/s.
    pub(super) rate: u64,
    /// Size of the queue. Unit: bytes.
    pub(super) limit: u64,
    /// The bytes that pass at once after a pause, at least a packet.
    pub(super) burst: u64,
    pub(super) shaper: Shaper,
}

/// The queue discipline that holds packets back until the link is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shaper {
    Tbf,
    Cake,
}

const CAKE_BASE_RATE64: u16 = 2;
const TBF_PARMS: u16 = 1;
const TBF_RATE64: u16 = 4;

impl Bottleneck {
    /// Puts it on an interface, or changes the one that is there.
    pub(super) fn apply(self, netlink: &mut Netlink, index: u32) -> io::Result<()> {
        match self.shaper {
            Shaper::Tbf => self.apply_tbf(netlink, index),
            Shaper::Cake => self.apply_cake(netlink, index),
        }
    }

    /// One tin, since no flow marks its packets, and fairness between flows, since each has hosts of its own.
    fn apply_cake(self, netlink: &mut Netlink, index: u32) -> io::Result<()> {
        const DIFFSERV_MODE: u16 = 3;
        const BEST_EFFORT: u32 = 3;
        const FLOW_MODE: u16 = 5;
        const FLOWS: u32 = 4;
        const MEMORY: u16 = 10;
        /// The memory that a full packet takes in the kernel, by which CAKE counts. Unit: bytes.
        const FULL_PACKET: u64 = 2304;
        let memory = u32::try_from(self.limit * FULL_PACKET / PACKET).unwrap_or(u32::MAX);
        netlink.request(queue_message(index, Place::Root, "cake").nest(libc::TCA_OPTIONS, |nest| {
            nest.attribute(CAKE_BASE_RATE64, &(self.rate / 8).to_ne_bytes())
                .attribute(DIFFSERV_MODE, &BEST_EFFORT.to_ne_bytes())
                .attribute(FLOW_MODE, &FLOWS.to_ne_bytes())
                .attribute(MEMORY, &memory.to_ne_bytes())
        }))
    }

    fn apply_tbf(self, netlink: &mut Netlink, index: u32) -> io::Result<()> {
        const TBF_BURST: u16 = 6;
        const LINKLAYER_ETHERNET: u8 = 1;
        /// One full packet, with room for a VLAN tag's worth of headers.
        const LEAST_BURST: u32 = 1600;
        let bytes_per_sec = self.rate / 8;
        let low = u32::try_from(bytes_per_sec).unwrap_or(u32::MAX);
        let limit = u32::try_from(self.limit).map_err(|_| io::Error::other("a queue cannot hold 4 GB or more"))?;
        let burst = u32::try_from(self.burst).unwrap_or(u32::MAX).max(LEAST_BURST);
        let mut options = vec![0; 36];
        options[1] = LINKLAYER_ETHERNET;
        options[8..12].copy_from_slice(&low.to_ne_bytes());
        options[24..28].copy_from_slice(&limit.to_ne_bytes());
        netlink.request(queue_message(index, Place::Root, "tbf").nest(libc::TCA_OPTIONS, |nest| {
            let nest = nest.attribute(TBF_PARMS, &options).attribute(TBF_BURST, &burst.to_ne_bytes());
            if low == u32::MAX { nest.attribute(TBF_RATE64, &bytes_per_sec.to_ne_bytes()) } else { nest }
        }))
    }

    /// The rate that the bottleneck of an interface has by the kernel's own account. Unit: bit/s.
    pub(super) fn rate_of(netlink: &mut Netlink, index: u32, shaper: Shaper) -> io::Result<u64> {
        let rate = match shaper {
            Shaper::Tbf => {
                let options = options_of(netlink, index, Place::Root, "tbf")?;
                let low = attribute(&options, TBF_PARMS).and_then(|parameters| u32_at(parameters, 8));
                attribute(&options, TBF_RATE64).and_then(|rate| u64_at(rate, 0)).or(low.map(u64::from))
            }
            Shaper::Cake => {
                let options = options_of(netlink, index, Place::Root, "cake")?;
                attribute(&options, CAKE_BASE_RATE64).and_then(|rate| u64_at(rate, 0))
            }
        };
        Ok(8 * rate.ok_or_else(|| io::Error::other("the bottleneck tells no rate"))?)
    }
}

/// Puts another queue in the place of the bottleneck's FIFO, with room for `packets` in all or for each flow.
pub(super) fn add_discipline(
    netlink: &mut Netlink,
    index: u32,
    discipline: Discipline,
    packets: u32,
) -> io::Result<()> {
    const FQ_PACKETS: u16 = 1;
    const FQ_FLOW_PACKETS: u16 = 2;
    const FQ_RATE_ENABLE: u16 = 5;
    const FQ_FLOW_MAX_RATE: u16 = 7;
    const FQ_ORPHAN_MASK: u16 = 10;
    const CODEL_TARGET: u16 = 1;
    const CODEL_LIMIT: u16 = 2;
    const CODEL_ECN: u16 = 4;
    const CODEL_CE_THRESHOLD: u16 = 5;
    const FQ_CODEL_LIMIT: u16 = 2;
    const FQ_CODEL_ECN: u16 = 4;
    const HOUR_US: u32 = 3_600_000_000;
    let word = |nest: Message, kind: u16, value: u32| nest.attribute(kind, &value.to_ne_bytes());
    let message = queue_message(index, Place::Below, discipline.kind());
    netlink.request(message.nest(libc::TCA_OPTIONS, |nest| match discipline {
        Discipline::Fair => {
            let nest = word(nest, FQ_PACKETS, packets.saturating_mul(1000));
            let nest = word(nest, FQ_FLOW_PACKETS, packets);
            // No pacing here. A largest rate, though not enforced, keeps flows out of a shared fast lane of 8 packets.
            let nest = word(nest, FQ_RATE_ENABLE, 0);
            let nest = word(nest, FQ_FLOW_MAX_RATE, u32::MAX - 1);
            // It knows only a hash of forwarded packets: two of ten flows collide once in a thousand runs.
            word(nest, FQ_ORPHAN_MASK, 0xffff)
        }
        // The target is never reached: nothing is left of CoDel but a limit in time above which packets are marked.
        Discipline::Marking { above_us } => {
            let nest = word(nest, CODEL_TARGET, HOUR_US);
            let nest = word(nest, CODEL_LIMIT, packets);
            word(word(nest, CODEL_ECN, 1), CODEL_CE_THRESHOLD, above_us)
        }
        // Its options are a structure: turn, time between hashes, limit in packets, number of hashes and of flows. A zero
        // stands for the default.
        Discipline::Sfq => {
            [0, 0, packets, 0, 0].into_iter().fold(nest, |nest, word: u32| nest.raw(&word.to_ne_bytes()))
        }
        Discipline::Codel { ecn } => word(word(nest, CODEL_LIMIT, packets), CODEL_ECN, ecn.into()),
        Discipline::FqCodel { ecn } => word(word(nest, FQ_CODEL_LIMIT, packets), FQ_CODEL_ECN, ecn.into()),
    }))?;
    // The discipline that is there counts, not the one that was asked for.
    options_of(netlink, index, Place::Below, discipline.kind()).map(drop)
}

/// The queue discipline of a bottleneck, other than a FIFO in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Discipline {
    /// A FIFO for each flow, served in turn.
    Fair,
    /// One FIFO; what waited longer is marked instead of dropped.
    Marking { above_us: u32 },
    /// A FIFO for each hash of flows, served in turn.
    Sfq,
    /// CoDel.
    Codel { ecn: bool },
    /// CoDel for each flow, served in turn.
    FqCodel { ecn: bool },
}

impl Discipline {
    const fn kind(self) -> &'static str {
        match self {
            Self::Fair => "fq",
            Self::Sfq => "sfq",
            Self::Marking { .. } | Self::Codel { .. } => "codel",
            Self::FqCodel { .. } => "fq_codel",
        }
    }
}

/// A line (`netem`) that delays packets and loses a share of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// Unit: ns.
    pub(super) delay: u64,
    /// Share lost, up to 1.
    pub(super) loss: f64,
    /// Packets wait up to this for a moment at which all that wait leave together. Unit: ns.
    pub(super) jitter: u64,
    /// Chain of the losses, if they depend on each other.
    pub(super) chain: Option<LossChain>,
    /// By how much each packet is late, beside the delay.
    pub(super) late: Option<Arc<Table>>,
    /// Packets stay in order though the delay falls.
    pub(super) in_order: bool,
    /// Decides which ones are lost.
    pub(super) seed: u64,
}

impl Line {
    /// Puts it on an interface, or changes the one that is there.
    pub(super) fn apply(&self, netlink: &mut Netlink, index: u32) -> io::Result<()> {
        self.put(netlink, index, Place::Root, 0.0)
    }

    /// Puts a line behind that of an interface, on which a share of the packets is not delayed at all.
    pub(super) fn apply_overtaking(&self, netlink: &mut Netlink, index: u32, share: f64) -> io::Result<()> {
        self.put(netlink, index, Place::Below, share)
    }

    fn put(&self, netlink: &mut Netlink, index: u32, place: Place, overtaking: f64) -> io::Result<()> {
        const NETEM_DELAY_DIST: u16 = 2;
        const NETEM_REORDER: u16 = 3;
        const NETEM_LOSS: u16 = 5;
        const NETEM_LOSS_GE: u16 = 2;
        const NETEM_JITTER64: u16 = 11;
        const NETEM_RATE: u16 = 6;
        const NETEM_RATE64: u16 = 8;
        const NETEM_LATENCY64: u16 = 10;
        const NETEM_SLOT: u16 = 12;
        const NETEM_PRNG_SEED: u16 = 14;
        /// The limit counts the packets on the line too, so it must never be the one that bites.
        const LIMIT: u32 = 10_000_000;
        /// With a rate netem is a FIFO; this one takes 12 ns for a full packet. Unit: bytes a second.
        const NEXT_TO_NO_TIME: u64 = 125_000_000_000;
        let share = |share: f64| (share * f64::from(u32::MAX)) as u32;
        let mut options = vec![0; 24];
        let delay = self.delay + self.late.as_ref().map_or(0, |late| late.middle);
        let ticks = u32::try_from(delay / TICK).unwrap_or(u32::MAX);
        options[0..4].copy_from_slice(&ticks.to_ne_bytes());
        options[4..8].copy_from_slice(&LIMIT.to_ne_bytes());
        options[8..12].copy_from_slice(&share(self.loss).to_ne_bytes());
        // Every packet may be the one that overtakes.
        options[12..16].copy_from_slice(&u32::from(overtaking > 0.0).to_ne_bytes());
        // The options begin with the old structure; attributes follow it.
        netlink.request(queue_message(index, place, "netem").nest(libc::TCA_OPTIONS, |nest| {
            let mut nest = nest
                .raw(&options)
                .attribute(NETEM_LATENCY64, &delay.to_ne_bytes())
                .attribute(NETEM_PRNG_SEED, &self.seed.to_ne_bytes());
            if overtaking > 0.0 {
                let reorder = [share(overtaking).to_ne_bytes(), [0; 4]].concat();
                nest = nest.attribute(NETEM_REORDER, &reorder);
            }
            if let Some(late) = &self.late {
                nest = nest.attribute(NETEM_JITTER64, &u64::from(late.deviation).to_ne_bytes());
                nest = nest.attribute(NETEM_DELAY_DIST, &late.bytes());
            }
            if let Some(chain) = self.chain {
                // The kernel's names of them are p, r, h and k.
                let told = [chain.to_bad, chain.to_good, 1.0 - chain.loss_bad, chain.loss_good].map(share);
                let told: Vec<_> = told.iter().flat_map(|share| share.to_ne_bytes()).collect();
                nest = nest.nest(NETEM_LOSS, |loss| loss.attribute(NETEM_LOSS_GE, &told));
            }
            if self.in_order || self.late.as_ref().is_some_and(|late| !late.reorders) {
                let rate = [u32::MAX.to_ne_bytes(), [0; 4], [0; 4], [0; 4]].concat();
                nest = nest.attribute(NETEM_RATE, &rate).attribute(NETEM_RATE64, &NEXT_TO_NO_TIME.to_ne_bytes());
            }
            if self.jitter > 0 {
                let mut slot = [0; 40];
                slot[8..16].copy_from_slice(&self.jitter.to_ne_bytes());
                nest = nest.attribute(NETEM_SLOT, &slot);
            }
            nest
        }))
    }

    /// Delay in ns and loss of an interface's line, by the kernel's own account.
    pub(super) fn of(netlink: &mut Netlink, index: u32) -> io::Result<(u64, f64)> {
        const NETEM_LATENCY64: u16 = 10;
        let options = options_of(netlink, index, Place::Root, "netem")?;
        let told = || {
            let delay = attribute(options.get(24..)?, NETEM_LATENCY64).and_then(|delay| u64_at(delay, 0))?;
            Some((delay, f64::from(u32_at(&options, 8)?) / f64::from(u32::MAX)))
        };
        told().ok_or_else(|| io::Error::other("the line tells no delay"))
    }
}

/// The parameters of the queue at a place of an interface, which must be of this kind.
fn options_of(netlink: &mut Netlink, index: u32, place: Place, kind: &str) -> io::Result<Vec<u8>> {
    let parent = if place == Place::Root { ROOT } else { ONLY_CLASS };
    let mut header = vec![0; 20];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    let mut options = None;
    netlink.talk(Message::new(libc::RTM_GETQDISC, libc::NLM_F_DUMP).raw(&header), &mut |_, body| {
        let list = body.get(20..).unwrap_or_default();
        let name = attribute(list, libc::TCA_KIND).unwrap_or_default();
        let is_it = u32_at(body, 4) == Some(index) && u32_at(body, 12) == Some(parent);
        if is_it && name.strip_suffix(&[0]).unwrap_or(name) == kind.as_bytes() {
            options = attribute(list, libc::TCA_OPTIONS).map(<[u8]>::to_vec);
        }
    })?;
    options.ok_or_else(|| io::Error::other(format!("interface {index} has no queue `{kind}` though one was added")))
}

/// The counts of a queue.
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
        let is_root = u32_at(body, 12) == Some(ROOT);
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
