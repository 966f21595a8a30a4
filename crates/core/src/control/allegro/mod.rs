//! PCC Allegro: doubling, then randomised trials just above and below the rate, then growing steps in the better
//! direction. Source: `NSDI 2015` §3.2.
//!
//! ```text
//!         the pairs disagree: ε := ε + ε_min, within ε_max
//!                     ┌────┐
//!                     │    ▼
//!  start-up ───▶ DECISION MAKING ──▶ r(1+ε), r(1−ε), r(1−ε), r(1+ε), or the other way round; then r till all are known
//!     ▲               │  ▲
//!     │               │  ├── short of data: the same ε once more, at r within reach of what arrived
//!     │               │  ├── from both states, idle or nothing told: a new trial at r, ε := ε_min
//!     │               │  └── from both states, back off: a new trial at that rate, ε := ε_min
//!     │               │
//!     │               │ both pairs agree: n := 1,         not better, or as far as r may go: the rate before it,
//!     │               │ r := r(1 ± ε)(1 ± n·step_min)     ε := ε_min
//!     │               └──────────────▶ RATE ADJUSTING ───────────────────────────────────────────▶ DECISION MAKING
//!     │                                   │  │  ▲
//!     │                                   │  └──┘ better: n := n + 1, or by the elasticity; r := r(1 ± n·step_min),
//!     │                                   │       within step_max; short of data: the same step once more
//!     │                                   │
//!     └───────────────────────────────────┘ steps up added half of the rate, nearly all of it arrived (ours)
//! ```
//!
//! If a host was the limit, r stays within reach of the delivery rate too, and the trial or step goes on.
//! [`Config::paper`] is the law as published. Each of our additions has a file: the comparison of two rates
//! (`better.rs`), the growth of the steps (`elasticity.rs`), and the return to doubling (`origin.rs`).

mod better;
mod elasticity;
mod origin;
mod trials;

use super::rate_control::Evaluate;
use super::{Path, RateControl, Verdict};
use crate::interval::IntervalPlan;
use crate::interval::Report;
use crate::rng::Rng;
use crate::units::Rate;
use better::Better;
use elasticity::Elasticity;
use origin::Origin;
use trials::Trials;

/// Parameters of Allegro.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Smallest probing step ε_min. 0.01 in the paper.
    pub epsilon_min: f64,
    /// Largest probing step ε_max, reached after inconclusive rounds. 0.05 in the paper.
    pub epsilon_max: f64,
    /// Unit of the adjusting steps: the n-th is n times this. Deviates: ε_min in the paper. 0.02 follows a path whose
    /// capacity changes every five seconds at 0.87 of the optimum instead of 0.79, and costs 0.1 % on a constant one.
    pub step_min: f64,
    /// Largest adjusting step. The paper has no bound: its n-th step is n·ε_min, and a hundredth step down would stop
    /// the sender. 0.10 as in the authors' later code.
    pub step_max: f64,
    /// Duration of judged intervals in RTT, drawn between the two. The paper takes U\[1.7, 2.2\] and finds 1 RTT to be
    /// the better point of its trade-off (§4.2.2); the spread keeps competing senders out of step.
    pub interval_rtts: (f64, f64),
    /// The same while Starting: one RTT, since the doubling is the measurement.
    pub starting_rtts: f64,
    /// Where the utility is negative, loss rates that differ by less than so many standard errors count as equal; 0
    /// takes every difference for real. 2 is the usual 95 %.
    pub loss_significance: f64,
    /// Smallest gain of a step up that counts as better, as a share of its gain if all additional packets arrived. A
    /// lone sender on a full path gains nothing by a step up; each of n equal senders gains 1 − 1/n. So 0.25 keeps a
    /// lone sender's queue empty and lets the others have their shares (`docs/sweeps/allegro.md`).
    pub least_gain: f64,
    /// Decide as published. The rate with the higher utility is better, however little (no `loss_significance`, no
    /// `least_gain`). All steps grow by one unit, and only a silent path leads back to Starting. The numbers are
    /// [`Config::paper`]'s.
    pub paper: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            epsilon_min: 0.01,
            epsilon_max: 0.05,
            step_min: 0.02,
            step_max: 0.10,
            interval_rtts: (1.0, 1.4),
            starting_rtts: 1.0,
            loss_significance: 2.0,
            least_gain: 0.25,
            paper: false,
        }
    }
}

impl Config {
    /// The law as published. Three parts stay ours: Starting goes back to the rate that arrived instead of the rate
    /// before, the guards hold, and a step is at most half of the rate.
    pub fn paper() -> Self {
        Self { step_min: 0.01, step_max: 0.5, interval_rtts: (1.7, 2.2), paper: true, ..Self::default() }
    }
}

/// A rate and what it achieved.
#[derive(Clone, Debug)]
struct Tried {
    rate: Rate,
    report: Report,
}

#[derive(Clone, Debug)]
enum State {
    DecisionMaking(Trials),
    RateAdjusting(Adjusting),
}

/// A run of steps in one direction.
#[derive(Clone, Debug)]
struct Adjusting {
    /// Where it began, and what that rate delivered.
    origin: Origin,
    /// +1 or −1.
    direction: f64,
    /// Size of this step in units: 1, then more by [`Allegro::growth`] for each in the same direction.
    step: f64,
    /// Results of the rate before this step.
    last: Box<Tried>,
    launched: bool,
}

/// The Allegro law.
#[derive(Clone, Debug)]
pub struct Allegro {
    config: Config,
    /// The base rate r.
    rate: Rate,
    elasticity: Elasticity,
    state: State,
}

impl Allegro {
    /// A law that tries around `rate`.
    pub fn new(config: Config, rate: Rate) -> Self {
        let state = State::DecisionMaking(Trials::new(config.epsilon_min));
        Self { config, rate, elasticity: Elasticity::default(), state }
    }

    fn decide(&mut self, epsilon: f64) {
        self.state = State::DecisionMaking(Trials::new(epsilon));
    }

    /// ε, but at least one packet of an interval.
    fn visible(&self, epsilon: f64, path: &Path) -> f64 {
        path.visible(epsilon, self.rate, self.config.interval_rtts.0)
    }

    fn on_decision(&mut self, plan: IntervalPlan, report: &Report, utility: Evaluate<'_>, path: &Path) -> Verdict {
        let State::DecisionMaking(trials) = &mut self.state else { return Verdict::Wait };
        let epsilon = trials.epsilon;
        if report.app_limited {
            self.decide(epsilon);
            return Verdict::Realign("trial short of data");
        }
        let Some(results) = trials.on_result(plan.trial.unwrap_or(0), report) else { return Verdict::Wait };
        self.elasticity.learn(&results.high, &results.low);
        let better = Better::of(&results.high, &results.low, utility, &self.config);
        let [first, second] = results.pairs().map(|(high, low)| better.direction(high, low));
        if first * second <= 0.0 {
            self.decide((epsilon + self.config.epsilon_min).min(self.config.epsilon_max));
            return Verdict::Realign("inconclusive");
        }
        let origin = Origin::of(&results.all());
        let winner = if first > 0.0 { results.high } else { results.low };
        self.adjust(origin, first, 1.0, Tried { rate: winner.target, report: winner }, path);
        Verdict::Realign(if first > 0.0 { "both pairs say up" } else { "both pairs say down" })
    }

    /// Growth of each step in this direction over the one before it, in units.
    fn growth(&self, direction: f64) -> f64 {
        if self.config.paper { 1.0 } else { self.elasticity.growth(direction) }
    }

    /// Takes a step of `step` units from `last`.
    fn adjust(&mut self, origin: Origin, direction: f64, step: f64, last: Tried, path: &Path) {
        let change = (step * self.config.step_min).min(self.config.step_max);
        let change = self.visible(change, path);
        self.rate = path.clamp(last.rate * (1.0 + direction * change));
        self.state = State::RateAdjusting(Adjusting { origin, direction, step, last: Box::new(last), launched: false });
    }

    fn on_adjusting(&mut self, plan: IntervalPlan, report: &Report, utility: Evaluate<'_>, path: &Path) -> Verdict {
        let State::RateAdjusting(adjusting) = &mut self.state else { return Verdict::Wait };
        if report.app_limited {
            adjusting.launched = false;
            return Verdict::Realign("step short of data");
        }
        let Adjusting { origin, direction, step, last, .. } = adjusting.clone();
        let (high, low) = if direction > 0.0 { (report, &last.report) } else { (&last.report, report) };
        let better = Better::of(report, &last.report, utility, &self.config).direction(high, low);
        // At a limit of the path's rates there is no further step to take.
        if better != direction || plan.rate == last.rate {
            self.rate = last.rate;
            self.decide(self.config.epsilon_min);
            return Verdict::Realign("step did not help");
        }
        if !self.config.paper && direction > 0.0 && origin.is_far_below(report) {
            self.rate = plan.rate;
            return Verdict::Start("far below the path");
        }
        let tried = Tried { rate: plan.rate, report: report.clone() };
        self.adjust(origin, direction, step + self.growth(direction), tried, path);
        Verdict::Realign("step helped")
    }
}

impl RateControl for Allegro {
    fn next(&mut self, path: &Path, rng: &mut Rng) -> IntervalPlan {
        let rtts = self.config.interval_rtts;
        match &mut self.state {
            State::DecisionMaking(trials) => {
                let epsilon = trials.epsilon;
                let Some((trial, high)) = trials.launch(self.config.paper, rng) else {
                    return IntervalPlan::filler(self.rate);
                };
                let epsilon = self.visible(epsilon, path);
                let rate = self.rate * (if high { 1.0 + epsilon } else { 1.0 - epsilon });
                IntervalPlan { trial: Some(trial), rtts, ..IntervalPlan::filler(rate) }
            }
            State::RateAdjusting(adjusting) => {
                if core::mem::replace(&mut adjusting.launched, true) {
                    return IntervalPlan::filler(self.rate);
                }
                IntervalPlan { trial: Some(0), rtts, ..IntervalPlan::filler(self.rate) }
            }
        }
    }

    fn on_report(&mut self, plan: IntervalPlan, report: &Report, utility: Evaluate<'_>, path: &Path) -> Verdict {
        match &self.state {
            State::DecisionMaking(_) => self.on_decision(plan, report, utility, path),
            State::RateAdjusting(_) => self.on_adjusting(plan, report, utility, path),
        }
    }

    fn begin(&mut self, rate: Rate, _: &Path) {
        self.back_off(rate);
    }

    fn limit(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn back_off(&mut self, rate: Rate) {
        self.rate = rate;
        self.decide(self.config.epsilon_min);
    }

    fn restart(&mut self) {
        self.decide(self.config.epsilon_min);
    }

    fn rate(&self) -> Rate {
        self.rate
    }

    fn state(&self) -> &'static str {
        match &self.state {
            State::DecisionMaking(_) => "Decision Making",
            State::RateAdjusting(_) => "Rate Adjusting",
        }
    }
}

#[cfg(test)]
mod tests;
