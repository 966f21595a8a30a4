use super::built_in::{BuiltIn, UtilityInfo};
use super::function::Utility;
use super::parameter::Parameter;
use super::{Proteus, Scavenger};
use crate::interval::Report;
use core::time::Duration;

/// [`Proteus`] that would rather go down to its lowest rate than let the RTT pass a ceiling, for interactive video:
/// less w·x·v² for an RTT that comes near it, and less d·x·σ for jitter.
///
/// v is where the RTT of all but a few packets (mean + 2σ) lies between a comfortable RTT, v = 0, and the ceiling,
/// v = 1; at most 2. The price is proportional to x: one that is not would be the same for both rates of a pair,
/// which see the same queue, and decide nothing. Units: RTT and σ in s, x in Mbit/s.
///
/// Source: ours, after the aim that the kernel paper (`NetDev 0x12`) names without a formula.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    /// The RTT not to exceed. 120 ms: beyond it people notice.
    pub ceiling: Duration,
    /// Up to this RTT, or 10 ms above the path's own, only jitter has a price.
    pub comfort: Duration,
    /// The price w at the ceiling: 10 is more than any rate above 1 kbit/s is worth.
    pub w: f64,
    /// Price of RTT deviation, per second: a third of a scavenger's.
    pub d: f64,
    /// A deviation below this is the path's own.
    pub jitter: Duration,
    /// The utility while the RTT is short.
    pub primary: Proteus,
}

impl Default for Deadline {
    fn default() -> Self {
        Self {
            ceiling: Duration::from_millis(120),
            comfort: Duration::from_millis(80),
            w: 10.0,
            d: 500.0,
            jitter: Duration::from_millis(1),
            primary: Proteus::default(),
        }
    }
}

/// The comfortable queue on a path whose own RTT is long. Unit: s.
const OWN_QUEUE: f64 = 0.010;
/// The comfortable RTT ends below the ceiling by this factor: on a path whose own RTT reaches the ceiling, any rate is
/// too much.
const BELOW_CEILING: f64 = 0.95;
/// An RTT above the ceiling by as much as the ceiling is above what is comfortable counts no more.
const WORST: f64 = 2.0;

impl Deadline {
    /// v; the worst where nothing came back.
    fn nearness(&self, report: &Report) -> f64 {
        let (Some(rtt), Some(base)) = (report.rtt, report.rtt_base) else { return WORST };
        let ceiling = self.ceiling.as_secs_f64();
        let comfort = self.comfort.as_secs_f64().max(base.as_secs_f64() + OWN_QUEUE).min(BELOW_CEILING * ceiling);
        let nearly_all = rtt.as_secs_f64() + 2.0 * report.rtt_deviation.as_secs_f64();
        ((nearly_all - comfort) / (ceiling - comfort)).clamp(0.0, WORST)
    }
}

impl Utility for Deadline {
    fn evaluate(&self, report: &Report) -> f64 {
        let near = self.nearness(report);
        let price = self.w * near * near + self.d * Scavenger::deviation(report, self.jitter);
        self.primary.evaluate(report) - price * report.achieved.mbit()
    }

    fn name(&self) -> &str {
        Self::INFO.name
    }
}

/// The same in the language of `docs/utility.md`.
const TEXT: &str = "\
# deadline: proteus that slows down before the RTT reaches a ceiling.
let ceiling = 120ms;
let comfort = 80ms;
let w = 10;
let d = 500;
let jitter = 1ms;
let t = 0.9;
let b = 900;
let c = 11.35;
let trend = g*duration > residual;
let growth_that_counts = if(trend, max(0, g), 0);
let deviation_that_counts = if(sigma >= jitter or trend, sigma, 0);
let comfortable = min(max(comfort, rtt_base + 10ms), 0.95*ceiling);
let near = clamp((rtt + 2*sigma - comfortable)/(ceiling - comfortable), 0, 2);
let v = if(known(near), near, 2);
x^t - b*x*growth_that_counts - c*x*L - w*x*v^2 - d*x*deviation_that_counts
";

impl BuiltIn for Deadline {
    const INFO: UtilityInfo = UtilityInfo {
        name: "deadline",
        summary: "interactive video: slows down before the RTT reaches a ceiling, to its lowest rate if need be",
        formula: "proteus - w*x*v^2 - d*x*sigma*; v = (rtt + 2*sigma - comfort)/(ceiling - comfort), from 0 to 2; \
                  ceiling = 120ms, comfort = 80ms (or rtt_base + 10ms), w = 10, d = 500, jitter = 1ms",
        unit: "(Mbit/s)^t",
        source: "ours; the aim is the kernel paper's (NetDev 0x12, 2018)",
        traps: &[
            "behind senders that fill the buffer beyond the ceiling it goes down to its lowest rate and stays there",
            "on a path whose own RTT reaches the ceiling it never sends faster than its lowest rate",
            "a law that only lowers the rate needs several round trips to get below the ceiling again",
        ],
        text: TEXT,
    };

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        let mut all = vec![
            Parameter::time("ceiling", &mut self.ceiling),
            Parameter::time("comfort", &mut self.comfort),
            Parameter::number("w", &mut self.w, 0.0..=1e6),
            Parameter::number("d", &mut self.d, 0.0..=1e9),
            Parameter::time("jitter", &mut self.jitter),
        ];
        all.append(&mut self.primary.parameters());
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::tests::report;

    fn at(x: f64, rtt: Option<Duration>) -> f64 {
        Deadline::default().evaluate(&Report { rtt, ..report(x, 0.0) })
    }

    const fn ms(ms: u64) -> Option<Duration> {
        Some(Duration::from_millis(ms))
    }

    #[test]
    fn it_meets_the_oracles_of_the_formula() {
        // v = 0 up to 80 ms; 1/4 costs 10·x/16 at 90 ms, 1 costs 10·x at 120 ms, and 2 is the most.
        for (rtt, expected) in [(80, 63.0957), (90, 0.5957), (120, -936.9043), (160, -3936.9043), (900, -3936.9043)] {
            assert!((at(100.0, ms(rtt)) - expected).abs() < 1e-4, "{rtt} ms: {}", at(100.0, ms(rtt)));
        }
    }

    #[test]
    fn beyond_ceiling_or_without_answer_less_is_better_at_any_rate() {
        for rtt in [ms(120), ms(500), None] {
            for x in [0.01, 1.0, 100.0, 10_000.0] {
                assert!(at(x, rtt) < at(x * 0.98, rtt), "{x} Mbit/s, {rtt:?}");
            }
        }
    }

    #[test]
    fn on_a_long_path_a_little_queue_is_comfortable() {
        let with_base = |rtt| {
            let rtt_base = ms(90);
            Deadline::default().evaluate(&Report { rtt, rtt_base, ..report(100.0, 0.0) })
        };
        assert!((with_base(ms(100)) - 63.0957).abs() < 1e-4 && with_base(ms(101)) < 63.0);
    }
}
