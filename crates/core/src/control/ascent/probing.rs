//! What is known of the path, and the probes on their way.

use super::bottleneck::Bottleneck;
use super::deviation::Deviation;
use super::level::Level;
use super::loss::Loss;
use super::pair::{Pair, TELLING_GROWTH};
use super::price::Price;
use super::rival::Rival;
use super::{CROWD, DOUBTFUL};
use crate::control::Path;
use crate::control::response::{ERRORS, Estimate, Response};
use crate::interval::Report;
use crate::units::Rate;
use std::collections::VecDeque;

/// A probe on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launched {
    pub(super) trial: u8,
    /// Whether it left since more was tried for the last time.
    pub(super) after_increase: bool,
    /// Unit: byte/s.
    pub(super) rate: f64,
    /// How long it is meant to last.
    pub(super) seconds: f64,
}

/// What is known of the path, and the probes on their way.
#[derive(Clone, Debug, Default)]
pub(super) struct Probing {
    /// Number of the next probe; even ones begin a pair.
    pub(super) trial: u8,
    /// The second probe of a pair begun: whether it is the faster one, and the pair's share of the rate.
    pub(super) second: Option<(bool, f64)>,
    pub(super) launched: VecDeque<Launched>,
    /// The first result of a pair.
    pub(super) first: Option<(u8, Box<Report>)>,
    pub(super) level: Level,
    pub(super) loss: Loss,
    pub(super) bottleneck: Bottleneck,
    /// How the queue's growth answers to our rate: our share of what is sent through a full queue.
    pub(super) share: Response,
    pub(super) last_growth: Option<(f64, Estimate)>,
    /// When the latest pair was sent that told of the queue; `None` after a pause.
    pub(super) reading_at: Option<f64>,
    pub(super) deviation: Deviation,
    pub(super) price: Price,
    pub(super) rival: Rival,
    /// The most that was ever carried.
    pub(super) max_delivery_rate: f64,
}

impl Probing {
    pub(super) fn new(capacity: Rate, path: &Path) -> Self {
        Self {
            level: Level::above(path.base().as_secs_f64()),
            bottleneck: Bottleneck::new(capacity.bytes_per_sec(), path.queue.as_secs_f64()),
            max_delivery_rate: capacity.bytes_per_sec(),
            ..Self::default()
        }
    }

    /// Begins a pair anew; what was on its way is not known any more.
    pub(super) fn forget_pairs(&mut self) {
        self.trial = self.trial.wrapping_add(2) & !1;
        self.second = None;
        self.launched.clear();
        self.forget_first();
    }

    /// What the first probe of a pair told is no half of one any more, and between a pair before and one after more changes than
    /// the rate.
    fn forget_first(&mut self) {
        self.first = None;
        self.last_growth = None;
        self.level.forget_test();
    }

    /// There was nothing to send. The queue may have become any meanwhile. A silent path is no such pause: we sent, and what it did
    /// unforeseen is how far readings are off.
    pub(super) fn interrupt(&mut self) {
        self.forget_first();
        self.level.interrupt();
        self.bottleneck.interrupt();
        self.reading_at = None;
    }

    /// How long after the latest pair that told of the queue this one was sent; 0 after a pause. Unit: s.
    pub(super) fn since_reading(&mut self, pair: &Pair) -> f64 {
        let at = pair.second.started.as_secs_f64();
        self.reading_at.replace(at).map_or(0.0, |then| at - then)
    }

    /// The result of a probe; a pair, if it is the second of one, and whether it left since more was tried.
    pub(super) fn resolve(&mut self, trial: u8, report: &Report) -> Option<(Pair, bool)> {
        let mut after_increase = true;
        while let Some(launched) = self.launched.pop_front() {
            after_increase = launched.after_increase;
            if launched.trial == trial {
                break;
            }
        }
        if trial.is_multiple_of(2) {
            self.first = Some((trial, Box::new(report.clone())));
            return None;
        }
        let (_, first) = self.first.take().filter(|(first, _)| first.wrapping_add(1) == trial)?;
        Some((Pair { first, second: Box::new(report.clone()) }, after_increase))
    }

    /// A pair begins. The share of the rate to send it at: half for a test of the level.
    pub(super) fn begin_pair(&mut self) -> f64 {
        self.level.begin_pair(self.trial)
    }

    /// The largest number of equal senders behind the queue: [`DOUBTFUL`] times what our share certainly tells, since others need
    /// not be our equals.
    pub(super) fn senders(&self) -> f64 {
        (DOUBTFUL / self.share.at_least(ERRORS)).clamp(DOUBTFUL, CROWD)
    }

    /// How fast the queue grew through a pair. Learns how that answers to our rate.
    pub(super) fn growth(&mut self, pair: &Pair) -> Estimate {
        let Some(growth) = pair.growth() else {
            self.last_growth = None;
            return Estimate { mean: 0.0, variance: 1.0 };
        };
        if let Some(step) = pair.growth_step()
            && pair.step() > 0.0
        {
            self.share.learn(pair.step(), at_best(step));
        }
        if let Some((before, then)) = self.last_growth.replace((pair.rate(), growth)) {
            let change = Estimate { mean: growth.mean - then.mean, variance: growth.variance + then.variance };
            self.share.learn((pair.rate() / before).ln(), at_best(change));
        }
        growth
    }
}

/// A change of growth, no better known than from where on a queue grows at all: an empty one stands as exactly as clocks go, and
/// the first that did not would weigh nothing against it.
fn at_best(change: Estimate) -> Estimate {
    Estimate { variance: change.variance.max(TELLING_GROWTH * TELLING_GROWTH), ..change }
}

#[cfg(test)]
mod tests {
    use super::super::PairReading;
    use super::super::pair::tests::pair;
    use super::super::tests::path;
    use super::*;
    use crate::utility::tests::report;

    fn probing() -> Probing {
        Probing::new(Rate::from_mbit(50.0), &path())
    }

    #[test]
    fn a_pair_begins_with_an_even_probe_also_after_one_was_given_up() {
        for (next, begins) in [(4, 6), (5, 6), (254, 0), (255, 0)] {
            let mut probing = probing();
            probing.trial = next;
            probing.forget_pairs();
            assert_eq!(probing.trial, begins, "after {next}");
        }
    }

    #[test]
    fn an_interruption_separates_the_results_before_and_after() {
        for forgets in [true, false] {
            let mut probing = probing();
            let pair = pair(0, 50.0, |_| 0.0, |_| 0.01);
            let growth = probing.growth(&pair);
            let queue = probing.level.read(&pair, 0.0).unwrap();
            assert!(probing.since_reading(&pair) <= 0.0, "it is the first");
            let reading = PairReading { pair: pair.clone(), carried: pair.carried(), queue, ..PairReading::nothing() };
            probing.bottleneck.update(&reading, 0.02);
            probing.first = Some((0, Box::new(report(50.0, 0.0))));
            assert!(probing.last_growth.is_some() && probing.bottleneck.follows(), "{growth:?}");
            if forgets {
                probing.forget_pairs()
            } else {
                probing.interrupt()
            }
            assert!(probing.last_growth.is_none() && probing.first.is_none());
            let follow = [probing.level.follows(), probing.bottleneck.follows(), probing.reading_at.is_some()];
            assert_eq!(follow, [forgets; 3]);
        }
    }

    #[test]
    fn a_pair_is_as_fresh_as_its_second_probe() {
        let mut probing = probing();
        for (trial, after_increase) in [(0, true), (1, false), (2, false), (3, true), (4, true)] {
            probing.launched.push_back(Launched { trial, after_increase, rate: 6.25e6, seconds: 0.015 });
        }
        let pairs = [0, 1, 2, 3]
            .map(|trial| probing.resolve(trial, &report(50.0, 0.0)).map(|(_, after_increase)| after_increase));
        assert_eq!(pairs, [None, Some(false), None, Some(true)]);
        assert_eq!(probing.launched.iter().map(|sent| sent.trial).collect::<Vec<_>>(), [4]);
        assert!(probing.resolve(5, &report(50.0, 0.0)).is_none(), "the first one was not heard of");
    }

    #[test]
    fn a_queue_that_grows_with_our_rate_is_all_ours() {
        let mut probing = probing();
        for (at, mbit, growth) in [(0, 50.0, 0.1), (1, 60.0, 0.3)] {
            let pair = pair(at, mbit, |_| 0.0, |at| growth * at);
            probing.growth(&pair);
        }
        let found = probing.share.at_least(0.0);
        assert!((0.8..1.2).contains(&found), "{found}");
    }
}
