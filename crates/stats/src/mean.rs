//! A mean and how well it is known.

use serde::Serialize;

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
        if values.is_empty() {
            return None;
        }

        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let margin = (values.len() > 1).then(|| {
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
            student(values.len() - 1) * (variance / count).sqrt()
        });
        Some(Self { mean, margin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_confidence_interval_of_three_seeds_is_student_s() {
        let mean = Mean::of(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(mean.mean, 2.0);
        assert!((mean.margin.unwrap() - 4.30 / 3_f64.sqrt()).abs() < 1e-9);
        assert_eq!(Mean::of(&[5.0]), Some(Mean { mean: 5.0, margin: None }));
        assert!((student(11) - 2.20).abs() < 0.01 && (student(30) - 2.04).abs() < 0.01, "{}", student(11));
    }
}
