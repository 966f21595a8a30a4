//! Starting: the order of magnitude of the path's rate, by doubling. Source: `NSDI 2015` §3.2.
//!
//! It ends in one of two ways: the queue certainly grows, or even the most favourable reading of an interval has less
//! utility than a lower rate had. Where trains told the bottleneck's rate, it goes there in larger steps (`approach.rs`),
//! and ends when packets at that rate have passed.
//!
//! ```text
//!             good: r := 2r, with one doubling at the most ahead of the results
//!                 ┌────┐
//!                 │    ▼
//!  begins ────▶ DOUBLING ──▶ intervals at r, of an RTT each
//!                 │  ▲
//!                 │  ├── two results are late: an eighth of an RTT at the best rate so far, again until one is there
//!                 │  ├── short of data, or a host did not make the doubling: r once more, within reach of what arrived
//!                 │  ├── trains that told no rate, and may be worth less than nothing, with no queue: the same
//!                 │  ├── idle, nothing told: begins anew at the last good rate
//!                 │  │
//!                 │  │ trains told a rate above r              short of data, or a host did not make the step
//!                 │  └─────────────────────────▶ APPROACHING ───────────────────────────────────────────────▶ DOUBLING
//!                 │                                │  │  ▲
//!                 │                                │  └──┘ good: a step of eight for a quarter of an RTT, twice what
//!                 │                                │       was proven until its answer; at the end the rate told
//!                 ├────────────────────────────────┘
//!                 ├── too much: r := what the path carried; its queue drains
//!                 ├── the rate that trains told has passed for an RTT, or the highest that is allowed: r := that
//!                 └── back off: r := the rate that the path still carries
//! ```
//!
//! `driver.rs` drains the queue afterwards, and steers from then on.

use super::approach::Approach;
use super::path::{Path, within_reach};
use super::rate_control::Evaluate;
use crate::interval::IntervalPlan;
use crate::interval::{LimitedBy, Report, TRAIN};
use crate::trains::LARGEST_ERROR;
use crate::units::Rate;
use core::time::Duration;

/// Results are compared as a doubling and what came before it from this ratio of the rates achieved on.
const DOUBLED: f64 = 1.5;
/// Share of the rate that must pass the queue behind trains: after a doubling, all of the rate before and a quarter of the
/// addition.
const DOUBLED_DELIVERS: f64 = 0.625;
/// A rise of the RTT counts from this share of the smallest one on (HyStart++, RFC 9406 §4.3).
const RISE_DIVISOR: u32 = 8;
/// A line through so many RTT is no chance any more.
const TELLING_SAMPLES: u32 = 5;
/// Share of the measured delivery rate to go on with: one largest ε below what was carried at most.
const EXIT_SHARE: f64 = 0.95;
/// How long to wait before looking for a late result again. Unit: RTT.
const WAIT: (f64, f64) = (0.125, 0.125);
crate::shared::shared_with_c!("STARTING_" []
    DOUBLED, RISE_DIVISOR, TELLING_SAMPLES, EXIT_SHARE, WAIT = WAIT.0
);

/// The best result so far.
#[derive(Clone, Copy, Debug)]
struct Best {
    target: Rate,
    achieved: Rate,
    utility: f64,
    loss: f64,
    /// The least that it may be worth, given its noise.
    least_utility: f64,
}

/// The meaning of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Judgement {
    /// Nothing is known of this rate: the application or a host was the limit.
    Unknown,
    /// The rate is good: the path may carry more. Whether the result of a higher one is awaited.
    Good { awaited: bool },
    /// It is not, and this is what the path carried.
    Over(Rate),
    /// It is good, and as much as the path carries.
    Reached(Rate),
}

#[derive(Clone, Debug)]
pub(super) struct Starting {
    /// It began at a rate that an earlier connection had: nothing higher is tried before the first result.
    resumes: bool,
    rate: Rate,
    /// Doublings whose result is not known; at most one is launched ahead of the last known result.
    unknown: u8,
    best: Option<Best>,
    /// The most that a good rate delivered; whose utility was best need not be the same.
    delivered: Rate,
    /// The longest RTT that the path showed at the latest rate that was good, two standard deviations above the mean. Unit: s.
    usual_rtt: f64,
    /// The same at the first rate that was good, when no queue was ours yet. Unit: s.
    first_rtt: Option<f64>,
    /// The last interval was short of data: do not double until one is not.
    hold: bool,
    /// The way to the rate that trains told.
    approach: Option<Approach>,
}

impl Starting {
    pub(super) const fn at(rate: Rate) -> Self {
        Self {
            resumes: false,
            rate,
            unknown: 0,
            best: None,
            delivered: Rate::ZERO,
            usual_rtt: 0.0,
            first_rtt: None,
            hold: false,
            approach: None,
        }
    }

    /// From a rate that an earlier connection had (RFC 9959).
    pub(super) const fn resuming_at(rate: Rate) -> Self {
        Self { resumes: true, ..Self::at(rate) }
    }

    /// Begins anew at this rate: what was tried is not known any more.
    pub(super) const fn restart(&mut self, rate: Rate) {
        *self = Self { resumes: self.resumes && self.best.is_none(), ..Self::at(rate) };
    }

    pub(super) fn next(&mut self, rtts: f64, path: &Path) -> IntervalPlan {
        self.look_for_an_approach(path);
        if let Some(approach) = &mut self.approach {
            let plan = approach.next(rtts);
            self.unknown += u8::from(plan.trial.is_some());
            return plan;
        }
        let first = self.best.is_none() && self.unknown == 0;
        let ahead = u8::from(!self.resumes || self.best.is_some());
        if self.unknown > ahead {
            // The results are late, so perhaps the path is full: on with the last rate known to be good, and not for
            // long.
            let good = self.best.map_or(self.rate, |best| self.rate.min(best.target));
            return IntervalPlan { rtts: WAIT, ..IntervalPlan::filler(good) };
        }
        if !first && !self.hold {
            self.rate = path.clamp(self.rate * 2.0);
        }
        self.unknown += 1;
        IntervalPlan { trial: Some(0), rtts: (rtts, rtts), ..IntervalPlan::filler(self.rate) }
    }

    pub(super) fn on_report(
        &mut self,
        plan: IntervalPlan,
        report: &Report,
        utility: Evaluate<'_>,
        path: &Path,
    ) -> Judgement {
        self.unknown = self.unknown.saturating_sub(1);
        // A host that did not make this doubling will not make the next one.
        let doubled = report.achieved * DOUBLED > report.target;
        self.hold = report.app_limited || (report.limited_by == LimitedBy::Host && !doubled);
        if self.hold {
            self.rate = within_reach(plan.rate, path);
            self.approach = None;
        }
        if report.app_limited {
            return Judgement::Unknown;
        }
        let delivery = report.delivery_rate.unwrap_or(report.throughput());
        if self.overloads(report, report.in_its_favour(), utility, path) {
            return Judgement::Over(self.carried(report, delivery));
        }
        let least = report.in_its_disfavour();
        // Trains that told a rate have passed.
        let in_vain = self.is_excused(report, path) && path.capacity.is_none();
        if in_vain && least.packets_refused() > 0 && utility.of(&least) < 0.0 {
            // No overload, and nothing to compare higher rates with: the same again, until trains are over.
            self.hold = true;
            self.rate = within_reach(plan.rate, path);
            return Judgement::Unknown;
        }
        self.delivered = self.delivered.max(delivery);
        let tried = Best {
            target: plan.rate,
            achieved: report.achieved,
            utility: utility.of(report),
            loss: report.loss(),
            least_utility: utility.of(&least),
        };
        if self.best.is_none_or(|best| tried.utility > best.utility) {
            self.best = Some(tried);
        }
        if let Some(rtt) = report.rtt {
            self.usual_rtt = (rtt + 2 * report.rtt_deviation).as_secs_f64();
            self.first_rtt = self.first_rtt.or(Some(self.usual_rtt));
        }
        // The bottleneck's rate has passed for a round trip, and there is nothing left to look for.
        let is_all = |capacity: Rate| plan.rate >= goal(capacity, path) && plan.rate * EXIT_SHARE <= capacity;
        if plan.rtts.0 >= 1.0 && self.capacity(path).is_some_and(is_all) {
            return Judgement::Reached(plan.rate.min(report.achieved));
        }
        // Nor where nothing higher is allowed: the same rate again and again would be compared with nothing.
        if plan.rate >= path.ceiling && !self.hold {
            return Judgement::Reached(plan.rate.min(report.achieved));
        }
        if let Some(approach) = &mut self.approach {
            approach.on_passed(plan.rate, plan.rate.min(delivery * DOUBLED));
        } else if self.look_for_an_approach(path) {
            // It goes further than the doubling that runs.
            self.unknown = 0;
        }
        Judgement::Good { awaited: self.unknown > 0 }
    }

    /// Whether trains told of a rate to reach, and only now.
    fn look_for_an_approach(&mut self, path: &Path) -> bool {
        let Some(best) = self.best.filter(|_| self.approach.is_none() && !self.hold) else { return false };
        self.approach = self.capacity(path).and_then(|capacity| Approach::new(goal(capacity, path), best.target));
        self.approach.is_some()
    }

    /// The rate that trains told, unless more has passed than their error allows.
    fn capacity(&self, path: &Path) -> Option<Rate> {
        path.capacity.filter(|capacity| self.delivered * (1.0 - LARGEST_ERROR) <= *capacity)
    }

    /// Whether the interval ends Starting even if all that is still outstanding of it arrives.
    pub(super) fn ends_early(&self, report: &Report, utility: Evaluate<'_>, path: &Path) -> bool {
        self.overloads(report, report.in_its_favour_so_far(), utility, path)
    }

    fn overloads(&self, report: &Report, mut favour: Report, utility: Evaluate<'_>, path: &Path) -> bool {
        let ours = Duration::try_from_secs_f64(self.own_queue(report)).unwrap_or_default();
        favour.rtt_least = favour.rtt_least.map(|least| least + ours);
        let visible = (path.base() / RISE_DIVISOR).max(TRAIN).as_secs_f64();
        let mean = report.rtt.unwrap_or_default().as_secs_f64();
        let reached = mean + report.rtt_rise() / 2.0;
        let fills_a_queue =
            grows_beyond_doubt(report) && report.rtt_rise() > visible && reached > self.usual_rtt + visible;
        let stands = mean > path.base().as_secs_f64() + visible;
        if fills_a_queue || !self.is_excused(report, path) {
            return fills_a_queue || self.is_worse(report, utility.of(&favour));
        }
        // Trains make noise of which a queue's growth may not stand out. Where no queue stands behind them it is no overload; where
        // one does, as much must pass as after a doubling.
        let growth = report.rtt_rise().max(0.0) / report.duration.as_secs_f64().max(1e-9);
        let passed = (1.0 - report.loss()) / (1.0 + growth);
        stands && (passed < DOUBLED_DELIVERS || self.is_worse(report, utility.of(&favour)))
    }

    /// The queue that is certainly there, and ours: half of what surely grew through the interval, no faster than we sent beyond
    /// what has passed before, and as far as not even its least RTT was one that the path showed at the first rate. Others
    /// drain theirs for who fills it: who does not count his own takes most of a shared path, and loses that slowly. Of a radio the
    /// one or the other stays below its noise. Unit: s.
    fn own_queue(&self, report: &Report) -> f64 {
        let (Some(least), Some(first)) = (report.rtt_least, self.first_rtt) else { return 0.0 };
        let beyond = report.achieved.bytes_per_sec() / self.delivered.bytes_per_sec().max(1.0) - 1.0;
        let rise = report.sure_rise().min(beyond * report.rtt_span.as_secs_f64());
        (rise / 2.0).min(least.as_secs_f64() - first).max(0.0)
    }

    /// Whether losses may be those of trains, which lose what a sender that paces each packet would not. At a rate that is
    /// remembered all that trains lose is a small part of what is lost where it is too high.
    fn is_excused(&self, report: &Report, path: &Path) -> bool {
        path.trains.is_some_and(|left| left >= report.started) && !(self.resumes && self.best.is_none())
    }

    /// The most that the path carried, without the loss that was there before: constant random loss is no sign of a
    /// lack of capacity. Jitter holds acknowledgements back too, and releases them at once. The growth of a queue
    /// bounds what passed it meanwhile: from below if it certainly grew, from above if it is certainly ours.
    fn carried(&self, report: &Report, delivery: Rate) -> Rate {
        let loss = self.best.map_or(0.0, |best| best.loss);
        let passed = report.throughput();
        let delivery = if self.own_queue(report) > 0.0 { delivery.min(passed) } else { delivery };
        let least = if grows_beyond_doubt(report) { passed } else { Rate::ZERO };
        (delivery.max(self.delivered).max(least) * (EXIT_SHARE / (1.0 - loss.min(0.5)))).min(report.target)
    }

    /// Even with the benefit of the doubt it is worth less than nothing, or less than the best result was at least though the
    /// rate is a doubling higher. A rate that was tried before says nothing of a higher one, and of two results one is always
    /// the worse. The least that a result of few packets may be worth is far below nothing, and where those lost much, no
    /// higher rate would be worse than it.
    fn is_worse(&self, report: &Report, worth: f64) -> bool {
        let is_less = |best: Best| worth <= best.least_utility && report.achieved > best.achieved * DOUBLED;
        worth < 0.0 || self.best.is_some_and(is_less)
    }
}

/// The rate to go on with where trains told this capacity.
fn goal(capacity: Rate, path: &Path) -> Rate {
    path.clamp(capacity * EXIT_SHARE)
}

/// Whether the queue certainly grows.
fn grows_beyond_doubt(report: &Report) -> bool {
    report.rtt_samples >= TELLING_SAMPLES && report.surely_grew()
}

#[cfg(test)]
mod tests;
