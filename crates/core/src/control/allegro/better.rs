//! Decides which of two rates is better. In the paper the rate with the higher utility is better. Two rules are ours. A
//! step up must gain a share of the reward for its additional rate, or the addition is a queue. Where the utility is
//! negative, losses that chance explains count as equal.

use super::Config;
use crate::control::rate_control::Evaluate;
use crate::interval::Report;
use crate::units::Bytes;

/// How two groups of intervals are compared.
pub(super) struct Better<'a> {
    utility: Evaluate<'a>,
    /// The loss rate of both, where theirs cannot be told apart.
    pooled: Option<f64>,
    /// `None` to the paper.
    least_gain: Option<f64>,
}

impl<'a> Better<'a> {
    /// For comparing what these two groups consist of.
    pub(super) fn of(a: &Report, b: &Report, utility: Evaluate<'a>, config: &Config) -> Self {
        let pooled = worthless_loss(a, b, utility, config.loss_significance).filter(|_| !config.paper);
        Self { utility, pooled, least_gain: (!config.paper).then_some(config.least_gain) }
    }

    /// Which of two rates is worth more: +1 the higher, −1 the lower, 0 if that cannot be told.
    ///
    /// The higher one must bring at least [`Config::least_gain`] of what it would be worth if all that it adds arrived,
    /// or what it adds is a queue, and the lower one is better. Where packets are lost the queue is full or chance
    /// decides, and the lower one must be worth more.
    pub(super) fn direction(&self, high: &Report, low: &Report) -> f64 {
        let (high_worth, low_worth) = (self.worth(high), self.worth(low));
        let added = high.achieved.bytes_per_sec() / low.achieved.bytes_per_sec().max(1.0) - 1.0;
        if added <= 0.0 {
            return 0.0; // the host mixed them up
        }
        let gain = high_worth - low_worth;
        let Some(least_gain) = self.least_gain else {
            return if gain == 0.0 { 0.0 } else { gain.signum() };
        };
        let lossless = high.packets_refused() == 0 && low.packets_refused() == 0;
        let full = self.worth(&low.at_rate(1.0 + added)) - low_worth;
        if gain > (least_gain * full).max(0.0) {
            1.0
        } else if gain < 0.0 || lossless {
            -1.0
        } else {
            0.0
        }
    }

    fn worth(&self, report: &Report) -> f64 {
        worth(self.utility, report, self.pooled)
    }
}

/// The loss rate of two reports together, if the packets they lost do not tell their loss rates apart by so many standard
/// errors and the utility is negative there. Then the difference is chance, and the answer is the lower rate.
///
/// Two-proportion z-test. At a loss of 8 % the utility of 100 Mbit/s falls by some 0.4 % over a probe of 5 %,
/// and the noise of one interval is ten times that: without this rule the loss cap would never be found.
pub(super) fn worthless_loss(a: &Report, b: &Report, utility: Evaluate<'_>, errors: f64) -> Option<f64> {
    let (n_a, n_b) = (f64::from(a.packets.max(1)), f64::from(b.packets.max(1)));
    let (lost_a, lost_b) = (f64::from(a.packets_refused()), f64::from(b.packets_refused()));
    let pooled = (lost_a + lost_b) / (n_a + n_b);
    let error = (pooled * (1.0 - pooled).max(0.0) * (1.0 / n_a + 1.0 / n_b)).sqrt();
    let apart = (lost_a / n_a - lost_b / n_b).abs();
    (apart < errors * error && worth(utility, a, Some(pooled)) < 0.0).then_some(pooled)
}

/// The utility of a report, with this loss rate instead of its own if there is one.
fn worth(utility: Evaluate<'_>, report: &Report, loss: Option<f64>) -> f64 {
    let Some(loss) = loss else { return utility.of(report) };
    let lost = Bytes::new((report.sent.get() as f64 * loss) as u64);
    utility.of(&Report { lost, packets_marked: 0, ..report.clone() })
}
