//! What the queue costs in the mean.
//!
//! Senders that share a queue see the same queue, and the one with more of the path wants a shorter one. But how far each moves
//! for what the queue is at the moment is that of the queue over a round trip: a thousandth where the queue is half of a
//! millisecond and the round trip half of a second. So the difference between two of them goes in a thousand round trips. The mean
//! of the queue, which one's own steps hardly move, says the same and lets them meet sooner.

use super::forecast::Forecast;
use super::level::Reading;
use crate::control::starting::Evaluate;

/// Weight of a pair in the mean.
const WEIGHT: f64 = 0.1;
/// A queue this many times as long as usual is a moment's.
const UNUSUAL: f64 = 4.0;
/// As long as nothing is known. Unit: s.
const FIRST: f64 = 0.0005;
/// In an RTT, this part of the way to the rate wanted at that price, in ln x.
const GAIN: f64 = 0.03;
/// No rate farther than twice or half of ours is looked at.
const FARTHEST: f64 = 2.0;

/// The mean of the queueing delay. Unit: s.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Price {
    mean: f64,
}

impl Price {
    /// Takes in a pair's reading. The factor by which its rate should change for what the queue costs in the mean, if the pair
    /// is so many RTT long.
    pub(super) fn follow(&mut self, queue: Reading, forecast: &Forecast, utility: Evaluate<'_>, rtts: f64) -> f64 {
        self.mean += WEIGHT * (queue.level.min(UNUSUAL * self.mean.max(FIRST)) - self.mean);
        // Behind no queue, or one that is not seen, nothing is known of what others want.
        if queue.level <= 0.5 * self.mean || self.mean <= queue.noise {
            return 1.0;
        }
        let carried = forecast.bottleneck.capacity();
        let wanted = forecast.climb_behind(self.mean, utility, carried / FARTHEST, carried * FARTHEST);
        (wanted / carried).powf(GAIN * rtts.min(1.0))
    }
}
