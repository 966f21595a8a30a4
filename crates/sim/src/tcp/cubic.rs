//! CUBIC as Linux has it (`tcp_cubic.c`): the window is a cubic function of the time since the last loss, and never less
//! than Reno's would be. Source: RFC 9438.

use super::control::{Acked, CongestionControl, InRecovery};
use super::hystart::HyStart;
use super::window::Window;
use core::time::Duration;
use pcc::units::Timestamp;

/// Window after a loss (Linux: 717/1024).
const BETA: f64 = 717.0 / 1024.0;
/// How fast it grows. Unit: segments/s³.
const C: f64 = 0.4;
/// The function is not calculated anew for the same window sooner (`HZ/32`).
const STALE: Duration = Duration::from_millis(31);
/// While the capacity is unknown the window grows by at least 5 % a round trip.
const SLOWEST_FIRST: f64 = 20.0;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cubic {
    window: Window,
    is_paced: bool,
    hystart: HyStart,
    last_max: f64,
    epoch: Option<Epoch>,
    least_rtt: Option<Duration>,
    last_sent: Timestamp,
}

/// What began with the last loss.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Timestamp,
    /// Where the function is flat, and when it gets there. Unit: segments, s.
    origin: f64,
    k: f64,
    /// What Reno would have, and acknowledgements towards its next segment.
    reno: f64,
    acked: f64,
    /// Acknowledged segments for each that the window grows.
    every: f64,
    calculated: (Timestamp, f64),
}

impl Cubic {
    pub(super) fn new(is_paced: bool) -> Self {
        Self { is_paced, ..Self::default() }
    }

    fn every(&mut self, now: Timestamp, acked: f64) -> f64 {
        let window = self.window.segments;
        let last_max = self.last_max;
        let is_first = self.epoch.is_none();
        let epoch = self.epoch.get_or_insert_with(|| {
            let missing = (last_max - window).max(0.0);
            let (k, origin) = ((missing / C).cbrt(), window.max(last_max));
            Epoch { start: now, origin, k, reno: window, acked: 0.0, every: window, calculated: (now, window) }
        });
        epoch.acked += acked;
        let (at, of) = epoch.calculated;
        if !is_first && of == window && now.since(at) <= STALE {
            return epoch.every;
        }
        epoch.calculated = (now, window);
        let time = (now.since(epoch.start) + self.least_rtt.unwrap_or_default()).as_secs_f64();
        let target = epoch.origin + C * (time - epoch.k).powi(3);
        let mut every = if target > window { window / (target - window) } else { 100.0 * window };
        if last_max == 0.0 {
            every = every.min(SLOWEST_FIRST);
        }
        // Reno with this beta grows by 3(1 − β)/(1 + β) segments a round trip (RFC 9438 §4.3).
        let delta = window * (1.0 + BETA) / (3.0 * (1.0 - BETA));
        while epoch.acked > delta {
            epoch.acked -= delta;
            epoch.reno += 1.0;
        }
        if epoch.reno > window {
            every = every.min(window / (epoch.reno - window));
        }
        epoch.every = every.max(2.0);
        epoch.every
    }
}

impl CongestionControl for Cubic {
    fn limits(&self) -> &Window {
        &self.window
    }

    fn limits_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn reduced(&mut self, _: Timestamp) -> f64 {
        self.epoch = None;
        let window = self.window.segments;
        // Fast convergence: a flow that loses earlier than before leaves room for others.
        self.last_max = if window < self.last_max { window * (1.0 + BETA) / 2.0 } else { window };
        (window * BETA).floor().max(2.0)
    }

    fn on_ack(&mut self, event: &Acked, _: InRecovery) {
        if let Some(rtt) = event.rtt {
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        let mut acked = event.acked as f64;
        if self.window.is_slow_start() {
            let least = self.least_rtt.unwrap_or_default();
            if self.hystart.is_over(event, self.window.segments, least, self.is_paced) {
                self.window.threshold = self.window.segments;
            }
            if self.window.is_slow_start() {
                acked = self.window.slow_start(event.acked);
            }
        }
        if acked > 0.0 {
            let every = self.every(event.now, acked);
            self.window.grow(acked, every);
        }
    }

    fn on_timeout(&mut self, _: Timestamp) {
        (self.epoch, self.last_max) = (None, 0.0);
        self.hystart.reset();
    }

    /// Time without anything in flight does not count (`bictcp_cwnd_event`).
    fn on_sending(&mut self, now: Timestamp, in_flight: u64) {
        if in_flight == 0
            && let Some(epoch) = &mut self.epoch
        {
            epoch.start = (epoch.start + now.since(self.last_sent)).min(now);
        }
        self.last_sent = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acked(now: f64, acked: u64) -> Acked {
        Acked::within_window(Timestamp::from_nanos((now * 1e9) as u64), acked, Duration::from_millis(100))
    }

    #[test]
    fn window_is_back_where_it_was_after_cubic_root_of_what_it_lost() {
        let mut cubic = Cubic::default();
        cubic.set_window(1000.0);
        let threshold = cubic.reduced(Timestamp::ZERO);
        cubic.set_threshold(threshold);
        cubic.set_window(threshold);
        assert_eq!(threshold, 700.0);
        // RFC 9438 §4.2: K = cbrt(300 / 0.4) = 9.1 s; half way it is within an eighth of the loss of it.
        let mut at = |seconds: f64, from: f64| {
            let mut now = from;
            while now < seconds {
                cubic.on_ack(&acked(now, cubic.window() as u64 / 10), InRecovery::No);
                now += 0.01;
            }
            cubic.window()
        };
        let half = at(4.5, 0.0);
        assert!((955.0..972.0).contains(&half), "{half}");
        let whole = at(9.1, 4.5);
        assert!((995.0..1003.0).contains(&whole), "{whole}");
    }

    #[test]
    fn on_a_short_path_it_is_no_slower_than_reno() {
        let mut cubic = Cubic::default();
        cubic.set_window(20.0);
        let threshold = cubic.reduced(Timestamp::ZERO);
        cubic.set_threshold(threshold);
        cubic.set_window(threshold);
        // A window each 10 ms: alone, K would be 2.5 s.
        for round in 0..100 {
            cubic.on_ack(&acked(f64::from(round) * 1e-2, cubic.window() as u64), InRecovery::No);
        }
        // 0.53 segments a round trip.
        assert!((55.0..75.0).contains(&cubic.window()), "{}", cubic.window());
    }
}
