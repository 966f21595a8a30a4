//! The network inside the guest: two routers with a bottleneck between them, or more such pairs in a row, and two hosts for
//! each flow.
//!
//! ```text
//! sender i ── cable ── a ══ bottleneck ══ b ── line: delay, loss ── receiver i
//!    └───────── line: delay, loss ───────┘   (the way back)
//!                                         b ── line: delay, loss ── c ══ bottleneck ══ d ── ...
//! ```
//! A flow's hosts are at the first and the last bottleneck of its way. The bottleneck's queue and the line are different
//! devices: a queue that delays counts what is on its way as queued, so its limit would not be the size of a buffer.

use super::hop::{End, Hop, Way};
use super::netlink::{self, Netlink};
use crate::spec::{FlowSpec, Spec};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

/// A network of its own, which lives as long as this value.
#[derive(Debug)]
pub(super) struct Namespace {
    handle: OwnedFd,
}

impl Namespace {
    /// Makes one and moves the calling thread into it.
    fn create() -> io::Result<Self> {
        // SAFETY: no pointers; the calling thread gets a new, empty network.
        check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
        let namespace = Self { handle: File::open("/proc/thread-self/ns/net")?.into() };
        netlink::set_up(&mut Netlink::open()?, LOOPBACK)?;
        Ok(namespace)
    }

    /// Moves the calling thread into it; sockets stay where they were made.
    pub(super) fn enter(&self) -> io::Result<()> {
        // SAFETY: the descriptor is that of a network namespace.
        check(unsafe { libc::setns(self.handle.as_raw_fd(), libc::CLONE_NEWNET) })
    }
}

/// The loopback interface always comes first.
const LOOPBACK: u32 = 1;

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The two ends of a flow.
#[derive(Debug)]
pub(super) struct Hosts {
    pub(super) sender: Namespace,
    pub(super) receiver: Namespace,
    /// Where the receiver is reached.
    pub(super) receiver_address: [u8; 4],
    /// Where the sender is reached.
    pub(super) sender_address: [u8; 4],
}

/// Everything that was set up.
#[derive(Debug)]
pub(super) struct Network {
    /// The hosts of each flow; without flows those at the ends of each bottleneck.
    pub(super) hosts: Vec<Hosts>,
    /// The bottlenecks, in their order.
    pub(super) hops: Vec<Hop>,
    /// The longest that the lines to the senders hold an acknowledgement back for their hosts. Unit: ns.
    host_delay: u64,
}

/// One cable, its ends named and numbered.
pub(super) struct Cable<'a> {
    pub(super) near: (&'a Namespace, &'a str, [u8; 4]),
    pub(super) far: (&'a Namespace, &'a str, [u8; 4]),
}

impl Cable<'_> {
    /// Lays it; both ends are up, have their addresses and no offloads.
    pub(super) fn lay(&self) -> io::Result<()> {
        let mut netlink = Netlink::open()?;
        netlink::add_cable(
            &mut netlink,
            (self.near.0.handle.as_fd(), self.near.1),
            (self.far.0.handle.as_fd(), self.far.1),
        )?;
        for (namespace, name, address) in [self.near, self.far] {
            namespace.enter()?;
            super::offload::switch_off(name)?;
            let mut netlink = Netlink::open()?;
            let index = index_of(name)?;
            netlink::set_up(&mut netlink, index)?;
            netlink::add_address(&mut netlink, index, address)?;
        }
        Ok(())
    }
}

pub(super) fn index_of(name: &str) -> io::Result<u32> {
    let name = std::ffi::CString::new(name)?;
    // SAFETY: the name is NUL-terminated.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

fn write_sysctl(name: &str, value: &str) -> io::Result<()> {
    let path = format!("/proc/sys/net/{name}");
    fs::write(&path, value).map_err(|error| io::Error::new(error.kind(), format!("could not write {path}: {error}")))
}

/// Settings that belong to the whole kernel, from the first network namespace.
fn tune_kernel() -> io::Result<()> {
    // In pages: a sender's full buffer must never put TCP under memory pressure, or the receiver's window collapses.
    write_sysctl("ipv4/tcp_mem", "4000000 4000000 4000000")?;
    // Cables hand packets over through this backlog; a train must not be dropped there.
    write_sysctl("core/netdev_max_backlog", "1000000")?;
    write_sysctl("core/rmem_max", "67108864")?;
    write_sysctl("core/wmem_max", "67108864")
}

/// Buffers far above every bandwidth-delay product, and no memory of earlier connections.
fn tune_host() -> io::Result<()> {
    write_sysctl("ipv4/tcp_rmem", "4096 16777216 67108864")?;
    write_sysctl("ipv4/tcp_wmem", "4096 131072 67108864")?;
    write_sysctl("ipv4/tcp_no_metrics_save", "1")
}

/// A network that passes on packets of others.
pub(super) fn router() -> io::Result<Namespace> {
    let namespace = Namespace::create()?;
    write_sysctl("ipv4/ip_forward", "1")?;
    Ok(namespace)
}

fn host() -> io::Result<Namespace> {
    let namespace = Namespace::create()?;
    tune_host()?;
    Ok(namespace)
}

/// Settings of a flow's two hosts.
fn tune_flow(ecn: bool, flow: Option<&FlowSpec>) -> io::Result<()> {
    if ecn {
        write_sysctl("ipv4/tcp_ecn", "1")?;
    }
    if flow.is_some_and(|flow| flow.paced) {
        // At cwnd/RTT and no faster; slow start keeps the factor of two that lets it double.
        write_sysctl("ipv4/tcp_pacing_ca_ratio", "100")?;
    }
    Ok(())
}

/// The networks of all senders and of all receivers, one of 256 addresses for each flow.
const SENDERS: [u8; 4] = [10, 1, 0, 0];
const RECEIVERS: [u8; 4] = [10, 2, 0, 0];
/// Flows have numbers below this; lines between bottlenecks draw by numbers from here on.
const BETWEEN: u64 = 400;

impl Network {
    /// Builds the network of a run; one without flows still has paths to measure.
    pub(super) fn build(spec: &Spec) -> io::Result<Self> {
        tune_kernel()?;
        let hops = spec.paths().enumerate().map(|(place, path)| Hop::build(spec, place, path));
        let hops = hops.collect::<io::Result<Vec<_>>>()?;
        let mut network = Self { hosts: Vec::new(), hops, host_delay: spec.host_delay };
        (1..network.hops.len()).try_for_each(|place| network.connect(place))?;
        if spec.flows.is_empty() {
            for (place, path) in spec.paths().enumerate() {
                network.add_hosts((place, place), path.ecn, None)?;
            }
        }
        for flow in &spec.flows {
            let ecn = spec.crossed(flow).any(|path| path.ecn);
            network.add_hosts(spec.way(flow), ecn, Some(flow))?;
        }
        Ok(network)
    }

    /// Leads what leaves the bottleneck before `place` to the one there, and acknowledgements back.
    fn connect(&mut self, place: usize) -> io::Result<()> {
        let (before, behind) = self.hops.split_at_mut(place);
        let (Some(before), Some(behind)) = (before.last_mut(), behind.first_mut()) else { return Ok(()) };
        let network = 2 * place as u8 - 1;
        let (near_address, far_address) = ([10, 0, network, 1], [10, 0, network, 2]);
        let near = (&before.far.namespace, "onward", near_address);
        Cable { near, far: (&behind.near.namespace, "before", far_address) }.lay()?;
        netlink::add_route(&mut before.far.netlink, Some(RECEIVERS), far_address)?;
        netlink::add_route(&mut behind.near.netlink, Some(SENDERS), near_address)?;
        let end = |way, port| End { way, port, number: BETWEEN + place as u64, extra_rtt: 0, host_delay: 0 };
        before.far.namespace.enter()?;
        let there = end(Way::There, index_of("onward")?);
        behind.near.namespace.enter()?;
        let back = end(Way::Back, index_of("before")?);
        before.attach(there)?;
        behind.attach(back)?;
        before.overtake(there)
    }

    /// Adds the two hosts of a flow at both ends of its way, with lines of their own.
    fn add_hosts(&mut self, (first, last): (usize, usize), ecn: bool, flow: Option<&FlowSpec>) -> io::Result<()> {
        let number = self.hosts.len();
        let one = u8::try_from(number + 1).map_err(|_| io::Error::other("there are more than 254 flows"))?;
        let (sender, receiver) = (host()?, host()?);
        let (near_name, far_name) = (format!("s{number}"), format!("r{number}"));
        let (sender_address, receiver_address) = ([10, 1, one, 1], [10, 2, one, 1]);
        let (near_gateway, far_gateway) = ([10, 1, one, 2], [10, 2, one, 2]);
        let near = (&self.hops[first].near.namespace, near_name.as_str(), near_gateway);
        let far = (&self.hops[last].far.namespace, far_name.as_str(), far_gateway);
        Cable { near: (&sender, "eth0", sender_address), far: near }.lay()?;
        Cable { near: (&receiver, "eth0", receiver_address), far }.lay()?;
        for (host, gateway) in [(&sender, near_gateway), (&receiver, far_gateway)] {
            host.enter()?;
            let mut netlink = Netlink::open()?;
            netlink::add_route(&mut netlink, None, gateway)?;
            tune_flow(ecn, flow)?;
            if flow.is_some_and(|flow| flow.paced) {
                netlink::send_single_segments(&mut netlink, index_of("eth0")?)?;
            }
        }
        let (extra_rtt, host_delay) = (flow.map_or(0, |flow| flow.extra_rtt), self.host_delay);
        let end = |way, port| End { way, port, number: number as u64, extra_rtt, host_delay };
        self.hops[first].near.namespace.enter()?;
        let back = end(Way::Back, index_of(&near_name)?);
        self.hops[last].far.namespace.enter()?;
        let there = end(Way::There, index_of(&far_name)?);
        self.hosts.push(Hosts { sender, receiver, receiver_address, sender_address });
        self.hops[last].attach(there)?;
        self.hops[first].attach(back)?;
        self.hops[last].overtake(there)
    }
}
