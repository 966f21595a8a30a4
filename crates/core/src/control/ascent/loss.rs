//! Which of the losses are ours: those that answer to our rate. Others happen whatever we send.

use super::pair::Pair;
use super::part::Part;
use crate::control::response::{Estimate, Response};

/// A response counts from so many errors on (97.5 %): until then it is chance.
const ERRORS: f64 = 2.0;
/// Weight of a pair in the rate of random loss.
const WEIGHT: f64 = 0.1;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loss {
    response: Response,
    /// Loss rate that does not answer.
    random: f64,
    /// Loss rate of late, whoever caused it.
    mean: f64,
    last: Option<(f64, Estimate)>,
    /// A way of blaming that is left out.
    without: Option<Part>,
}

impl Loss {
    pub(super) fn without(without: Option<Part>) -> Self {
        Self { without, ..Self::default() }
    }

    /// Takes in a pair: the share of its packets that were lost because of the rate.
    pub(super) fn update(&mut self, pair: &Pair) -> f64 {
        let (rate, loss) = (pair.rate(), pair.loss());
        self.mean += WEIGHT * (loss.mean - self.mean);
        let step = pair.step();
        if step > 0.0 {
            self.response.learn(step, pair.loss_step());
        }
        // The rate's own moves are larger than the probes, and tell more.
        if let Some((before, then)) = self.last.replace((rate, loss)) {
            let change = Estimate { mean: loss.mean - then.mean, variance: loss.variance + then.variance };
            self.response.learn((rate / before).ln(), change);
        }
        let answers = self.response.at_least(ERRORS) > 0.0 && self.without != Some(Part::OwnLoss);
        if answers || self.without == Some(Part::RandomLoss) {
            // What the slower probe lost bounds what is random.
            let (_, low) = pair.high_and_low();
            self.random += WEIGHT * (low.undelivered() - self.random).min(0.0);
            return (loss.mean - self.random).max(0.0);
        }
        self.random += WEIGHT * (loss.mean - self.random);
        0.0
    }

    pub(super) fn on_rate_change(&mut self, dx: f64) {
        self.response.on_rate_change(dx);
    }

    /// By how much more than what is random was lost.
    pub(super) fn beyond_random(&self, pair: &Pair) -> Estimate {
        let loss = pair.loss();
        Estimate { mean: loss.mean - self.random, ..loss }
    }

    /// The loss rate of late.
    pub(super) const fn mean(&self) -> f64 {
        self.mean
    }

    /// The loss rate that does not answer to ours.
    pub(super) const fn random(&self) -> f64 {
        self.random
    }
}

#[cfg(test)]
mod tests {
    use super::super::pair::tests::pair;
    use super::*;

    /// Pairs on a path of 100 Mbit/s that loses 1 % at random and what is too much; what was ours of the last one.
    fn own(loss: &mut Loss, rate: f64, pairs: u64) -> f64 {
        let lost = |rate: f64| 0.01 + (1.0 - 100.0 / rate).max(0.0);
        (0..pairs).map(|at| loss.update(&pair(at, rate, lost, |_| 0.0))).last().unwrap_or(0.0)
    }

    #[test]
    fn random_loss_is_not_ours() {
        let mut loss = Loss::default();
        assert!(own(&mut loss, 50.0, 100) < 0.001, "{loss:?}");
        assert!((loss.random() - 0.01).abs() < 0.001);
    }

    #[test]
    fn what_comes_with_a_higher_rate_is_ours_and_the_rest_stays_random() {
        let mut loss = Loss::default();
        own(&mut loss, 90.0, 30);
        let ours = own(&mut loss, 110.0, 10);
        assert!((ours - 0.09).abs() < 0.01, "{ours} of {loss:?}");
        assert!(loss.random() < 0.015, "{loss:?}");
        assert!(loss.mean() > 0.05);
    }

    #[test]
    fn the_loss_of_late_is_known_whoever_causes_it_and_what_is_beyond_the_random_part() {
        let mut loss = Loss::default();
        own(&mut loss, 50.0, 200);
        assert!((loss.mean() - 0.01).abs() < 1e-4 && (loss.random() - 0.01).abs() < 1e-4, "{loss:?}");
        let lossy = pair(0, 50.0, |_| 0.05, |_| 0.0);
        let beyond = loss.beyond_random(&lossy);
        assert!((beyond.mean - 0.04).abs() < 2e-4 && (beyond.variance - lossy.loss().variance).abs() < 1e-12);
        let (random, mean) = (loss.random(), loss.mean());
        loss.update(&lossy);
        assert!((loss.mean() - mean - WEIGHT * 0.04).abs() < 1e-4, "{loss:?}");
        assert!(loss.random() <= random + WEIGHT * 0.041, "{loss:?}");
    }

    #[test]
    fn what_answered_to_another_rate_is_forgotten_with_that_rate() {
        let mut loss = Loss::default();
        own(&mut loss, 90.0, 30);
        assert!(own(&mut loss, 110.0, 10) > 0.05);
        assert!(loss.response.at_least(ERRORS) > 0.0);
        loss.on_rate_change(-0.6);
        assert!(loss.response.at_least(ERRORS) <= 0.0, "{loss:?}");
    }

    #[test]
    fn the_edge_of_the_capacity_is_found_by_the_probes_alone() {
        let mut loss = Loss::default();
        own(&mut loss, 90.0, 30);
        assert!(own(&mut loss, 100.0, 10) > 0.005, "the faster probe loses 2 % more");
    }
}
