//! `HyStart`: slow start ends before the queue overflows, once round trips become longer or acknowledgements come in a
//! train as long as half of one. Source: Ha and Rhee, Computer Networks 55(9), 2011; Linux's `tcp_cubic.c`.

use super::control::Acked;
use core::time::Duration;
use pcc::units::Timestamp;

/// Below this window nothing is looked at (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;
/// Acknowledgements of one train are at most so far apart (`hystart_ack_delta_us`).
const APART: Duration = Duration::from_millis(2);
/// RTTs of a round that are looked at (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u32 = 8;
/// How much longer they must be: an eighth, within these bounds.
const BOUNDS: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(16)];

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HyStart {
    /// The round ends when this segment has arrived.
    end: Option<u64>,
    began: Timestamp,
    last_ack: Timestamp,
    least: Option<Duration>,
    samples: u32,
}

impl HyStart {
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Whether slow start is over.
    pub(super) fn is_over(&mut self, event: &Acked, window: f64, least_ever: Duration, is_paced: bool) -> bool {
        let Some(rtt) = event.rtt else { return false };
        if self.end.is_none_or(|end| event.una > end) {
            let (end, now) = (Some(event.next), event.now);
            *self = Self { end, began: now, last_ack: now, least: None, samples: 0 };
        }
        if window < LOW_WINDOW {
            return false;
        }
        let mut over = false;
        if event.now.since(self.last_ack) <= APART {
            self.last_ack = event.now;
            let longest = if is_paced { least_ever } else { least_ever / 2 };
            over = event.now.since(self.began) > longest;
        }
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            let limit = least_ever + (least_ever / 8).clamp(BOUNDS[0], BOUNDS[1]);
            over |= self.least.is_some_and(|least| least > limit);
        }
        over
    }
}
