//! The host's orders to the guest, and the guest's answer: one JSON file each way.

use crate::names::{BPF_ALGORITHM, MODULE_ALGORITHM, MODULE_VARIANT};
use serde::{Deserialize, Serialize};

/// Bytes of a full packet on an Ethernet link, as the queues count them: 1500 and a header of 14.
pub const PACKET: u64 = 1514;
/// Payload of a full TCP packet with timestamps.
pub const TCP_PAYLOAD: u64 = 1448;
/// Payload of a full packet of `pcc perf`: a datagram of 1452 bytes less the short header, the frame's and the tag.
pub const QUIC_PAYLOAD: u64 = 1416;
/// That datagram.
pub const QUIC_DATAGRAM: u64 = 1452;
/// Bytes of that packet on the link.
pub const QUIC_PACKET: u64 = QUIC_DATAGRAM + 42;

/// One run: a path, the flows on it, and its length. Without flows the path alone is measured, and each one behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// The network.
    pub path: PathSpec,
    /// More of them behind it, one after the other: what leaves a bottleneck comes to the next one, as far as its flow goes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub then: Vec<PathSpec>,
    /// The senders. Each flow has two hosts of its own.
    pub flows: Vec<FlowSpec>,
    /// Virtual length of the run. Unit: ns.
    pub duration: u64,
    /// Virtual time between samples. Unit: ns.
    pub step: u64,
    /// Decides everything that is random.
    pub seed: u64,
    /// The longest that a sender's host takes to attend to an acknowledgement; drawn for each. Unit: ns.
    #[serde(default, skip_serializing_if = "is_default")]
    pub host_delay: u64,
    /// The program of QUIC flows, see [`crate::program`]: where PCC sends another build is another experiment, where only its
    /// peers do another QUIC stack. Absent without such flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Hash of the kernel module that provides a congestion control of ours. Absent without such flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
}

/// For serde: fields at their defaults are left out, so that a new one does not make old results unfindable.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Spec {
    /// All bottlenecks, in their order.
    pub fn paths(&self) -> impl Iterator<Item = &PathSpec> {
        std::iter::once(&self.path).chain(&self.then)
    }

    /// The bottlenecks that a flow goes through, in their order.
    pub fn crossed(&self, flow: &FlowSpec) -> impl Iterator<Item = &PathSpec> {
        let (first, last) = self.way(flow);
        self.paths().skip(first).take(last + 1 - first)
    }

    /// The first and the last bottleneck that a flow goes through, from 0.
    pub fn way(&self, flow: &FlowSpec) -> (usize, usize) {
        let (first, last) = flow.via.unwrap_or((0, self.then.len()));
        let last = last.min(self.then.len());
        (first.min(last), last)
    }

    /// The bottlenecks of a flow's way as one path, before anything changes: the rate of the narrowest, RTT and waits of all.
    pub(crate) fn route(&self, flow: &FlowSpec) -> PathSpec {
        let whole = |one: PathSpec, next: &PathSpec| PathSpec {
            rate: one.rate.min(next.rate),
            rtt: one.rtt + next.rtt,
            buffer: one.buffer + next.buffer,
            jitter: one.waits()[0] + next.waits()[0],
            reverse_jitter: one.waits()[1] + next.waits()[1],
            ..one
        };
        let mut crossed = self.crossed(flow);
        let first = crossed.next().unwrap_or(&self.path).clone();
        crossed.fold(first, whole)
    }

    /// Whether the product itself sends in it.
    pub fn has_quic_flows(&self) -> bool {
        self.flows.iter().any(|flow| flow.algorithm.starts_with(crate::names::QUIC))
    }

    /// Whether PCC sends in it over QUIC.
    pub fn has_pcc_flows(&self) -> bool {
        self.flows.iter().any(|flow| flow.algorithm == crate::names::QUIC_PCC)
    }

    /// Whether a congestion control sends in it that a kernel module provides.
    pub fn has_module_flows(&self) -> bool {
        self.flows.iter().any(FlowSpec::is_the_modules)
    }

    /// Whether the module's flows have TCP's own trains, as those of the BPF program.
    pub(crate) fn has_trains_of_tcp(&self) -> bool {
        self.flows.iter().any(|flow| flow.algorithm == BPF_ALGORITHM)
    }

    /// The utility of those of its flows whose is not the module's default.
    pub(crate) fn module_variant(&self) -> Option<&str> {
        self.flows.iter().find_map(FlowSpec::module_variant)
    }
}

impl FlowSpec {
    /// The kernel's name of what controls it, of a flow of kernel TCP.
    pub(crate) fn congestion_control(&self) -> &str {
        match self.module_variant() {
            Some(_) => MODULE_VARIANT,
            None if self.is_the_modules() => MODULE_ALGORITHM,
            None => &self.algorithm,
        }
    }

    /// Whether a kernel module's congestion control sends.
    pub(crate) fn is_the_modules(&self) -> bool {
        [MODULE_ALGORITHM, BPF_ALGORITHM].contains(&self.algorithm.as_str())
    }

    /// The utility of a flow that the module sends, if it is not the default.
    pub(crate) fn module_variant(&self) -> Option<&str> {
        self.utility.as_deref().filter(|_| self.is_the_modules())
    }
}

/// A dumbbell: a bottleneck queue, then a line that delays and loses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathSpec {
    /// Capacity, Ethernet headers included. Unit: bit/s.
    pub rate: u64,
    /// Round trip of an empty path; half of it each way. Unit: ns.
    pub rtt: u64,
    /// Size of the bottleneck's queue (of each flow's with [`Queue::Fair`]). Unit: bytes.
    pub buffer: u64,
    /// Share of the data packets lost at random, independent of each other.
    pub loss: f64,
    /// The same for the packets on the way back.
    pub reverse_loss: f64,
    /// The bottleneck's queue discipline.
    #[serde(default, skip_serializing_if = "is_default")]
    pub queue: Queue,
    /// Bytes that the bottleneck lets pass at once after a pause, more than a packet: with a buffer of a packet it is a
    /// policer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub burst: u64,
    /// Longest time that a packet waits on the line for others to leave together with. Unit: ns.
    #[serde(default, skip_serializing_if = "is_default")]
    pub jitter: u64,
    /// The same for the packets on the way back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reverse_jitter: u64,
    /// Share of the data packets that overtake those sent up to an eighth of a round trip before them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reorder: f64,
    /// By how much each data packet is late, drawn for each.
    #[serde(default, skip_serializing_if = "is_default")]
    pub late: Late,
    /// The same for the packets on the way back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reverse_late: Late,
    /// How losses of data packets follow each other, if they depend on each other: `loss` is their mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_chain: Option<LossChain>,
    /// The same for the packets on the way back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_loss_chain: Option<LossChain>,
    /// Whether the queue marks packets (ECN) before it drops any.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ecn: bool,
    /// The changes during the run, in the order of time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub changes: Vec<Change>,
}

/// A queue discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// First in, first out; what does not fit is dropped.
    #[default]
    #[serde(rename = "droptail")]
    DropTail,
    /// A drop-tail queue of the whole buffer for each flow, served in turn.
    #[serde(rename = "fq")]
    Fair,
    /// CoDel (RFC 8289) with its default parameters.
    Codel,
    /// CoDel for each flow, served in turn (RFC 8290).
    FqCodel,
    /// Flows are hashed into queues of 127 packets, served in turn.
    Sfq,
    /// CAKE with one tin and fairness between flows. It is its own shaper.
    Cake,
}

/// Packets that wait of one flow behind [`Queue::Sfq`], at most: Linux's default.
pub(crate) const SFQ_DEPTH: u64 = 127;

impl Queue {
    /// Whether all packets wait in one line, so that its length tells how long each of them waits.
    pub(crate) const fn is_shared(self) -> bool {
        matches!(self, Self::DropTail | Self::Codel)
    }

    /// Whether a flow's queue grows to its limit if the flow answers nothing.
    pub(crate) const fn is_passive(self) -> bool {
        matches!(self, Self::DropTail | Self::Fair | Self::Sfq)
    }
}

/// Random delays of single packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Late {
    /// Each is late by a time between none and this. Unit: ns.
    #[serde(default, skip_serializing_if = "is_default")]
    pub jitter: u64,
    /// Mean delay of a contended Wi-Fi channel, as [`pcc_link::Conditions::wifi`] has it. Unit: ns.
    #[serde(default, skip_serializing_if = "is_default")]
    pub wifi: u64,
    /// Whether a packet may overtake earlier ones.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reorders: bool,
}

/// Wi-Fi's delay of one of ten thousand packets that are sent again. Unit: ns.
const LATE_BY_WIFI: u64 = 240_000_000;

impl Late {
    /// The longest delay, nearly; none without random delays. Unit: ns.
    pub(crate) const fn longest(self) -> u64 {
        self.jitter + if self.wifi > 0 { LATE_BY_WIFI } else { 0 }
    }
}

/// The chain of the Gilbert-Elliott model, as [`pcc_link::GilbertElliott`] has it. All four are probabilities a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LossChain {
    /// From the good state to the bad one.
    pub to_bad: f64,
    /// From the bad state to the good one.
    pub to_good: f64,
    /// Loss in the good state.
    pub loss_good: f64,
    /// Loss in the bad state.
    pub loss_bad: f64,
}

/// The path becomes another one. Absent properties stay as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// When. Unit: ns since the run began.
    pub at: u64,
    /// Unit: bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// Unit: ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<u64>,
    /// Share of the data packets; 1 is a black-out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// Share of the packets on the way back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_loss: Option<f64>,
}

/// A stretch of time in which the path stays as it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Unit: ns since the run began.
    pub from: u64,
    /// Unit: ns since the run began.
    pub to: u64,
    /// Unit: bit/s.
    pub rate: u64,
    /// Unit: ns.
    pub rtt: u64,
    /// Share of the data packets lost at random.
    pub loss: f64,
    /// Share of the packets on the way back lost at random.
    pub reverse_loss: f64,
}

impl PathSpec {
    /// The longest that a data packet waits on the line beside its delay, and one on the way back. Unit: ns.
    pub(crate) fn waits(&self) -> [u64; 2] {
        [self.jitter.max(self.late.longest()), self.reverse_jitter.max(self.reverse_late.longest())]
    }

    /// The path over the time `from` to `to`, stretch by stretch.
    pub fn segments(&self, from: u64, to: u64) -> Vec<Segment> {
        let (rate, rtt, loss, reverse_loss) = (self.rate, self.rtt, self.loss, self.reverse_loss);
        let mut now = Segment { from: 0, to: 0, rate, rtt, loss, reverse_loss };
        let mut all = Vec::new();
        let mut close = |segment: Segment, end: u64| {
            let clipped = Segment { from: segment.from.max(from), to: end.min(to), ..segment };
            if clipped.from < clipped.to {
                all.push(clipped);
            }
        };
        for change in &self.changes {
            close(now, change.at);
            now.from = change.at;
            now.rate = change.rate.unwrap_or(now.rate);
            now.rtt = change.rtt.unwrap_or(now.rtt);
            now.loss = change.loss.unwrap_or(now.loss);
            now.reverse_loss = change.reverse_loss.unwrap_or(now.reverse_loss);
        }
        close(now, to);
        all
    }
}

/// A sender: of bulk data, of so many bytes, or of one short flow after the other; over kernel TCP, with `pcc perf`
/// over QUIC, or a program of the user's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowSpec {
    /// The kernel's name of the congestion control, `quic:` and that of `pcc perf`, or `app`.
    pub algorithm: String,
    /// Parallel connections.
    pub connections: u32,
    /// Unit: ns since the run began.
    pub start: u64,
    /// Unit: ns since the run began.
    pub stop: u64,
    /// Added to the path's round trip for this flow. Unit: ns.
    pub extra_rtt: u64,
    /// The first and the last bottleneck that it goes through, from 0; all of them without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<(usize, usize)>,
    /// The `[[flow]]` table it comes from, from 0: the flows of the first one are judged.
    #[serde(default, skip_serializing_if = "is_default")]
    pub table: u32,
    /// Kernel TCP with its own pacing at cwnd/RTT, packet by packet.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paced: bool,
    /// PCC's utility function, if not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utility: Option<String>,
    /// Parameters of PCC's control law, as [`pcc::control::Law`] reads them, if not the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub law: Option<String>,
    /// Ends when so much has arrived. Unit: bytes of payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The application has no more to send than this. Unit: bit/s of payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// Short flows: a new connection for `size` bytes at each of these moments. Unit: ns since the run began.
    #[serde(default, skip_serializing_if = "is_default")]
    pub arrivals: Vec<u64>,
    /// From when to when its sender's processes stand still, since their host is busy. Unit: ns since the run began.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pauses: Vec<(u64, u64)>,
    /// The program of an `app` flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<App>,
}

/// Commands of a program under test, for `sh -c` in the flow's two hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct App {
    /// Run in the sender's host.
    pub client: String,
    /// Run in the receiver's host before, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

/// The measurements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Release of the guest kernel.
    pub kernel: String,
    /// The path as it really is.
    pub probe: Probe,
    /// In the order of the specification.
    pub flows: Vec<FlowOutcome>,
    /// The bottleneck's queue over time.
    pub queue: Vec<QueueSample>,
    /// How long a packet waits at all bottlenecks, at moments evenly over the run, where all wait in one line. Unit: µs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub delays: Vec<u32>,
    /// The path over time, as the queues were told: all of it at 0, then what became different.
    #[serde(default, skip_serializing_if = "is_default")]
    pub changes: Vec<Change>,
    /// The same of the bottlenecks behind the first one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub then: Vec<Bottleneck>,
    /// Why this run tells nothing of the algorithm, with the figures: its own hosts held a flow of kernel TCP back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<String>,
}

/// A bottleneck as it really was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bottleneck {
    /// The measurement of it alone, in a run without flows.
    pub probe: Probe,
    /// Its queue over time.
    pub queue: Vec<QueueSample>,
    /// Its path over time, as the queues were told: all of it at 0, then what became different.
    pub changes: Vec<Change>,
}

/// The empty path, measured with datagrams before the flows start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Smallest round trip of a small datagram. Unit: ns.
    pub rtt: u64,
    /// The rate that comes out when 5 % more than the capacity goes in, over the second half. Unit: bit/s with all headers.
    pub rate: u64,
    /// The longest delay the queue added then. Unit: ns.
    pub queue_delay: u64,
    /// Full packets sent at half the capacity, to count losses.
    pub sent: u64,
    /// How many of them did not arrive.
    pub lost: u64,
    /// Packets sent the other way.
    pub reverse_sent: u64,
    /// How many of those did not arrive.
    pub reverse_lost: u64,
    /// Full packets that arrived before one that was sent earlier.
    #[serde(default, skip_serializing_if = "is_default")]
    pub early: u64,
}

/// One flow, all its connections together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowOutcome {
    /// From the flow's start on; the first one is all zeros.
    pub samples: Vec<FlowSample>,
    /// How long the receiver's window held the sender back, summed over connections. Unit: µs.
    pub rwnd_limited: u64,
    /// How long the send buffer did. Unit: µs.
    pub sndbuf_limited: u64,
    /// How long there was something to send. Unit: µs.
    pub busy: u64,
    /// When the last byte of `size` arrived; absent while it has not. Unit: ns since the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<u64>,
    /// Short flows that came to their end.
    #[serde(default, skip_serializing_if = "is_default")]
    pub completions: Vec<Completion>,
    /// PCC's measurements and decisions, thinned for a plot.
    #[serde(default, skip_serializing_if = "is_default")]
    pub intervals: Vec<MonitorInterval>,
}

/// A short flow from its first packet, that of the handshake, to the arrival of its last byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// Unit: ns since the run began.
    pub start: u64,
    /// Unit: ns since the run began.
    pub finish: u64,
    /// Payload.
    pub bytes: u64,
}

/// A monitor interval of PCC when it was resolved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MonitorInterval {
    /// Unit: ns since the run began.
    pub at: u64,
    /// The rate that was tried. Unit: bit/s.
    pub target_rate: f64,
    /// The rate that arrived. Unit: bit/s.
    pub delivered_rate: f64,
    /// Share of its packets that were lost.
    pub loss: f64,
    /// Mean round trip of its packets. Unit: µs.
    pub rtt: u32,
    /// Its utility; absent if it was not judged.
    pub utility: Option<f64>,
    /// State of the rate control.
    pub state: String,
    /// The limit of the sender: nothing else than the rate, the application, or a window.
    pub limited_by: String,
}

/// A flow at one moment. Counters are totals since the flow's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowSample {
    /// Unit: ns since the run began.
    pub at: u64,
    /// Bytes of payload the receiver has in order.
    pub delivered: u64,
    /// Bytes put on the wire, repetitions included: TCP's payload, QUIC's datagrams.
    pub sent: u64,
    /// Bytes of payload sent more than once; for QUIC the datagrams declared lost.
    pub retransmitted: u64,
    /// Smoothed round trip, averaged over connections. Unit: µs.
    pub rtt: u32,
    /// Window, summed over connections. Unit: segments or datagrams.
    pub cwnd: u32,
    /// The kernel's recovery state of the first connection: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub state: u8,
    /// The base rate of a PCC sender, which it also has while nothing is acknowledged. Unit: bit/s.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rate: u64,
}

/// The bottleneck's queue at one moment. Counters are totals since the probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueSample {
    /// Unit: ns since the run began.
    pub at: u64,
    /// Bytes that left it.
    pub bytes: u64,
    /// Packets it dropped.
    pub drops: u32,
    /// Bytes in it.
    pub backlog: u32,
}
