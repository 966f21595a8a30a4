use super::Vivace;
use super::built_in::{BuiltIn, UtilityInfo};
use super::function::Utility;
use super::parameter::Parameter;
use crate::interval::Report;

/// Proteus-P, for what should arrive soon: [`Vivace`] where growth of the RTT counts only beyond its noise.
/// Source: `SIGCOMM 2020` (PCC Proteus), and the authors' code for the tolerance.
///
/// Units: those of Vivace. Growth counts where over the interval it moved the RTT by more than the samples scatter
/// around its slope.
///
/// Deviates: the authors let a trend over the last six intervals count too, which one interval's report does not have.
#[derive(Clone, Copy, Debug, Default)]
pub struct Proteus {
    /// The function, with the growth that counts.
    pub vivace: Vivace,
}

impl Proteus {
    /// g*, the growth that counts: none where the RTT scatters more than it rose.
    pub(super) fn growth(report: &Report) -> f64 {
        if exceeds_noise(report) { report.queue_growth() } else { 0.0 }
    }
}

/// Whether the trend over the interval is more than the scatter around it.
pub(super) fn exceeds_noise(report: &Report) -> bool {
    report.queue_growth() * report.duration.as_secs_f64() > report.rtt_residual.as_secs_f64()
}

impl Utility for Proteus {
    fn evaluate(&self, report: &Report) -> f64 {
        self.vivace.with_growth(report, Self::growth(report))
    }

    fn name(&self) -> &str {
        Self::INFO.name
    }
}

/// The same in the language of `docs/utility.md`.
const TEXT: &str = "\
# proteus: vivace that ignores growth within the RTT's noise (SIGCOMM 2020, primary).
let t = 0.9;
let b = 900;
let c = 11.35;
let growth_that_counts = if(g*duration > residual, max(0, g), 0);
x^t - b*x*growth_that_counts - c*x*L
";

impl BuiltIn for Proteus {
    const INFO: UtilityInfo = UtilityInfo {
        name: "proteus",
        summary: "Proteus-P, for what should arrive soon: vivace that ignores growth within the RTT's noise",
        formula: "x^t - b*x*g* - c*x*L; g* is g where g*duration > residual, else 0; t = 0.9, b = 900, c = 11.35",
        unit: "(Mbit/s)^t",
        source: "SIGCOMM 2020 (PCC Proteus, primary); tolerance as in the authors' code",
        traps: &[
            "the random loss it bears falls with the rate, as with vivace",
            "a queue that stands still costs nothing",
        ],
        text: TEXT,
    };

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        self.vivace.parameters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;
    use core::time::Duration;

    #[test]
    fn growth_beyond_the_noise_costs_as_in_vivace() {
        let with = |residual| {
            let rtt_residual = Duration::from_micros(residual);
            // Over 100 ms it rises by 50 µs.
            Proteus::default().evaluate(&Report { rtt_gradient: Some(0.0005), rtt_residual, ..report(100.0, 0.0) })
        };
        assert!((with(51) - 63.0957).abs() < 1e-4 && (with(49) - 18.0957).abs() < 1e-4, "{} {}", with(51), with(49));
    }
}
