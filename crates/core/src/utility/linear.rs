use super::built_in::{BuiltIn, UtilityInfo};
use super::function::Utility;
use crate::interval::Report;

/// T − x·L: goodput minus what was lost, in Mbit/s. Source: `NSDI 2015` §2.2, the paper's first step.
///
/// For teaching and for paths of one's own: n flows on one queue settle at a loss of (n−2)/(2(n−1)), which tends
/// to one half.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linear;

impl Utility for Linear {
    fn evaluate(&self, report: &Report) -> f64 {
        report.throughput().mbit() - report.achieved.mbit() * report.loss()
    }

    fn name(&self) -> &str {
        Self::INFO.name
    }
}

/// The same in the language of `docs/utility.md`.
const TEXT: &str = "\
# linear: goodput minus what was lost (NSDI 2015, section 2.2, the paper's first step).
T - x*L
";

impl BuiltIn for Linear {
    const INFO: UtilityInfo = UtilityInfo {
        name: "linear",
        summary: "goodput minus loss, to explain the idea",
        formula: "T - x*L",
        unit: "Mbit/s",
        source: "NSDI 2015, section 2.2, the paper's first step",
        traps: &["n senders on one queue settle at a loss of (n - 2)/(2(n - 1)): 25 % with three, 44 % with ten"],
        text: TEXT,
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;

    #[test]
    fn linear_is_goodput_minus_loss() {
        assert!((Linear.evaluate(&report(100.0, 0.1)) - 80.0).abs() < 1e-9);
        assert!(Linear.evaluate(&report(100.0, 0.5)).abs() < 1e-9);
    }
}
