//! The interface of every control law.

use super::path::Path;
use super::worth::Worth;
use crate::interval::{IntervalPlan, Report};
use crate::rng::Rng;
use crate::units::Rate;
use core::fmt::Debug;
use core::time::Duration;

/// The utility of intervals, for a law.
pub(crate) type Evaluate<'a> = &'a dyn Worth;

/// The outcome of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing changes; the plan goes on.
    Wait,
    /// The plan changed, for this reason: drop the running intervals and begin a new one at once.
    /// Source: re-alignment, `NSDI 2015` §3.1.
    Realign(&'static str),
    /// The base rate is far below the path, for this reason: look for its order of magnitude again.
    Start(&'static str),
}

/// A control law. One of them holds the base rate of a connection and plans its monitor intervals, once start-up has found
/// the rate's order of magnitude. [`Law::own`](super::Law::own) takes one that is not of this crate: `docs/own-law.md`.
pub trait RateControl: Debug + Send + Sync {
    /// The plan of the next interval. Called when the previous one closes, after each verdict but [`Verdict::Wait`],
    /// and wherever something else than the law ended a trial: a guard, a pause, another utility. `rng` makes the
    /// random choices.
    fn next(&mut self, path: &Path, rng: &mut Rng) -> IntervalPlan;

    /// An interval of the current plan with a [`trial`](IntervalPlan::trial) was resolved. `utility` ranks it, and variants of it that the law makes.
    fn on_report(&mut self, plan: IntervalPlan, report: &Report, utility: &dyn Worth, path: &Path) -> Verdict;

    /// Start-up ran again: probe from this rate on. The old knowledge of the path may be worth nothing.
    fn begin(&mut self, rate: Rate, path: &Path);

    /// The host or the application was the limit, and nobody knows whether the path carries more than this.
    fn limit(&mut self, rate: Rate);

    /// The path stalled, or lost more than the utility's panic level: go on from this lower rate.
    fn back_off(&mut self, rate: Rate);

    /// The sender was idle, or a trial told nothing: keep the rate, forget what was being compared.
    fn restart(&mut self);

    /// The base rate, around which is probed.
    fn rate(&self) -> Rate;

    /// The RTT that no rate of ours would shorten, where the law knows it: of the path without a queue, or with the queue that
    /// somebody else fills.
    fn standing_rtt(&self) -> Option<Duration> {
        None
    }

    /// Its estimates of the path.
    fn known(&self) -> PathEstimate {
        PathEstimate::default()
    }

    /// The state's name in the paper.
    fn state(&self) -> &'static str;
}

/// A law's estimates of the path, found by experiments. No single interval shows them, and so no monitor does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathEstimate {
    /// RTT without any queue, also if the path became longer or shorter; `None` before it probes.
    pub base_rtt: Option<Duration>,
    /// The share of what is sent that is lost at any rate, 0 to 1: 0 until it has seen some of it.
    pub random_loss: Option<f64>,
}
