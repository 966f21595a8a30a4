//! Confidence intervals of 95 %, by the distance of a figure's seeds.

use crate::mean::Mean;
use crate::quantile::quantile_of;

/// Of how many intervals the true value lies within.
const CONFIDENCE: f64 = 0.95;

/// A figure, and between which values it lies with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidenceInterval {
    /// Its lower end.
    pub low: f64,
    /// The figure.
    pub middle: f64,
    /// Its upper end.
    pub high: f64,
}

impl ConfidenceInterval {
    /// A figure that is what it is.
    pub const fn exactly(value: f64) -> Self {
        Self { low: value, middle: value, high: value }
    }

    /// The mean of independent values, by Student's t; none of fewer than two.
    pub fn of_mean(values: &[f64]) -> Option<Self> {
        let Mean { mean, margin } = Mean::of(values)?;
        let margin = margin?;
        Some(Self { low: mean - margin, middle: mean, high: mean + margin })
    }

    /// A quantile of independent values: between two of them, whatever their distribution. None of too few: for the
    /// median it takes six, for the fifth percentile 72.
    pub fn of_quantile(mut values: Vec<f64>, quantile: f64) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let below = at_most(values.len(), quantile);
        let tail = (1.0 - CONFIDENCE) / 2.0;
        // The quantile lies below the value number `n` (from 0) if at most `n` values do.
        let low = (0..values.len()).rev().find(|&n| below[n] <= tail)?;
        let high = (0..values.len()).find(|&n| 1.0 - below[n] <= tail)?;
        let middle = quantile_of(&values, quantile)?;
        Some(Self { low: values[low], middle, high: values[high] })
    }

    /// The mean of several figures, each with its own interval.
    pub fn mean_of(figures: &[Self]) -> Option<Self> {
        let count = figures.len() as f64;
        let middle = figures.iter().map(|one| one.middle).sum::<f64>() / count;
        let apart = |from: fn(&Self) -> f64| figures.iter().map(|one| from(one).powi(2)).sum::<f64>().sqrt() / count;
        let (down, up) = (apart(|one| one.middle - one.low), apart(|one| one.high - one.middle));
        (!figures.is_empty()).then_some(Self { low: middle - down, middle, high: middle + up })
    }

    /// The lower of two figures, or the higher one: each end by itself.
    fn worse(self, other: Self, is_higher: bool) -> Self {
        let worse = if is_higher { f64::max } else { f64::min };
        let end = |from: fn(&Self) -> f64| worse(from(&self), from(&other));
        Self { low: end(|one| one.low), middle: end(|one| one.middle), high: end(|one| one.high) }
    }

    /// The worst of several figures; none of none.
    pub fn worst(figures: impl IntoIterator<Item = Self>, is_higher: bool) -> Option<Self> {
        figures.into_iter().reduce(|one, other| one.worse(other, is_higher))
    }

    /// The best of several figures, each end by itself: whoever is best may be anyone whose upper end is. None of none.
    pub fn best(figures: impl IntoIterator<Item = Self>, is_higher: bool) -> Option<Self> {
        Self::worst(figures, is_higher)
    }

    /// The probability that such an interval lies wholly on one side of a value, though the truth is on the other: at most this.
    pub const WRONG_SIDE: f64 = (1.0 - CONFIDENCE) / 2.0;

    /// This figure less a multiple of another, independent one: their errors add up as squares.
    pub fn less(self, times: f64, other: Self) -> Self {
        let middle = self.middle - times * other.middle;
        let down = (self.middle - self.low).hypot(times * (other.high - other.middle));
        let up = (self.high - self.middle).hypot(times * (other.middle - other.low));
        Self { low: middle - down, middle, high: middle + up }
    }

    /// The quotient of two independent figures: their relative errors add up as squares.
    pub fn over(self, other: Self) -> Self {
        // Whoever beats a peer that moved nothing at all beats it by far, but not by infinity, which JSON lacks.
        let least = |value: f64| if value == 0.0 { 1e-9 } else { value };
        let (own, others) = (least(self.middle).abs(), least(other.middle).abs());
        let middle = self.middle / least(other.middle);
        let down = ((self.middle - self.low) / own).hypot((other.high - other.middle) / others);
        let up = ((self.high - self.middle) / own).hypot((other.middle - other.low) / others);
        Self { low: middle - middle.abs() * down, middle, high: middle + middle.abs() * up }
    }
}

/// The probability that at most `n` of `count` values lie below their quantile, for each `n`.
fn at_most(count: usize, quantile: f64) -> Vec<f64> {
    let odds = quantile / (1.0 - quantile);
    let mut one = (1.0 - quantile).powi(i32::try_from(count).unwrap_or(i32::MAX));
    let mut sum = 0.0;
    let next = |n: usize| {
        sum += one;
        one *= odds * (count - n) as f64 / (n + 1) as f64;
        sum
    };
    (0..count).map(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_needs_two_values_and_narrows_with_more() {
        assert_eq!(ConfidenceInterval::of_mean(&[5.0]), None);
        let few = ConfidenceInterval::of_mean(&[4.0, 5.0, 6.0]).unwrap();
        // Student's t of two degrees of freedom, a standard deviation of 1, three values.
        assert!((few.high - few.middle - 4.30 / 3.0_f64.sqrt()).abs() < 1e-9, "{few:?}");
        let many = ConfidenceInterval::of_mean(&[4.0, 5.0, 6.0, 4.0, 5.0, 6.0]).unwrap();
        assert!(many.high - many.low < few.high - few.low);
    }

    #[test]
    fn the_median_of_six_lies_between_the_least_and_the_most() {
        let values: Vec<f64> = (0..6).map(f64::from).collect();
        assert_eq!(
            ConfidenceInterval::of_quantile(values[..5].to_vec(), 0.5),
            None,
            "one of 16 has them all on one side"
        );
        let all = ConfidenceInterval::of_quantile(values, 0.5).unwrap();
        assert_eq!((all.low, all.middle, all.high), (0.0, 2.5, 5.0));
        // The tables of the binomial distribution: of ten values the second and the ninth.
        let ten = ConfidenceInterval::of_quantile((0..10).map(f64::from).collect(), 0.5).unwrap();
        assert_eq!((ten.low, ten.high), (1.0, 8.0));
    }

    #[test]
    fn the_fifth_percentile_of_a_dozen_is_not_known() {
        assert_eq!(ConfidenceInterval::of_quantile((0..12).map(f64::from).collect(), 0.05), None);
        assert!(ConfidenceInterval::of_quantile((0..72).map(f64::from).collect(), 0.05).is_some());
    }

    #[test]
    fn a_quotient_is_as_uncertain_as_both_together() {
        let ten = ConfidenceInterval { low: 9.7, middle: 10.0, high: 10.3 };
        let two = ConfidenceInterval { low: 1.92, middle: 2.0, high: 2.08 };
        let five = ten.over(two);
        // 3 % and 4 % make 5 %.
        assert!((five.low - 4.75).abs() < 1e-9 && (five.high - 5.25).abs() < 1e-9, "{five:?}");
        let six = ten.less(2.0, two);
        assert!((six.middle - 6.0).abs() < 1e-9 && (six.high - six.middle - 0.34).abs() < 1e-9, "{six:?}");
        assert!(ten.over(ConfidenceInterval { low: 0.0, middle: 0.0, high: 0.0 }).middle.is_finite());
    }
}
