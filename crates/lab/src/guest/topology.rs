//! The network inside the guest: two routers with the path between them, and two hosts for each flow.
//!
//! ```text
//! sender i ── cable ── a ══ bottleneck ══ b ── line: delay, loss ── receiver i
//!    └───────── line: delay, loss ───────┘   (the way back)
//! ```
//! The bottleneck's queue and the line are different devices: a queue that delays counts what is on its way as queued,
//! so its limit would not be the size of a buffer.

use super::late::Table;
use super::netlink::{self, Bottleneck, Discipline, Line, Netlink, QueueCounts, Shaper};
use crate::spec::{Change, FlowSpec, PACKET, PathSpec, Queue, Spec};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::Arc;

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
    near: Router,
    far: Router,
    lines: Vec<Lines>,
    /// The path as it is now.
    path: PathSpec,
    /// Its random delays, there and back.
    late: [Option<Arc<Table>>; 2],
    seed: u64,
    /// The longest that the lines to the senders hold an acknowledgement back for their hosts. Unit: ns.
    host_delay: u64,
    changes: u64,
}

/// A router, where to talk to its kernel, and its interface towards the other one.
#[derive(Debug)]
struct Router {
    namespace: Namespace,
    netlink: Netlink,
    port: u32,
}

/// The interfaces of a flow's lines, there and back, and what it adds to the delay.
#[derive(Clone, Copy, Debug)]
struct Lines {
    there: u32,
    back: u32,
    extra_rtt: u64,
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
    write_sysctl("ipv4/tcp_rmem", "4096 16777216 67108864")?;
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

/// The part of a round trip by which a packet may overtake others: what RFC 9002 (section 6.1.2) just does not take for
/// a loss.
const OVERTAKEN: u64 = 8;
/// Packets are marked above a seventh of the bandwidth-delay product (DCTCP, SIGCOMM 2010, section 3.4), or above what
/// takes a sender's trains of 64 KB without marks, as that paper does where hosts send faster than the bottleneck.
const MARKING_SHARE: u64 = 7;
const MARKING_PACKETS: u64 = 65;

fn discipline(path: &PathSpec) -> Option<Discipline> {
    match (path.queue, path.ecn) {
        (Queue::DropTail, false) => None,
        (Queue::DropTail, true) => {
            let bdp = (path.rate as f64 / 8.0 * path.rtt as f64 / 1e9) as u64;
            let above = (bdp / MARKING_SHARE).max(MARKING_PACKETS * PACKET).min(path.buffer / 2);
            let above_us = (above as f64 * 8e6 / path.rate as f64) as u32;
            Some(Discipline::Marking { above_us: above_us.max(1) })
        }
        (Queue::Fair, _) => Some(Discipline::Fair),
        (Queue::Codel, ecn) => Some(Discipline::Codel { ecn }),
        (Queue::FqCodel, ecn) => Some(Discipline::FqCodel { ecn }),
        (Queue::Sfq, _) => Some(Discipline::Sfq),
        (Queue::Cake, _) => None,
    }
}

fn bottleneck(path: &PathSpec) -> Bottleneck {
    let shaper = if path.queue == Queue::Cake { Shaper::Cake } else { Shaper::Tbf };
    Bottleneck { rate: path.rate, limit: path.buffer, burst: path.burst, shaper }
}

/// Settings of a flow's two hosts.
fn tune_flow(path: &PathSpec, flow: Option<&FlowSpec>) -> io::Result<()> {
    if path.ecn {
        write_sysctl("ipv4/tcp_ecn", "1")?;
    }
    if flow.is_some_and(|flow| flow.paced) {
        // At cwnd/RTT and no faster; slow start keeps the factor of two that lets it double.
        write_sysctl("ipv4/tcp_pacing_ca_ratio", "100")?;
    }
    Ok(())
}

impl Network {
    /// Builds the network of a run; one without flows still has a path to measure.
    pub(super) fn build(spec: &Spec) -> io::Result<Self> {
        tune_kernel()?;
        let (near, far) = (router()?, router()?);
        Cable { near: (&near, "out", [10, 0, 0, 1]), far: (&far, "in", [10, 0, 0, 2]) }.lay()?;
        far.enter()?;
        let far = Router { netlink: Netlink::open()?, port: index_of("in")?, namespace: far };
        near.enter()?;
        let near = Router { netlink: Netlink::open()?, port: index_of("out")?, namespace: near };
        let path = spec.path.clone();
        let (seed, host_delay) = (spec.seed, spec.host_delay);
        let late = [path.late, path.reverse_late].map(|late| Table::of(late).map(Arc::new));
        let mut network =
            Self { hosts: Vec::new(), near, far, lines: Vec::new(), path, late, seed, host_delay, changes: 0 };
        network.join()?;
        match spec.flows.as_slice() {
            [] => network.add_hosts(None)?,
            flows => flows.iter().try_for_each(|flow| network.add_hosts(Some(flow)))?,
        }
        Ok(network)
    }

    /// Makes the two routers one path.
    fn join(&mut self) -> io::Result<()> {
        netlink::add_route(&mut self.far.netlink, None, [10, 0, 0, 1])?;
        netlink::add_route(&mut self.near.netlink, None, [10, 0, 0, 2])?;
        let Self { path, near, .. } = self;
        bottleneck(path).apply(&mut near.netlink, near.port)?;
        match discipline(path) {
            Some(discipline) => {
                let packets = u32::try_from((path.buffer / PACKET).max(1)).unwrap_or(u32::MAX);
                netlink::add_discipline(&mut near.netlink, near.port, discipline, packets)
            }
            None => Ok(()),
        }
    }

    /// Adds the two hosts of a flow with lines of their own.
    fn add_hosts(&mut self, flow: Option<&FlowSpec>) -> io::Result<()> {
        let number = self.hosts.len();
        let one = u8::try_from(number + 1).map_err(|_| io::Error::other("there are more than 254 flows"))?;
        let (sender, receiver) = (host()?, host()?);
        let (near_name, far_name) = (format!("s{number}"), format!("r{number}"));
        let (sender_address, receiver_address) = ([10, 1, one, 1], [10, 2, one, 1]);
        let (near_gateway, far_gateway) = ([10, 1, one, 2], [10, 2, one, 2]);
        let near = (&self.near.namespace, near_name.as_str(), near_gateway);
        let far = (&self.far.namespace, far_name.as_str(), far_gateway);
        Cable { near: (&sender, "eth0", sender_address), far: near }.lay()?;
        Cable { near: (&receiver, "eth0", receiver_address), far }.lay()?;
        for (host, gateway) in [(&sender, near_gateway), (&receiver, far_gateway)] {
            host.enter()?;
            let mut netlink = Netlink::open()?;
            netlink::add_route(&mut netlink, None, gateway)?;
            tune_flow(&self.path, flow)?;
            if flow.is_some_and(|flow| flow.paced) {
                netlink::send_single_segments(&mut netlink, index_of("eth0")?)?;
            }
        }
        self.near.namespace.enter()?;
        let back = index_of(&near_name)?;
        self.far.namespace.enter()?;
        let there = index_of(&far_name)?;
        self.lines.push(Lines { there, back, extra_rtt: flow.map_or(0, |flow| flow.extra_rtt) });
        self.hosts.push(Hosts { sender, receiver, receiver_address, sender_address });
        self.set_lines(number)?;
        if self.path.reorder > 0.0 {
            let (line, seed) = (self.line(number).0, self.seed.wrapping_mul(1000) + 2 * number as u64);
            let delay = self.path.rtt / OVERTAKEN;
            let behind = Line { delay, loss: 0.0, chain: None, late: None, jitter: 0, seed: !seed, ..line };
            behind.apply_overtaking(&mut self.far.netlink, there, self.path.reorder)?;
        }
        Ok(())
    }

    /// The lines of a flow, there and back, as the path wants them now.
    fn line(&self, number: usize) -> (Line, Line) {
        let (path, delay) = (&self.path, (self.path.rtt + self.lines[number].extra_rtt) / 2);
        // Each change draws its losses anew.
        let seed = (self.seed.wrapping_mul(1000) + 2 * number as u64) ^ (self.changes << 40);
        let in_order = path.changes.iter().any(|change| change.rtt.is_some()) && path.reorder == 0.0;
        let overtaken = if path.reorder > 0.0 { path.rtt / OVERTAKEN } else { 0 };
        let [late, reverse_late] = self.late.clone();
        let (loss, chain, jitter) = (path.loss, path.loss_chain, path.jitter);
        let there = Line { delay: delay - overtaken, loss, chain, late, jitter, in_order, seed };
        let jitter = path.reverse_jitter.max(self.host_delay);
        let (loss, chain, late) = (path.reverse_loss, path.reverse_loss_chain, reverse_late);
        let back = Line { delay, loss, chain, late, jitter, in_order, seed: seed + 1 };
        (there, back)
    }

    fn set_lines(&mut self, number: usize) -> io::Result<()> {
        let ((there, back), lines) = (self.line(number), self.lines[number]);
        there.apply(&mut self.far.netlink, lines.there)?;
        back.apply(&mut self.near.netlink, lines.back)
    }

    /// Makes the path another one while packets are on it. Returns it as the kernel tells it.
    pub(super) fn change(&mut self, change: &Change) -> io::Result<Change> {
        self.changes += 1;
        self.path.rtt = change.rtt.unwrap_or(self.path.rtt);
        self.path.loss = change.loss.unwrap_or(self.path.loss);
        self.path.reverse_loss = change.reverse_loss.unwrap_or(self.path.reverse_loss);
        if change.rtt.is_some() || change.loss.is_some() || change.reverse_loss.is_some() {
            (0..self.lines.len()).try_for_each(|number| self.set_lines(number))?;
        }
        if let Some(rate) = change.rate {
            self.path.rate = rate;
            let Self { path, near, .. } = self;
            bottleneck(path).apply(&mut near.netlink, near.port)?;
            // Its timer was set at the old rate; a packet makes it look again.
            near.namespace.enter()?;
            let nudge = std::net::UdpSocket::bind("10.0.0.1:0")?;
            // Full is as good: it shows that packets come by.
            let _ = nudge.send_to(&[], "10.0.0.2:9");
        }
        Ok(Change { at: change.at, ..self.told()? })
    }

    /// The path as the kernel tells it, without what the first flow adds.
    pub(super) fn told(&mut self) -> io::Result<Change> {
        let shaper = bottleneck(&self.path).shaper;
        let rate = Bottleneck::rate_of(&mut self.near.netlink, self.near.port, shaper)?;
        let lines = self.lines.first().copied().ok_or_else(|| io::Error::other("there are no lines"))?;
        let (there, loss) = Line::of(&mut self.far.netlink, lines.there)?;
        let (back, reverse_loss) = Line::of(&mut self.near.netlink, lines.back)?;
        let overtaken = if self.path.reorder > 0.0 { self.path.rtt / OVERTAKEN } else { 0 };
        let late: u64 = self.late.iter().flatten().map(|late| late.middle).sum();
        let rtt = (there + overtaken + back).saturating_sub(lines.extra_rtt + late);
        Ok(Change { at: 0, rate: Some(rate), rtt: Some(rtt), loss: Some(loss), reverse_loss: Some(reverse_loss) })
    }

    /// How long a packet that arrives at the bottleneck now waits for those before it. Unit: µs.
    pub(super) fn queue_delay(&mut self) -> io::Result<u32> {
        let bits = f64::from(self.queue_counts()?.backlog) * 8.0;
        Ok((bits * 1e6 / self.path.rate as f64) as u32)
    }

    /// The counts of the bottleneck's queue so far.
    pub(super) fn queue_counts(&mut self) -> io::Result<QueueCounts> {
        netlink::queue_counts(&mut self.near.netlink, self.near.port)
    }
}
