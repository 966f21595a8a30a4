//! How loss or growth answer to a sender's own rate: the slope over recent pairs of rates, with its error.

/// A mean and the variance of what it may be off by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) mean: f64,
    pub(super) variance: f64,
}

impl Estimate {
    pub(super) fn error(self) -> f64 {
        self.variance.sqrt()
    }

    /// Whether it certainly is above this (97.5 %).
    pub(super) fn is_above(self, bound: f64) -> bool {
        self.mean - ERRORS * self.error() > bound
    }

    /// The mean as far as it stands out of the noise, m³/(m² + e²): what is within its error counts next to nothing, what is
    /// far beyond counts in full, and nothing changes suddenly between (Wiener's filter).
    pub(super) fn wiener(self) -> f64 {
        let square = self.mean * self.mean;
        if square > 0.0 { self.mean * square / (square + self.variance) } else { 0.0 }
    }
}

/// Standard errors from which on a result is certain (97.5 %). Below that a result is chance.
pub(super) const ERRORS: f64 = 2.0;

/// The slope d y / d ln x, where x is the rate and y what an interval achieved: least squares through the origin over pairs,
/// of which older ones count less.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Response {
    xx: f64,
    xy: f64,
    yy: f64,
    /// Its weight in pairs.
    pairs: f64,
}

/// Weight of all that is known when another pair comes: twenty pairs are remembered, as many as tell 1 % of loss from a
/// response of a tenth at probes of 2 %.
pub(super) const MEMORY: f64 = 0.95;
crate::shared::shared_with_c!("RESPONSE_" [] MEMORY);

impl Response {
    /// Two rates `dx` apart in ln x achieved what is `dy` apart.
    pub(super) fn learn(&mut self, dx: f64, dy: Estimate) {
        let weight = 1.0 / dy.variance.max(1e-12);
        self.xx = MEMORY * self.xx + weight * dx * dx;
        self.xy = MEMORY * self.xy + weight * dx * dy.mean;
        self.yy = MEMORY * self.yy + weight * dy.mean * dy.mean;
        self.pairs = MEMORY * self.pairs + 1.0;
    }

    /// Standard error of the slope. Where pairs scatter more than their own errors say, as beside other senders, it is
    /// the scatter that counts.
    fn error(&self) -> f64 {
        let unexplained = (self.yy - self.xy * self.xy / self.xx).max(0.0);
        ((unexplained / (self.pairs - 1.0).max(1.0)).max(1.0) / self.xx).sqrt()
    }

    /// Whether the slope is certainly below this (97.5 %).
    pub(super) fn is_below(&self, slope: f64) -> bool {
        self.at_most() < slope
    }

    /// Upper bound of the slope (97.5 %); infinite as long as nothing is known.
    pub(super) fn at_most(&self) -> f64 {
        if self.xx > 0.0 { self.xy / self.xx + ERRORS * self.error() } else { f64::INFINITY }
    }

    /// The slope less so many errors; zero where that is not above zero.
    pub(super) fn at_least(&self, errors: f64) -> f64 {
        if self.xx > 0.0 { (self.xy / self.xx - errors * self.error()).max(0.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// A response learnt from so many pairs of ±2 %, whose results differ by `slope` and noise of this size.
    fn learnt(pairs: u32, slope: f64, noise: f64, claimed: f64) -> Response {
        let (mut response, mut rng) = (Response::default(), Rng::new(7));
        for _ in 0..pairs {
            // The sum of twelve uniform numbers less six is nearly normal.
            let normal = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
            let dy = Estimate { mean: 0.04 * slope + noise * normal, variance: claimed * claimed };
            response.learn(0.04, dy);
        }
        response
    }

    #[test]
    fn a_slope_is_found_from_the_first_pair_where_nothing_disturbs() {
        assert!((learnt(1, 0.5, 0.0, 1e-4).at_least(2.0) - 0.5).abs() < 0.01);
        assert_eq!(learnt(0, 0.5, 0.0, 1e-4).at_least(2.0).to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn noise_alone_is_no_response_and_more_pairs_find_a_weaker_one() {
        assert!(learnt(40, 0.0, 0.01, 0.01).at_least(2.0) < 0.02);
        assert!(learnt(2, 0.5, 0.01, 0.01).at_least(2.0) < 0.3, "two pairs are not sure");
        assert!(learnt(40, 0.5, 0.01, 0.01).at_least(2.0) > 0.2);
    }

    #[test]
    fn pairs_that_scatter_more_than_they_claim_are_not_believed() {
        let (honest, bold) = (learnt(40, 0.0, 0.02, 0.02), learnt(40, 0.0, 0.02, 1e-4));
        assert!((bold.error() / honest.error() - 1.0).abs() < 0.3, "{} and {}", bold.error(), honest.error());
    }

    #[test]
    fn few_pairs_do_not_prove_that_there_is_no_slope() {
        assert!(!learnt(1, 0.0, 0.0, 0.01).is_below(0.1) && !Response::default().is_below(0.1));
        assert!(learnt(8, 0.0, 1e-4, 1e-4).is_below(0.1) && !learnt(8, 0.2, 1e-4, 1e-4).is_below(0.1));
        assert!(!learnt(8, 0.0, 0.01, 1e-4).is_below(0.1), "what scatters is not known");
    }

    #[test]
    fn what_is_within_its_error_shrinks_and_what_is_beyond_stays() {
        let wiener = |mean| Estimate { mean, variance: 1.0 }.wiener();
        assert!(wiener(0.1) < 0.002 && wiener(-0.1) > -0.002 && wiener(10.0) > 9.8 && wiener(-10.0) < -9.8);
        assert!((wiener(1.0) - 0.5).abs() < 1e-12);
    }

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-3, "{found}, not {expected}");
    }

    #[test]
    fn the_error_is_the_scatter_s_or_the_pairs_larger_one() {
        // Slopes of 1, −1 and 1, of which the older ones count 0.95 and 0.9025: in the mean 0.9525 / 2.8525.
        let (mut response, mut agreeing) = (Response::default(), Response::default());
        for slope in [1.0, -1.0, 1.0] {
            response.learn(0.1, Estimate { mean: 0.1 * slope, variance: 1e-4 });
            agreeing.learn(0.1, Estimate { mean: 0.1, variance: 1.0 });
        }
        let (slope, error) = (0.3339, 0.6926);
        near(response.at_least(0.0), slope);
        // Their squares, 1 each, less that of the mean, by one pair less than there are.
        near(response.error(), error);
        near(response.at_least(0.4), slope - 0.4 * error);
        near(response.at_most(), slope + 2.0 * error);
        assert!(response.is_below(1.72) && !response.is_below(1.718));
        // Ten for each pair of 0.1 whose error is 1, by the root of their number.
        near(agreeing.error(), 10.0 / 2.8525_f64.sqrt());
        near(agreeing.at_least(0.0), 1.0);
    }

    #[test]
    fn pairs_with_tiny_errors_count_alike() {
        let mut response = Response::default();
        response.learn(0.1, Estimate { mean: 0.1, variance: 1e-30 });
        response.learn(0.1, Estimate { mean: 0.0, variance: 0.0 });
        near(response.at_least(0.0), 0.95 / 1.95);
    }

    #[test]
    fn nothing_of_which_all_is_known_is_nothing() {
        assert_eq!(Estimate { mean: 0.0, variance: 0.0 }.wiener().to_bits(), 0.0_f64.to_bits());
        assert_eq!(Estimate { mean: 2.0, variance: 0.0 }.wiener().to_bits(), 2.0_f64.to_bits());
    }
}
