//! The interface of TCP's congestion controls.

use super::sample::RateSample;
use super::window::Window;
use core::time::Duration;
use pcc::units::{Rate, Timestamp};

/// An acknowledgement and what followed from it. Windows and flights are counted in segments, as Linux does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    pub(super) now: Timestamp,
    /// Newly known to have arrived.
    pub(super) acked: u64,
    /// Newly taken for lost.
    pub(super) lost: u64,
    /// Thereafter.
    pub(super) in_flight: u64,
    /// Of the packet that left last among those acknowledged.
    pub(super) rtt: Option<Duration>,
    pub(super) smoothed: Option<Duration>,
    pub(super) rate: Option<RateSample>,
    /// Since the flow began.
    pub(super) delivered: u64,
    /// The first segment that has not arrived, and the first that was never sent.
    pub(super) una: u64,
    pub(super) next: u64,
    /// Whether the window was what held the sender back.
    pub(super) window_limited: bool,
}

#[cfg(test)]
impl Acked {
    /// An acknowledgement of so many segments, to a sender that its window holds back.
    pub(super) const fn within_window(now: Timestamp, acked: u64, rtt: Duration) -> Self {
        Self {
            now,
            acked,
            lost: 0,
            in_flight: 0,
            rtt: Some(rtt),
            smoothed: None,
            rate: None,
            delivered: 0,
            una: 0,
            next: 0,
            window_limited: true,
        }
    }
}

/// What an acknowledgement tells of marks. Unit: segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub(super) acked: u64,
    /// Newly known to have arrived marked.
    pub(super) marked: u64,
    /// The first segment that has not arrived, and the first that was never sent.
    pub(super) una: u64,
    pub(super) next: u64,
}

/// A congestion control, in the manner of Linux's `tcp_congestion_ops`.
pub(super) trait Control {
    fn limits(&self) -> &Window;
    fn limits_mut(&mut self) -> &mut Window;
    /// Segments that may be in flight.
    fn window(&self) -> f64 {
        self.limits().segments
    }
    fn set_window(&mut self, window: f64) {
        self.limits_mut().segments = window.max(1.0);
    }
    /// Slow start ends at this window.
    fn threshold(&self) -> f64 {
        self.limits().threshold
    }
    fn set_threshold(&mut self, threshold: f64) {
        self.limits_mut().threshold = threshold;
    }
    /// The threshold after a loss or a mark.
    fn reduced(&mut self, event: Timestamp) -> f64;
    /// Acknowledgements while nothing is wrong. For those that answer all by themselves: every acknowledgement.
    fn on_ack(&mut self, event: &Acked, recovery: InRecovery);
    /// Whether it sets the window in recovery too.
    fn decides_alone(&self) -> bool {
        false
    }
    fn on_recovery(&mut self, _now: Timestamp) {}
    fn on_timeout(&mut self, _now: Timestamp) {}
    /// For those that answer the share of marks, before every acknowledgement.
    fn on_marks(&mut self, _: Marks) {}
    /// Every loss of an episode turned out to be none.
    fn on_undo(&mut self) {}
    /// A train is about to leave.
    fn on_sending(&mut self, _now: Timestamp, _in_flight: u64) {}
    /// How fast it spaces packets, if it does.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// Segments of the shortest train.
    fn least_train(&self) -> u64 {
        2
    }
    /// What it is doing, if recovery's own words do not tell.
    fn state(&self) -> Option<&'static str> {
        None
    }
}

/// Where recovery stands, for those that care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InRecovery {
    No,
    /// After losses found by acknowledgements.
    Fast,
    /// After a time-out.
    Timeout,
}
