//! Random delays of single packets, as a table for `netem`: quantiles of what the path's model draws.

use crate::spec::Late;
use core::time::Duration;
use pcc::units::Rate;
use pcc_link::{Conditions, Rng};

/// The most that `netem` takes.
const QUANTILES: usize = 16_384;
/// Draws for each quantile.
const DRAWS: usize = 16;
/// The standard deviation in a table's unit.
const SCALE: u64 = 8192;
/// A table has 16 bits: four standard deviations to either side, of which the last step has no positive number.
const HALF: f64 = 32_767.0;

/// Delays that packets draw independently of each other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    /// The middle between the shortest, which is none, and the longest. Unit: ns.
    pub(super) middle: u64,
    /// A quarter of that. Unit: ns.
    pub(super) deviation: u32,
    pub(super) quantiles: Vec<i16>,
    /// Whether a packet may overtake those before it.
    pub(super) reorders: bool,
}

impl Table {
    /// That of the delays; none if there are none.
    pub(super) fn of(late: Late) -> Option<Self> {
        if late.longest() == 0 {
            return None;
        }
        let (jitter, wifi) = (Duration::from_nanos(late.jitter), Duration::from_nanos(late.wifi));
        let conditions = Conditions { jitter, wifi, ..Conditions::new(Rate::from_mbit(1.0), Duration::ZERO) };
        // The table is the model's and not the run's: every seed draws from the same one.
        let mut rng = Rng::new(0);
        let mut draws: Vec<_> =
            (0..QUANTILES * DRAWS).map(|_| conditions.lateness(&mut rng).as_nanos() as f64).collect();
        draws.sort_unstable_by(f64::total_cmp);
        let half = (draws.last()? / 2.0).max(1.0);
        let quantiles = draws.iter().skip(DRAWS / 2).step_by(DRAWS);
        Some(Self {
            middle: half as u64,
            deviation: (half * SCALE as f64 / HALF) as u32,
            quantiles: quantiles.map(|draw| ((draw / half - 1.0) * HALF) as i16).collect(),
            reorders: late.reorders,
        })
    }

    /// As `netem` is told.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.quantiles.iter().flat_map(|quantile| quantile.to_ne_bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean, median and longest of the delays that a table stands for. Unit: ms.
    fn delays(late: Late) -> [f64; 3] {
        let table = Table::of(late).unwrap();
        assert_eq!(table.quantiles.len(), QUANTILES);
        let delay = |quantile: &i16| {
            let away = i64::from(*quantile) * i64::from(table.deviation) / SCALE as i64;
            (table.middle as i64 + away) as f64 / 1e6
        };
        let mut all: Vec<_> = table.quantiles.iter().map(delay).collect();
        all.sort_unstable_by(f64::total_cmp);
        [all.iter().sum::<f64>() / QUANTILES as f64, all[QUANTILES / 2], all[QUANTILES - 1]]
    }

    #[test]
    fn jitter_is_uniform_from_none_on() {
        let [mean, median, longest] = delays(Late { jitter: 5_000_000, ..Late::default() });
        assert!((mean - 2.5).abs() < 0.02 && (median - 2.5).abs() < 0.02 && (longest - 5.0).abs() < 0.01);
    }

    #[test]
    fn wifi_has_the_model_s_mean_and_most_packets_wait_for_little() {
        let [mean, median, longest] = delays(Late { wifi: 7_000_000, ..Late::default() });
        // The model's delays lie 0.32 ms below the mean that is asked for.
        assert!((mean - 6.68).abs() < 0.2, "{mean}");
        assert!(median < 1.5 && (150.0..300.0).contains(&longest), "{median} {longest}");
    }

    #[test]
    fn a_path_without_random_delays_has_no_table() {
        assert_eq!(Table::of(Late::default()), None);
    }
}
