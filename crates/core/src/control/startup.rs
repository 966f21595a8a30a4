//! What every law begins with: doubling, and then one interval in which the queue that it built drains.

use super::starting::{Evaluate, Judgement, Starting};
use super::{Path, Slot, Verdict, within_reach};
use crate::interval::Report;
use crate::units::Rate;

/// The queue drains within one RTT, but at no less than this share of the new rate.
const DRAIN_SHARE: f64 = 0.5;

#[derive(Clone, Debug)]
pub(super) enum Startup {
    Starting(Starting),
    /// One interval below the base rate.
    Draining {
        share: f64,
        sent: bool,
    },
}

impl Startup {
    pub(super) const fn at(rate: Rate) -> Self {
        Self::Starting(Starting::at(rate))
    }

    /// The next interval, `rtts` round trips long while doubling; `None` once all of it is over.
    pub(super) fn next(&mut self, rate: Rate, rtts: f64, path: &Path) -> Option<Slot> {
        match self {
            Self::Starting(starting) => Some(starting.next(rtts, path)),
            Self::Draining { sent: true, .. } => None,
            Self::Draining { share, sent } => {
                *sent = true;
                Some(Slot::filler(rate * *share))
            }
        }
    }

    /// Judges a doubling. `rate` is the base rate, which it sets.
    pub(super) fn on_report(
        &mut self,
        rate: &mut Rate,
        slot: Slot,
        report: &Report,
        utility: Evaluate<'_>,
        path: &Path,
    ) -> Verdict {
        let Self::Starting(starting) = self else { return Verdict::Wait };
        match starting.on_report(slot, report, utility, path) {
            Judgement::Unknown => {
                *rate = within_reach(slot.rate, path);
                Verdict::Wait
            }
            Judgement::Good => {
                *rate = slot.rate;
                // While a doubling runs already, its interval goes on.
                if starting.waits() { Verdict::Wait } else { Verdict::Realign("utility grew") }
            }
            Judgement::Over(carried) => {
                *rate = path.clamp(carried);
                let queue = path.queue.as_secs_f64() / path.rtt.as_secs_f64().max(1e-9);
                *self = Self::Draining { share: (1.0 - queue).clamp(DRAIN_SHARE, 1.0), sent: false };
                Verdict::Realign("utility stopped growing")
            }
        }
    }

    pub(super) fn ends_early(&self, report: &Report, utility: Evaluate<'_>, path: &Path) -> bool {
        match self {
            Self::Starting(starting) => starting.ends_early(report, utility, path),
            Self::Draining { .. } => false,
        }
    }

    pub(super) const fn is_starting(&self) -> bool {
        matches!(self, Self::Starting(_))
    }

    pub(super) const fn state(&self) -> &'static str {
        match self {
            Self::Starting(_) => "Starting",
            Self::Draining { .. } => "Draining",
        }
    }
}
