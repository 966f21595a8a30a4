use super::Vivace;
use super::built_in::{BuiltIn, UtilityInfo};
use super::function::Utility;
use super::parameter::Parameter;
use crate::interval::Report;

/// x^t − c·x·L: [`Vivace`] without a price for queues, for paths on which the RTT says nothing.
/// Source: `NSDI 2018` §3.1 with b = 0, there called Vivace-Loss.
///
/// Units: x in Mbit/s; c is right in this unit only.
#[derive(Clone, Copy, Debug)]
pub struct VivaceLoss {
    /// Exponent t of the reward. 0.9 in the paper.
    pub t: f64,
    /// Price of loss. 11.35 in the paper.
    pub c: f64,
}

impl Default for VivaceLoss {
    fn default() -> Self {
        let Vivace { t, c, .. } = Vivace::default();
        Self { t, c }
    }
}

impl Utility for VivaceLoss {
    fn evaluate(&self, report: &Report) -> f64 {
        Vivace { t: self.t, b: 0.0, c: self.c }.with_growth(report, 0.0)
    }

    fn name(&self) -> &str {
        Self::INFO.name
    }
}

/// The same in the language of `docs/utility.md`.
const TEXT: &str = "\
# vivace-loss: vivace without a price for queues (NSDI 2018, section 3.1, b = 0).
let t = 0.9;
let c = 11.35;
x^t - c*x*L
";

impl BuiltIn for VivaceLoss {
    const INFO: UtilityInfo = UtilityInfo {
        name: "vivace-loss",
        summary: "like vivace, but queues cost nothing: for paths whose RTT says nothing",
        formula: "x^t - c*x*L, with t = 0.9, c = 11.35",
        unit: "(Mbit/s)^t",
        source: "NSDI 2018, section 3.1 with b = 0 (Vivace-Loss)",
        traps: &[
            "it fills any buffer: only loss stops it",
            "the random loss it bears falls with the rate, as with vivace, and n senders lose nearly as much: 4.8 % with 100",
        ],
        text: TEXT,
    };

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        vec![Parameter::number("t", &mut self.t, 0.01..=1.0), Parameter::number("c", &mut self.c, 0.0..=1e6)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;

    #[test]
    fn loss_costs_what_it_costs_vivace_and_growth_costs_nothing() {
        for (x, growth, loss, expected) in
            [(100.0, 0.0, 0.05, 6.3457), (100.0, 0.5, 0.05, 6.3457), (1000.0, 0.0, 0.05, -66.3128)]
        {
            let u = VivaceLoss::default().evaluate(&Report { rtt_gradient: Some(growth), ..report(x, loss) });
            assert!((u - expected).abs() < 1e-4, "x = {x}, g = {growth}, L = {loss}: {u} is not {expected}");
        }
    }
}
