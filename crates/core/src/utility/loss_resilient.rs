use super::built_in::{BuiltIn, UtilityInfo};
use super::function::Utility;
use crate::interval::Report;

/// T·(1 − L), in Mbit/s: whatever still arrives is worth sending. Source: `NSDI 2015` §4.4.2.
///
/// Only for paths where fair queueing gives each flow its own share. There the best rate is that share at any random
/// loss below one. In a queue shared with two or more such senders each gains by sending more until nearly everything
/// is lost: congestion collapse.
#[derive(Clone, Copy, Debug, Default)]
pub struct LossResilient;

impl Utility for LossResilient {
    fn evaluate(&self, report: &Report) -> f64 {
        report.throughput().mbit() * (1.0 - report.loss())
    }

    /// Loss is what it is made for.
    fn panic_loss(&self) -> f64 {
        1.0
    }

    fn name(&self) -> &str {
        Self::INFO.name
    }
}

/// The same in the language of `docs/utility.md`.
const TEXT: &str = "\
# loss-resilient: whatever arrives is worth sending; for paths with fair queueing only (NSDI 2015, section 4.4.2).
let panic_loss = 1;
T*(1 - L)
";

impl BuiltIn for LossResilient {
    const INFO: UtilityInfo = UtilityInfo {
        name: "loss-resilient",
        summary: "any loss is borne: only where fair queueing gives each flow its own share",
        formula: "T*(1 - L)",
        unit: "Mbit/s",
        source: "NSDI 2015, section 4.4.2",
        traps: &[
            "without fair queueing three or more of them raise their rates without bound: congestion collapse",
            "no loss makes it back off: `pcc` sends with it only below a --limit",
        ],
        text: TEXT,
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;

    #[test]
    fn loss_resilient_meets_the_oracle_of_the_formula() {
        assert!((LossResilient.evaluate(&report(100.0, 0.1)) - 81.0).abs() < 1e-9);
        assert!(
            (LossResilient.evaluate(&report(100.0, 0.5)) - 25.0).abs() < 1e-9,
            "still worth more than half the rate"
        );
    }
}
