//! The interface of TCP's congestion controls.

use super::sample::RateSample;
use super::window::Window;
use core::time::Duration;
use pcc::units::{Rate, Timestamp};

/// An acknowledgement and what followed from it. Windows and flights are counted in segments, as Linux does.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// When it came.
    pub now: Timestamp,
    /// Newly known to have arrived.
    pub acked: u64,
    /// Newly taken for lost.
    pub lost: u64,
    /// In flight thereafter.
    pub in_flight: u64,
    /// RTT of the packet that left last among those acknowledged.
    pub rtt: Option<Duration>,
    /// Smoothed RTT (RFC 6298).
    pub smoothed: Option<Duration>,
    /// How fast segments were delivered.
    pub rate: Option<RateSample>,
    /// Delivered since the flow began.
    pub delivered: u64,
    /// The first segment that has not arrived.
    pub una: u64,
    /// The first segment that was never sent.
    pub next: u64,
    /// Whether the window was what held the sender back.
    pub window_limited: bool,
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

/// The marks that an acknowledgement tells of. Unit: segments.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// Newly known to have arrived.
    pub acked: u64,
    /// Newly known to have arrived marked.
    pub marked: u64,
    /// The first segment that has not arrived.
    pub una: u64,
    /// The first segment that was never sent.
    pub next: u64,
}

/// A congestion control, in the manner of Linux's `tcp_congestion_ops`: Reno, CUBIC, BBR and Prague of the simulator are some.
///
/// Losses are found, repaired and answered by the transport, which all of them share. A control that only says how its window
/// grows and to what a loss reduces it is complete. Another sets its window and its pacing rate by itself at each
/// acknowledgement, as BBR does: see [`Self::decides_alone`].
pub trait CongestionControl {
    /// The window, and the threshold of slow start.
    fn limits(&self) -> &Window;

    /// The same, to be changed.
    fn limits_mut(&mut self) -> &mut Window;

    /// Segments that may be in flight.
    fn window(&self) -> f64 {
        self.limits().segments
    }

    /// The transport sets it in recovery, after a time-out, and when a loss turned out to be none.
    fn set_window(&mut self, window: f64) {
        self.limits_mut().segments = window.max(1.0);
    }

    /// Slow start ends at this window.
    fn threshold(&self) -> f64 {
        self.limits().threshold
    }

    /// The transport sets it to [`Self::reduced`] after a loss or a mark.
    fn set_threshold(&mut self, threshold: f64) {
        self.limits_mut().threshold = threshold;
    }

    /// The threshold after a loss or a mark: once for each round trip with losses. Unit: segments.
    fn reduced(&mut self, now: Timestamp) -> f64;

    /// Acknowledgements while nothing is wrong and the window is what limits. For those that decide alone: every
    /// acknowledgement.
    fn on_ack(&mut self, event: &Acked, recovery: InRecovery);

    /// Whether it sets the window in recovery too. Otherwise the transport reduces it to the threshold (RFC 6937).
    fn decides_alone(&self) -> bool {
        false
    }

    /// Recovery begins; the threshold is reduced.
    fn on_recovery(&mut self, _now: Timestamp) {}

    /// Nothing was heard for too long, and the window will be what is in flight and one segment.
    fn on_timeout(&mut self, _now: Timestamp) {}

    /// For those that decide alone and answer the share of marks, before every acknowledgement.
    fn on_marks(&mut self, _: Marks) {}

    /// Every loss of an episode turned out to be none.
    fn on_undo(&mut self) {}

    /// A train is about to leave, with so many segments in flight.
    fn on_sending(&mut self, _now: Timestamp, _in_flight: u64) {}

    /// Whether its segments are spaced: at [`Self::pacing_rate`], or else at a window each RTT.
    fn is_paced(&self) -> bool {
        false
    }

    /// How fast it spaces segments, where it knows better than by its window.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Segments of the shortest train.
    fn least_train(&self) -> u64 {
        2
    }

    /// The name of its state, if recovery's own words do not tell.
    fn state(&self) -> Option<&'static str> {
        None
    }
}

/// Where recovery stands, for those that care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InRecovery {
    /// No losses are being repaired.
    No,
    /// After losses found by acknowledgements.
    Fast,
    /// After a time-out.
    Timeout,
}
