//! How fast the RTT grew within an interval, and how sure that is: least squares of RTT on send time, in one pass.
//! Source: `NSDI 2018` §4 for the gradient.

use core::time::Duration;

/// Running sums of the samples of one interval. Both axes are centred on the first sample, so that the sums keep their
/// digits however long the connection lives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slope {
    samples: u32,
    /// The least sample. Unit: s.
    least: f64,
    first: (f64, f64),
    last: (f64, f64),
    /// The longest time between two neighbours.
    pause: f64,
    sum_t: f64,
    sum_r: f64,
    sum_tt: f64,
    sum_tr: f64,
    sum_rr: f64,
    /// Differences between neighbours: they tell lasting noise from noise that changes with each sample.
    step_tt: f64,
    step_tr: f64,
    step_rr: f64,
}

impl Slope {
    /// A packet sent so long after the interval began took `rtt`.
    pub(crate) fn add(&mut self, sent_after: Duration, rtt: Duration) {
        let (t, r) = (sent_after.as_secs_f64(), rtt.as_secs_f64());
        if self.samples == 0 {
            (self.first, self.least) = ((t, r), r);
        }
        self.least = self.least.min(r);
        let (t, r) = (t - self.first.0, r - self.first.1);
        let (dt, dr) = (t - self.last.0, r - self.last.1);
        self.samples = self.samples.saturating_add(1);
        self.pause = self.pause.max(dt);
        self.last = (t, r);
        self.sum_t += t;
        self.sum_r += r;
        self.sum_tt += t * t;
        self.sum_tr += t * r;
        self.sum_rr += r * r;
        self.step_tt += dt * dt;
        self.step_tr += dt * dr;
        self.step_rr += dr * dr;
    }

    pub(crate) const fn samples(&self) -> u32 {
        self.samples
    }

    fn n(&self) -> f64 {
        f64::from(self.samples.max(1))
    }

    /// Sums of squares around the means: of t, of t with r, of r.
    fn centred(&self) -> (f64, f64, f64) {
        let n = self.n();
        let (tt, rr) = (self.sum_tt - self.sum_t * self.sum_t / n, self.sum_rr - self.sum_r * self.sum_r / n);
        (tt.max(0.0), self.sum_tr - self.sum_t * self.sum_r / n, rr.max(0.0))
    }

    pub(crate) fn mean(&self) -> Option<Duration> {
        (self.samples > 0).then(|| seconds(self.first.1 + self.sum_r / self.n()))
    }

    pub(crate) fn least(&self) -> Option<Duration> {
        (self.samples > 0).then(|| seconds(self.least))
    }

    /// Seconds of RTT a second; `None` with fewer than two moments.
    pub(crate) fn slope(&self) -> Option<f64> {
        let (tt, tr, _) = self.centred();
        (self.samples >= 2 && tt > 0.0).then(|| tr / tt)
    }

    /// From the first sample's packet to the last one's: what the slope was seen over.
    pub(crate) fn span(&self) -> Duration {
        seconds(self.last.0)
    }

    /// The longest time between the packets of two neighbours.
    pub(crate) fn pause(&self) -> Duration {
        seconds(self.pause)
    }

    /// Sum of squares that the slope does not explain.
    fn unexplained(&self) -> f64 {
        let (_, tr, rr) = self.centred();
        (rr - self.slope().unwrap_or(0.0) * tr).max(0.0)
    }

    /// The number of independent samples that would say as much. Lasting jitter makes neighbours alike, and a hundred
    /// of them may know no more than three. Their correlation ρ comes from their differences (the statistic of Durbin
    /// and Watson, 2(1 − ρ)), and such noise leaves n(1 − ρ)/(1 + ρ) samples.
    fn effective_samples(&self) -> f64 {
        let (slope, unexplained) = (self.slope().unwrap_or(0.0), self.unexplained());
        let steps = self.step_rr - 2.0 * slope * self.step_tr + slope * slope * self.step_tt;
        let alike = if unexplained > 0.0 { (steps / unexplained / 2.0).clamp(0.0, 1.0) } else { 1.0 };
        self.n() * alike / (2.0 - alike)
    }

    /// Standard error of the slope; infinite with fewer than three samples. A line takes two degrees of freedom, and of
    /// a bend in the samples, which makes all neighbours alike, one is left.
    pub(crate) fn error(&self) -> f64 {
        let (tt, _, _) = self.centred();
        let freedom = (self.effective_samples() - 2.0).max(1.0);
        if self.samples >= 3 && tt > 0.0 { (self.unexplained() / freedom / tt).sqrt() } else { f64::INFINITY }
    }

    /// Root mean square of the samples around the slope.
    pub(crate) fn residual(&self) -> Duration {
        seconds((self.unexplained() / self.n()).sqrt())
    }

    /// Standard deviation of the samples.
    pub(crate) fn deviation(&self) -> Duration {
        seconds((self.centred().2 / self.n()).sqrt())
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// A sample each millisecond.
    fn over(rtts_ms: impl IntoIterator<Item = f64>) -> Slope {
        let mut slope = Slope::default();
        for (at, rtt) in (0..).zip(rtts_ms) {
            slope.add(Duration::from_millis(at), Duration::from_secs_f64(rtt / 1e3));
        }
        slope
    }

    #[test]
    fn a_steady_rise_is_known_without_error() {
        let slope = over((0..10).map(|i| 30.0 + 0.1 * f64::from(i)));
        assert!((slope.slope().unwrap() - 0.1).abs() < 1e-9 && slope.error() < 1e-6, "{slope:?}");
        assert_eq!((slope.span(), slope.samples()), (Duration::from_millis(9), 10));
        assert_eq!(slope.pause(), Duration::from_millis(1));
        assert_eq!(slope.least(), Some(Duration::from_millis(30)));
    }

    #[test]
    fn two_samples_have_a_slope_and_no_error_to_trust_it_by() {
        let slope = over([30.0, 31.0]);
        assert!((slope.slope().unwrap() - 1.0).abs() < 1e-9);
        assert!(slope.error().is_infinite());
        assert_eq!(over([30.0]).slope(), None);
    }

    #[test]
    fn a_slope_does_not_depend_on_when_it_begins() {
        let mut late = Slope::default();
        for (at, rtt) in [(105, 30.0), (106, 31.0), (107, 31.5)] {
            late.add(Duration::from_millis(at), Duration::from_secs_f64(rtt / 1e3));
        }
        let early = over([30.0, 31.0, 31.5]);
        assert!((late.slope().unwrap() - 0.75).abs() < 1e-9 && (early.slope().unwrap() - 0.75).abs() < 1e-9);
        assert_eq!(late.span(), Duration::from_millis(2));
        assert!((late.error() - early.error()).abs() < 1e-9 && late.error().is_finite());
        let mut at_once = Slope::default();
        (0..3).for_each(|rtt| at_once.add(Duration::ZERO, Duration::from_millis(30 + rtt)));
        assert_eq!(at_once.slope(), None, "three acknowledgements of one moment");
        assert!(at_once.error().is_infinite());
    }

    #[test]
    fn independent_noise_is_found_as_uncertain_as_it_is() {
        let mut rng = Rng::new(5);
        let slopes: Vec<_> = (0..400).map(|_| over((0..100).map(|_| 30.0 + rng.unit()))).collect();
        let spread = (slopes.iter().map(|s| s.slope().unwrap().powi(2)).sum::<f64>() / 400.0).sqrt();
        let claimed = slopes.iter().map(Slope::error).sum::<f64>() / 400.0;
        assert!((0.8..1.25).contains(&(claimed / spread)), "claimed {claimed}, found {spread}");
    }

    #[test]
    fn deviation_and_residual_match_the_samples() {
        let near = |is: Duration, ms: f64| (is.as_secs_f64() * 1e3 - ms).abs() < 1e-6;
        let flat = over([31.0, 30.0, 30.0, 31.0]);
        assert!(near(flat.deviation(), 0.5) && near(flat.residual(), 0.5) && near(flat.mean().unwrap(), 30.5));
        let rising = over([31.0, 31.0, 32.0, 34.0]); // the same on a rise of one a sample
        assert!(near(rising.deviation(), 1.5_f64.sqrt()) && near(rising.residual(), 0.5), "{rising:?}");
        assert_eq!(over([]).deviation(), Duration::ZERO);
    }

    #[test]
    fn a_rise_does_not_change_the_error_of_lasting_noise() {
        let mut rng = Rng::new(8);
        let mut held = 0.0;
        let noise: Vec<_> = (0..200)
            .map(|_| {
                held = 0.9 * held + rng.unit() - 0.5;
                held
            })
            .collect();
        let errors = [0.0, 0.2, -0.2].map(|rise| {
            let slope = over((0..).zip(&noise).map(|(at, noise)| 130.0 + rise * f64::from(at) + noise));
            assert!((slope.slope().unwrap() - rise).abs() < 4.0 * slope.error());
            slope.error()
        });
        let independent = over((0..200).map(|_| 130.0 + 2.3 * (rng.unit() - 0.5))).error();
        assert!(errors.iter().all(|error| (error / errors[0] - 1.0).abs() < 1e-6), "{errors:?}");
        assert!(errors[0] > 2.0 * independent, "{} is that of independent noise, {independent}", errors[0]);
    }

    #[test]
    fn noise_that_lasts_is_not_taken_for_a_trend() {
        // The twenty packets behind a waiting one wait too.
        let mut rng = Rng::new(6);
        let mut beyond = 0;
        for _ in 0..1000 {
            let mut held = 0.0_f64;
            let slope = over((0..200).map(|_| {
                held = if rng.unit() < 0.05 { 20.0 * rng.unit() } else { held };
                30.0 + held
            }));
            beyond += u32::from(slope.slope().unwrap().abs() > 5.0 * slope.error());
        }
        assert!(beyond <= 20, "{beyond} of 1000 look like a trend by five errors; independent errors would say 600");
    }
}
