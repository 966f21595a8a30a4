//! The simulation itself: data goes down the path, acknowledgements come up, one event at a time.

use crate::agenda::Agenda;
use crate::host::Host;
use crate::media::{self, Media};
use crate::policer::Bucket;
use crate::receiver::{Ack, Receiver};
use crate::results::{FlowResult, Results, Sample, WAIT};
use crate::scenario::{Flow, HEADERS, Scenario, Source};
use crate::transport::Transport;
use core::time::Duration;
use pcc::units::{Bytes, Timestamp};
use pcc_link::{Bottleneck, Count, Ecn, Impossible, Packet, Passed, Queue};

/// An acknowledgement on the wire.
const ACK_SIZE: Bytes = Bytes::new(60 + HEADERS);
/// A receiver whose question was lost asks again after so long.
const ASKS_AGAIN: Duration = Duration::from_millis(200);

/// A bottleneck of one direction.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: u16,
    is_down: bool,
}

/// A question of a receiver, as the number of a packet: the stream of a call that it awaits, since when.
#[derive(Clone, Copy, Debug)]
struct Question(u64);

impl Question {
    const IS: u64 = 1 << 63;

    fn new(stream: u8, since: Timestamp) -> Self {
        Self(Self::IS | u64::from(stream) << 48 | since.as_nanos())
    }

    fn of(number: u64) -> Option<Self> {
        (number & Self::IS != 0).then_some(Self(number))
    }

    const fn stream(self) -> u8 {
        (self.0 >> 48) as u8 & 0x7f
    }

    fn since(self) -> Timestamp {
        Timestamp::from_nanos(self.0 & ((1 << 48) - 1))
    }
}

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
    /// A packet has come through one bottleneck and reaches the next: data of its number, or an acknowledgement in its slot.
    Onward { place: Place, flow: u32, number: u64, marked: bool },
    /// This link is free and packets wait.
    Serve { place: Place },
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
    ecn: Ecn,
    /// Whether its data goes up and its acknowledgements come down.
    goes_back: bool,
    /// The first bottleneck that it goes through, and the last, as they are numbered on the way down.
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

pub(crate) struct World {
    now: Timestamp,
    /// The event that comes first of those beyond the moment up to which everything happened.
    next: Option<(Timestamp, What)>,
    agenda: Agenda<What>,
    /// One after the other, and those of the way back in the same order.
    downs: Vec<Bottleneck>,
    ups: Vec<Bottleneck>,
    /// Before the first of the way down, and packets that it dropped.
    policer: Option<Bucket>,
    policed: u64,
    acks: Vec<Ack>,
    free_acks: Vec<u32>,
    peers: Vec<Peer>,
    waits: Vec<u32>,
    step: Duration,
}

/// The world before anything happened. An error if there can be no such path.
pub(crate) fn begin(scenario: &Scenario, flows: &[Flow]) -> Result<World, Impossible> {
    let (mut ups, mut downs) = (Vec::new(), Vec::new());
    for (number, path) in scenario.paths().enumerate() {
        let seed = scenario.seed_of(number);
        let (up, down) = path.bottlenecks(seed)?;
        ups.push(up);
        downs.push(match scenario.queue {
            Queue::DropTail => down,
            queue => Bottleneck::new(path.links(seed)?.1, queue, seed),
        });
    }
    let mut world = World {
        now: Timestamp::ZERO,
        next: None,
        agenda: Agenda::new(2 * (scenario.flows.len() + downs.len())),
        downs,
        ups,
        policer: scenario.policer.map(Bucket::new),
        policed: 0,
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
    Ok(world)
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
            ecn: flow.word_on_ecn(),
            goes_back: flow.back,
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

    /// The bottleneck to which its data comes first, or its acknowledgements.
    const fn entry(&self, is_data: bool) -> Place {
        let is_down = is_data != self.goes_back;
        let (first, last) = self.way;
        Place { at: if is_down { first } else { last }, is_down }
    }

    /// Where it goes from here, if it does not leave the bottlenecks.
    fn next(&self, Place { at, is_down }: Place) -> Option<Place> {
        let (first, last) = self.way;
        let is_last = if is_down { at >= last } else { at <= first };
        (!is_last).then(|| Place { at: if is_down { at + 1 } else { at - 1 }, is_down })
    }

    /// Whether packets of this flow that are here are its data.
    const fn has_data_at(&self, place: Place) -> bool {
        place.is_down != self.goes_back
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
    /// Everything happens up to that moment.
    pub(crate) fn pass(&mut self, to: Timestamp) {
        let mut next = self.next.take().or_else(|| self.agenda.next());
        while let Some((at, what)) = next
            && at <= to
        {
            self.now = at;
            self.happen(what);
            next = self.agenda.next();
        }
        self.next = next;
    }

    /// The samples so far of the flow at `place`.
    pub(crate) fn series(&self, place: usize) -> &[Sample] {
        self.peers.get(place).map_or(&[], |peer| &peer.series)
    }

    /// The waits so far.
    pub(crate) fn waits(&self) -> &[u32] {
        &self.waits
    }

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
            What::Onward { place, flow, number, marked } => {
                self.offer(place, flow, number, marked);
                self.see_to_the_queue(place);
            }
            What::Serve { place } => {
                if let Some(passed) = self.bottleneck(place).serve(now) {
                    self.forward(place, passed);
                }
                self.see_to_losses(place);
                self.see_to_the_queue(place);
            }
            What::Sample => {
                self.peers.iter_mut().for_each(|peer| peer.sample(now));
                self.agenda.plan(now + self.step, What::Sample);
            }
            What::Wait => {
                let wait: Duration = self.downs.iter().map(|down| down.delay(now)).sum();
                self.waits.push(u32::try_from(wait.as_micros()).unwrap_or(u32::MAX));
                self.agenda.plan(now + WAIT, What::Wait);
            }
        }
    }

    fn arrive(&mut self, flow: u32, number: u64, marked: bool) {
        let now = self.now;
        let peer = &mut self.peers[flow as usize];
        let before = peer.receiver.ack_at;
        if peer.receiver.on_packet(now, number, marked, peer.sender.packets_per_ack()) {
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
        let place = Place { at: peer.way.0, is_down: peer.goes_back };
        self.offer(place, flow, Question::new(stream, since).0, false);
        self.see_to_the_queue(place);
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
        let entry = self.peers[place].entry(true);
        while let Some(number) = self.peers[place].sender.next_packet(now, late) {
            self.offer(entry, flow, number, false);
        }
        self.see_to_the_queue(entry);
        let peer = &mut self.peers[place];
        if let Some(wake) = peer.sender.next_wake(now)
            && peer.wake_at.is_none_or(|at| wake < at)
        {
            peer.wake_at = Some(wake);
            self.agenda.plan(wake, What::Wake { flow });
        }
    }

    /// A packet comes to a bottleneck.
    fn offer(&mut self, place: Place, flow: u32, number: u64, marked: bool) {
        let (now, peer) = (self.now, &mut self.peers[flow as usize]);
        let (size, ecn) =
            if peer.has_data_at(place) { (peer.size(number), peer.ecn) } else { (ACK_SIZE, Ecn::NotCapable) };
        let packet = Packet { flow, number, size, came: now, ecn, marked };
        let is_policed = place.is_down && place.at == 0;
        if is_policed && self.policer.as_mut().is_some_and(|bucket| !bucket.admits(now, size)) {
            self.policed += 1;
            return self.lose(place, packet);
        }
        if let Some(passed) = self.bottleneck(place).offer(now, packet) {
            self.forward(place, passed);
        }
        self.see_to_losses(place);
    }

    fn bottleneck(&mut self, place: Place) -> &mut Bottleneck {
        let all = if place.is_down { &mut self.downs } else { &mut self.ups };
        &mut all[usize::from(place.at)]
    }

    /// What a bottleneck let through is on its way.
    fn forward(&mut self, place: Place, Passed { packet, at, duplicate }: Passed) {
        let Packet { flow, number, marked, .. } = packet;
        let peer = &self.peers[flow as usize];
        let (extra, bursts, ack_bursts) = (peer.extra, peer.bursts, peer.ack_bursts);
        let (is_data, next) = (peer.has_data_at(place), peer.next(place));
        if let Some(question) = Question::of(number).filter(|_| !is_data) {
            let (stream, since) = (question.stream(), question.since());
            return self.agenda.plan(at + extra, What::Asked { flow, stream, since });
        }
        let copy = duplicate.map(|time| (time, if is_data { number } else { self.copy_of_ack(number) }));
        for (time, number) in [Some((at, number)), copy].into_iter().flatten() {
            if let Some(place) = next {
                self.agenda.plan_on(self.line_to(place), time, What::Onward { place, flow, number, marked });
            } else if is_data {
                self.agenda.plan_on(2 * flow, gathered(time + extra, bursts), What::Data { flow, number, marked });
            } else {
                let arrives = What::Ack { flow, slot: number as u32 };
                self.agenda.plan_on(2 * flow + 1, gathered(time + extra, ack_bursts), arrives);
            }
        }
    }

    /// The line on which packets reach a bottleneck from the one before it.
    fn line_to(&self, Place { at, is_down }: Place) -> u32 {
        2 * (self.peers.len() as u32 + u32::from(at)) + u32::from(!is_down)
    }

    fn see_to_the_queue(&mut self, place: Place) {
        let now = self.now;
        if let Some(time) = self.bottleneck(place).wants_service(now) {
            self.agenda.plan(time, What::Serve { place });
        }
    }

    fn see_to_losses(&mut self, place: Place) {
        while let Some(packet) = self.bottleneck(place).next_lost() {
            self.lose(place, packet);
        }
    }

    /// A packet will never arrive. The sender of data finds out by itself.
    fn lose(&mut self, place: Place, Packet { flow, number, .. }: Packet) {
        if self.peers[flow as usize].has_data_at(place) {
            return;
        }
        match Question::of(number) {
            Some(question) => {
                let again = What::Ask { flow, stream: question.stream(), since: question.since() };
                self.agenda.plan(self.now + ASKS_AGAIN, again);
            }
            None => self.free_acks.push(number as u32),
        }
    }

    fn acknowledge(&mut self, flow: u32) {
        let now = self.now;
        let peer = &mut self.peers[flow as usize];
        let entry = peer.entry(false);
        if !peer.receiver.takes_ack(now) || peer.receiver.loses_ack() {
            return;
        }
        let slot = self.free_slot();
        self.peers[flow as usize].receiver.write(now, &mut self.acks[slot as usize]);
        self.offer(entry, flow, slot.into(), false);
        self.see_to_the_queue(entry);
    }

    /// Where an acknowledgement is until it arrives.
    fn free_slot(&mut self) -> u32 {
        self.free_acks.pop().unwrap_or_else(|| {
            self.acks.push(Ack::default());
            self.acks.len() as u32 - 1
        })
    }

    /// The slot of the same acknowledgement once more.
    fn copy_of_ack(&mut self, slot: u64) -> u64 {
        let copy = self.free_slot();
        self.acks[copy as usize] = self.acks[slot as usize].clone();
        copy.into()
    }

    pub(crate) fn results(self, scenario: &Scenario, flows: &[Flow]) -> Results {
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
                goes_back: peer.goes_back,
                frames: peer.sender.media().map_or(Vec::new(), |media| media.delays(end)),
                series: peer.series,
            }
        });
        Results {
            flows: flows.collect(),
            link: *self.downs[0].link().counters(),
            beyond: self.downs[1..].iter().map(|down| *down.link().counters()).collect(),
            dropped: self.policed + self.downs.iter().map(|down| down.counters().dropped_queue.packets).sum::<u64>(),
            marked: self.downs.iter().map(|down| down.counters().marked.packets).sum(),
            waits: self.waits,
            ways: scenario.ways(),
            ways_back: scenario.ways_back(),
            duration: scenario.duration,
            events: self.agenda.count(),
        }
    }
}
