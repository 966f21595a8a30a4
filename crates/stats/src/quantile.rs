//! Quantiles of a sample.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(vec![1.0, 2.0], 0.5), Some(1.5));
        assert_eq!(quantile(vec![], 0.5), None);
    }
}
