//! The simulation itself: data goes down the path, acknowledgements come up, one event at a time.

use crate::agenda::Agenda;
use crate::bottleneck::{Bottleneck, Passed};
use crate::host::Host;
use crate::media::{self, Media};
use crate::queue::Packet;
use crate::receiver::{Ack, Receiver};
use crate::results::{FlowResult, Results, Sample, WAIT};
use crate::scenario::{Flow, HEADERS, Scenario, Source};
use crate::transport::Transport;
use core::time::Duration;
use pcc::units::{Bytes, Timestamp};
use pcc_link::{Count, Impossible, Link, Outcome};

/// An acknowledgement on the wire.
const ACK_SIZE: Bytes = Bytes::new(60 + HEADERS);
/// A receiver whose question was lost asks again after so long.
const ASKS_AGAIN: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug)]
enum What {
    /// A packet reaches the receiver.
    Data { flow: u32, number: u64, marked: bool },
    /// An acknowledgement reaches the sender.
    Ack { flow: u32, slot: u32 },
    /// The receiver asks for a stream of a call, which it awaits since then.
    Ask { flow: u32, stream: u8, since: Timestamp },
    /// The sender is asked.
    Asked { flow: u32, stream: u8, since: Timestamp },
    /// The receiver's timer.
    AckDue { flow: u32 },
    /// The sender's timer.
    Wake { flow: u32 },
    /// A packet has come through one bottleneck and reaches the next, of this number.
    Onward { at: u16, flow: u32, number: u64, marked: bool },
    /// An acknowledgement on its way back reaches the link of this number.
    Back { at: u16, flow: u32, slot: u32 },
    /// The link of this number is free and packets wait.
    Serve { at: u16 },
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
    headers: Bytes,
    ecn: bool,
    /// The first bottleneck that it goes through, and the last.
    way: (u16, u16),
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
    /// One after the other, and the links of the way back in the same order.
    downs: Vec<Bottleneck>,
    ups: Vec<Link>,
    acks: Vec<Ack>,
    free_acks: Vec<u32>,
    peers: Vec<Peer>,
    waits: Vec<u32>,
    step: Duration,
}

/// Runs it. An error if there can be no such path.
pub fn run(scenario: &Scenario) -> Result<Results, Impossible> {
    let (mut ups, mut downs) = (Vec::new(), Vec::new());
    for (number, path) in scenario.paths().enumerate() {
        let seed = scenario.seed_of(number);
        let (up, down) = path.links(seed)?;
        let policer = scenario.policer.filter(|_| number == 0);
        ups.push(up);
        downs.push(Bottleneck::new(down, scenario.queue, policer, seed));
    }
    let flows = scenario.flows_drawn();
    let mut world = World {
        now: Timestamp::ZERO,
        agenda: Agenda::new(2 * (scenario.flows.len() + downs.len())),
        downs,
        ups,
        acks: Vec::new(),
        free_acks: Vec::new(),
        peers: flows.iter().map(|flow| Peer::new(flow, scenario)).collect(),
        waits: Vec::new(),
        step: scenario.step.max(Duration::from_micros(100)),
    };
    for (number, flow) in (0..).zip(flows.iter()) {
        let start = Timestamp::ZERO + flow.start;
        world.agenda.plan(start, What::Wake { flow: number });
        let streams = if flow.source == Source::Media { media::STREAMS as u8 } else { 0 };
        (0..streams).for_each(|stream| world.agenda.plan(start, What::Ask { flow: number, stream, since: start }));
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
    Ok(world.results(scenario, &flows))
}

impl Peer {
    fn new(flow: &Flow, scenario: &Scenario) -> Self {
        let seed = scenario.seed ^ flow.config.seed;
        Self {
            sender: Transport::new(flow),
            receiver: Receiver::new(flow.acks, seed, flow.packets()),
            host: Host::new(flow, seed),
            packet: flow.packet(),
            headers: Bytes::new(flow.headers),
            ecn: flow.ecn,
            way: scenario.way(flow),
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

    /// Bytes on the wire of the packet of that number: all are full but those of a call.
    fn size(&mut self, number: u64) -> Bytes {
        let headers = self.headers;
        self.sender.media().map_or(self.packet, |media| media.size(number) + headers)
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
            What::Ask { flow, stream, since } => self.ask(flow, stream, since),
            What::Asked { flow, stream, since } => {
                if let Some(media) = self.peers[flow as usize].sender.media() {
                    media.begin(now, stream.into(), since);
                    self.send(flow);
                }
            }
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
            What::Onward { at, flow, number, marked } => {
                self.offer(at, flow, number, marked);
                self.see_to_the_queue(at);
            }
            What::Back { at, flow, slot } => self.carry_back(at, flow, slot),
            What::Serve { at } => {
                if let Some(passed) = self.downs[usize::from(at)].serve(now) {
                    self.forward(at, passed);
                }
                self.see_to_the_queue(at);
            }
            What::Sample => {
                self.peers.iter_mut().for_each(|peer| peer.sample(now));
                self.agenda.plan(now + self.step, What::Sample);
            }
            What::Wait => {
                let wait: Duration = self.downs.iter_mut().map(|down| down.delay(now)).sum();
                self.waits.push(u32::try_from(wait.as_micros()).unwrap_or(u32::MAX));
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
            let size = peer.size(number);
            peer.delivered.bytes += size;
            if let Some(media) = peer.sender.media() {
                media.arrived(now, number);
            }
        }
        match peer.receiver.ack_at {
            Some(at) if at <= now => self.acknowledge(flow),
            Some(at) if before != Some(at) => self.agenda.plan(at, What::AckDue { flow }),
            _ => {}
        }
    }

    /// A receiver asks for a stream, over the way back of its first bottleneck, and again for the next second of video.
    fn ask(&mut self, flow: u32, stream: u8, since: Timestamp) {
        let (now, peer) = (self.now, &self.peers[flow as usize]);
        let (extra, (first, _)) = (peer.extra, peer.way);
        match self.ups[usize::from(first)].send(now, ACK_SIZE) {
            Outcome::Delivered { at, .. } => self.agenda.plan(at + extra, What::Asked { flow, stream, since }),
            Outcome::Dropped(_) => self.agenda.plan(now + ASKS_AGAIN, What::Ask { flow, stream, since }),
        }
        if since == now && Media::is_grouped(stream.into()) {
            let next = now + media::GROUP;
            self.agenda.plan(next, What::Ask { flow, stream, since: next });
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
        let (first, _) = self.peers[place].way;
        while let Some(number) = self.peers[place].sender.next_packet(now, late) {
            self.offer(first, flow, number, false);
        }
        self.see_to_the_queue(first);
        let peer = &mut self.peers[place];
        if let Some(wake) = peer.sender.next_wake(now)
            && peer.wake_at.is_none_or(|at| wake < at)
        {
            peer.wake_at = Some(wake);
            self.agenda.plan(wake, What::Wake { flow });
        }
    }

    /// A packet comes to a bottleneck.
    fn offer(&mut self, at: u16, flow: u32, number: u64, marked: bool) {
        let (now, peer) = (self.now, &mut self.peers[flow as usize]);
        let packet = Packet { flow, number, size: peer.size(number).get(), came: now, ecn: peer.ecn, marked };
        if let Some(passed) = self.downs[usize::from(at)].offer(now, packet) {
            self.forward(at, passed);
        }
    }

    /// What a bottleneck let through is on its way.
    fn forward(&mut self, at: u16, passed: Passed) {
        let Packet { flow, number, marked, .. } = passed.packet;
        let peer = &self.peers[flow as usize];
        let (extra, bursts, (_, last)) = (peer.extra, peer.bursts, peer.way);
        for time in [Some(passed.at), passed.duplicate].into_iter().flatten() {
            if at < last {
                let next = What::Onward { at: at + 1, flow, number, marked };
                self.agenda.plan_on(self.line_from(at), time, next);
            } else {
                self.agenda.plan_on(2 * flow, gathered(time + extra, bursts), What::Data { flow, number, marked });
            }
        }
    }

    /// The line on which data leaves a bottleneck for the next; that of acknowledgements that leave its other link follows it.
    fn line_from(&self, at: u16) -> u32 {
        2 * (self.peers.len() as u32 + u32::from(at))
    }

    fn see_to_the_queue(&mut self, at: u16) {
        if let Some(time) = self.downs[usize::from(at)].wants_service(self.now) {
            self.agenda.plan(time, What::Serve { at });
        }
    }

    fn acknowledge(&mut self, flow: u32) {
        let now = self.now;
        let peer = &mut self.peers[flow as usize];
        let (_, last) = peer.way;
        if !peer.receiver.takes_ack(now) || peer.receiver.loses_ack() {
            return;
        }
        let slot = self.free_slot();
        self.peers[flow as usize].receiver.write(now, &mut self.acks[slot as usize]);
        self.carry_back(last, flow, slot);
    }

    /// Where an acknowledgement is until it arrives.
    fn free_slot(&mut self) -> u32 {
        self.free_acks.pop().unwrap_or_else(|| {
            self.acks.push(Ack::default());
            self.acks.len() as u32 - 1
        })
    }

    /// An acknowledgement comes to the link of this number.
    fn carry_back(&mut self, at: u16, flow: u32, slot: u32) {
        let peer = &self.peers[flow as usize];
        let (extra, bursts, (first, _)) = (peer.extra, peer.ack_bursts, peer.way);
        let Outcome::Delivered { at: arrives, duplicate } = self.ups[usize::from(at)].send(self.now, ACK_SIZE) else {
            return self.free_acks.push(slot);
        };
        let copy = duplicate.map(|time| {
            let copy = self.free_slot();
            self.acks[copy as usize] = self.acks[slot as usize].clone();
            (time, copy)
        });
        for (time, slot) in [Some((arrives, slot)), copy].into_iter().flatten() {
            if at > first {
                let next = What::Back { at: at - 1, flow, slot };
                self.agenda.plan_on(self.line_from(at) + 1, time, next);
            } else {
                self.agenda.plan_on(2 * flow + 1, gathered(time + extra, bursts), What::Ack { flow, slot });
            }
        }
    }

    fn results(self, scenario: &Scenario, flows: &[Flow]) -> Results {
        let end = Timestamp::ZERO + scenario.duration;
        let flows = self.peers.into_iter().zip(flows).map(|(mut peer, flow)| {
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
                base_rtt: scenario.base_rtt(flow),
                way: peer.way,
                frames: peer.sender.media().map_or(Vec::new(), |media| media.delays(end)),
                series: peer.series,
            }
        });
        Results {
            flows: flows.collect(),
            link: *self.downs[0].link.counters(),
            beyond: self.downs[1..].iter().map(|down| *down.link.counters()).collect(),
            dropped: self.downs.iter().map(|down| down.dropped).sum(),
            marked: self.downs.iter().map(|down| down.marked).sum(),
            waits: self.waits,
            ways: scenario.ways(),
            duration: scenario.duration,
            events: self.agenda.count(),
        }
    }
}
