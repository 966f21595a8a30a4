//! A histogram as Prometheus has it: how many values were at most this, and their sum.

use pcc_report::prometheus::Family;

/// Counts of values, none of which is below zero: the sum never falls.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    bounds: &'static [f64],
    /// For each bound, the number of values between the one before and it; at the end those above all.
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    pub(super) fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    pub(super) fn add(&mut self, value: f64) {
        let value = value.max(0.0);
        let bucket = self.bounds.iter().position(|bound| value <= *bound).unwrap_or(self.bounds.len());
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.sum += value;
    }

    pub(super) fn write(&self, mut family: Family<'_>) {
        let mut all = 0;
        let bounds = self.bounds.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(&self.counts) {
            all += count;
            family.series("_bucket", &[("le", &bound)], all);
        }
        family.series("_sum", &[], self.sum).series("_count", &[], all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_report::prometheus::Exposition;

    #[test]
    fn each_bucket_counts_all_values_up_to_its_bound() {
        let mut histogram = Histogram::new(&[0.0, 0.5]);
        [0.0, 0.25, 0.5, 2.0, -1e-12].into_iter().for_each(|value| histogram.add(value));
        let mut all = Exposition::new("");
        histogram.write(all.family("x", "histogram", "X"));
        let text = all.into_text();
        let series: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            series,
            ["x_bucket{le=\"0\"} 2", "x_bucket{le=\"0.5\"} 4", "x_bucket{le=\"+Inf\"} 5", "x_sum 2.75", "x_count 5"]
        );
    }
}
