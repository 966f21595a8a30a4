//! Quantiles of a sample, and its spread.

use serde::Serialize;

/// The value below which the share `quantile` of all lies: linear between the two samples next to rank `quantile` (n - 1), as R's
/// type 7 and NumPy do. `sorted` ascends. None of none.
pub fn quantile_of(sorted: &[f64], quantile: f64) -> Option<f64> {
    let rank = quantile.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted.get(rank.floor() as usize)?, sorted.get(rank.ceil() as usize)?);
    Some(below + (above - below) * rank.fract())
}

/// [`quantile_of`] values in any order.
pub fn quantile(mut values: Vec<f64>, quantile: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    quantile_of(&values, quantile)
}

/// Minimum, median, 95th percentile and maximum of some samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// Half of them are below.
    pub median: f64,
    /// 95 of 100 are below.
    pub p95: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// The spread of these samples; `None` if there are none. Samples that are not finite are left out.
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.into_iter().filter(|sample| sample.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            min: *sorted.first()?,
            median: quantile_of(&sorted, 0.5)?,
            p95: quantile_of(&sorted, 0.95)?,
            max: *sorted.last()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(vec![1.0, 2.0], 0.5), Some(1.5));
        assert_eq!(quantile(vec![], 0.5), None);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        let spread = Spread::of([4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((spread.min, spread.median, spread.max), (1.0, 2.5, 4.0));
    }

    #[test]
    fn the_95th_percentile_of_0_to_100_is_95() {
        assert_eq!(Spread::of((0..=100).map(f64::from)).unwrap().p95, 95.0);
    }

    #[test]
    fn nothing_has_no_spread() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([f64::NAN]), None);
    }
}
