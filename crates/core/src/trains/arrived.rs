//! The result of all trains that arrived: seconds a byte, its error, and whether other packets stood before them.
//!
//! Hosts are late now and then: a train may arrive at once, at twice its length, or late. So the largest and the
//! smallest of each five trains are left out (the trimmed mean, with its error by Yuen, Biometrika 1974), and one may
//! wait.

use super::MOST_TRAINS;
use super::train::{PACKETS, Train};
use crate::interval::TRAIN;
use crate::units::Rate;
use core::time::Duration;

/// One of so many is left out at each end: the fifth of the literature, not swept.
const TRIMMED: usize = 5;
/// How large the error may be, as a share of the slope: half of what a doubling may be wrong.
pub(crate) const LARGEST_ERROR: f64 = 0.25;
/// Standard errors within which the truth lies in 19 of 20 cases, by the degrees of freedom left (Student).
const SURE: [f64; 9] = [f64::INFINITY, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31];

/// RTTs that vary by no more do so because of hosts, whose timers are late. Not swept.
const EVEN: Duration = Duration::from_millis(2);

/// Each arrived train's result.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrived {
    pub(super) trains: usize,
    /// Trains of which every packet arrived, with or without a slope.
    whole: usize,
    /// Seconds a byte.
    slopes: [f64; MOST_TRAINS as usize],
    /// From leaving to the first acknowledgement.
    answered: [Duration; MOST_TRAINS as usize],
    bytes: f64,
}

impl Arrived {
    /// A train of which no more will be heard, if it tells anything.
    pub(super) fn add(&mut self, train: &Train) {
        self.whole += usize::from(train.passed_whole());
        let (Some(slope), Some(answered)) = (train.slope(), train.answered) else { return };
        let (Some(place), Some(after)) = (self.slopes.get_mut(self.trains), self.answered.get_mut(self.trains)) else {
            return;
        };
        (*place, *after) = (slope, answered.since(train.left));
        self.trains += 1;
        self.bytes += train.bytes as f64;
    }

    /// Number of trains left out at each end.
    const fn trimmed(&self) -> usize {
        self.trains / TRIMMED
    }

    /// Seconds a byte, and the standard error; by so many trains.
    fn slope(&self) -> Option<(f64, f64, usize)> {
        let mut sorted = self.slopes;
        let sorted = sorted.get_mut(..self.trains)?;
        sorted.sort_unstable_by(f64::total_cmp);
        let out = self.trimmed();
        let kept = sorted.get(out..self.trains - out)?;
        let (least, most) = (*kept.first()?, *kept.last()?);
        let mean = |sum: f64, of: usize| sum / of as f64;
        // The error is of all of them, with those left out as far away as the last that were not.
        let near = || sorted.iter().map(|slope| slope.clamp(least, most));
        let center = mean(near().sum(), self.trains);
        let squares: f64 = near().map(|slope| (slope - center).powi(2)).sum();
        let error = (mean(squares, kept.len()) / (kept.len() as f64 - 1.0)).sqrt();
        Some((mean(kept.iter().sum(), kept.len()), error, kept.len()))
    }

    /// How long a train takes to pass. Unit: s.
    fn passing(&self) -> f64 {
        self.slope().map_or(0.0, |(slope, ..)| slope * self.bytes / self.trains as f64)
    }

    /// The bottleneck's rate, if that is sure.
    pub(super) fn rate(&self) -> Option<Rate> {
        let (slope, error, kept) = self.slope()?;
        let sure = SURE[kept.saturating_sub(1).min(SURE.len() - 1)];
        (sure * error < LARGEST_ERROR * slope).then(|| Rate::from_bytes_per_sec(1.0 / slope))
    }

    /// Whether jitter may have pulled the packets apart, by much the same in each train. Then trains waited for longer than one of
    /// their packets takes to pass. The path also holds packets back by as much now and then (`spread`).
    pub(super) fn may_be_jitter(&self, least_rtt: Duration, spread: Duration) -> bool {
        let packet = (self.passing() / f64::from(PACKETS)).max(EVEN.as_secs_f64());
        spread.as_secs_f64() > packet && self.waited(least_rtt, packet)
    }

    /// Whether more trains than are left out were answered later than this after the least RTT. Unit: s.
    fn waited(&self, least_rtt: Duration, longest: f64) -> bool {
        let waited = |answered: &&Duration| answered.saturating_sub(least_rtt).as_secs_f64() > longest;
        self.answered.iter().take(self.trains).filter(waited).count() > self.trimmed()
    }

    /// Whether the trains may tell anything, now or once there are more of them. If none arrived, trains do not fit the
    /// path. If all packets were read at once, a host slept, and the next trains find it awake. A time shorter than a
    /// host's timers shows those timers. A train that waited longer than it takes to pass stood behind other packets.
    pub(super) fn may_tell(&self, least_rtt: Duration) -> bool {
        if self.trains == 0 {
            return self.whole > 0;
        }
        let passing = self.passing();
        passing > TRAIN.as_secs_f64() && !self.waited(least_rtt, passing)
    }
}
