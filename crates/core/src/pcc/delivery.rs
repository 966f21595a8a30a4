//! The path's delivery rate at its best.

use super::silence::HOST_PAUSE;
use crate::units::{Rate, Timestamp};
use core::time::Duration;

/// The best delivery rate of the last five to ten RTT, or of 50 to 100 ms if those are shorter: two halves of a window, the older one
/// dropped at each turn. A time without deliveries makes nothing older: who pauses begins again from what was delivered before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeliveryRate {
    best: [Rate; 2],
    half_started: Timestamp,
}

impl DeliveryRate {
    pub(super) fn update(&mut self, now: Timestamp, rate: Rate, rtt: Duration) {
        if now.since(self.half_started) > 5 * rtt.max(HOST_PAUSE) {
            self.best = [Rate::ZERO, self.best[0]];
            self.half_started = now;
        }
        self.best[0] = self.best[0].max(rate);
    }

    pub(super) fn best(&self) -> Rate {
        self.best[0].max(self.best[1])
    }
}
