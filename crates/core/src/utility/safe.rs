use super::built_in::{BuiltIn, UtilityInfo};
use super::function::Utility;
use super::parameter::Parameter;
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
    /// Share of what a growing queue keeps back that counts as goodput nevertheless. Deviates: 1 in the paper, whose T is
    /// x(1 − L); with 0 a buffer does not hide an overshoot until it is full ([`Report::throughput`]).
    pub queued: f64,
}

impl Default for Safe {
    fn default() -> Self {
        Self { steepness: 100.0, loss_cap: 0.05, queued: 0.0 }
    }
}

impl Utility for Safe {
    fn evaluate(&self, report: &Report) -> f64 {
        let (x, loss) = (report.achieved.mbit(), report.loss());
        let cut_off = 1.0 / (1.0 + (self.steepness * (loss - self.loss_cap)).exp());
        let goodput = report.throughput().mbit() * (1.0 + self.queued * report.queue_growth());
        goodput * cut_off - x * loss
    }

    /// Three times the cap: with α = 100 the reward there is e⁻¹⁰ of the goodput, and no probing step brings it back.
    fn panic_loss(&self) -> f64 {
        3.0 * self.loss_cap
    }

    fn name(&self) -> &str {
        Self::INFO.name
    }
}

/// The same in the language of `docs/utility.md`.
const TEXT: &str = "\
# safe: full reward for goodput below 5 % loss, none above (NSDI 2015, section 2.2).
let steepness = 100;
let loss_cap = 5%;
let panic_loss = 3*loss_cap;
T*sigmoid(-steepness*(L - loss_cap)) - x*L
";

impl BuiltIn for Safe {
    const INFO: UtilityInfo = UtilityInfo {
        name: "safe",
        summary: "shares a path of any kind: full reward for goodput below 5 % loss, none above",
        formula: "T*S(L - loss_cap) - x*L, S(y) = 1/(1 + exp(steepness*y)), with steepness = 100, loss_cap = 5 %",
        unit: "Mbit/s",
        source: "NSDI 2015, section 2.2 (PCC Allegro)",
        traps: &[
            "it knows nothing of queues: a deep buffer fills, if the law lets it",
            "with more than 46 senders on one queue there may be more than one stable state: set steepness to 2.2 times their number",
        ],
        text: TEXT,
    };

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        vec![
            Parameter::number("steepness", &mut self.steepness, 1e-3..=1e6),
            Parameter::number("loss_cap", &mut self.loss_cap, 1e-6..=1.0),
            Parameter::number("queued", &mut self.queued, 0.0..=1.0),
        ]
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
    fn what_growing_queue_keeps_back_is_no_goodput_except_to_paper() {
        let growing = Report { rtt_gradient: Some(0.25), ..report(100.0, 0.0) };
        let worth = |queued: f64| Safe { queued, ..Safe::default() }.evaluate(&growing);
        assert!((worth(0.0) - 0.8 * 99.3307).abs() < 1e-3 && (worth(1.0) - 99.3307).abs() < 1e-3);
    }

    #[test]
    fn safe_scales_with_the_rate_so_that_the_unit_does_not_matter() {
        let (one, thousand) =
            (Safe::default().evaluate(&report(1.0, 0.02)), Safe::default().evaluate(&report(1e3, 0.02)));
        assert!((one * 1e3 - thousand).abs() < 1e-9);
    }
}
