//! What the queue costs in the mean.
//!
//! Senders that share a queue see the same queue, and the one with the larger rate wants a shorter queue. The forecast moves each
//! of them by queue over RTT only: a thousandth for 0.5 ms and 0.5 s. Two unequal senders then need a thousand RTT to meet. The mean
//! queue, which one sender's steps hardly move, lets them meet sooner.
//!
//! The mean is of unfiltered readings. To a sender with a long RTT the swings of one with a short RTT are noise: filtered readings
//! would show it half of the queue, and leave it the larger share.

use super::DOUBLING;
use super::forecast::Forecast;
use super::level::TELLING;
use super::pair::WEIGHT;
use crate::control::rate_control::Evaluate;

/// A queue this many times as long as its mean is a moment's: a newcomer's start, which is over ten pairs later. Without it the
/// queue of recorded LTE links is longer by a sixth (p95).
const UNUSUAL: f64 = 4.0;
/// RTTs are read to a nanosecond: a shorter queue is rounding. Unit: s.
const READ_TO: f64 = 1e-9;
crate::shared::shared_with_c!("PRICE_" [] UNUSUAL, READ_TO);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Price {
    /// Mean queueing delay. Unit: s.
    mean: f64,
}

impl Price {
    /// Takes in the level of the queue at a pair, as it was read, noise and all. The rate that the mean queue's price asks for,
    /// over what is carried, where readings are off by so much.
    pub(super) fn follow(&mut self, level: f64, noise: f64, forecast: &Forecast, utility: Evaluate<'_>) -> f64 {
        self.mean += WEIGHT * (level.min(UNUSUAL * self.mean.max(TELLING)) - self.mean);
        // Without a certain queue nothing is known of the other senders.
        if level < READ_TO || self.mean <= noise {
            return 1.0;
        }
        let (carried, queue) = (forecast.capacity, self.mean);
        let standing = Forecast { queue, stands: true, ..*forecast };
        standing.best_rate(utility, carried / DOUBLING, carried * DOUBLING) / carried
    }
}

#[cfg(test)]
mod tests {
    use super::super::forecast::tests::forecast;
    use super::*;
    use crate::control::Finite;
    use crate::utility::Fair;

    /// At 50 of 100 Mbit/s, where `fair` wants a queue of 0.85 ms.
    fn half() -> Forecast {
        Forecast { capacity: 6.25e6, ..forecast() }
    }

    fn followed(queue: f64, noise: f64, pairs: u32) -> f64 {
        let forecast = Forecast { queue, ..half() };
        let (mut price, fair) = (Price::default(), Fair::default());
        let mut asked = 1.0;
        for _ in 0..pairs {
            asked = price.follow(queue, noise, &forecast, &Finite(&fair));
        }
        asked
    }

    #[test]
    fn a_dear_queue_lowers_the_rate_and_a_cheap_one_raises_it() {
        assert!((followed(0.000_848_5, 1e-5, 100) - 1.0).abs() < 1e-3);
        // The wanted rate goes with the square of the price.
        for queue in [0.0007, 0.001] {
            let expected = (0.000_848_5_f64 / queue).powi(2);
            assert!((followed(queue, 1e-5, 100) - expected).abs() < 3e-3, "behind {queue} s");
        }
    }

    #[test]
    fn no_rate_farther_than_twice_or_half_is_looked_at() {
        assert!((followed(0.02, 1e-5, 200) - 1.0 / DOUBLING).abs() < 1e-3);
        assert!((followed(0.0002, 1e-5, 200) - DOUBLING).abs() < 1e-3);
    }

    #[test]
    fn what_is_within_the_noise_has_no_price() {
        assert_eq!(followed(0.002, 0.003, 100).to_bits(), 1.0_f64.to_bits());
        assert_eq!(followed(0.0, 0.0, 100).to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn a_swinging_queue_costs_its_mean() {
        let (forecast, mut price, fair) = (half(), Price::default(), Fair::default());
        let mut follow = |level: f64| price.follow(level, 0.0009, &forecast, &Finite(&fair));
        (0..100).for_each(|_| {
            follow(0.0002);
            follow(0.0018);
        });
        let expected = (0.000_848_5_f64 / 0.001).powi(2);
        let (short, long) = (follow(0.0002), follow(0.0018));
        assert!(
            (short - expected).abs() < 0.15 && (long - expected).abs() < 0.15,
            "{short} and {long}, not {expected}"
        );
        assert_eq!(follow(0.0).to_bits(), 1.0_f64.to_bits(), "behind no queue nothing is known");
    }

    #[test]
    fn a_queue_of_a_moment_moves_the_mean_little() {
        let forecast = half();
        let (mut price, fair) = (Price::default(), Fair::default());
        let mut follow = |level: f64| {
            price.follow(level, 1e-5, &forecast, &Finite(&fair));
            price.mean
        };
        (0..100).for_each(|_| {
            follow(0.0007);
        });
        let after = follow(0.1);
        assert!((0.0008..0.001).contains(&after), "{after}");
    }
}
