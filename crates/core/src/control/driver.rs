//! Drives the laws: first start-up, which is the same for all of them, then a law. A law knows of no start-up.
//!
//! ```text
//!             grew: r := 2r, or a step towards the rate that trains told
//!              ┌────┐
//!              │    ▼       stopped growing: r := what the path carried
//!  start ──▶ STARTING ────────────────────────────────▶ DRAINING ──────────▶ the law, from r on
//!              ▲     └── backed off, or reached what trains ───▲  an interval       │
//!              │         told: r := that, nothing drains           below r          │
//!              └──── the path was silent, idle for long, or the law asks for it ────┘
//! ```

use super::path::within_reach;
use super::rate_control::Evaluate;
use super::starting::{Judgement, Starting};
use super::{Law, Path, PathEstimate, RateControl, Verdict};
use crate::interval::IntervalPlan;
use crate::interval::{LimitedBy, Report};
use crate::rng::Rng;
use crate::units::Rate;
use core::time::Duration;

/// The queue drains within one RTT, but at no less than this share of the new rate.
const DRAIN_SHARE: f64 = 0.5;
crate::shared::shared_with_c!("DRIVER_" [] DRAIN_SHARE);

/// Start-up, and then a law.
#[derive(Debug)]
pub struct Driver {
    law: Law,
    /// The base rate, until the law has one.
    rate: Rate,
    phase: Phase,
    /// The law as it was before the rate's order of magnitude was looked for again.
    before: Option<Box<dyn RateControl>>,
}

#[derive(Debug)]
enum Phase {
    Starting(Starting),
    /// One interval at this share of the base rate, until it is sent; then the law.
    Draining(Option<f64>),
    Steered(Box<dyn RateControl>),
}

impl Driver {
    /// Starts at `initial`, for this law.
    pub const fn new(law: Law, initial: Rate) -> Self {
        Self { law, rate: initial, phase: Phase::Starting(Starting::at(initial)), before: None }
    }

    /// The order of magnitude of the path's rate is not known, or not any more: look for it by doubling, from this one on.
    pub fn start(&mut self, rate: Rate) {
        self.rate = rate;
        if let Phase::Steered(law) = core::mem::replace(&mut self.phase, Phase::Starting(Starting::at(rate))) {
            self.before = Some(law);
        }
    }

    /// Starts at a rate that an earlier connection had over this path.
    pub fn resume(&mut self, rate: Rate) {
        (self.rate, self.phase) = (rate, Phase::Starting(Starting::resuming_at(rate)));
    }

    /// The law, from this rate on: the one that was at work before, if there was one.
    fn steer(&mut self, path: &Path) -> Box<dyn RateControl> {
        let Some(mut law) = self.before.take() else { return self.law.begin(self.rate, path) };
        law.begin(self.rate, path);
        law
    }

    /// Whether this interval, as far as it is known and as though all that is outstanding of it arrived, is enough to
    /// decide: Starting overshoots by what it sends until it does.
    pub fn ends_early(&self, report: &Report, utility: Evaluate<'_>, path: &Path) -> bool {
        matches!(&self.phase, Phase::Starting(starting) if starting.ends_early(report, utility, path))
    }

    /// Still looking for the order of magnitude: overshooting is part of it, and heavy loss is an answer.
    pub const fn is_starting(&self) -> bool {
        matches!(self.phase, Phase::Starting(_))
    }

    /// Judges a doubling.
    fn on_started(&mut self, judgement: Judgement, plan: IntervalPlan, path: &Path) -> Verdict {
        match judgement {
            Judgement::Unknown => {
                self.rate = within_reach(plan.rate, path);
                Verdict::Wait
            }
            Judgement::Good { awaited } => {
                self.rate = plan.rate;
                // While a doubling runs already, its interval goes on.
                if awaited { Verdict::Wait } else { Verdict::Realign("utility grew") }
            }
            Judgement::Reached(rate) => {
                self.rate = path.clamp(rate);
                self.phase = Phase::Draining(None);
                Verdict::Realign("nothing higher to look for")
            }
            Judgement::Over(carried) => {
                self.rate = path.clamp(carried);
                let queue = path.queue.as_secs_f64() / path.rtt.as_secs_f64().max(1e-9);
                self.phase = Phase::Draining(Some((1.0 - queue).clamp(DRAIN_SHARE, 1.0)));
                Verdict::Realign("utility stopped growing")
            }
        }
    }
}

impl RateControl for Driver {
    fn next(&mut self, path: &Path, rng: &mut Rng) -> IntervalPlan {
        match &mut self.phase {
            Phase::Starting(starting) => starting.next(self.law.starting_rtts(), path),
            Phase::Draining(share) => match share.take() {
                Some(share) => IntervalPlan::filler(self.rate * share),
                None => {
                    self.phase = Phase::Steered(self.steer(path));
                    self.next(path, rng)
                }
            },
            Phase::Steered(law) => law.next(path, rng),
        }
    }

    fn on_report(&mut self, plan: IntervalPlan, report: &Report, utility: Evaluate<'_>, path: &Path) -> Verdict {
        let steered = matches!(self.phase, Phase::Steered(_));
        if report.limited_by == LimitedBy::Host || (steered && report.app_limited) {
            // The rates achieved are judged, not those asked for; but the latter must not run away.
            self.limit(within_reach(self.rate(), path));
        }
        let verdict = match &mut self.phase {
            Phase::Starting(starting) => {
                let judgement = starting.on_report(plan, report, utility, path);
                self.on_started(judgement, plan, path)
            }
            Phase::Draining(_) => Verdict::Wait,
            Phase::Steered(law) => law.on_report(plan, report, utility, path),
        };
        if let Verdict::Start(_) = verdict {
            self.start(self.rate());
        }
        verdict
    }

    fn begin(&mut self, rate: Rate, _: &Path) {
        self.start(rate);
    }

    fn limit(&mut self, rate: Rate) {
        match &mut self.phase {
            Phase::Steered(law) => law.limit(rate),
            _ => self.rate = rate,
        }
    }

    fn back_off(&mut self, rate: Rate) {
        match &mut self.phase {
            Phase::Steered(law) => law.back_off(rate),
            _ => (self.rate, self.phase) = (rate, Phase::Draining(Some(1.0))),
        }
    }

    fn restart(&mut self) {
        match &mut self.phase {
            Phase::Starting(starting) => starting.restart(self.rate),
            Phase::Draining(_) => {}
            Phase::Steered(law) => law.restart(),
        }
    }

    fn rate(&self) -> Rate {
        match &self.phase {
            Phase::Steered(law) => law.rate(),
            _ => self.rate,
        }
    }

    fn standing_rtt(&self) -> Option<Duration> {
        match &self.phase {
            Phase::Steered(law) => law.standing_rtt(),
            _ => None,
        }
    }

    fn known(&self) -> PathEstimate {
        match &self.phase {
            Phase::Steered(law) => law.known(),
            _ => PathEstimate::default(),
        }
    }

    fn state(&self) -> &'static str {
        match &self.phase {
            Phase::Starting(_) => "Starting",
            Phase::Draining(_) => "Draining",
            Phase::Steered(law) => law.state(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
