use super::Utility;
use crate::interval::Report;

/// The safe utility T·S(L − 0.05) − x·L, in Mbit/s: full reward for goodput below 5 % loss, none above.
/// Source: `NSDI 2015` §2.2.
///
/// S(y) = 1/(1 + e^(αy)) falls with y. With α ≥ max(2.2(n−1), 100) the n flows of a shared drop-tail queue have
/// exactly one stable state, and it is fair (the paper's Theorem 1), with less than 5 % loss.
#[derive(Clone, Copy, Debug)]
pub struct Safe {
    /// Steepness α of the cut-off. 100 is the paper's value and serves up to 46 flows.
    pub steepness: f64,
    /// The loss rate at which the reward is halved; 0.05 in the paper.
    pub loss_cap: f64,
}

impl Default for Safe {
    fn default() -> Self {
        Self { steepness: 100.0, loss_cap: 0.05 }
    }
}

impl Utility for Safe {
    fn evaluate(&self, report: &Report) -> f64 {
        let (x, loss) = (report.achieved.mbit(), report.loss());
        let cut_off = 1.0 / (1.0 + (self.steepness * (loss - self.loss_cap)).exp());
        report.throughput().mbit() * cut_off - x * loss
    }

    /// Three times the cap: with α = 100 the reward there is e⁻¹⁰ of the goodput, and no probing step brings it back.
    fn panic_loss(&self) -> f64 {
        3.0 * self.loss_cap
    }

    fn name(&self) -> &'static str {
        "safe"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;

    #[test]
    fn safe_meets_the_oracles_of_the_formula() {
        for (loss, expected) in
            [(0.0, 99.3307), (0.01, 96.2194), (0.03, 82.4373), (0.05, 42.5), (0.08, -3.6368), (0.10, -9.3976)]
        {
            let u = Safe::default().evaluate(&report(100.0, loss));
            assert!((u - expected).abs() < 1e-4, "L = {loss}: {u} is not {expected}");
        }
    }

    #[test]
    fn safe_scales_with_the_rate_so_that_the_unit_does_not_matter() {
        let (one, thousand) =
            (Safe::default().evaluate(&report(1.0, 0.02)), Safe::default().evaluate(&report(1e3, 0.02)));
        assert!((one * 1e3 - thousand).abs() < 1e-9);
    }
}
