//! `NewReno`: a segment a round trip more, half after a loss. Source: RFC 5681, RFC 6582.

use super::control::{Acked, CongestionControl, InRecovery};
use super::window::Window;
use pcc::units::Timestamp;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reno {
    window: Window,
}

impl CongestionControl for Reno {
    fn limits(&self) -> &Window {
        &self.window
    }

    fn limits_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn reduced(&mut self, _: Timestamp) -> f64 {
        (self.window.segments / 2.0).floor().max(2.0)
    }

    fn on_ack(&mut self, event: &Acked, _: InRecovery) {
        let left = if self.window.is_slow_start() { self.window.slow_start(event.acked) } else { event.acked as f64 };
        if left > 0.0 {
            self.window.grow(left, self.window.segments);
        }
    }
}
