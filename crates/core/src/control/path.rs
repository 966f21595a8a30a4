//! The path as a control law sees it.

use crate::interval::IntervalPlan;
use crate::monitor;
use crate::units::{Bytes, Rate, Timestamp};
use core::time::Duration;

/// A probe must differ by one packet an interval to be visible, but never by more than this share of the rate.
const EPSILON_LIMIT: f64 = 0.25;
crate::shared::shared_with_c!("PATH_" [] LIMITED_HEADROOM);
/// A law's knowledge of the path when it decides.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Smoothed RTT.
    pub rtt: Duration,
    /// The queue's share of it: its excess over the smallest RTT.
    pub queue: Duration,
    /// Size of a full packet.
    pub packet: Bytes,
    /// The lengths of monitor intervals.
    pub monitor: monitor::Config,
    /// The lowest rate: a packet an RTT, or each 250 ms where that is longer.
    pub floor: Rate,
    /// The rate with which any sender may begin: the initial window in half an RTT.
    pub initial: Rate,
    /// The highest rate the user allows.
    pub ceiling: Rate,
    /// The best delivery rate of the last ten RTT or so, and of no less than the last 50 ms.
    pub delivery: Rate,
    /// The bottleneck's, where the first packets told it by how far apart they arrived: what it carries for all.
    pub capacity: Option<Rate>,
    /// When the latest packets left back to back to tell it.
    pub trains: Option<Timestamp>,
}

impl Path {
    /// `rate` within the path's limits.
    pub fn clamp(&self, rate: Rate) -> Rate {
        rate.max(self.floor).min(self.ceiling)
    }

    /// The RTT without the queue.
    pub fn base(&self) -> Duration {
        self.rtt.saturating_sub(self.queue)
    }

    /// A probe at this distance from `rate`, or as far as it takes to send a packet more in an interval of so many RTT:
    /// what it changes is to be visible. Never more than a quarter, which would be another experiment.
    pub fn visible(&self, epsilon: f64, rate: Rate, rtts: f64) -> f64 {
        let packets = (rate * self.interval(rate, rtts)).get() as f64 / self.packet.get().max(1) as f64;
        epsilon.max((1.0 / packets.max(1.0)).min(EPSILON_LIMIT))
    }

    /// How long a judged interval of so many RTT lasts at this rate.
    pub fn interval(&self, rate: Rate, rtts: f64) -> Duration {
        let plan = IntervalPlan { trial: Some(0), ..IntervalPlan::filler(rate) };
        let length = self.monitor.length(&plan, self.rtt.mul_f64(rtts), self.packet, self.rtt);
        length.min(monitor::longest_interval(self.rtt))
    }
}

/// A sender short of data keeps at most so many times what it was seen to deliver: twice, less the error of measuring
/// that over a single interval.
const LIMITED_HEADROOM: f64 = 1.9;

/// The rate to keep while it is not used: no more than twice what was seen to be delivered, for nobody knows whether
/// the path carries it; but what any sender may begin with needs no proof.
pub(super) fn within_reach(rate: Rate, path: &Path) -> Rate {
    path.clamp(rate.min((path.delivery * LIMITED_HEADROOM).max(path.initial)))
}
