//! What the trains that arrived tell together: one slope, seconds a byte, and its error.

use super::train::Train;
use crate::interval::TRAIN;
use crate::units::Rate;
use core::time::Duration;

/// How large the error may be, as a share of the slope: half of what a doubling may be wrong.
const LARGEST_ERROR: f64 = 0.25;
/// How many standard errors the truth is away at most in 19 of 20 cases, by the degrees of freedom left (Student). The times of a
/// train's acknowledgements are sums, not independent, and the true share is somewhat less.
const SURE: [f64; 9] = [f64::INFINITY, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31];

/// What the trains that arrived add up to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrived {
    pub(super) trains: u32,
    pub(super) points: u32,
    /// Sums of squares around each train's means: of the times, of times with bytes, of bytes. Units: s, bytes.
    tt: f64,
    tb: f64,
    bb: f64,
    bytes: f64,
    /// The longest time from leaving to the first acknowledgement.
    answered: Duration,
}

impl Arrived {
    pub(super) fn add(&mut self, train: &Train) {
        let n = f64::from(train.points.max(1));
        self.trains += 1;
        self.points += train.points;
        self.tt += train.sum_tt - train.sum_t * train.sum_t / n;
        self.tb += train.sum_tb - train.sum_t * train.sum_b / n;
        self.bb += train.sum_bb - train.sum_b * train.sum_b / n;
        self.bytes += train.bytes as f64;
        self.answered = self.answered.max(train.answered.map_or(Duration::ZERO, |at| at.since(train.left)));
    }

    /// Seconds a byte.
    fn slope(&self) -> f64 {
        self.tb / self.bb
    }

    /// How long a train takes to pass. Unit: s.
    fn passing(&self) -> f64 {
        self.slope() * self.bytes / f64::from(self.trains)
    }

    /// The bottleneck's rate, if that is sure.
    pub(super) fn rate(&self) -> Option<Rate> {
        let freedom = self.points.saturating_sub(self.trains + 1);
        let error = ((self.tt - self.slope() * self.tb).max(0.0) / f64::from(freedom.max(1)) / self.bb).sqrt();
        let sure = SURE[(freedom as usize).min(SURE.len() - 1)];
        let is_sure = sure * error < LARGEST_ERROR * self.slope();
        is_sure.then(|| Rate::from_bytes_per_sec(1.0 / self.slope()))
    }

    /// Whether they may tell anything, now or once there are more of them.
    pub(super) fn may_tell(&self, least_rtt: Duration) -> bool {
        // If none arrived they do not fit the path. A shorter time is that of a host's timers; who waited longer than it takes
        // to pass stood behind somebody else.
        let waited = self.answered.saturating_sub(least_rtt).as_secs_f64();
        self.trains > 0 && self.passing() > TRAIN.as_secs_f64() && waited <= self.passing()
    }
}
