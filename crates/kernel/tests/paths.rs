//! The kernel's sender over simulated paths, told what TCP's counters tell, in virtual time.

use pcc::rng::Rng;
use pcc::utility::{Expression, built_in};
use pcc_kernel::{Flow, Program, Sample, read_rtt};
use std::collections::VecDeque;

const PACKET: u64 = 1448;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// A bottleneck with a queue, and what of a TCP there is besides congestion control: selective acknowledgements, and losses
/// found once three later packets arrived.
struct Path {
    mbit: f64,
    rtt: u64,
    /// Unit: packets.
    buffer: u64,
    loss: f64,
    /// Nothing arrives from the first to the second of these.
    silent: (u64, u64),
    /// At most so many Mbit/s are there to be sent.
    source: f64,
    /// Share of the time between two packets by which a pacer is late.
    late: f64,
    /// By how much the RTT is longer from 2 s on.
    longer: u64,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            mbit: 100.0,
            rtt: 30 * MS,
            buffer: 250,
            loss: 0.0,
            silent: (0, 0),
            source: f64::MAX,
            late: 0.0,
            longer: 0,
        }
    }
}

struct Packet {
    sent: u64,
    /// If ever.
    arrives: Option<u64>,
    /// So many packets that left later arrived.
    overtaken: u32,
}

struct Tcp {
    path: Path,
    flow: Flow,
    sample: Sample,
    rng: Rng,
    now: u64,
    /// When the bottleneck has sent all that it has.
    busy: u64,
    /// Packets on their way.
    flying: VecDeque<Packet>,
    delivered: u64,
    lost: u64,
    /// Queueing delay that packets met, and how many did.
    queued: u64,
    highest: u64,
    /// Loss rates that intervals reported.
    reported: Vec<f64>,
}

impl Tcp {
    fn over(path: Path) -> Self {
        let about = built_in().find(|about| about.name == "fair").unwrap();
        let program = Program::new(about.text.parse::<Expression>().unwrap().program());
        // Counters that wrap soon.
        let near = u32::MAX - 5000;
        let sample = Sample {
            now: 77 * SECOND,
            sent: near,
            delivered: near,
            lost: near,
            marked: near,
            packet: PACKET as u32,
            reordering: 3,
            window: 10,
            ..Sample::default()
        };
        let flow = Flow::new(program, &sample, 7);
        Self {
            path,
            flow,
            now: sample.now,
            busy: 0,
            sample,
            rng: Rng::new(3),
            flying: VecDeque::new(),
            delivered: 0,
            lost: 0,
            queued: 0,
            highest: 0,
            reported: Vec::new(),
        }
    }

    fn in_flight(&self) -> u32 {
        self.flying.len() as u32
    }

    fn send(&mut self) {
        let first = self.flying.is_empty();
        self.sample.now = self.now;
        self.sample.next_sent = self.sample.next_sent.max(self.now);
        if first {
            self.sample.in_flight = 0;
            self.flow.on_resumption(&self.sample);
        }
        let time = (PACKET as f64 * 8e3 / self.path.mbit) as u64;
        let queue = self.busy.saturating_sub(self.now);
        let silent = (self.path.silent.0..self.path.silent.1).contains(&(self.now - 77 * SECOND));
        let arrives = queue / time < self.path.buffer && !silent;
        let arrival = arrives.then(|| {
            self.busy = self.busy.max(self.now) + time;
            self.queued += queue;
            self.busy + self.path.rtt + if self.now > 79 * SECOND { self.path.longer } else { 0 }
        });
        let arrival = arrival.filter(|_| self.rng.unit() >= self.path.loss);
        self.flying.push_back(Packet { sent: self.now, arrives: arrival, overtaken: 0 });
        self.sample.sent = self.sample.sent.wrapping_add(1);
        self.sample.bytes_sent += PACKET;
        let rate = (self.flow.rate() as f64).min(self.path.source * 125_000.0);
        // What the application has not is not sent, and TCP marks what is.
        self.sample.app_limited = u32::from((self.flow.rate() as f64) > self.path.source * 125_000.0);
        self.sample.next_sent += (PACKET as f64 * 1e9 * (1.0 + self.path.late) / rate) as u64;
        self.highest = self.highest.max(self.flow.rate());
    }

    /// The packet that arrives next, by its place.
    fn next_arrival(&self) -> Option<(usize, u64)> {
        // Packets keep their order.
        self.flying.iter().enumerate().find_map(|(place, packet)| packet.arrives.map(|at| (place, at)))
    }

    fn receive(&mut self, place: usize) {
        let sent = self.flying.remove(place).unwrap().sent;
        self.sample.delivered = self.sample.delivered.wrapping_add(1);
        self.delivered += 1;
        self.flying.iter_mut().take(place).for_each(|hole| hole.overtaken += 1);
        while self.flying.front().is_some_and(|packet| packet.overtaken >= self.sample.reordering) {
            self.flying.pop_front();
            self.sample.lost = self.sample.lost.wrapping_add(1);
            self.lost += 1;
        }
        self.sample.now = self.now;
        self.sample.in_flight = self.in_flight();
        self.sample.rtt = ((self.now - sent) / 1000) as u32;
        self.sample.window = self.flow.window();
        let before = self.flow.intervals();
        self.flow.on_ack(&self.sample);
        if self.flow.intervals() > before {
            self.reported.push(self.flow.loss());
        }
    }

    /// Nothing came for long: all is lost, and one packet is sent (RFC 6298 §5).
    fn time_out(&mut self) {
        self.sample.lost = self.sample.lost.wrapping_add(self.in_flight());
        self.lost += u64::from(self.in_flight());
        self.flying.clear();
        self.sample.in_flight = 0;
        self.send();
    }

    fn run(&mut self, time: u64) -> &mut Self {
        let (end, mut heard) = (self.now + time, self.now);
        while self.now < end {
            let open = self.in_flight() < self.flow.window();
            let leaves = if open { self.sample.next_sent.max(self.now) } else { u64::MAX };
            let arrival = self.next_arrival();
            let time_out = heard + (2 * self.path.rtt).max(200 * MS);
            match arrival {
                Some((place, at)) if at <= leaves && at <= time_out => {
                    (self.now, heard) = (at.max(self.now), at.max(self.now));
                    self.receive(place);
                }
                _ if leaves <= time_out => {
                    self.now = leaves;
                    self.send();
                }
                _ => {
                    (self.now, heard) = (time_out, time_out);
                    self.time_out();
                }
            }
        }
        self
    }

    /// Goodput, share lost, and mean queueing delay in ms, over the time that `run` takes from now on.
    fn measured(&mut self, time: u64) -> (f64, f64, f64) {
        (self.delivered, self.lost, self.queued) = (0, 0, 0);
        self.run(time);
        let sent = (self.delivered + self.lost).max(1) as f64;
        let mbit = self.delivered as f64 * PACKET as f64 * 8.0 / (time as f64 / 1e9) / 1e6;
        (mbit, self.lost as f64 / sent, self.queued as f64 / sent / 1e6)
    }
}

#[test]
fn a_path_is_filled_with_a_short_queue() {
    for (mbit, rtt, buffer) in
        [(100.0, 30 * MS, 250), (10.0, 100 * MS, 1000), (1000.0, 5 * MS, 400), (2.0, 30 * MS, 30)]
    {
        let mut tcp = Tcp::over(Path { mbit, rtt, buffer, ..Path::default() });
        let (goodput, loss, queue) = tcp.run(5 * SECOND).measured(10 * SECOND);
        let packet = PACKET as f64 * 8e-3 / mbit;
        assert!(goodput > 0.92 * mbit, "{mbit} Mbit/s, {} ms: {goodput}", rtt / MS);
        assert!(
            loss < 0.005 && queue < 5.0 / mbit.sqrt() + 4.0 * packet + 1.0,
            "{mbit} Mbit/s: {loss} lost, {queue} ms"
        );
    }
}

#[test]
fn a_pacer_that_is_always_a_little_late_fills_the_path_too() {
    for late in [0.01, 0.03, 0.06] {
        let mut tcp = Tcp::over(Path { mbit: 400.0, rtt: 50 * MS, buffer: 70, late, ..Path::default() });
        let (goodput, loss, _) = tcp.run(4 * SECOND).measured(4 * SECOND);
        assert!(goodput > 0.95 * 400.0 && loss < 0.02, "{late}: {goodput} Mbit/s, {loss} lost");
    }
}

#[test]
fn a_path_that_becomes_a_little_longer_is_not_taken_for_a_queue() {
    for (mbit, rtt, longer) in [(400.0, 10, 400_000), (800.0, 10, 200_000), (800.0, 10, 400_000), (800.0, 30, 400_000)]
    {
        let mut tcp = Tcp::over(Path { mbit, rtt: rtt * MS, buffer: 70, longer, ..Path::default() });
        let (goodput, loss, _) = tcp.run(8 * SECOND).measured(4 * SECOND);
        assert!(
            goodput > 0.9 * mbit && loss < 0.02,
            "{rtt} ms and {longer} ns: {goodput} of {mbit} Mbit/s, {loss} lost"
        );
    }
}

#[test]
fn random_loss_is_borne_and_a_full_queue_is_not_taken_for_it() {
    for (loss, least) in [(0.01, 0.85), (0.03, 0.8)] {
        let mut tcp = Tcp::over(Path { loss, ..Path::default() });
        let (goodput, lost, queue) = tcp.run(5 * SECOND).measured(20 * SECOND);
        assert!(goodput > least * 100.0 && queue < 3.0, "{loss}: {goodput} Mbit/s, {queue} ms");
        assert!((lost - loss).abs() < 0.01, "{lost} of {loss}");
    }
}

#[test]
fn the_loss_that_intervals_report_is_the_path_s_without_bias() {
    let mut tcp = Tcp::over(Path { loss: 0.03, ..Path::default() });
    tcp.run(5 * SECOND);
    tcp.reported.clear();
    let (_, lost, _) = tcp.measured(20 * SECOND);
    let reported = tcp.reported.iter().sum::<f64>() / tcp.reported.len() as f64;
    assert!(tcp.reported.len() > 1000 && (reported / lost - 1.0).abs() < 0.02, "{reported} of {lost}");
}

#[test]
fn a_buffer_of_six_packets_is_enough() {
    let mut tcp = Tcp::over(Path { buffer: 6, ..Path::default() });
    let (goodput, lost, _) = tcp.run(5 * SECOND).measured(20 * SECOND);
    assert!(goodput > 85.0 && lost < 0.05, "{goodput} Mbit/s, {lost} lost");
}

#[test]
fn a_path_that_was_silent_is_looked_for_anew() {
    let mut tcp = Tcp::over(Path { silent: (5 * SECOND, 7 * SECOND), ..Path::default() });
    let (before, ..) = tcp.run(3 * SECOND).measured(SECOND);
    let (after, ..) = tcp.run(4 * SECOND).measured(2 * SECOND);
    assert!(after > 0.8 * before, "{before} Mbit/s before, {after} after");
}

#[test]
fn a_source_that_has_little_does_not_make_the_rate_grow() {
    let mut tcp = Tcp::over(Path { source: 5.0, ..Path::default() });
    tcp.run(10 * SECOND);
    assert!(tcp.highest < 25 * 125_000, "{} byte/s for a source of 5 Mbit/s", tcp.highest);
}

#[test]
fn equal_events_give_equal_decisions_and_the_window_is_no_limit() {
    let run = || {
        let mut tcp = Tcp::over(Path { loss: 0.02, ..Path::default() });
        tcp.run(5 * SECOND);
        (tcp.flow.rate(), tcp.flow.window(), tcp.delivered)
    };
    let first = run();
    assert_eq!(first, run());
    let product = first.0 as f64 * 0.03 / PACKET as f64;
    assert!(f64::from(first.1) > 2.0 * product, "{} packets, of a product of {product}", first.1);
}

#[test]
fn an_rtt_by_timestamps_of_whole_milliseconds_is_not_taken_for_the_path_s() {
    let (sent, now) = (77_000_000, 77_047_400);
    for (what, taken, is_retransmitted, is_delayed, expected) in [
        ("nothing was lost", 47_400, false, false, 47_400),
        ("something sent again arrived with it", 47_000, false, false, 47_400),
        ("it was sent again: of which of both is this?", 47_000, true, false, 0),
        ("the receiver may have waited", 47_400, false, true, 0),
    ] {
        assert_eq!(read_rtt(now, sent, taken, is_retransmitted, is_delayed), expected, "{what}");
    }
    assert_eq!(read_rtt(sent, sent, 0, false, false), 0, "no time passed");
}
