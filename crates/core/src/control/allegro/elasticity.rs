//! Elasticity of the delivery rate, d ln T / d ln x, smoothed over rounds of trials. It is 1 on a path with spare
//! capacity, 1 − 1/n for one of n equal senders on a full one, and 0 for a lone sender there. The adjusting steps grow
//! by it. Not in the paper.

use crate::interval::Report;

/// Before the first round: here [`Elasticity::growth`] is the paper's in both directions.
const UNKNOWN: f64 = 0.5;
/// Weight of a round in the mean, as of a sample in the smoothed RTT (RFC 6298).
const WEIGHT: f64 = 0.125;
/// Steps grow by no less, or a lone sender would follow a path that changed too late. In simulation 0.25 does the same.
pub(super) const LEAST_GROWTH: f64 = 0.05;

#[derive(Clone, Copy, Debug)]
pub(super) struct Elasticity(pub(super) f64);

impl Default for Elasticity {
    fn default() -> Self {
        Self(UNKNOWN)
    }
}

impl Elasticity {
    pub(super) fn learn(&mut self, high: &Report, low: &Report) {
        let more = |of: fn(&Report) -> f64| of(high) / of(low).max(1.0) - 1.0;
        let added = more(|report| report.achieved.bytes_per_sec());
        if added > 0.0 {
            // A single round is mostly noise; what it may say is bounded by what is possible, with some room on each
            // side lest the mean be biased.
            let seen = (more(|report| report.throughput().bytes_per_sec()) / added).clamp(-1.0, 2.0);
            self.0 += WEIGHT * (seen - self.0);
        }
    }

    /// Growth of each step in this direction over the one before it, in units: 1 as in the paper, less for a sender
    /// whose trials showed that such steps gain little.
    ///
    /// Senders that share a bottleneck see the same sign of the gradient, and equal relative steps would keep their
    /// rates' ratio for ever. The larger one's share, the less a step up brings and the more a step down costs the
    /// queue: large senders climb slowly and yield fast, small ones the other way round.
    pub(super) fn growth(self, direction: f64) -> f64 {
        let elasticity = self.0.clamp(0.0, 1.0);
        let share = if direction > 0.0 { elasticity } else { 1.0 - elasticity };
        (2.0 * share).clamp(LEAST_GROWTH, 1.0)
    }
}
