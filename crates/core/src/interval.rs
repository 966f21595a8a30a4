//! The monitor interval: a run of packets sent at one target rate and judged together, and the [`Report`] on it.

use crate::units::{Bytes, Rate, Timestamp};
use core::time::Duration;

/// What kept a monitor interval from achieving more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LimitedBy {
    /// The rate that PCC chose, and so the path: the normal case.
    Network,
    /// The application had nothing to send.
    Application,
    /// The receiver's flow-control window was full.
    ReceiverWindow,
    /// This host could not send as fast as asked: CPU, timer or socket buffer.
    Host,
}

impl LimitedBy {
    /// The word used in traces and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Application => "application",
            Self::ReceiverWindow => "receiver window",
            Self::Host => "host",
        }
    }
}

/// What one monitor interval achieved. Source: `NSDI 2015` §3.1 for the quantities, `NSDI 2018` §4 for the gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Serial number of the interval in its connection.
    pub id: u64,
    /// When its first packet was sent.
    pub started: Timestamp,
    /// Send duration D: from the first packet to the last, plus the time of one packet at the target rate, so that
    /// n packets span n gaps.
    pub duration: Duration,
    /// The rate that was asked for (x).
    pub target: Rate,
    /// The rate at which packets really left (x̂).
    pub achieved: Rate,
    /// Packets sent in the interval.
    pub packets: u32,
    /// Packets of it declared lost.
    pub packets_lost: u32,
    /// Bytes sent in the interval.
    pub sent: Bytes,
    /// Bytes of it declared lost.
    pub lost: Bytes,
    /// Mean RTT of its packets; `None` if no packet gave a sample.
    pub rtt: Option<Duration>,
    /// Least-squares slope of RTT against send time, in seconds per second; `None` with fewer than two samples.
    pub rtt_gradient: Option<f64>,
    /// Root mean square of the RTT samples around that slope; zero without a slope.
    pub rtt_residual: Duration,
    /// Standard deviation of the RTT samples.
    pub rtt_deviation: Duration,
    /// The sender could not keep up the target for want of data, window or host speed: no evidence about the rate.
    pub app_limited: bool,
    /// Some packets were never reported on and count as lost, for this interval only.
    pub timed_out: bool,
    /// What kept the interval from achieving more.
    pub limited_by: LimitedBy,
}

impl Report {
    /// Loss rate L: bytes lost by bytes sent, 0 to 1.
    pub fn loss(&self) -> f64 {
        if self.sent == Bytes::ZERO { 0.0 } else { self.lost.get() as f64 / self.sent.get() as f64 }
    }

    /// Goodput T: the part of the achieved rate that arrived.
    pub fn throughput(&self) -> Rate {
        self.achieved * (1.0 - self.loss())
    }
}
