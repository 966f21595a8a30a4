//! A scalable sender, as TCP Prague is one: it answers the share of packets that are marked, once a round trip, as DCTCP does
//! (RFC 8257 §3.3), and grows by a segment a round trip meanwhile (draft-briscoe-iccrg-prague-congestion-control §2.4). At a steady share p
//! of marks its window is near 2/p segments. Not modelled: independence of the RTT.

use super::control::{Acked, CongestionControl, InRecovery, Marks};
use super::window::Window;
use pcc::units::Timestamp;

/// Weight of a round trip's share in the mean (RFC 8257 §4.2).
const GAIN: f64 = 1.0 / 16.0;

#[derive(Clone, Copy, Debug)]
pub(super) struct Prague {
    window: Window,
    /// The mean share of marked packets. At first all of them: the first mark halves the window.
    alpha: f64,
    /// Of this round trip, which is over when this segment has arrived.
    acked: u64,
    marked: u64,
    round: u64,
    /// Marks before this segment are of a congestion that was answered.
    answered: u64,
    /// Marks of the acknowledgement at hand: they let nothing grow.
    fresh: u64,
}

impl Default for Prague {
    fn default() -> Self {
        Self { window: Window::default(), alpha: 1.0, acked: 0, marked: 0, round: 0, answered: 0, fresh: 0 }
    }
}

impl CongestionControl for Prague {
    fn limits(&self) -> &Window {
        &self.window
    }

    fn is_paced(&self) -> bool {
        true
    }

    fn limits_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn decides_alone(&self) -> bool {
        true
    }

    /// A loss is answered as by Reno.
    fn reduced(&mut self, _: Timestamp) -> f64 {
        (self.window.segments / 2.0).max(2.0)
    }

    fn on_recovery(&mut self, _: Timestamp) {
        self.window.segments = self.window.threshold;
    }

    fn on_marks(&mut self, Marks { acked, marked, una, next }: Marks) {
        self.acked += acked;
        self.marked += marked;
        self.fresh = marked;
        if una >= self.round && self.acked > 0 {
            let share = (self.marked as f64 / self.acked as f64).min(1.0);
            self.alpha += GAIN * (share - self.alpha);
            (self.acked, self.marked, self.round) = (0, 0, next);
        }
        if marked > 0 && una >= self.answered {
            self.window.segments = (self.window.segments * (1.0 - self.alpha / 2.0)).max(2.0);
            self.window.threshold = self.window.segments;
            self.answered = next;
        }
    }

    fn on_ack(&mut self, event: &Acked, recovery: InRecovery) {
        let unmarked = event.acked.saturating_sub(self.fresh);
        if recovery == InRecovery::Fast || !event.window_limited && recovery == InRecovery::No {
            return;
        }
        let is_start = self.window.is_slow_start();
        let left = if is_start { self.window.slow_start(unmarked) } else { unmarked as f64 };
        if left > 0.0 {
            self.window.grow(left, self.window.segments);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    /// Round trips of a window each, in which every so-manieth packet is marked: the mean window of the second half.
    fn window_at(every: u64, rounds: usize) -> f64 {
        let mut prague = Prague::default();
        prague.set_threshold(10.0);
        let (mut segment, mut windows) = (0, Vec::new());
        for _ in 0..rounds {
            let next = segment + prague.window() as u64;
            while segment < next {
                segment += 1;
                let marked = u64::from(segment % every == 0);
                prague.on_marks(Marks { acked: 1, marked, una: segment, next: segment + prague.window() as u64 });
                prague.on_ack(&acked(), InRecovery::No);
            }
            windows.push(prague.window());
        }
        let late = &windows[rounds / 2..];
        late.iter().sum::<f64>() / late.len() as f64
    }

    fn acked() -> Acked {
        Acked::within_window(Timestamp::ZERO, 1, Duration::from_millis(10))
    }

    #[test]
    fn the_window_is_two_segments_for_each_mark_a_packet() {
        for every in [10, 20, 50] {
            let (window, expected) = (window_at(every, 4000), 2.0 * every as f64);
            assert!((0.8..1.2).contains(&(window / expected)), "every {every}: {window}");
        }
    }

    #[test]
    fn a_loss_halves_the_window_and_the_first_mark_too() {
        let mut prague = Prague::default();
        prague.set_window(40.0);
        let threshold = prague.reduced(Timestamp::ZERO);
        prague.set_threshold(threshold);
        prague.on_recovery(Timestamp::ZERO);
        assert_eq!(prague.window(), 20.0);
        prague.on_marks(Marks { acked: 1, marked: 1, una: 0, next: 20 });
        // The first packet is the first round trip: all of it was marked.
        assert_eq!(prague.window(), 10.0);
        prague.on_marks(Marks { acked: 1, marked: 1, una: 19, next: 30 });
        assert_eq!(prague.window(), 10.0, "once a round trip");
    }
}
