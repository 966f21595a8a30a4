//! The network inside the guest: two routers with the path between them, and two hosts for each flow.
//!
//! ```text
//! sender i ── cable ── a ══ bottleneck ══ b ── line: delay, loss ── receiver i
//!    └───────── line: delay, loss ───────┘   (the way back)
//! ```
//! The bottleneck's queue and the line are different devices: a queue that delays counts what is on its way as queued,
//! so its limit would not be the size of a buffer.

use super::netlink::{self, Netlink, QueueCounts};
use crate::spec::Spec;
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
    pub(super) hosts: Vec<Hosts>,
    _far: Namespace,
    _near: Namespace,
    near_netlink: Netlink,
    bottleneck: u32,
}

/// One cable, its ends named and numbered.
struct Cable<'a> {
    near: (&'a Namespace, &'a str, [u8; 4]),
    far: (&'a Namespace, &'a str, [u8; 4]),
}

impl Cable<'_> {
    /// Lays it; both ends are up, have their addresses and no offloads.
    fn lay(&self) -> io::Result<()> {
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

fn index_of(name: &str) -> io::Result<u32> {
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
    write_sysctl("ipv4/tcp_rmem", "4096 131072 67108864")?;
    write_sysctl("ipv4/tcp_wmem", "4096 131072 67108864")?;
    write_sysctl("ipv4/tcp_no_metrics_save", "1")
}

fn router() -> io::Result<Namespace> {
    let namespace = Namespace::create()?;
    write_sysctl("ipv4/ip_forward", "1")?;
    Ok(namespace)
}

fn host() -> io::Result<Namespace> {
    let namespace = Namespace::create()?;
    tune_host()?;
    Ok(namespace)
}

impl Network {
    /// Builds the network of a run.
    pub(super) fn build(spec: &Spec) -> io::Result<Self> {
        tune_kernel()?;
        let (near, far) = (router()?, router()?);
        Cable { near: (&near, "out", [10, 0, 0, 1]), far: (&far, "in", [10, 0, 0, 2]) }.lay()?;
        far.enter()?;
        netlink::add_route(&mut Netlink::open()?, None, [10, 0, 0, 1])?;
        near.enter()?;
        let mut near_netlink = Netlink::open()?;
        netlink::add_route(&mut near_netlink, None, [10, 0, 0, 2])?;
        let bottleneck = index_of("out")?;
        netlink::add_bottleneck(&mut near_netlink, bottleneck, spec.path.rate, spec.path.buffer)?;

        let mut hosts = Vec::new();
        for (number, flow) in spec.flows.iter().enumerate() {
            let one = u8::try_from(number + 1).map_err(|_| io::Error::other("there are more than 254 flows"))?;
            let (sender, receiver) = (host()?, host()?);
            let (near_name, far_name) = (format!("s{number}"), format!("r{number}"));
            let (sender_address, receiver_address) = ([10, 1, one, 1], [10, 2, one, 1]);
            let (near_gateway, far_gateway) = ([10, 1, one, 2], [10, 2, one, 2]);
            Cable { near: (&sender, "eth0", sender_address), far: (&near, &near_name, near_gateway) }.lay()?;
            Cable { near: (&receiver, "eth0", receiver_address), far: (&far, &far_name, far_gateway) }.lay()?;
            sender.enter()?;
            netlink::add_route(&mut Netlink::open()?, None, near_gateway)?;
            receiver.enter()?;
            netlink::add_route(&mut Netlink::open()?, None, far_gateway)?;

            let delay = (spec.path.rtt + flow.extra_rtt) / 2;
            let seed = spec.seed.wrapping_mul(1000) + 2 * number as u64;
            far.enter()?;
            netlink::add_line(&mut Netlink::open()?, index_of(&far_name)?, delay, spec.path.loss, seed)?;
            near.enter()?;
            netlink::add_line(&mut Netlink::open()?, index_of(&near_name)?, delay, spec.path.reverse_loss, seed + 1)?;
            hosts.push(Hosts { sender, receiver, receiver_address, sender_address });
        }
        Ok(Self { hosts, _far: far, _near: near, near_netlink, bottleneck })
    }

    /// What the bottleneck's queue counted so far.
    pub(super) fn queue_counts(&mut self) -> io::Result<QueueCounts> {
        netlink::queue_counts(&mut self.near_netlink, self.bottleneck)
    }
}
