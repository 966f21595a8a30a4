//! A bottleneck between two routers, and the lines behind it: one for each flow that ends there, and one to the next bottleneck.

use super::late::Table;
use super::netlink::{self, Bottleneck, Discipline, Line, Netlink, QueueCounts, Shaper};
use super::topology::{Cable, Namespace, index_of, router};
use crate::spec::{Change, PACKET, PathSpec, Queue, Spec};
use std::io;
use std::sync::Arc;

/// One bottleneck of the network.
#[derive(Debug)]
pub(super) struct Hop {
    pub(super) near: Router,
    pub(super) far: Router,
    /// From 0.
    place: usize,
    /// The path as it is now.
    path: PathSpec,
    /// Its random delays, there and back.
    late: [Option<Arc<Table>>; 2],
    /// In the order in which they were attached.
    lines: Vec<End>,
    seed: u64,
    changes: u64,
}

/// A router, where to talk to its kernel, and its interface at the bottleneck.
#[derive(Debug)]
pub(super) struct Router {
    pub(super) namespace: Namespace,
    pub(super) netlink: Netlink,
    port: u32,
}

/// Which way a line leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    There,
    Back,
}

/// Where a line begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) way: Way,
    /// The interface, of the far router on the way there and of the near one on the way back.
    pub(super) port: u32,
    /// Each flow, and each cable between bottlenecks, draws by a number of its own.
    pub(super) number: u64,
    /// Added to the RTT for its flow alone. Unit: ns.
    pub(super) extra_rtt: u64,
    /// The longest that an acknowledgement is held back for the host at the line's end. Unit: ns.
    pub(super) host_delay: u64,
}

/// The part of a round trip by which a packet may overtake others: what RFC 9002 (section 6.1.2) just does not take for
/// a loss.
const OVERTAKEN: u64 = 8;
/// Packets are marked above a seventh of the bandwidth-delay product (DCTCP, SIGCOMM 2010, section 3.4). Where hosts send
/// faster than the bottleneck that paper marks above a sender's trains of 64 KB, so the larger of both counts.
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

impl Hop {
    /// Builds the bottleneck at that place of a run's network.
    pub(super) fn build(spec: &Spec, place: usize, path: &PathSpec) -> io::Result<Self> {
        let [near_address, far_address] = addresses(place);
        let (near, far) = (router()?, router()?);
        Cable { near: (&near, "out", near_address), far: (&far, "in", far_address) }.lay()?;
        far.enter()?;
        let far = Router { netlink: Netlink::open()?, port: index_of("in")?, namespace: far };
        near.enter()?;
        let near = Router { netlink: Netlink::open()?, port: index_of("out")?, namespace: near };
        let late = [path.late, path.reverse_late].map(|late| Table::of(late).map(Arc::new));
        let (path, seed) = (path.clone(), spec.seed);
        let mut hop = Self { near, far, place, path, late, lines: Vec::new(), seed, changes: 0 };
        hop.join()?;
        Ok(hop)
    }

    /// Makes the two routers one path.
    fn join(&mut self) -> io::Result<()> {
        let [near_address, far_address] = addresses(self.place);
        netlink::add_route(&mut self.far.netlink, None, near_address)?;
        netlink::add_route(&mut self.near.netlink, None, far_address)?;
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

    /// Makes an interface the beginning of a line.
    pub(super) fn attach(&mut self, end: End) -> io::Result<()> {
        self.lines.push(end);
        self.set_line(end)
    }

    /// Lets packets of a line that leads there overtake others, where the path has them do so.
    pub(super) fn overtake(&mut self, end: End) -> io::Result<()> {
        if self.path.reorder == 0.0 {
            return Ok(());
        }
        let (line, delay) = (self.line(end), self.path.rtt / OVERTAKEN);
        let behind = Line { delay, loss: 0.0, chain: None, late: None, jitter: 0, seed: !line.seed, ..line };
        behind.apply_overtaking(&mut self.far.netlink, end.port, self.path.reorder)
    }

    /// A line as the path wants it now.
    fn line(&self, end: End) -> Line {
        let (path, delay) = (&self.path, (self.path.rtt + end.extra_rtt) / 2);
        // Each change draws its losses anew.
        let seed = (self.seed.wrapping_mul(1000) + 2 * end.number) ^ (self.changes << 40);
        let in_order = path.changes.iter().any(|change| change.rtt.is_some()) && path.reorder == 0.0;
        let [late, reverse_late] = self.late.clone();
        match end.way {
            Way::There => {
                let (delay, loss, chain) = (delay - self.overtaken(), path.loss, path.loss_chain);
                Line { delay, loss, chain, late, jitter: path.jitter, in_order, seed }
            }
            Way::Back => {
                let (loss, chain, late) = (path.reverse_loss, path.reverse_loss_chain, reverse_late);
                let jitter = path.reverse_jitter.max(end.host_delay);
                Line { delay, loss, chain, late, jitter, in_order, seed: seed + 1 }
            }
        }
    }

    /// The delay of the second line, which packets that overtake others skip. Unit: ns.
    fn overtaken(&self) -> u64 {
        if self.path.reorder > 0.0 { self.path.rtt / OVERTAKEN } else { 0 }
    }

    fn set_line(&mut self, end: End) -> io::Result<()> {
        let line = self.line(end);
        line.apply(&mut self.router(end.way).netlink, end.port)
    }

    /// The router at which lines of a way begin.
    fn router(&mut self, way: Way) -> &mut Router {
        match way {
            Way::There => &mut self.far,
            Way::Back => &mut self.near,
        }
    }

    /// Makes the path another one while packets are on it. Returns it as the kernel tells it.
    pub(super) fn change(&mut self, change: &Change) -> io::Result<Change> {
        self.changes += 1;
        self.path.rtt = change.rtt.unwrap_or(self.path.rtt);
        self.path.loss = change.loss.unwrap_or(self.path.loss);
        self.path.reverse_loss = change.reverse_loss.unwrap_or(self.path.reverse_loss);
        if change.rtt.is_some() || change.loss.is_some() || change.reverse_loss.is_some() {
            self.lines.clone().into_iter().try_for_each(|end| self.set_line(end))?;
        }
        if let Some(rate) = change.rate {
            self.path.rate = rate;
            let Self { path, near, .. } = self;
            bottleneck(path).apply(&mut near.netlink, near.port)?;
            // Its timer was set at the old rate; a packet makes it look again.
            near.namespace.enter()?;
            let [near_address, far_address] = addresses(self.place);
            let nudge = std::net::UdpSocket::bind((std::net::Ipv4Addr::from(near_address), 0))?;
            // Full is as good: it shows that packets come by.
            let _ = nudge.send_to(&[], (std::net::Ipv4Addr::from(far_address), 9));
        }
        Ok(Change { at: change.at, ..self.told()? })
    }

    /// The path as the kernel tells it, without what flows add.
    pub(super) fn told(&mut self) -> io::Result<Change> {
        let shaper = bottleneck(&self.path).shaper;
        let rate = Bottleneck::rate_of(&mut self.near.netlink, self.near.port, shaper)?;
        let (first, second) = (self.first(Way::There)?, self.first(Way::Back)?);
        let (there, loss) = Line::of(&mut self.far.netlink, first.port)?;
        let (back, reverse_loss) = Line::of(&mut self.near.netlink, second.port)?;
        let late: u64 = self.late.iter().flatten().map(|late| late.middle).sum();
        let added = (first.extra_rtt + second.extra_rtt) / 2;
        let rtt = (there + self.overtaken() + back).saturating_sub(added + late);
        Ok(Change { at: 0, rate: Some(rate), rtt: Some(rtt), loss: Some(loss), reverse_loss: Some(reverse_loss) })
    }

    fn first(&self, way: Way) -> io::Result<End> {
        let nobody = || io::Error::other(format!("no flow goes through bottleneck {}", self.place + 1));
        self.lines.iter().find(|end| end.way == way).copied().ok_or_else(nobody)
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

/// The addresses of both ends of the cable with the bottleneck at that place.
fn addresses(place: usize) -> [[u8; 4]; 2] {
    // Cables between bottlenecks have the odd networks.
    let network = 2 * place as u8;
    [[10, 0, network, 1], [10, 0, network, 2]]
}
