//! The error of readings, estimated from the readings alone.

use super::pair::WEIGHT;

/// Readings of something that drifts. Neighbouring readings differ by the drift and by both errors. Two neighbouring differences
/// share one error, with opposite signs. So the mean of their product is minus the error's variance, whatever the drift (the
/// moments of the local level model; A. Harvey, Forecasting, Structural Time Series Models and the Kalman Filter, 1989, §2.4).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scatter {
    /// The latest reading, and by how much it differs from the one before.
    pub(super) last: Option<(f64, f64)>,
    /// Mean of the products of neighbouring differences.
    product: f64,
}

impl Scatter {
    /// Takes in a reading.
    pub(super) fn learn(&mut self, reading: f64) {
        let (last, before) = self.last.unwrap_or((reading, 0.0));
        let change = reading - last;
        self.product += WEIGHT * (change * before - self.product);
        self.last = Some((reading, change));
    }

    /// The next reading does not follow the latest one.
    pub(super) const fn interrupt(&mut self) {
        self.last = None;
    }

    /// Variance of a reading's error.
    pub(super) const fn variance(&self) -> f64 {
        (-self.product).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// The mean variance found of readings that drift and err by so much, evenly spread.
    fn found(drift: f64, error: f64) -> f64 {
        let (mut scatter, mut rng) = (Scatter::default(), Rng::new(3));
        let (mut at, mut sum) = (0.0, 0.0);
        for _ in 0..2000 {
            at += drift * (rng.unit() - 0.5);
            scatter.learn(at + error * (rng.unit() - 0.5));
            sum += scatter.variance();
        }
        sum / 2000.0
    }

    #[test]
    fn errors_are_found_and_drift_is_none() {
        // Evenly spread over a width w: w²/12.
        let (errors, both, drift) = (found(0.0, 0.3), found(0.1, 0.3), found(0.3, 0.0));
        assert!((errors / 0.0075 - 1.0).abs() < 0.2, "{errors}");
        assert!((both / 0.0075 - 1.0).abs() < 0.3, "{both}");
        assert!(drift < 0.2 * errors, "{drift}");
    }

    #[test]
    fn a_step_counts_for_nothing() {
        let mut scatter = Scatter::default();
        (0..20).for_each(|i| scatter.learn(if i < 10 { 0.0 } else { 1.0 }));
        assert!(scatter.variance() < 1e-12, "{scatter:?}");
    }

    #[test]
    fn readings_apart_are_not_compared() {
        let mut scatter = Scatter::default();
        for i in 0..20 {
            scatter.learn(f64::from(i % 2));
            scatter.interrupt();
        }
        assert!(scatter.variance() < 1e-12, "{scatter:?}");
    }
}
