//! Another congestion controller, held below a rate.

use noq::congestion::{Controller, ControllerFactory, ControllerMetrics};
use noq_proto::RttEstimator;
use pcc::units::Rate;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Makes controllers of one algorithm that never send faster than a rate.
pub(crate) struct Capped {
    inner: Arc<dyn ControllerFactory + Send + Sync>,
    limit: u64,
}

impl Capped {
    pub(crate) fn new(inner: Arc<dyn ControllerFactory + Send + Sync>, limit: Rate) -> Self {
        Self { inner, limit: (limit.bytes_per_sec() as u64).max(1) }
    }
}

impl fmt::Debug for Capped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capped").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl ControllerFactory for Capped {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = self.inner.clone().build(now, current_mtu);
        Box::new(CappedController { inner, limit: self.limit, rtt: None })
    }
}

#[derive(Debug)]
struct CappedController {
    inner: Box<dyn Controller>,
    /// Bytes per second.
    limit: u64,
    rtt: Option<Duration>,
}

impl CappedController {
    /// What the inner one would have noq pace at, in bytes per second; without a wish of its own noq uses 5/4 of the
    /// window each round trip (RFC 9002 §7.7).
    fn wish(&self, metrics: &ControllerMetrics) -> u64 {
        let of_window =
            || self.rtt.map_or(u64::MAX, |rtt| (self.inner.window() as f64 * 1.25 / rtt.as_secs_f64()) as u64);
        metrics.pacing_rate.unwrap_or_else(of_window)
    }
}

impl Controller for CappedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest_pn: u64) {
        self.inner.on_sent(now, bytes, largest_pn);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.inner.on_packet_sent(now, bytes, pn);
    }

    fn on_cwnd_limited(&mut self) {
        self.inner.on_cwnd_limited();
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, pn: u64, app_limited: bool, rtt: &RttEstimator) {
        self.rtt = Some(rtt.get());
        self.inner.on_ack(now, sent, bytes, pn, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost_pn: u64,
    ) {
        self.inner.on_congestion_event(now, sent, is_persistent_congestion, is_ecn, lost_bytes, largest_lost_pn);
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        self.inner.on_packet_lost(lost_bytes, pn, now);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.inner.on_spurious_congestion_event();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn on_ack_frequency_update(&mut self, ack_eliciting_threshold: u64, requested_max_ack_delay: Duration) {
        self.inner.on_ack_frequency_update(ack_eliciting_threshold, requested_max_ack_delay);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = self.inner.metrics();
        metrics.pacing_rate = Some(self.wish(&metrics).min(self.limit));
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), limit: self.limit, rtt: self.rtt })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Algorithm;

    #[test]
    fn no_algorithm_paces_above_the_cap() {
        for algorithm in [Algorithm::Cubic, Algorithm::Bbr, Algorithm::NewReno] {
            let capped = algorithm.capped(Rate::from_mbit(1.0));
            let controller = capped.build(Instant::now(), 1200);
            assert_eq!(controller.metrics().pacing_rate, Some(125_000), "{algorithm:?}");
            assert_eq!(controller.clone_box().metrics().pacing_rate, Some(125_000), "{algorithm:?}");
        }
    }
}
