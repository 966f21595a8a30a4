//! What the host tells the guest to do, and what the guest answers: one JSON file each way.

use serde::{Deserialize, Serialize};

/// Bytes of a full packet on an Ethernet link, as the queues count them: 1500 and a header of 14.
pub const PACKET: u64 = 1514;
/// Payload of a full TCP packet with timestamps.
pub const TCP_PAYLOAD: u64 = 1448;
/// Payload of a full packet of `pcc perf`: a datagram of 1452 bytes less the short header, the frame's and the tag.
pub const QUIC_PAYLOAD: u64 = 1416;
/// Bytes of that packet on the link.
pub const QUIC_PACKET: u64 = 1452 + 42;

/// One run: a path, the flows on it, and its length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// The network.
    pub path: PathSpec,
    /// Who sends. Each flow has two hosts of its own.
    pub flows: Vec<FlowSpec>,
    /// Virtual length of the run. Unit: ns.
    pub duration: u64,
    /// Virtual time between samples. Unit: ns.
    pub step: u64,
    /// Decides everything that is random.
    pub seed: u64,
    /// Hash of the program that QUIC flows run: another build is another experiment. Absent without such flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

impl Spec {
    /// Whether the product itself sends in it.
    pub fn has_quic_flows(&self) -> bool {
        self.flows.iter().any(|flow| flow.algorithm.starts_with(crate::guest::quic::PREFIX))
    }
}

/// A dumbbell: a bottleneck queue, then a line that delays and loses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathSpec {
    /// Capacity, Ethernet headers included. Unit: bit/s.
    pub rate: u64,
    /// Round trip of an empty path; half of it each way. Unit: ns.
    pub rtt: u64,
    /// Size of the bottleneck's queue. Unit: bytes.
    pub buffer: u64,
    /// Share of the data packets lost at random, independent of each other.
    pub loss: f64,
    /// The same for the packets on the way back.
    pub reverse_loss: f64,
}

/// A sender of bulk data: over kernel TCP, or `pcc perf` over QUIC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowSpec {
    /// The kernel's name of the congestion control, or `quic:` and that of `pcc perf`.
    pub algorithm: String,
    /// Parallel connections.
    pub connections: u32,
    /// Unit: ns since the run began.
    pub start: u64,
    /// Unit: ns since the run began.
    pub stop: u64,
    /// Added to the path's round trip for this flow. Unit: ns.
    pub extra_rtt: u64,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Release of the guest kernel.
    pub kernel: String,
    /// The path as it really is.
    pub probe: Probe,
    /// In the order of the specification.
    pub flows: Vec<FlowOutcome>,
    /// The bottleneck's queue over time.
    pub queue: Vec<QueueSample>,
}

/// The empty path, measured with datagrams before the flows start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Smallest round trip of a small datagram. Unit: ns.
    pub rtt: u64,
    /// What comes out when 5 % more than the capacity goes in, over the second half. Unit: bit/s with all headers.
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
