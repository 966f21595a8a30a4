//! Where a run of steps began. Steps that got far show that the sender is far below the path, whatever ended Starting too
//! early, jitter or a busy host: then the rate is found by doubling again. Not in the paper.

use crate::interval::Report;
use crate::units::Rate;

/// Growth of the rate by steps from which on it is doubled again: the gap that Starting leaves between a good rate and
/// one that was not.
const FAR: f64 = 0.5;
/// Share of that growth that must be delivered. On a full path one of n equal senders that adds half to its rate gets
/// (n − 1)/(n + 0.5) of it, so up to five do not mistake each other's share for spare capacity.
const NEARLY_ALL: f64 = 0.75;

/// A rate that a run of steps began at, as achieved, and what it delivered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) achieved: Rate,
    pub(super) delivered: Rate,
}

impl Origin {
    pub(super) fn of(report: &Report) -> Self {
        Self { achieved: report.achieved, delivered: report.throughput() }
    }

    /// Whether the rate grew by half since, and nearly all of that was delivered: then there is no telling how much
    /// more the path has, and doubling finds it sooner than steps.
    pub(super) fn is_far_below(&self, report: &Report) -> bool {
        let grown = |now: Rate, then: Rate| now.bytes_per_sec() / then.bytes_per_sec().max(1.0) - 1.0;
        let added = grown(report.achieved, self.achieved);
        added >= FAR && grown(report.throughput(), self.delivered) >= NEARLY_ALL * added
    }
}
