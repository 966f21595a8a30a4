//! Figures of merit of senders, at a moment and over time: the lab and the simulator judge by the same ones.

use crate::mean::{deviation, mean};

/// A sender has its part if its rate is off by no more than this share of the part.
const NEAR: f64 = 0.25;
/// For so many seconds in a row. Source: `NSDI 2015` §4.2.2.
const STAYS: usize = 5;
/// Seconds after convergence that show how steady a rate is.
const STEADY: usize = 60;
/// A sender is back when it has this share of its rate before a black-out.
const BACK: f64 = 0.8;
/// A quotient of rates that nobody distinguishes from a larger one: somebody starved.
const STARVED: f64 = 1000.0;

/// The second from which on a sender converged: the first of five in a row with a rate near its `fair` part. `rates` has its
/// goodput in each second of its life.
pub fn converged(rates: &[f64], fair: f64) -> Option<usize> {
    let is_near = |rate: &f64| (rate / fair - 1.0).abs() <= NEAR;
    rates.windows(STAYS).position(|seconds| seconds.iter().all(is_near))
}

/// Standard deviation of the rates in the minute after [`converged`]; of the first minute, if the sender never did. None of
/// fewer than two seconds.
pub fn unsteadiness(rates: &[f64], fair: f64) -> Option<f64> {
    let rest = rates.get(converged(rates, fair).unwrap_or(0)..).unwrap_or_default();
    deviation(&rest[..rest.len().min(STEADY)])
}

/// The first of these rates after a black-out that is four fifths of the `usual` one.
pub fn recovered(rates: impl IntoIterator<Item = f64>, usual: f64) -> Option<usize> {
    rates.into_iter().position(|rate| rate >= BACK * usual)
}

/// The larger of two rates over the smaller, at most 1000.
pub fn imbalance(one: f64, other: f64) -> f64 {
    (one.max(other) / one.min(other)).min(STARVED)
}

/// Jain's index of shares: 1 where all are equal, 1/n where one has everything. None where nobody has anything.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), share| (sum + share, squares + share * share));
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// Mean of Jain's index over windows, each with the rates of all in it. Windows in which nobody has anything do not count; none
/// without any other.
pub fn jain_over(windows: impl IntoIterator<Item = Vec<f64>>) -> Option<f64> {
    mean(&windows.into_iter().filter_map(|rates| jain(&rates)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_seconds_near_the_fair_part_are_convergence() {
        let rates = [5.0, 9.0, 9.0, 11.0, 12.0, 20.0, 7.5, 12.5, 10.0, 10.0, 10.0, 30.0];
        assert_eq!(converged(&rates, 10.0), Some(6));
        assert_eq!(converged(&rates[..10], 10.0), None);
        assert_eq!(converged(&[], 10.0), None);
    }

    #[test]
    fn a_rate_is_steady_by_the_minute_after_convergence() {
        let mut rates = vec![50.0; 3];
        rates.extend([10.0; 60]);
        rates.extend([90.0; 20]);
        assert_eq!(unsteadiness(&rates, 10.0), Some(0.0));
        // One that never converged is judged by its first minute.
        assert!(unsteadiness(&rates, 1000.0).unwrap() > 5.0);
        assert_eq!(unsteadiness(&[3.0], 3.0), None);
    }

    #[test]
    fn four_fifths_of_the_usual_rate_are_recovery() {
        assert_eq!(recovered([0.0, 7.9, 8.0, 1.0], 10.0), Some(2));
        assert_eq!(recovered([0.0, 7.9], 10.0), None);
    }

    #[test]
    fn an_imbalance_has_no_direction_and_an_end() {
        assert_eq!((imbalance(2.0, 6.0), imbalance(6.0, 2.0)), (3.0, 3.0));
        assert_eq!(imbalance(0.0, 6.0), 1000.0);
    }

    #[test]
    fn equal_shares_have_one_and_one_of_four_a_quarter() {
        assert_eq!(jain(&[2.0, 2.0, 2.0]), Some(1.0));
        assert_eq!(jain(&[0.0, 5.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[0.0, 0.0]), None);
        assert_eq!(jain(&[]), None);
    }

    #[test]
    fn windows_without_any_rate_do_not_count() {
        assert_eq!(jain_over([vec![1.0, 1.0], vec![0.0, 0.0], vec![1.0, 0.0]]), Some(0.75));
        assert_eq!(jain_over([vec![0.0, 0.0]]), None);
    }
}
