use super::Scavenger;
use super::built_in::{BuiltIn, UtilityInfo};
use super::function::Utility;
use super::parameter::Parameter;
use crate::interval::Report;
use crate::units::Rate;
use core::time::Duration;

/// Proteus-H, for what needs a rate and can use more: [`super::Proteus`] below it, [`Scavenger`] from it on.
/// Source: `SIGCOMM 2020` (PCC Proteus).
///
/// It drops where it changes over; a pair of trials on both sides of it compares two functions, which makes the needed
/// rate the one that is kept.
#[derive(Clone, Copy, Debug)]
pub struct Hybrid {
    /// The rate the application needs, R; for video that of the best quality. No default.
    pub needed: Rate,
    /// From there on; what it is made of serves below.
    pub scavenger: Scavenger,
}

impl Default for Hybrid {
    /// The authors' numbers, for a law that compares what intervals measured.
    fn default() -> Self {
        let scavenger = Scavenger { d: 1500.0, jitter: Duration::from_millis(1), ..Scavenger::default() };
        Self { needed: Rate::default(), scavenger }
    }
}

impl Utility for Hybrid {
    fn evaluate(&self, report: &Report) -> f64 {
        if report.achieved < self.needed {
            self.scavenger.primary.evaluate(report)
        } else {
            self.scavenger.evaluate(report)
        }
    }

    fn name(&self) -> &str {
        Self::INFO.name
    }
}

/// The same in the language of `docs/utility.md`.
const TEXT: &str = "\
# hybrid: proteus up to the rate that is needed, scavenger beyond (SIGCOMM 2020, hybrid).
let needed = 20Mbit;
let t = 0.9;
let b = 900;
let c = 11.35;
let d = 1500;
let jitter = 1ms;
let trend = g*duration > residual;
let growth_that_counts = if(trend, max(0, g), 0);
let deviation_that_counts = if(x >= needed and (sigma >= jitter or trend), sigma, 0);
x^t - b*x*growth_that_counts - c*x*L - d*x*deviation_that_counts
";

impl BuiltIn for Hybrid {
    const INFO: UtilityInfo = UtilityInfo {
        name: "hybrid",
        summary: "Proteus-H, for video: proteus up to the rate that is needed, scavenger beyond",
        formula: "proteus where x < needed, else scavenger; needed has no default",
        unit: "(Mbit/s)^t",
        source: "SIGCOMM 2020 (PCC Proteus, hybrid)",
        traps: &[
            "it drops at the needed rate whenever the RTT varies: no theorem holds across that step",
            "beyond the needed rate it has the scavenger's traps",
        ],
        text: TEXT,
    };

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        let mut all = vec![Parameter::rate("needed", &mut self.needed)];
        all.append(&mut self.scavenger.parameters());
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;

    #[test]
    fn deviation_costs_only_beyond_the_needed_rate() {
        let hybrid = Hybrid { needed: Rate::from_mbit(100.0), ..Hybrid::default() };
        let at = |x| hybrid.evaluate(&Report { rtt_deviation: Duration::from_millis(1), ..report(x, 0.0) });
        assert!((at(99.9) - 99.9_f64.powf(0.9)).abs() < 1e-9, "{}", at(99.9));
        assert!((at(100.0) + 86.9043).abs() < 1e-4, "{}", at(100.0));
    }
}
