//! Senders steered by PCC, sharing a path, in virtual time: a discrete-event simulation in the manner of a QUIC
//! transport. Data goes down the path, acknowledgements come up.

#![allow(dead_code, reason = "the tests and the example each use a part")]

mod host;
mod receiver;
mod sender;

pub(crate) use sender::Source;

use core::cmp::Reverse;
use core::time::Duration;
use host::Host;
use pcc::Pcc;
use pcc::units::{Bytes, Rate, Timestamp};
use pcc_link::{Count, Counters, Link, Outcome, Path};
use receiver::{Ack, Receiver};
use sender::{Sender, Sent};
use std::collections::BinaryHeap;

/// UDP and IPv4 headers: what a datagram is longer on the wire.
pub(crate) const HEADERS: u64 = 28;
/// An acknowledgement on the wire.
const ACK_SIZE: Bytes = Bytes::new(60 + HEADERS);
/// The grain of time series.
pub(crate) const SAMPLE: Duration = Duration::from_millis(100);

/// One sender to be simulated.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) config: pcc::Config,
    pub(crate) source: Source,
    pub(crate) start: Duration,
    /// Added to the path's RTT for this flow alone.
    pub(crate) extra_rtt: Duration,
    /// Processes that never sleep beside the sender, on its processor.
    pub(crate) burners: u32,
    /// Its transport reports neither an acknowledgement nor a loss of every so-manieth packet.
    pub(crate) forgets: Option<u64>,
}

impl Default for Flow {
    fn default() -> Self {
        // A full packet on the wire is 1500 bytes, so that buffers count in packets as the papers' do.
        let config = pcc::Config { max_datagram_size: Bytes::new(1500 - HEADERS), ..pcc::Config::default() };
        Self {
            config,
            source: Source::Greedy,
            start: Duration::ZERO,
            extra_rtt: Duration::ZERO,
            burners: 0,
            forgets: None,
        }
    }
}

/// A simulation to run.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) path: Path,
    pub(crate) flows: Vec<Flow>,
    pub(crate) seed: u64,
    pub(crate) duration: Duration,
}

/// A moment of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Duration,
    pub(crate) rate: Rate,
    pub(crate) state: &'static str,
    /// Useful bytes that arrived since the sample before, headers included: without copies, and without what the sender
    /// had given up on, since it sends that again.
    pub(crate) delivered: Bytes,
    pub(crate) in_flight: u64,
}

/// What became of a flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowResult {
    pub(crate) sent: Sent,
    pub(crate) delivered: Count,
    pub(crate) start: Duration,
    /// When the last byte of a [`Source::Volume`] was acknowledged.
    pub(crate) finished: Option<Duration>,
    /// Sorted RTT samples.
    rtts: Vec<u32>,
    base_rtt: Duration,
    pub(crate) series: Vec<Sample>,
}

impl FlowResult {
    /// Loss as the sender saw it, spurious ones taken off.
    pub(crate) fn loss(&self) -> f64 {
        (self.sent.lost - self.sent.spurious) as f64 / self.sent.packets.max(1) as f64
    }

    /// The RTT beyond that of the empty path at time zero, at this quantile.
    pub(crate) fn added_rtt(&self, quantile: f64) -> Duration {
        let at = ((self.rtts.len().max(1) - 1) as f64 * quantile) as usize;
        let rtt = self.rtts.get(at).map_or(Duration::ZERO, |micros| Duration::from_micros(u64::from(*micros)));
        rtt.saturating_sub(self.base_rtt)
    }

    /// What arrived between two moments, by time: headers included.
    pub(crate) fn goodput(&self, from: Duration, to: Duration) -> Rate {
        let bytes = self.series.iter().filter(|s| s.at > from && s.at <= to).map(|s| s.delivered.get()).sum();
        Rate::from_volume(Bytes::new(bytes), to.saturating_sub(from))
    }

    /// The rate that PCC had chosen at that moment.
    pub(crate) fn rate_at(&self, at: Duration) -> Rate {
        self.series.iter().rfind(|sample| sample.at <= at).map_or(Rate::ZERO, |sample| sample.rate)
    }
}

/// What became of it all.
#[derive(Clone, Debug)]
pub(crate) struct Results {
    pub(crate) flows: Vec<FlowResult>,
    pub(crate) link: Counters,
    path: Path,
    seed: u64,
    duration: Duration,
    pub(crate) events: u64,
}

impl Results {
    /// What all flows delivered between two moments, by what a perfect sender would have: capacity less random loss.
    /// Headers count on both sides, so the payload's share of a packet does not matter.
    pub(crate) fn share(&self, from: Duration, to: Duration) -> f64 {
        let delivered: f64 = self.flows.iter().map(|flow| flow.goodput(from, to).bytes_per_sec()).sum();
        let until = |end| self.path.down.capacity(self.seed, Timestamp::ZERO + end).delivered.get() as f64;
        delivered * (to - from).as_secs_f64() / (until(to) - until(from))
    }

    /// [`Self::share`] from this moment to the end.
    pub(crate) fn share_after(&self, from: Duration) -> f64 {
        self.share(from, self.duration)
    }

    /// Jain's fairness index of the flows' goodput, averaged over windows of `scale` between two moments.
    pub(crate) fn jain(&self, scale: Duration, from: Duration, to: Duration) -> f64 {
        let windows = ((to - from).as_nanos() / scale.as_nanos()).max(1) as u32;
        let index = |window: u32| {
            let begin = from + scale * window;
            let rates: Vec<_> =
                self.flows.iter().map(|flow| flow.goodput(begin, begin + scale).bytes_per_sec()).collect();
            let (sum, squares) = rates.iter().fold((0.0, 0.0), |(sum, squares), r| (sum + r, squares + r * r));
            if squares > 0.0 { sum * sum / (rates.len() as f64 * squares) } else { 0.0 }
        };
        (0..windows).map(index).sum::<f64>() / f64::from(windows)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A packet reaches the receiver.
    Data { flow: usize, number: u64 },
    /// An acknowledgement reaches the sender.
    Ack { flow: usize, slot: usize },
    /// The receiver's timer.
    AckDue { flow: usize },
    /// The sender's timer.
    Wake { flow: usize },
    /// Time for a sample of everything.
    Sample,
}

struct Peer {
    sender: Sender,
    receiver: Receiver,
    host: Host,
    extra: Duration,
    delivered: Count,
    sampled: Bytes,
    series: Vec<Sample>,
    /// The wake-up that counts; others are left-overs.
    wake_at: Option<Timestamp>,
}

struct World {
    now: Timestamp,
    events: BinaryHeap<Reverse<(Timestamp, u64, What)>>,
    count: u64,
    down: Link,
    up: Link,
    acks: Vec<Ack>,
    free_acks: Vec<usize>,
    peers: Vec<Peer>,
}

/// Runs it.
pub(crate) fn run(scenario: &Scenario) -> Results {
    let (up, down) = scenario.path.links(scenario.seed).expect("a possible path");
    let peers = scenario.flows.iter().map(|flow| {
        let start = Timestamp::ZERO + flow.start;
        let size = flow.config.max_datagram_size;
        Peer {
            sender: Sender::new(Pcc::new(flow.config.clone(), start), size, flow.source, start)
                .forgetting(flow.forgets),
            receiver: Receiver::default(),
            host: Host::new(flow.burners, scenario.seed ^ flow.config.seed),
            extra: flow.extra_rtt / 2,
            delivered: Count::default(),
            sampled: Bytes::ZERO,
            series: Vec::new(),
            wake_at: Some(start),
        }
    });
    let mut world = World {
        now: Timestamp::ZERO,
        events: BinaryHeap::new(),
        count: 0,
        down,
        up,
        acks: Vec::new(),
        free_acks: Vec::new(),
        peers: peers.collect(),
    };
    for flow in 0..world.peers.len() {
        world.at(Timestamp::ZERO + scenario.flows[flow].start, What::Wake { flow });
    }
    world.at(Timestamp::ZERO + SAMPLE, What::Sample);
    let end = Timestamp::ZERO + scenario.duration;
    while let Some(Reverse((at, _, what))) = world.events.pop()
        && at <= end
    {
        world.now = at;
        world.happen(what);
    }
    world.results(scenario)
}

impl World {
    fn at(&mut self, time: Timestamp, what: What) {
        self.count += 1;
        self.events.push(Reverse((time, self.count, what)));
    }

    fn happen(&mut self, what: What) {
        let now = self.now;
        match what {
            What::Data { flow, number } => {
                let peer = &mut self.peers[flow];
                let before = peer.receiver.ack_at;
                if peer.receiver.on_packet(now, number) {
                    peer.delivered.packets += 1;
                    peer.delivered.bytes += wire_size(peer);
                }
                match peer.receiver.ack_at {
                    Some(at) if at <= now => self.acknowledge(flow),
                    Some(at) if before != Some(at) => self.at(at, What::AckDue { flow }),
                    _ => {}
                }
            }
            What::AckDue { flow } => self.acknowledge(flow),
            What::Ack { flow, slot } => {
                let peer = &mut self.peers[flow];
                if let Some(later) = peer.host.delays(now) {
                    return self.at(later, what);
                }
                peer.sender.on_ack(now, &self.acks[slot]);
                self.free_acks.push(slot);
                self.send(flow);
            }
            What::Wake { flow } => {
                let peer = &mut self.peers[flow];
                if peer.wake_at == Some(now) {
                    peer.wake_at = peer.host.delays(now);
                    if let Some(later) = peer.wake_at {
                        return self.at(later, what);
                    }
                    peer.sender.on_wake(now);
                    self.send(flow);
                }
            }
            What::Sample => {
                for peer in &mut self.peers {
                    let useless = Bytes::new(peer.sender.sent.spurious * wire_size(peer).get());
                    let useful = peer.delivered.bytes.saturating_sub(useless);
                    let delivered = useful.saturating_sub(peer.sampled);
                    peer.sampled = peer.sampled.max(useful);
                    let (pcc, in_flight) = (&peer.sender.pcc, peer.sender.bytes_in_flight());
                    let at = now.since(Timestamp::ZERO);
                    let (rate, state) = (pcc.rate(), pcc.state());
                    peer.series.push(Sample { at, rate, state, delivered, in_flight });
                }
                self.at(now + SAMPLE, What::Sample);
            }
        }
    }

    /// Sends what may leave now, and sees to it that the flow wakes up when more may.
    fn send(&mut self, flow: usize) {
        let now = self.now;
        let late = self.peers[flow].host.late(now);
        while let Some(number) = self.peers[flow].sender.next_packet(now, late) {
            let peer = &self.peers[flow];
            let (size, extra) = (wire_size(peer), peer.extra);
            if let Outcome::Delivered { at, duplicate } = self.down.send(now, size) {
                for at in [Some(at), duplicate].into_iter().flatten() {
                    self.at(at + extra, What::Data { flow, number });
                }
            }
        }
        let peer = &mut self.peers[flow];
        if let Some(wake) = peer.sender.next_wake(now)
            && peer.wake_at.is_none_or(|at| wake < at)
        {
            peer.wake_at = Some(wake);
            self.at(wake, What::Wake { flow });
        }
    }

    fn acknowledge(&mut self, flow: usize) {
        let (now, extra) = (self.now, self.peers[flow].extra);
        let Some(ack) = self.peers[flow].receiver.take_ack(now) else { return };
        if let Outcome::Delivered { at, duplicate } = self.up.send(now, ACK_SIZE) {
            for at in [Some(at), duplicate].into_iter().flatten() {
                let slot = self.free_acks.pop().unwrap_or_else(|| {
                    self.acks.push(Ack::default());
                    self.acks.len() - 1
                });
                self.acks[slot] = ack;
                self.at(at + extra, What::Ack { flow, slot });
            }
        }
    }

    fn results(self, scenario: &Scenario) -> Results {
        let flows = self.peers.into_iter().zip(&scenario.flows).map(|(peer, flow)| {
            let mut rtts = peer.sender.rtts;
            rtts.sort_unstable();
            FlowResult {
                sent: peer.sender.sent,
                delivered: peer.delivered,
                start: flow.start,
                finished: peer.sender.finished.map(|at| at.since(Timestamp::ZERO)),
                rtts,
                base_rtt: scenario.path.rtt() + flow.extra_rtt,
                series: peer.series,
            }
        });
        Results {
            flows: flows.collect(),
            link: *self.down.counters(),
            path: scenario.path.clone(),
            seed: scenario.seed,
            duration: scenario.duration,
            events: self.count,
        }
    }
}

fn wire_size(peer: &Peer) -> Bytes {
    peer.sender.size() + Bytes::new(HEADERS)
}
