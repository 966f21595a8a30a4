//! BBR's memory of the last rounds: the highest rate, and the surplus of acknowledgements that came at once.

use super::super::control::Acked;
use pcc::units::Timestamp;
use std::collections::VecDeque;

/// Rounds that a rate is remembered: a cycle and two.
const ROUNDS: u64 = 10;

/// The highest rate of the last rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxFilter {
    /// By round, each lower than the one before.
    rates: VecDeque<(u64, f64)>,
}

impl MaxFilter {
    pub(super) fn insert(&mut self, round: u64, rate: f64) {
        while self.rates.back().is_some_and(|(_, last)| *last <= rate) {
            self.rates.pop_back();
        }
        self.rates.push_back((round, rate));
        while self.rates.front().is_some_and(|(first, _)| round - first > ROUNDS) {
            self.rates.pop_front();
        }
    }

    /// Zero if nothing was seen.
    pub(super) fn max(&self) -> f64 {
        self.rates.front().map_or(0.0, |(_, rate)| *rate)
    }
}

/// Half of the rounds that a surplus is remembered (`bbr_extra_acked_win_rtts`).
const WINDOW: u32 = 5;
/// No more than this time's worth is granted (`bbr_extra_acked_max_us`). Unit: s.
const LONGEST: f64 = 0.1;
/// An epoch ends after so many segments.
const MOST: f64 = 1_048_576.0;

/// Acknowledgements beyond what the rate explains (`bbr_update_ack_aggregation`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    epoch: Timestamp,
    acked: f64,
    extra: [f64; 2],
    current: usize,
    rounds: u32,
}

impl Aggregation {
    pub(super) fn update(&mut self, event: &Acked, rate: f64, window: f64, is_round_start: bool) {
        if event.acked == 0 || event.rate.is_none_or(|sample| sample.interval.is_none()) {
            return;
        }
        if is_round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW {
                (self.rounds, self.current) = (0, 1 - self.current);
                self.extra[self.current] = 0.0;
            }
        }
        let mut expected = rate * event.now.since(self.epoch).as_secs_f64();
        if self.acked <= expected || self.acked + event.acked as f64 >= MOST {
            (self.acked, self.epoch, expected) = (0.0, event.now, 0.0);
        }
        self.acked += event.acked as f64;
        let extra = (self.acked - expected).min(window);
        self.extra[self.current] = self.extra[self.current].max(extra);
    }

    pub(super) fn extra(&self, rate: f64) -> f64 {
        self.extra[0].max(self.extra[1]).min(rate * LONGEST).floor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_rate_is_forgotten_after_ten_rounds() {
        let mut filter = MaxFilter::default();
        filter.insert(1, 50.0);
        filter.insert(2, 30.0);
        filter.insert(5, 40.0);
        filter.insert(11, 10.0);
        assert_eq!(filter.max(), 50.0);
        filter.insert(12, 10.0);
        assert_eq!(filter.max(), 40.0);
    }
}
