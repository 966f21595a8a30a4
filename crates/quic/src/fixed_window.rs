//! A sender whose window never changes, for packets inside of a stream that has a congestion control of its own.
//!
//! Inside of TCP nothing is lost by the path: a late packet is one that TCP sent again, and the queue is TCP's own buffer. A
//! controller that takes these for the path's slows down twice.

use noq::congestion::{Controller, ControllerFactory, ControllerMetrics};
use pcc::units::Bytes;
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// Makes senders with this window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedWindow(pub(crate) Bytes);

impl ControllerFactory for FixedWindow {
    fn build(self: Arc<Self>, _: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(FixedWindowController { window: self.0.get(), mtu: current_mtu })
    }
}

#[derive(Clone, Debug)]
struct FixedWindowController {
    window: u64,
    mtu: u16,
}

impl Controller for FixedWindowController {
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: bool, _: u64, _: u64) {}

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu;
    }

    /// At least ten packets, as every connection may have (RFC 9002 §7.2).
    fn window(&self) -> u64 {
        self.window.max(10 * u64::from(self.mtu))
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_and_marks_leave_the_window_as_it_is() {
        let now = Instant::now();
        let mut controller = Arc::new(FixedWindow(Bytes::new(4 << 20))).build(now, 1200);
        for _ in 0..10 {
            controller.on_congestion_event(now, now, true, true, 100_000, 1);
        }
        assert_eq!((controller.window(), controller.initial_window()), (4 << 20, 4 << 20));
        let tiny = Arc::new(FixedWindow(Bytes::new(1))).build(now, 1200);
        assert_eq!(tiny.window(), 12_000);
    }
}
