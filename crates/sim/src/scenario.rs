//! The description of a simulation.

use crate::policer::Policer;
use crate::results::SAMPLE;
use crate::tcp::{CongestionControl, Own};
use core::fmt;
use core::time::Duration;
use pcc::rng::Rng;
use pcc::units::{Bytes, Rate};
use pcc_link::{Ecn, OneWay, Path, Queue};
use std::borrow::Cow;

/// UDP and IPv4 headers: what a datagram is longer on the wire.
pub const HEADERS: u64 = 28;

/// The controller of a flow's rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Control {
    /// PCC over a transport like QUIC, as [`Flow::config`] says.
    #[default]
    Pcc,
    /// Nobody: always this rate, headers not counted.
    Fixed(Rate),
    /// A model of Linux's TCP with `NewReno` (RFC 5681, RFC 6582), SACK and RACK.
    Reno,
    /// The same with CUBIC (RFC 9438) and `HyStart`.
    Cubic,
    /// The same with BBR as Linux has it up to 6.12: version 1.
    Bbr,
    /// A model of a scalable sender (RFC 9331), as TCP Prague is one.
    Prague,
    /// Another one over the same model: [`Control::own`].
    Own(Own),
}

impl Control {
    /// A congestion control of one's own over the model of Linux's TCP: its name, and how one of them is made for a flow.
    pub fn own<C: CongestionControl + 'static>(
        name: &'static str,
        make: impl Fn(&Flow) -> C + Send + Sync + 'static,
    ) -> Self {
        Self::Own(Own::new(name, make))
    }

    /// Whether it sends as kernel TCP does, by the model of that.
    pub const fn is_tcp(&self) -> bool {
        match self {
            Self::Reno | Self::Cubic | Self::Bbr | Self::Prague | Self::Own(_) => true,
            Self::Pcc | Self::Fixed(_) => false,
        }
    }
}

impl fmt::Display for Control {
    /// As [`Control::by_name`] reads it, or as its author calls it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pcc => "pcc",
            Self::Fixed(rate) => return rate.fmt(f),
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Prague => "prague",
            Self::Own(own) => own.name(),
        })
    }
}

/// Where the data comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// There is always more.
    Greedy,
    /// An application that makes data at this rate.
    At(Rate),
    /// This much, all there from the start.
    Volume(Bytes),
    /// A call: frames of audio and video, as draft-huitema-ccwg-c4-test has them.
    Media,
    /// There is always more for so long, then nothing for so long, and so on.
    OnOff {
        /// With data.
        on: Duration,
        /// Without.
        off: Duration,
    },
}

/// The longest that an idle host takes to attend to a packet, where the seed draws that. Such an "overhead" keeps
/// deterministic senders out of step (Floyd and Jacobson 1992, section 3.2).
pub const HOST_DELAY: Duration = Duration::from_micros(20);

/// Tells the draws of starts from the seed's other uses.
const START: u64 = 0x5354_4152_5400;

/// The longest a receiver holds an acknowledgement back (RFC 9000 §18.2).
pub(crate) const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// The same of Linux's TCP (`TCP_DELACK_MIN`).
pub(crate) const TCP_ACK_DELAY: Duration = Duration::from_millis(40);

/// How the receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acks {
    /// One acknowledgement for so many packets that come in order; `None`: for as many as the sender asks for. PCC asks as it does
    /// over QUIC (draft-ietf-quic-ack-frequency); others are told of every second packet.
    pub every: Option<u32>,
    /// The longest that one is held back for more packets.
    pub max_delay: Duration,
    /// They reach the sender only at multiples of this, as over a radio link that gathers what it sends; zero: at once.
    pub bursts: Duration,
    /// Share of them that gets lost, beyond what the path loses.
    pub loss: f64,
    /// Whether they say when they left, as those of PCC's own receivers over QUIC do.
    pub timed: bool,
}

impl Default for Acks {
    fn default() -> Self {
        Self { every: None, max_delay: MAX_ACK_DELAY, bursts: Duration::ZERO, loss: 0.0, timed: true }
    }
}

/// One sender to be simulated.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The controller of its rate.
    pub control: Control,
    /// How PCC steers it; the seed and the size of a datagram count for every flow.
    pub config: pcc::Config,
    /// Bytes of a packet on the wire beyond its datagram.
    pub headers: u64,
    /// It is a peer in PCC's place.
    pub stands_in: bool,
    /// Where its data comes from.
    pub source: Source,
    /// When it starts.
    pub start: Duration,
    /// It starts so much later at most, at a moment that the run's seed draws; zero: at `start`.
    pub start_within: Duration,
    /// When it stops, if before the end.
    pub stop: Option<Duration>,
    /// Added to the path's RTT for this flow alone.
    pub extra_rtt: Duration,
    /// The first and the last bottleneck that it crosses, counted from zero: those that there are.
    pub via: (usize, usize),
    /// Packets of PCC and of fixed rates leave anywhere within a packet's time after they are due, a millisecond at most,
    /// as those of real hosts do. Without it, flows of equal rates take turns at a full queue for ever: who comes first each time loses
    /// nothing.
    pub dither: bool,
    /// TCP spaces its packets at its window an RTT, instead of sending when acknowledgements come. BBR always does.
    pub paced: bool,
    /// The queue may mark its packets instead of dropping them, and it answers marks.
    pub ecn: bool,
    /// Its packets say ECT(1), so that a queue takes it for a scalable sender (RFC 9331).
    pub scalable: bool,
    /// Its data goes up, the way of the others' acknowledgements, and its acknowledgements come down.
    pub back: bool,
    /// Processes that never sleep beside the sender, on its processor.
    pub burners: u32,
    /// The sender attends to each acknowledgement and timer so much later at most, as the seed draws; zero: at once.
    pub host_delay: Duration,
    /// When the sender stands still, from when to when.
    pub pauses: Vec<(Duration, Duration)>,
    /// Its transport reports neither an acknowledgement nor a loss of every so-manieth packet.
    pub forgets: Option<u64>,
    /// How its receiver acknowledges.
    pub acks: Acks,
    /// Its packets reach the receiver only at multiples of this; zero: at once.
    pub bursts: Duration,
}

impl Default for Flow {
    fn default() -> Self {
        // A full packet on the wire is 1500 bytes, so that buffers count in packets as the papers' do.
        let config = pcc::Config { max_datagram_size: Bytes::new(1500 - HEADERS), ..pcc::Config::default() };
        Self {
            control: Control::Pcc,
            config,
            headers: HEADERS,
            stands_in: false,
            source: Source::Greedy,
            start: Duration::ZERO,
            start_within: Duration::ZERO,
            stop: None,
            extra_rtt: Duration::ZERO,
            via: (0, usize::MAX),
            dither: true,
            paced: false,
            ecn: false,
            scalable: false,
            back: false,
            burners: 0,
            host_delay: Duration::ZERO,
            pauses: Vec::new(),
            forgets: None,
            acks: Acks::default(),
            bursts: Duration::ZERO,
        }
    }
}

impl Flow {
    /// A flow of that control, the rest as usual: kernel TCP has segments of 1448 bytes in packets of 1500.
    pub fn of(control: Control) -> Self {
        let mut flow = Self { control, ..Self::default() };
        if flow.control.is_tcp() {
            (flow.config.max_datagram_size, flow.headers) = (Bytes::new(1448), 52);
            flow.acks.max_delay = TCP_ACK_DELAY;
        }
        if flow.control == Control::Prague {
            (flow.ecn, flow.scalable) = (true, true);
        }
        flow
    }

    /// A peer in the place of this flow of PCC.
    #[must_use]
    pub fn by(&self, control: Control) -> Self {
        self.by_one_like(&Self::of(control))
    }

    /// Another sender in the place of this flow of PCC, with the data, the times and the way of this flow. The kernel's TCP does
    /// not wait for a processor.
    #[must_use]
    pub fn by_one_like(&self, other: &Self) -> Self {
        let Self { control, config, headers, acks, scalable, ecn, paced, .. } = other.clone();
        let (acks, ecn) = (Acks { max_delay: acks.max_delay, ..self.acks }, ecn || self.ecn);
        let (burners, pauses) = if control.is_tcp() { (0, Vec::new()) } else { (self.burners, self.pauses.clone()) };
        let stands_in = true;
        Self { control, config, headers, stands_in, acks, scalable, ecn, paced, burners, pauses, ..self.clone() }
    }

    /// Whether it is PCC, or a peer in its place; all others are its company.
    pub fn is_ours(&self) -> bool {
        self.control == Control::Pcc || self.stands_in
    }

    /// The latest moment at which it may start.
    pub fn latest_start(&self) -> Duration {
        self.start + self.start_within
    }

    /// The seed draws its start within one RTT, if it draws nothing wider, and the time that its host takes for each packet.
    /// Without both, all seeds of a deterministic sender on a path without noise are one sample.
    #[must_use]
    pub fn drawn(self, rtt: Duration) -> Self {
        let within = if self.start_within.is_zero() { rtt + self.extra_rtt } else { self.start_within };
        Self { start_within: within, host_delay: HOST_DELAY, ..self }
    }

    /// How many packets it is, if it ends.
    pub(crate) fn packets(&self) -> Option<u64> {
        match self.source {
            Source::Volume(volume) => Some(volume.get().div_ceil(self.config.max_datagram_size.get().max(1))),
            _ => None,
        }
    }

    /// The word of its packets on explicit congestion notification.
    pub(crate) const fn word_on_ecn(&self) -> Ecn {
        match (self.ecn, self.scalable) {
            (false, _) => Ecn::NotCapable,
            (true, false) => Ecn::Classic,
            (true, true) => Ecn::Scalable,
        }
    }

    /// A full packet on the wire.
    pub fn packet(&self) -> Bytes {
        self.config.max_datagram_size + Bytes::new(self.headers)
    }
}

/// A simulation to run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The path that flows share.
    pub path: Path,
    /// More of them behind it, one after the other: what leaves a bottleneck comes to the next one, as far as its flow
    /// goes. Acknowledgements take the same way back.
    pub beyond: Vec<Path>,
    /// The queue discipline of each bottleneck on the way down, in place of drop-tail; then those of the paths count for the way
    /// up alone.
    pub queue: Queue,
    /// A policer before the first bottleneck.
    pub policer: Option<Policer>,
    /// The flows.
    pub flows: Vec<Flow>,
    /// The seed of the path and the hosts; each flow's own is in its configuration.
    pub seed: u64,
    /// How long all of it lasts.
    pub duration: Duration,
    /// The grain of time series.
    pub step: Duration,
}

impl Scenario {
    /// These flows over this path, through a drop-tail queue.
    pub fn new(path: Path, flows: Vec<Flow>, seed: u64, duration: Duration) -> Self {
        Self { path, beyond: Vec::new(), queue: Queue::DropTail, policer: None, flows, seed, duration, step: SAMPLE }
    }

    /// The flows, with starts that the seed drew: each flow's own, whatever the others are.
    pub(crate) fn flows_drawn(&self) -> Cow<'_, [Flow]> {
        if self.flows.iter().all(|flow| flow.start_within.is_zero()) {
            return Cow::Borrowed(&self.flows);
        }
        let drawn = |(number, flow): (u64, &Flow)| {
            let late = flow.start_within.mul_f64(Rng::new(self.seed ^ START ^ (number << 32)).unit());
            Flow { start: flow.start + late, ..flow.clone() }
        };
        (0..).zip(&self.flows).map(drawn).collect()
    }

    /// The path and those behind it, as text.
    pub fn route(&self) -> String {
        self.beyond.iter().fold(self.path.to_string(), |route, path| format!("{route}, then {path}"))
    }

    /// The links that data crosses, in their order, and the seed of each.
    pub fn ways(&self) -> Vec<(OneWay, u64)> {
        self.paths().enumerate().map(|(at, path)| (path.down.clone(), self.seed_of(at))).collect()
    }

    /// The same of the links of the way back.
    pub fn ways_back(&self) -> Vec<(OneWay, u64)> {
        self.paths().enumerate().map(|(at, path)| (path.up.clone(), self.seed_of(at))).collect()
    }

    /// All bottlenecks, in their order.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        core::iter::once(&self.path).chain(&self.beyond)
    }

    /// The first and the last that this flow goes through.
    pub(crate) fn way(&self, flow: &Flow) -> (u16, u16) {
        let there = |at: usize| u16::try_from(at.min(self.beyond.len())).unwrap_or(u16::MAX);
        let last = there(flow.via.1);
        (there(flow.via.0).min(last), last)
    }

    /// The RTT of the empty paths at time zero that this flow goes over.
    pub(crate) fn base_rtt(&self, flow: &Flow) -> Duration {
        let (first, last) = self.way(flow);
        flow.extra_rtt
            + self.paths().skip(first.into()).take(usize::from(last - first) + 1).map(Path::rtt).sum::<Duration>()
    }

    /// Of the path of that number: that of the first is the scenario's.
    pub(crate) fn seed_of(&self, path: usize) -> u64 {
        path_seed(self.seed, path)
    }
}

/// The seed of one bottleneck's path, by its place from 0: that of the first is the run's.
pub fn path_seed(seed: u64, place: usize) -> u64 {
    if place == 0 { seed } else { Rng::new(seed ^ ((place as u64) << 32)).next_u64() }
}
