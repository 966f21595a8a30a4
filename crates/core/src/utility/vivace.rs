use super::built_in::{BuiltIn, UtilityInfo};
use super::function::Utility;
use super::parameter::Parameter;
use crate::interval::Report;

/// x^t − b·x·max(0, g) − c·x·L: throughput with diminishing returns, less what it costs in queue and loss.
/// Source: `NSDI 2018` §3.1.
///
/// Units: x in Mbit/s, g in seconds per second; b and c are right in these units only, since x^t is not proportional
/// to x. With t < 1 any number of equal senders have exactly one stable state, and it is fair (the paper's
/// Theorem 1).
///
/// Deviates: a queue that drains is not rewarded. The paper's g may be negative, and then a sender is paid for having
/// filled the queue before; the authors' later code cuts g off at zero as well.
#[derive(Clone, Copy, Debug)]
pub struct Vivace {
    /// Exponent t of the reward. 0.9 in the paper.
    pub t: f64,
    /// Price of RTT growth. 900 in the paper: no queue with up to 1000 senders at 1 Gbit/s (Theorem 2).
    pub b: f64,
    /// Price of loss. 11.35 in the paper: random loss of 5 % is borne at 100 Mbit/s.
    pub c: f64,
}

impl Default for Vivace {
    fn default() -> Self {
        Self { t: 0.9, b: 900.0, c: 11.35 }
    }
}

impl Vivace {
    /// The function where the RTT grew like this.
    pub(super) fn with_growth(&self, report: &Report, growth: f64) -> f64 {
        let x = report.achieved.mbit();
        x.powf(self.t) - self.b * x * growth.max(0.0) - self.c * x * report.loss()
    }
}

impl Utility for Vivace {
    fn evaluate(&self, report: &Report) -> f64 {
        self.with_growth(report, report.queue_growth())
    }

    fn name(&self) -> &str {
        Self::INFO.name
    }
}

/// The same in the language of `docs/utility.md`.
const TEXT: &str = "\
# vivace: throughput with diminishing returns, less growth of the RTT and loss (NSDI 2018, section 3.1).
let t = 0.9;
let b = 900;
let c = 11.35;
x^t - b*x*max(0, g) - c*x*L
";

impl BuiltIn for Vivace {
    const INFO: UtilityInfo = UtilityInfo {
        name: "vivace",
        summary: "general purpose: high throughput, little queue and loss, fair shares",
        formula: "x^t - b*x*max(0, g) - c*x*L, with t = 0.9, b = 900, c = 11.35",
        unit: "(Mbit/s)^t",
        source: "NSDI 2018, section 3.1 (PCC Vivace)",
        traps: &[
            "the random loss it bears falls with the rate: 7.9 % at 1 Mbit/s, 5.0 % at 100 Mbit/s, 4.0 % at 1 Gbit/s",
            "growth is a switch, not a weight: 1 % of it costs nine times the rate, so noise that passes for growth decides",
            "a queue that stands still costs nothing: beside CUBIC it competes like a loss-based sender, or yields",
        ],
        text: TEXT,
    };

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        vec![
            Parameter::number("t", &mut self.t, 0.01..=1.0),
            Parameter::number("b", &mut self.b, 0.0..=1e6),
            Parameter::number("c", &mut self.c, 0.0..=1e6),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;

    #[test]
    fn vivace_meets_the_oracles_of_the_formula() {
        for (x, growth, loss, expected) in [
            (100.0, 0.0, 0.0, 63.0957),
            (100.0, 0.0, 0.05, 6.3457),
            (100.0, 0.01, 0.0, -836.9043),
            (100.0, 0.0005, 0.0, 18.0957),
            (1.0, 0.0, 0.0, 1.0),
            (1.0, 0.0, 0.05, 0.4325),
            (10.0, 0.0, 0.0, 7.9433),
            (1000.0, 0.0, 0.0, 501.1872),
            (1000.0, 0.0, 0.05, -66.3128),
        ] {
            let u = Vivace::default().evaluate(&Report { rtt_gradient: Some(growth), ..report(x, loss) });
            assert!((u - expected).abs() < 1e-4, "x = {x}, g = {growth}, L = {loss}: {u} is not {expected}");
        }
    }

    #[test]
    fn a_queue_that_drains_earns_nothing() {
        let draining = Report { rtt_gradient: Some(-0.3), ..report(100.0, 0.0) };
        assert_eq!(Vivace::default().evaluate(&draining), Vivace::default().evaluate(&report(100.0, 0.0)));
    }
}
