//! A sender with the kernel's PCC over a simulated path: a bottleneck with a queue, and of TCP what there is besides congestion
//! control.
#![allow(dead_code, reason = "each file of tests uses a part of it")]

mod ecn;

use ecn::Ecn;
use pcc::rng::Rng;
use pcc::utility::{Expression, built_in};
use pcc_kernel_c::{Flow, Program, Sample};
use std::collections::VecDeque;

pub(crate) const PACKET: u64 = 1448;
pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1000 * MS;
const BEGIN: u64 = 77 * SECOND;
/// Where packets come together, Linux acknowledges one by one those that are read at once, as the lab shows: 64 kB. The
/// rest gets one acknowledgement, when it is read.
const READ_AT_ONCE: u32 = 46;
/// A packet that so many overtook is lost, as long as none was seen to be late.
const OVERTAKEN: u32 = 3;

/// A bottleneck with a queue, and the parts of a TCP besides congestion control: selective acknowledgements, and the
/// discovery of losses. A packet is lost once three later ones arrived, or one that left a quarter of the RTT later.
pub(crate) struct Path {
    pub(crate) mbit: f64,
    pub(crate) rtt: u64,
    /// Unit: packets.
    pub(crate) buffer: u64,
    pub(crate) loss: f64,
    /// The packets that are lost in a row at the bottleneck; `loss` is the share of all.
    pub(crate) burst: u32,
    /// Share of the packets that the bottleneck marks.
    pub(crate) marks: f64,
    /// The receiver tells how many were marked.
    pub(crate) accurate: bool,
    /// Nothing arrives from the first to the second of these.
    pub(crate) silent: (u64, u64),
    /// Nothing leaves the bottleneck from the first to the second of these.
    pub(crate) frozen: (u64, u64),
    /// At most so many Mbit/s are there to be sent.
    pub(crate) source: f64,
    /// Share of the time between two packets by which a pacer is late.
    pub(crate) late: f64,
    /// The time whose packets leave at once.
    pub(crate) train: u64,
    /// Trains are longer where the RTT is short, up to half of the window, as Linux makes them (`tcp_tso_autosize`).
    pub(crate) autosized: bool,
    /// By how much the RTT is longer from 2 s on.
    pub(crate) longer: u64,
    /// Behind the bottleneck packets wait up to so long, and leave together.
    pub(crate) jitter: u64,
    /// The bottleneck's rate from 2 s on, if not `mbit`.
    pub(crate) then: f64,
    /// From the first to the second of these there is nothing to send.
    pub(crate) idle: (u64, u64),
    /// One of this many acknowledgements tells that the peer's window is full, since it reads slowly; none if 0.
    pub(crate) slow_peer: u64,
    /// Each time after this many intervals the last packet is lost; never if 0.
    pub(crate) last_lost: u32,
    /// The first answer after a time-out tells that it was spurious: all that is not answered for counts as in flight again
    /// (F-RTO, RFC 5682).
    pub(crate) undone: bool,
    /// From then on acknowledgements tell no RTT, and only TCP has one.
    pub(crate) untold: u64,
    /// So often the peer sends something of its own, which acknowledges what had arrived before.
    pub(crate) chatter: u64,
    /// By so many packets one was late once, as TCP tells. From more than three on it finds losses by time instead (RACK).
    pub(crate) reordering: u32,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            mbit: 100.0,
            rtt: 30 * MS,
            buffer: 250,
            loss: 0.0,
            burst: 1,
            marks: 0.0,
            accurate: false,
            silent: (0, 0),
            frozen: (0, 0),
            source: f64::MAX,
            late: 0.0,
            train: 0,
            autosized: false,
            longer: 0,
            jitter: 0,
            then: 0.0,
            idle: (0, 0),
            slow_peer: 0,
            last_lost: 0,
            undone: false,
            untold: u64::MAX,
            chatter: u64::MAX,
            reordering: OVERTAKEN,
        }
    }
}

pub(crate) struct Packet {
    pub(crate) sent: u64,
    /// If ever.
    pub(crate) arrives: Option<u64>,
    /// The number of packets that left later and arrived.
    pub(crate) overtaken: u32,
    /// The number of its interval.
    pub(crate) interval: u32,
    /// By the bottleneck.
    marked: bool,
    /// It answers a mark.
    answers: bool,
}

pub(crate) struct Tcp {
    pub(crate) path: Path,
    pub(crate) flow: Flow,
    pub(crate) sample: Sample,
    pub(crate) rng: Rng,
    /// The number of packets that will still be lost in a row.
    fading: u32,
    pub(crate) now: u64,
    /// TCP's window. Unit: packets.
    pub(crate) window: u32,
    /// When the peer sends something of its own next.
    chatters: u64,
    /// When the path answered last, or was asked anew.
    heard: u64,
    /// When the bottleneck has sent all that it has.
    pub(crate) busy: u64,
    /// The time that the packets of the train take at their rate.
    train_time: u64,
    /// When packets leave together next, on a path with jitter.
    plan: u64,
    /// Packets that arrived at this moment.
    together: u32,
    ecn: Ecn,
    /// Packets taken for lost at the time-outs since the path answered last.
    timed_out: VecDeque<Packet>,
    /// How many there were.
    pub(crate) time_outs: u32,
    /// Packets on their way.
    pub(crate) flying: VecDeque<Packet>,
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    /// Queueing delay that packets met, and how many did.
    pub(crate) queued: u64,
    pub(crate) highest: u64,
    /// Acknowledgements, and those that the law was needed for.
    pub(crate) acknowledgements: u64,
    pub(crate) for_the_law: u64,
    /// Loss rates that intervals reported.
    pub(crate) reported: Vec<f64>,
}

impl Tcp {
    pub(crate) fn over(path: Path) -> Self {
        Self::striving("fair", path)
    }

    /// Towards this utility: a built-in one by its name, or a formula.
    pub(crate) fn striving(utility: &str, path: Path) -> Self {
        let formula = built_in().find(|about| about.name == utility).map_or(utility, |about| about.text);
        let program = Program::new(formula.parse::<Expression>().unwrap().program());
        // Counters that wrap soon.
        let near = u32::MAX - 5000;
        let sample = Sample {
            now: BEGIN,
            sent: near,
            delivered: near,
            lost: near,
            marked: near,
            packet: PACKET as u32,
            reordering: path.reordering,
            window: 10,
            accurate: path.accurate.into(),
            least_rtt: u32::MAX,
            ..Sample::default()
        };
        let flow = Flow::new(program, &sample, 7);
        Self {
            now: sample.now,
            window: flow.window(10),
            chatters: BEGIN.saturating_add(path.chatter),
            path,
            flow,
            heard: sample.now,
            busy: 0,
            train_time: 0,
            plan: BEGIN,
            together: 0,
            ecn: Ecn::default(),
            sample,
            rng: Rng::new(3),
            fading: 0,
            timed_out: VecDeque::new(),
            time_outs: 0,
            flying: VecDeque::new(),
            delivered: 0,
            lost: 0,
            queued: 0,
            acknowledgements: 0,
            for_the_law: 0,
            highest: 0,
            reported: Vec::new(),
        }
    }

    /// Since it began.
    pub(crate) fn age(&self) -> u64 {
        self.now - BEGIN
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.flying.len() as u32
    }

    /// Whether a packet is lost on its way, whatever the queue is.
    fn fades(&mut self) -> bool {
        if self.fading == 0 && self.rng.unit() < self.path.loss / f64::from(self.path.burst) {
            self.fading = self.path.burst;
        }
        let fades = self.fading > 0;
        self.fading = self.fading.saturating_sub(1);
        fades
    }

    pub(crate) fn send(&mut self) {
        self.sample.now = self.now;
        self.sample.next_sent = self.sample.next_sent.max(self.now);
        let later = self.age() > 2 * SECOND;
        let mbit = if later && self.path.then > 0.0 { self.path.then } else { self.path.mbit };
        let time = (PACKET as f64 * 8e3 / mbit) as u64;
        let queue = self.busy.saturating_sub(self.now);
        let silent = (self.path.silent.0..self.path.silent.1).contains(&self.age());
        let arrives = queue / time < self.path.buffer && !silent;
        let arrival = arrives.then(|| {
            self.busy = self.busy.max(self.now) + time;
            if (self.path.frozen.0..self.path.frozen.1).contains(&(self.busy - BEGIN)) {
                self.busy = BEGIN + self.path.frozen.1 + time;
            }
            self.queued += queue;
            while self.plan < self.busy && self.path.jitter > 0 {
                self.plan += (self.rng.unit() * self.path.jitter as f64) as u64;
            }
            self.busy.max(self.plan) + self.path.rtt + if later { self.path.longer } else { 0 }
        });
        let arrival = arrival.filter(|_| !self.fades());
        let interval = self.flow.told().opened;
        let marked = self.path.marks > 0.0 && self.rng.unit() < self.path.marks;
        let answers = self.ecn.on_sent();
        let packet = Packet { sent: self.now, arrives: arrival, overtaken: 0, interval, marked, answers };
        self.flying.push_back(packet);
        self.sample.sent = self.sample.sent.wrapping_add(1);
        self.sample.bytes_sent += PACKET;
        let rate = (self.flow.rate() as f64).min(self.path.source * 125_000.0);
        // TCP sends what the application has, and marks it.
        self.sample.app_limited = u32::from((self.flow.rate() as f64) > self.path.source * 125_000.0);
        self.train_time += (PACKET as f64 * 1e9 * (1.0 + self.path.late) / rate) as u64;
        let is_full = self.path.autosized && self.in_flight() >= self.window;
        if is_full || self.train_time >= self.train(rate) {
            self.sample.next_sent += core::mem::take(&mut self.train_time);
        }
        self.highest = self.highest.max(self.flow.rate());
    }

    /// The time whose packets leave at once, at this rate.
    fn train(&self, rate: f64) -> u64 {
        if !self.path.autosized {
            return self.path.train;
        }
        let bytes = (rate / 1024.0 + (65536 >> (self.path.rtt >> 19).min(31)) as f64).min(65536.0);
        let packets = ((bytes / PACKET as f64) as u64).min(u64::from(self.window / 2)).max(2);
        ((packets * PACKET) as f64 * 1e9 / rate) as u64
    }

    /// Something is to be sent, and nothing is in flight.
    fn resume(&mut self) {
        self.sample.now = self.now;
        self.sample.next_sent = self.sample.next_sent.max(self.now);
        self.sample.in_flight = 0;
        self.heard = self.now;
        if self.flow.on_resumption(&self.sample) {
            self.window = self.flow.window(self.window);
        }
    }

    /// The packet that arrives next, by its place among those that may.
    pub(crate) fn next_arrival(&self) -> Option<(usize, u64)> {
        let timed_out = self.timed_out.iter().filter(|_| self.path.undone);
        // Packets keep their order.
        let mut all = timed_out.chain(&self.flying).enumerate();
        all.find_map(|(place, packet)| packet.arrives.map(|at| (place, at)))
    }

    /// Something arrives after time-outs: what they took for lost is in flight again, or it is lost.
    fn answer_to_time_outs(&mut self) {
        if self.path.undone && !self.timed_out.is_empty() {
            self.flow.on_undo(self.sample.lost);
            self.timed_out.append(&mut self.flying);
            self.flying = core::mem::take(&mut self.timed_out);
        }
        self.timed_out.clear();
    }

    /// Whether this one, which is not here, counts as lost since one that left then is.
    fn is_overtaken(&self, packet: &Packet, sent: u64) -> bool {
        if self.path.reordering == OVERTAKEN {
            packet.overtaken >= OVERTAKEN
        } else {
            packet.sent + self.path.rtt / 4 <= sent
        }
    }

    pub(crate) fn receive(&mut self, place: usize) {
        self.answer_to_time_outs();
        let packet = self.flying.remove(place).unwrap();
        let next = self.flying.get(place).map_or(packet.interval, |next| next.interval);
        if self.path.last_lost > 0 && packet.interval.is_multiple_of(self.path.last_lost) && next > packet.interval {
            self.flying.insert(place, Packet { arrives: None, ..packet });
            return;
        }
        let sent = packet.sent;
        self.ecn.on_arrival(packet.answers, packet.marked);
        self.sample.delivered = self.sample.delivered.wrapping_add(1);
        self.delivered += 1;
        self.flying.iter_mut().take(place).for_each(|hole| hole.overtaken += 1);
        while self.flying.front().is_some_and(|packet| self.is_overtaken(packet, sent)) {
            self.flying.pop_front();
            self.sample.lost = self.sample.lost.wrapping_add(1);
            self.lost += 1;
        }
        self.together = if self.sample.now == self.now { self.together + 1 } else { 1 };
        self.sample.now = self.now;
        self.sample.in_flight = self.in_flight();
        if self.together > READ_AT_ONCE && self.next_arrival().is_some_and(|(_, at)| at <= self.now) {
            return;
        }
        self.sample.marked = self.sample.marked.wrapping_add(self.ecn.on_ack(self.path.accurate));
        let rtt = ((self.now - sent) / 1000) as u32;
        let smoothed = self.sample.taken_rtt;
        self.sample.taken_rtt = if smoothed == 0 { rtt } else { (7 * smoothed + rtt) / 8 };
        self.sample.least_rtt = self.sample.least_rtt.min(rtt);
        self.sample.rtt = if self.age() < self.path.untold { rtt } else { 0 };
        self.sample.window = self.window;
        let every = self.path.slow_peer;
        self.sample.peer_limited = u32::from(every > 0 && self.delivered.is_multiple_of(every));
        let before = self.flow.intervals();
        self.acknowledgements += 1;
        self.for_the_law += u64::from(self.flow.on_ack(&self.sample));
        self.window = self.flow.window(self.window);
        if self.flow.intervals() > before {
            self.reported.push(self.flow.loss());
        }
    }

    /// The peer's own data tells nothing new of the packets that were sent to it.
    fn hear(&mut self) {
        self.chatters = self.now.saturating_add(self.path.chatter);
        // Linux asks only while something is to be answered for.
        if self.flying.is_empty() {
            return;
        }
        self.sample.now = self.now;
        self.sample.in_flight = self.in_flight();
        self.sample.rtt = 0;
        self.sample.window = self.window;
        self.acknowledgements += 1;
        self.for_the_law += u64::from(self.flow.on_ack(&self.sample));
        self.window = self.flow.window(self.window);
    }

    /// Nothing came for long: all is lost, and one packet is sent (RFC 6298 §5).
    pub(crate) fn time_out(&mut self) {
        self.sample.lost = self.sample.lost.wrapping_add(self.in_flight());
        self.lost += u64::from(self.in_flight());
        self.time_outs += 1;
        self.timed_out.append(&mut self.flying);
        self.sample.in_flight = 0;
        self.heard = self.now;
        // Linux tells of it as of what is sent after a pause, and has one packet leave however much the window holds.
        self.sample.now = self.now;
        self.window = 1;
        self.sample.outstanding = 1;
        assert!(!self.flow.on_resumption(&self.sample), "it is no pause that ends");
        self.sample.outstanding = 0;
        self.send();
    }

    pub(crate) fn run(&mut self, time: u64) -> &mut Self {
        let end = self.now + time;
        loop {
            let open = self.in_flight() < self.window;
            let mut leaves = if open { self.sample.next_sent.max(self.now) } else { u64::MAX };
            if (self.path.idle.0..self.path.idle.1).contains(&(leaves.saturating_sub(BEGIN))) {
                leaves = BEGIN + self.path.idle.1;
            }
            let (place, arrives) = self.next_arrival().unwrap_or((0, u64::MAX));
            let time_out =
                if self.flying.is_empty() { u64::MAX } else { self.heard + (2 * self.path.rtt).max(200 * MS) };
            let next = arrives.min(leaves).min(time_out).min(self.chatters).max(self.now);
            self.now = next.min(end);
            if next >= end {
                return self;
            }
            if arrives <= next {
                self.heard = next;
                self.receive(place);
            } else if self.chatters <= next {
                self.hear();
            } else if leaves <= next {
                if self.flying.is_empty() {
                    self.resume();
                }
                self.send();
            } else {
                self.time_out();
            }
        }
    }

    /// Goodput, share lost, and mean queueing delay in ms, over the time that `run` takes from now on.
    pub(crate) fn measured(&mut self, time: u64) -> (f64, f64, f64) {
        (self.delivered, self.lost, self.queued) = (0, 0, 0);
        self.run(time);
        let sent = (self.delivered + self.lost).max(1) as f64;
        let mbit = self.delivered as f64 * PACKET as f64 * 8.0 / (time as f64 / 1e9) / 1e6;
        (mbit, self.lost as f64 / sent, self.queued as f64 / sent / 1e6)
    }
}
