//! The simulation itself: data goes down the path, acknowledgements come up, one event at a time.

use crate::agenda::Agenda;
use crate::bottleneck::{Bottleneck, Passed};
use crate::host::Host;
use crate::queue::Packet;
use crate::receiver::{Ack, Receiver};
use crate::results::{FlowResult, Results, Sample, WAIT};
use crate::scenario::{Flow, HEADERS, Scenario};
use crate::transport::Transport;
use core::time::Duration;
use pcc::units::{Bytes, Timestamp};
use pcc_link::{Count, Impossible, Link, Outcome};

/// An acknowledgement on the wire.
const ACK_SIZE: Bytes = Bytes::new(60 + HEADERS);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A packet reaches the receiver.
    Data { flow: u32, number: u64, marked: bool },
    /// An acknowledgement reaches the sender.
    Ack { flow: u32, slot: u32 },
    /// The receiver's timer.
    AckDue { flow: u32 },
    /// The sender's timer.
    Wake { flow: u32 },
    /// The link is free and packets wait.
    Serve,
    /// Time for a sample of everything.
    Sample,
    /// Time to see how long a packet waits.
    Wait,
}

struct Peer {
    sender: Transport,
    receiver: Receiver,
    host: Host,
    packet: Bytes,
    ecn: bool,
    extra: Duration,
    bursts: Duration,
    ack_bursts: Duration,
    stop: Timestamp,
    delivered: Count,
    sampled: Bytes,
    series: Vec<Sample>,
    /// The wake-up that counts; others are left-overs.
    wake_at: Option<Timestamp>,
}

struct World {
    now: Timestamp,
    agenda: Agenda<What>,
    down: Bottleneck,
    up: Link,
    acks: Vec<Ack>,
    free_acks: Vec<u32>,
    peers: Vec<Peer>,
    waits: Vec<u32>,
    step: Duration,
}

/// Runs it. An error if there can be no such path.
pub fn run(scenario: &Scenario) -> Result<Results, Impossible> {
    let (up, down) = scenario.path.links(scenario.seed)?;
    let mut world = World {
        now: Timestamp::ZERO,
        agenda: Agenda::new(2 * scenario.flows.len()),
        down: Bottleneck::new(scenario, down),
        up,
        acks: Vec::new(),
        free_acks: Vec::new(),
        peers: scenario.flows.iter().map(|flow| Peer::new(flow, scenario)).collect(),
        waits: Vec::new(),
        step: scenario.step.max(Duration::from_micros(100)),
    };
    for (number, flow) in (0..).zip(&scenario.flows) {
        world.agenda.plan(Timestamp::ZERO + flow.start, What::Wake { flow: number });
    }
    world.agenda.plan(Timestamp::ZERO + world.step, What::Sample);
    world.agenda.plan(Timestamp::ZERO + WAIT, What::Wait);
    let end = Timestamp::ZERO + scenario.duration;
    while let Some((at, what)) = world.agenda.next()
        && at <= end
    {
        world.now = at;
        world.happen(what);
    }
    Ok(world.results(scenario))
}

impl Peer {
    fn new(flow: &Flow, scenario: &Scenario) -> Self {
        let seed = scenario.seed ^ flow.config.seed;
        Self {
            sender: Transport::new(flow),
            receiver: Receiver::new(flow.acks, seed, flow.packets()),
            host: Host::new(flow, seed),
            packet: flow.packet(),
            ecn: flow.ecn,
            extra: flow.extra_rtt / 2,
            bursts: flow.bursts,
            ack_bursts: flow.acks.bursts,
            stop: Timestamp::ZERO + flow.stop.unwrap_or(scenario.duration),
            delivered: Count::default(),
            sampled: Bytes::ZERO,
            series: Vec::new(),
            wake_at: Some(Timestamp::ZERO + flow.start),
        }
    }

    fn sample(&mut self, now: Timestamp) {
        let useless = Bytes::new(self.sender.account().sent.spurious * self.packet.get());
        let useful = self.delivered.bytes.saturating_sub(useless);
        let delivered = useful.saturating_sub(self.sampled);
        self.sampled = self.sampled.max(useful);
        let (rate, state, in_flight) = self.sender.glance();
        let (at, sent) = (now.since(Timestamp::ZERO), self.sender.account().sent);
        let rtt = self.sender.smoothed_rtt();
        self.series.push(Sample { at, rate, state, delivered, in_flight, sent, rtt });
    }
}

/// The next multiple of `period`, where what is gathered leaves together.
fn gathered(at: Timestamp, period: Duration) -> Timestamp {
    let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
    if period == 0 { at } else { Timestamp::from_nanos(at.as_nanos().div_ceil(period).saturating_mul(period)) }
}

impl World {
    fn happen(&mut self, what: What) {
        let now = self.now;
        match what {
            What::Data { flow, number, marked } => self.arrive(flow, number, marked),
            What::AckDue { flow } => self.acknowledge(flow),
            What::Ack { flow, slot } => {
                let (peer, ack) = (&mut self.peers[flow as usize], &mut self.acks[slot as usize]);
                let came = *ack.came.get_or_insert(now);
                if let Some(later) = peer.host.delays(now) {
                    return self.agenda.plan(later, what);
                }
                // However late the host reads it, the system knows when it came.
                peer.sender.on_ack(came, ack);
                self.free_acks.push(slot);
                self.send(flow);
            }
            What::Wake { flow } => {
                let peer = &mut self.peers[flow as usize];
                if peer.wake_at == Some(now) {
                    peer.wake_at = peer.host.delays(now);
                    if let Some(later) = peer.wake_at {
                        return self.agenda.plan(later, what);
                    }
                    peer.sender.on_wake(now);
                    self.send(flow);
                }
            }
            What::Serve => {
                if let Some(passed) = self.down.serve(now) {
                    self.forward(passed);
                }
                self.see_to_the_queue();
            }
            What::Sample => {
                self.peers.iter_mut().for_each(|peer| peer.sample(now));
                self.agenda.plan(now + self.step, What::Sample);
            }
            What::Wait => {
                self.waits.push(u32::try_from(self.down.delay(now).as_micros()).unwrap_or(u32::MAX));
                self.agenda.plan(now + WAIT, What::Wait);
            }
        }
    }

    fn arrive(&mut self, flow: u32, number: u64, marked: bool) {
        let now = self.now;
        let peer = &mut self.peers[flow as usize];
        let before = peer.receiver.ack_at;
        if peer.receiver.on_packet(now, number, marked) {
            peer.delivered.packets += 1;
            peer.delivered.bytes += peer.packet;
        }
        match peer.receiver.ack_at {
            Some(at) if at <= now => self.acknowledge(flow),
            Some(at) if before != Some(at) => self.agenda.plan(at, What::AckDue { flow }),
            _ => {}
        }
    }

    /// Sends what may leave now, and sees to it that the flow wakes up when more may.
    fn send(&mut self, flow: u32) {
        let now = self.now;
        let place = flow as usize;
        if now >= self.peers[place].stop {
            return;
        }
        let late = self.peers[place].host.late(now);
        while let Some(number) = self.peers[place].sender.next_packet(now, late) {
            let peer = &self.peers[place];
            let packet = Packet { flow, number, size: peer.packet.get(), came: now, ecn: peer.ecn, marked: false };
            if let Some(passed) = self.down.offer(now, packet) {
                self.forward(passed);
            }
        }
        self.see_to_the_queue();
        let peer = &mut self.peers[place];
        if let Some(wake) = peer.sender.next_wake(now)
            && peer.wake_at.is_none_or(|at| wake < at)
        {
            peer.wake_at = Some(wake);
            self.agenda.plan(wake, What::Wake { flow });
        }
    }

    /// What the bottleneck let through is on its way.
    fn forward(&mut self, passed: Passed) {
        let Packet { flow, number, marked, .. } = passed.packet;
        let peer = &self.peers[flow as usize];
        let (extra, bursts) = (peer.extra, peer.bursts);
        for at in [Some(passed.at), passed.duplicate].into_iter().flatten() {
            self.agenda.plan_on(2 * flow, gathered(at + extra, bursts), What::Data { flow, number, marked });
        }
    }

    fn see_to_the_queue(&mut self) {
        if let Some(at) = self.down.wants_service(self.now) {
            self.agenda.plan(at, What::Serve);
        }
    }

    fn acknowledge(&mut self, flow: u32) {
        let now = self.now;
        let peer = &mut self.peers[flow as usize];
        let (extra, bursts) = (peer.extra, peer.ack_bursts);
        let Some(ack) = peer.receiver.take_ack(now) else { return };
        if peer.receiver.loses_ack() {
            return;
        }
        if let Outcome::Delivered { at, duplicate } = self.up.send(now, ACK_SIZE) {
            for at in [Some(at), duplicate].into_iter().flatten() {
                let slot = self.free_acks.pop().unwrap_or_else(|| {
                    self.acks.push(Ack::default());
                    self.acks.len() as u32 - 1
                });
                self.acks[slot as usize] = ack;
                self.agenda.plan_on(2 * flow + 1, gathered(at + extra, bursts), What::Ack { flow, slot });
            }
        }
    }

    fn results(self, scenario: &Scenario) -> Results {
        let flows = self.peers.into_iter().zip(&scenario.flows).map(|(mut peer, flow)| {
            let account = peer.sender.take_account();
            let mut rtts = account.rtts;
            rtts.sort_unstable();
            FlowResult {
                sent: account.sent,
                packet: peer.packet,
                delivered: peer.delivered,
                start: flow.start,
                finished: account.finished.map(|at| at.since(Timestamp::ZERO)),
                rtts,
                base_rtt: scenario.path.rtt() + flow.extra_rtt,
                series: peer.series,
            }
        });
        Results {
            flows: flows.collect(),
            link: *self.down.link.counters(),
            dropped: self.down.dropped,
            marked: self.down.marked,
            waits: self.waits,
            path: scenario.path.clone(),
            seed: scenario.seed,
            duration: scenario.duration,
            events: self.agenda.count(),
        }
    }
}
