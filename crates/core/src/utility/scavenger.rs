use super::Proteus;
use super::built_in::{BuiltIn, UtilityInfo};
use super::function::Utility;
use super::parameter::Parameter;
use super::proteus::exceeds_noise;
use crate::interval::Report;
use core::time::Duration;

/// Proteus-S, for what can wait: [`Proteus`] less d·x·σ. Others make the RTT vary before they fill a queue or lose
/// packets, and this function yields by then. Source: `SIGCOMM 2020` (PCC Proteus), d from the authors' code.
///
/// Units: σ, the standard deviation of the interval's RTT samples, in s; d per s.
///
/// Deviates: the authors learn from earlier intervals what deviation is usual on a path. A report is one interval:
/// here a deviation counts from a fixed size on, or where growth explains it. In the authors' code that is 1 ms, and d is
/// 1500 a second: made for what an interval measures, our own swings and the path's jitter among it. Ascent foresees what
/// others do to the queue, and a sender beside whom they keep it short would never hear of them: so a tenth counts, and ten
/// times as much.
#[derive(Clone, Copy, Debug)]
pub struct Scavenger {
    /// The utility of a primary sender.
    pub primary: Proteus,
    /// Price of RTT deviation, per second.
    pub d: f64,
    /// A deviation below this is the path's own.
    pub jitter: Duration,
}

impl Default for Scavenger {
    fn default() -> Self {
        Self { primary: Proteus::default(), d: 15_000.0, jitter: Duration::from_micros(100) }
    }
}

impl Scavenger {
    /// σ*, the deviation that counts. Unit: s.
    pub(super) fn deviation(report: &Report, jitter: Duration) -> f64 {
        let counts = report.rtt_deviation >= jitter || exceeds_noise(report);
        if counts { report.rtt_deviation.as_secs_f64() } else { 0.0 }
    }
}

impl Utility for Scavenger {
    fn evaluate(&self, report: &Report) -> f64 {
        let deviation = Self::deviation(report, self.jitter);
        self.primary.evaluate(report) - self.d * report.achieved.mbit() * deviation
    }

    /// A queue makes the RTT deviate.
    fn prices_queue(&self) -> bool {
        true
    }

    fn name(&self) -> &str {
        Self::INFO.name
    }
}

/// The same in the language of `docs/utility.md`.
const TEXT: &str = "\
# scavenger: proteus that yields where the RTT varies (SIGCOMM 2020, scavenger).
let t = 0.9;
let b = 900;
let c = 11.35;
let d = 15000;
let jitter = 0.1ms;
let trend = g*duration > residual;
let growth_that_counts = if(trend, max(0, g), 0);
let deviation_that_counts = if(sigma >= jitter or trend, sigma, 0);
x^t - b*x*growth_that_counts - c*x*L - d*x*deviation_that_counts
";

impl BuiltIn for Scavenger {
    const INFO: UtilityInfo = UtilityInfo {
        name: "scavenger",
        summary: "Proteus-S, for what can wait: yields as soon as others make the RTT vary",
        formula: "proteus - d*x*sigma*; sigma* is sigma where sigma >= jitter or growth counts, else 0; d = 15000, jitter = 0.1ms",
        unit: "(Mbit/s)^t",
        source: "SIGCOMM 2020 (PCC Proteus, scavenger); d*jitter as in the authors' code",
        traps: &[
            "on a busy host, or a slow path with jitter, it yields to nobody: set jitter above that, jitter=10ms",
            "with a law that does not foresee the queue (vivace) d=1500,jitter=1ms, as in the authors' code, uses more of a path",
            "several of them need not share fairly: no theorem covers the deviation",
        ],
        text: TEXT,
    };

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        let mut all = self.primary.parameters();
        all.push(Parameter::number("d", &mut self.d, 0.0..=1e9));
        all.push(Parameter::time("jitter", &mut self.jitter));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;

    fn with_deviation(micros: u64) -> f64 {
        let rtt_deviation = Duration::from_micros(micros);
        Scavenger::default().evaluate(&Report { rtt_deviation, ..report(100.0, 0.0) })
    }

    #[test]
    fn a_deviation_of_a_tenth_of_a_ms_outweighs_the_rate() {
        assert!((with_deviation(100) + 86.9043).abs() < 1e-4, "{}", with_deviation(100));
    }

    #[test]
    fn what_the_path_does_by_itself_costs_nothing() {
        assert!((with_deviation(99) - 63.0957).abs() < 1e-4, "{}", with_deviation(99));
    }
}
