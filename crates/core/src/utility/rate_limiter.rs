use super::Proteus;
use super::built_in::{BuiltIn, UtilityInfo};
use super::function::Utility;
use super::parameter::Parameter;
use crate::interval::Report;
use crate::units::Rate;

/// [`Proteus`] less κ·x, with κ = t·R^(t−1): the reward's own slope at the limit R, so that a free path is used up to R
/// and no further. Source: the authors' code of `SIGCOMM 2020`, for t = 0.9 (κ = 0.9/R^0.1).
///
/// Units: R in Mbit/s.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateLimiter {
    /// The rate R above which more is worth less. No default: with the 0 that `default()` leaves here it is defined for no
    /// interval, and its sender decides nothing.
    pub limit: Rate,
    /// The utility without a limit.
    pub primary: Proteus,
}

impl Utility for RateLimiter {
    fn evaluate(&self, report: &Report) -> f64 {
        let t = self.primary.vivace.t;
        let price = t * self.limit.mbit().powf(t - 1.0);
        self.primary.evaluate(report) - price * report.achieved.mbit()
    }

    fn name(&self) -> &str {
        Self::INFO.name
    }
}

/// The same in the language of `docs/utility.md`.
const TEXT: &str = "\
# rate-limiter: proteus that wants a given rate and no more (the authors' code of SIGCOMM 2020).
let limit = 20Mbit;
let t = 0.9;
let b = 900;
let c = 11.35;
let growth_that_counts = if(g*duration > residual, max(0, g), 0);
x^t - b*x*growth_that_counts - c*x*L - t*limit^(t - 1)*x
";

impl BuiltIn for RateLimiter {
    const INFO: UtilityInfo = UtilityInfo {
        name: "rate-limiter",
        summary: "proteus that wants a given rate and no more, without being policed",
        formula: "proteus - t*limit^(t - 1)*x; limit has no default",
        unit: "(Mbit/s)^t",
        source: "the authors' code of SIGCOMM 2020 (PCC Proteus), for t = 0.9",
        traps: &[
            "soft: within 10 % of the limit it differs by less than a thousandth, so noise decides there; --limit is exact",
            "on a shared path it bears less loss than proteus, the less the nearer it is to its limit",
        ],
        text: TEXT,
    };

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        let mut all = vec![Parameter::rate("limit", &mut self.limit)];
        all.append(&mut self.primary.parameters());
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;

    #[test]
    fn the_limit_is_the_best_rate_on_a_free_path() {
        let utility = RateLimiter { limit: Rate::from_mbit(20.0), ..RateLimiter::default() };
        let at = |x| utility.evaluate(&report(x, 0.0));
        assert!((at(20.0) - 1.4823).abs() < 1e-4, "{}", at(20.0));
        assert!(at(19.0) < at(20.0) && at(21.0) < at(20.0));
    }
}
