//! A mean, how far values lie from it, and how well it is known.

use serde::Serialize;

/// The mean; none of none.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Standard deviation of a sample; none of fewer than two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// A mean and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// The mean over the seeds.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval; absent with a single seed.
    pub margin: Option<f64>,
}

/// Student's t for 95 % on both sides, for 1 to 10 degrees of freedom.
const STUDENT: [f64; 10] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];

/// The same beyond: at 11 degrees of freedom 2.20, falling to 1.96.
fn student(freedom: usize) -> f64 {
    STUDENT.get(freedom - 1).copied().unwrap_or(1.96 + 2.6 / freedom as f64)
}

impl Mean {
    /// The mean of independent values; none of none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mean = mean(values)?;
        let error = deviation(values).map(|deviation| deviation / (values.len() as f64).sqrt());
        Some(Self { mean, margin: error.map(|error| student(values.len() - 1) * error) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_is_that_of_a_sample() {
        assert_eq!((deviation(&[1.0, 2.0, 3.0]), deviation(&[4.0])), (Some(1.0), None));
        assert_eq!((mean(&[1.0, 2.0]), mean(&[])), (Some(1.5), None));
    }

    #[test]
    fn the_confidence_interval_of_three_seeds_is_student_s() {
        let mean = Mean::of(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(mean.mean, 2.0);
        assert!((mean.margin.unwrap() - 4.30 / 3_f64.sqrt()).abs() < 1e-9);
        assert_eq!(Mean::of(&[5.0]), Some(Mean { mean: 5.0, margin: None }));
        assert!((student(11) - 2.20).abs() < 0.01 && (student(30) - 2.04).abs() < 0.01, "{}", student(11));
    }
}
