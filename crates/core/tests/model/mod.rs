//! What a transport may report, rightly or wrongly, run against a sender and a small model of it.
//!
//! [`run`] panics as soon as the sender breaks a promise. The properties (`tests/properties.rs`) and the coverage-guided
//! fuzzer (`fuzz/`) both feed it, with operations that they make up and shrink in their own ways.

#![allow(unreachable_pub, reason = "included by the fuzz target too")]

use pcc::control::Law;
use pcc::interval::{LimitedBy, Report};
use pcc::observe::{Event, Observer};
use pcc::units::{Bytes, Rate, Timestamp};
use pcc::utility::NAMES;
use pcc::{Config, Pcc, utility};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// A sender's configuration.
#[derive(Clone, Debug)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub struct Setup {
    pub seed: u64,
    /// Which of [`LAWS`], and of the built-in utilities and [`EXPRESSIONS`]: any number will do.
    pub law: u8,
    pub utility: u8,
    pub max_datagram_size: Size,
    /// Bytes per second.
    pub max_rate: Option<f64>,
}

/// Laws and their variants; the last one is that which suits the utility.
pub const LAWS: [Option<&str>; 6] =
    [Some("ascent"), Some("allegro"), Some("allegro,paper"), Some("vivace"), Some("vivace,proteus"), None];

/// What people may write, sensible or not: constant, falling with the rate, not defined now and then or always, with jumps, of
/// any size, and of what only the interval before knows.
pub const EXPRESSIONS: [&str; 9] = [
    "0",
    "-x",
    "1/L",
    "log(-x)",
    "if(L < 0.02, 1e300*x, -1e300*x)",
    "(T - prev_T)/(x - prev_x)",
    "T*sigmoid(-1000*(q - 5ms)) - x*(L + marks)",
    "x^0.9 - 900*x*g - 11.35*x*L - 1500*x*sigma",
    "exp(1000*x)",
];

/// The law and the utility that two numbers choose.
fn chosen(law: u8, utility: u8) -> (Option<Law>, Arc<dyn utility::Utility>) {
    let law = LAWS[usize::from(law) % LAWS.len()].map(|written| written.parse().unwrap());
    let place = usize::from(utility) % (NAMES.len() + EXPRESSIONS.len());
    let written = match NAMES.get(place) {
        Some(&"weighted") => "weighted,share=0.5",
        Some(&"hybrid") => "hybrid,needed=20Mbit",
        Some(&"rate-limiter") => "rate-limiter,limit=20Mbit",
        Some(&name) => name,
        // Also those that are defined nowhere, which [`utility::parse`] refuses.
        None => {
            let formula: utility::Expression = EXPRESSIONS[place - NAMES.len()].parse().unwrap();
            return (law, Arc::new(formula));
        }
    };
    (law, utility::parse(written).unwrap())
}

/// Size of a datagram in bytes.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub enum Size {
    Usual,
    Small(u8),
    UpTo64K(u16),
    Any(u64),
}

/// A packet number.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub enum Packet {
    /// The n-th newest that is in flight.
    InFlight(u8),
    /// The n-th newest that was ever sent, whatever became of it.
    Sent(u8),
    /// Any number: mostly one that nobody sent.
    Any(u64),
}

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(fuzzing, derive(arbitrary::Arbitrary))]
pub enum Op {
    /// Time passes.
    Wait { micros: u32 },
    /// The clock steps back.
    StepBack { micros: u32 },
    /// The clock jumps to anywhere.
    Jump { nanos: u64 },
    /// A packet is sent; its number leaves out `skip`.
    Send { skip: u8, size: Size },
    /// A packet is sent under a number that may be used, or very far away.
    SendAs { packet: Packet, size: Size },
    /// A packet is acknowledged, maybe again.
    Ack { packet: Packet },
    /// That was all of the acknowledgement.
    EndAcks,
    /// A packet is declared lost, maybe after it was acknowledged.
    Lose { packet: Packet },
    /// All packets below this one are forgotten.
    Discard { below: Packet },
    /// So many packets of the acknowledgement arrived marked.
    Marked { packets: u32 },
    /// There is nothing to send, or it cannot be sent.
    Limited { why: u8 },
    /// The user wants something else, by the law that [`LAWS`] has at this place.
    Steer { law: u8, utility: u8 },
    /// Everything of late was lost.
    PersistentCongestion,
    /// Somebody asks for what is due.
    Timer,
    /// The time passes until the sender's own timer, exactly.
    AwaitTimer,
    /// The path's packet size changes.
    DatagramSize { size: Size },
    /// A well-behaved transport on a path of this RTT and loss sends some packets at the sender's rate.
    Transfer { packets: u8, rtt_ms: u16, lose_every: u8 },
}

/// Packet numbers this far ahead start afresh: all that was in flight is forgotten.
const MAX_GAP: u64 = 1 << 16;

/// A sender, what it should know, and the time.
struct World {
    sender: Pcc,
    audit: Arc<Audit>,
    now: Timestamp,
    /// Size of each packet in flight, and the sum: what was sent less what was acknowledged, lost or discarded.
    in_flight: BTreeMap<u64, u64>,
    /// Packets that were declared lost; they may arrive all the same.
    lost: BTreeSet<u64>,
    largest_acked: Option<u64>,
    bytes_in_flight: u64,
    /// Smallest number that was not used.
    next: u64,
    datagram: u64,
    /// Packets that transfers may still send.
    to_transfer: u32,
}

/// Runs a sender through the operations; all transfers together send at the most `to_transfer` packets.
///
/// Panics when the sender does, or as soon as it breaks a promise of its documentation.
pub fn run(setup: &Setup, ops: &[Op], to_transfer: u32) {
    let mut world = World::new(setup, to_transfer);
    world.check();
    for &op in ops {
        world.apply(op);
        world.check();
    }
}

impl World {
    fn new(setup: &Setup, to_transfer: u32) -> Self {
        let audit = Arc::new(Audit::default());
        let datagram = setup.max_datagram_size.bytes();
        let (law, utility) = chosen(setup.law, setup.utility);
        let mut config = Config { seed: setup.seed, law, utility, ..Config::default() };
        config.max_datagram_size = Bytes::new(datagram);
        config.max_rate = setup.max_rate.map(Rate::from_bytes_per_sec);
        config.observer = Some(audit.clone());
        let now = Timestamp::from_nanos(1_000_000_000);
        let sender = Pcc::new(config, now);
        Self {
            sender,
            audit,
            now,
            in_flight: BTreeMap::new(),
            lost: BTreeSet::new(),
            largest_acked: None,
            bytes_in_flight: 0,
            next: 0,
            datagram,
            to_transfer,
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Wait { micros } => self.wait(Duration::from_micros(micros.into())),
            Op::StepBack { micros } => self.now = self.now - Duration::from_micros(micros.into()),
            Op::Jump { nanos } => self.now = Timestamp::from_nanos(nanos),
            Op::Send { skip, size } => self.send(self.next.saturating_add(skip.into()), size.bytes()),
            Op::SendAs { packet, size } => self.send(self.number(packet), size.bytes()),
            Op::Ack { packet } => self.ack(self.number(packet)),
            Op::EndAcks => self.sender.on_end_acks(self.now),
            Op::Lose { packet } => self.lose(self.number(packet)),
            Op::Discard { below } => self.discard(self.number(below)),
            Op::Marked { packets } => self.sender.on_congestion_experienced(packets),
            Op::Steer { law, utility } => {
                let (law, utility) = chosen(law, utility);
                self.sender.steer(self.now, utility, law);
            }
            Op::Limited { why } => self.sender.on_limited(self.now, reason(why)),
            Op::PersistentCongestion => self.sender.on_persistent_congestion(self.now),
            Op::Timer => self.sender.on_timer(self.now),
            Op::AwaitTimer => self.await_timer(),
            Op::DatagramSize { size } => {
                self.datagram = size.bytes();
                self.sender.set_max_datagram_size(Bytes::new(self.datagram));
            }
            Op::Transfer { packets, rtt_ms, lose_every } => self.transfer(packets, rtt_ms, lose_every),
        }
    }

    fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    fn number(&self, packet: Packet) -> u64 {
        match packet {
            Packet::InFlight(nth) => self.in_flight.keys().nth_back(nth.into()).copied().unwrap_or(self.next),
            Packet::Sent(nth) => self.next.saturating_sub(nth.into()),
            Packet::Any(number) => number >> 2, // QUIC's have 62 bits
        }
    }

    fn send(&mut self, packet: u64, bytes: u64) {
        self.sender.on_packet_sent(self.now, packet, Bytes::new(bytes));
        if packet < self.next {
            return; // numbers must increase
        }
        if packet - self.next > MAX_GAP {
            self.in_flight.clear();
            self.bytes_in_flight = 0;
        }
        let bytes = bytes.min(u16::MAX.into()); // a UDP datagram holds no more
        self.in_flight.insert(packet, bytes);
        self.bytes_in_flight += bytes;
        self.next = packet + 1;
    }

    fn ack(&mut self, packet: u64) {
        self.sender.on_ack(self.now, packet);
        if self.in_flight.contains_key(&packet) || self.lost.contains(&packet) {
            self.largest_acked = self.largest_acked.max(Some(packet));
        }
        self.settle(packet);
    }

    fn lose(&mut self, packet: u64) {
        self.sender.on_loss(self.now, packet);
        if self.in_flight.contains_key(&packet) {
            self.lost.insert(packet);
        }
        self.settle(packet);
    }

    fn settle(&mut self, packet: u64) {
        self.bytes_in_flight -= self.in_flight.remove(&packet).unwrap_or(0);
    }

    fn discard(&mut self, below: u64) {
        self.sender.on_discarded(self.now, below);
        let kept = self.in_flight.split_off(&below);
        self.bytes_in_flight -= self.in_flight.values().sum::<u64>();
        self.in_flight = kept;
    }

    /// A transport sleeps until the timer and serves it: then it must not be due again at the same instant, or the
    /// transport would never sleep again.
    fn await_timer(&mut self) {
        let Some(due) = self.sender.next_timer() else { return };
        self.now = self.now.max(due);
        self.sender.on_timer(self.now);
        let again = self.sender.next_timer();
        let end_of_time = self.now == Timestamp::from_nanos(u64::MAX);
        assert!(
            end_of_time || again.is_none_or(|at| at > self.now),
            "timer served at {:?} is due again at {again:?}",
            self.now
        );
    }

    fn transfer(&mut self, packets: u8, rtt_ms: u16, lose_every: u8) {
        let rtt = Duration::from_millis(rtt_ms.into());
        let mut on_the_way: VecDeque<(Timestamp, u64)> = VecDeque::new();
        let packets = self.to_transfer.min(u32::from(packets));
        self.to_transfer -= packets;
        let (began, before, patience) = (self.now, self.audit.told(), self.patience());
        let is_awaited = !self.in_flight.is_empty();
        for n in 0..packets {
            let gap = self.sender.rate().time_for(Bytes::new(self.datagram)).min(Duration::from_secs(10));
            self.wait(gap);
            let lost = (n + 1).checked_rem(lose_every.into()) == Some(0);
            while on_the_way.front().is_some_and(|&(arrival, _)| arrival <= self.now)
                && let Some((_, packet)) = on_the_way.pop_front()
            {
                self.ack(packet);
                self.sender.on_end_acks(self.now);
            }
            let packet = self.next;
            self.send(packet, self.datagram);
            if lost {
                self.lose(packet);
            } else {
                on_the_way.push_back((self.now + rtt, packet));
            }
            self.check();
        }
        for (arrival, packet) in on_the_way {
            self.now = self.now.max(arrival);
            self.ack(packet);
            self.sender.on_end_acks(self.now);
        }
        // However its clock went and whatever was told before, a path that answers is judged; what was forgotten is waited for
        // by the RTT that was known then. A few packets close no interval, and datagrams larger than there are leave too seldom.
        let answers = packets >= 10 && lose_every != 1 && self.datagram <= u16::MAX.into();
        let patience = patience.max(self.patience()) + 4 * rtt;
        let end_of_time = self.now == Timestamp::from_nanos(u64::MAX);
        let may_wait = !answers || is_awaited || end_of_time || self.now.since(began) < patience;
        assert!(may_wait || self.audit.told() > before, "nothing was told in {patience:?} of {packets} packets");
    }

    /// So long an interval may last at the most, with all that comes before it.
    fn patience(&self) -> Duration {
        let rtt = self.sender.rtt();
        let interval = Duration::from_millis(250).max(4 * rtt.smoothed_or_assumed());
        4 * (interval + 2 * rtt.pto())
    }

    /// What holds at every moment.
    fn check(&self) {
        let sender = &self.sender;
        let rate = sender.rate().bytes_per_sec();
        assert!(rate.is_finite() && rate > 0.0, "rate {rate}");
        let packet = Bytes::new(self.datagram.clamp(1, u16::MAX.into()));
        assert!(sender.congestion_window() >= packet, "window {:?} below {packet:?}", sender.congestion_window());
        assert!(sender.send_quantum() >= packet, "train {:?} below {packet:?}", sender.send_quantum());
        // What was sent - acknowledged - lost - discarded; of that it may give up what later packets overtook long ago.
        let most: u64 = self.bytes_in_flight;
        let overtaken =
            self.largest_acked.map_or(0, |largest| self.in_flight.range(..largest).map(|(_, size)| size).sum());
        let flight = sender.bytes_in_flight();
        let right = Bytes::new(most - overtaken)..=Bytes::new(most);
        assert!(right.contains(&flight), "in flight is {flight}, and should be in {right:?}");
        if flight > Bytes::ZERO {
            assert!(sender.next_timer().is_some(), "packets are in flight and nothing would ever notice silence");
        }
        assert!(!sender.state().is_empty());
        self.audit.check();
    }
}

impl Size {
    fn bytes(self) -> u64 {
        match self {
            Self::Usual => 1200,
            Self::Small(bytes) => bytes.into(),
            Self::UpTo64K(bytes) => bytes.into(),
            Self::Any(bytes) => bytes,
        }
    }
}

const fn reason(why: u8) -> LimitedBy {
    match why % 4 {
        0 => LimitedBy::Application,
        1 => LimitedBy::ReceiverWindow,
        2 => LimitedBy::Host,
        _ => LimitedBy::Network,
    }
}

/// Listens to the sender and remembers the first thing that is wrong.
#[derive(Debug, Default)]
#[expect(clippy::disallowed_types, reason = "an observer is shared")]
struct Audit {
    seen: std::sync::Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Intervals and decisions.
    told: u64,
    last_interval: Option<u64>,
    complaint: Option<String>,
}

impl Audit {
    fn told(&self) -> u64 {
        self.seen.lock().unwrap().told
    }

    fn check(&self) {
        let complaint = self.seen.lock().unwrap().complaint.take();
        assert!(complaint.is_none(), "{}", complaint.unwrap_or_default());
    }
}

impl Observer for Audit {
    fn on_event(&self, event: &Event<'_>) {
        let mut seen = self.seen.lock().unwrap();
        seen.told += 1;
        let complaint = match event {
            Event::Interval { report, utility, .. } => {
                let repeated = seen.last_interval.is_some_and(|last| report.id <= last);
                seen.last_interval = Some(report.id);
                if repeated {
                    Some(format!("interval {} again or out of order", report.id))
                } else {
                    flaw(report, *utility)
                }
            }
            Event::Decision { rate, reason, .. } => {
                let rate = rate.bytes_per_sec();
                (!(rate.is_finite() && rate > 0.0)).then(|| format!("decided on {rate} because of {reason}"))
            }
            _ => None,
        };
        if seen.complaint.is_none() {
            seen.complaint = complaint;
        }
    }
}

/// What is wrong with a report, if anything.
fn flaw(report: &Report, utility: Option<f64>) -> Option<String> {
    let numbers = [report.loss(), report.target.mbit(), report.achieved.mbit(), report.throughput().mbit()];
    let wrong = if numbers.iter().any(|number| !number.is_finite() || *number < 0.0) {
        "a quantity is not finite or negative"
    } else if report.loss() > 1.0 || report.lost > report.sent || report.packets_lost > report.packets {
        "more was lost than sent"
    } else if report.excess_loss.is_some_and(|own| !(0.0..=report.loss()).contains(&own)) {
        "more was lost because of the rate than was lost"
    } else if report.packets == 0 {
        "nothing was sent"
    } else if report.throughput() > report.achieved * 2.0 {
        "twice as much left the path as entered it"
    } else if utility.is_some_and(|utility| !utility.is_finite()) {
        "the utility is not finite"
    } else if report.rtt_gradient.is_some_and(|gradient| !gradient.is_finite()) {
        "the RTT gradient is not finite"
    } else {
        return None;
    };
    Some(format!("{wrong}: {report:?}, utility {utility:?}"))
}
