//! PCC behind noq's congestion controller trait.

use noq::congestion::{Controller, ControllerFactory, ControllerMetrics};
use pcc::Pcc;
use pcc::interval::LimitedBy;
use pcc::units::{Bytes, Timestamp};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// PCC for a noq connection: give it to [`noq::TransportConfig::congestion_controller_factory`].
#[derive(Clone, Debug, Default)]
pub struct PccConfig {
    /// Utility, seed, limits and observer of each connection.
    pub core: pcc::Config,
}

impl ControllerFactory for PccConfig {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let mut core = self.core.clone();
        core.max_datagram_size = Bytes::new(current_mtu.into());
        Box::new(PccController { pcc: Pcc::new(core.clone(), Timestamp::ZERO), core, origin: now })
    }
}

#[derive(Debug)]
struct PccController {
    pcc: Pcc,
    core: pcc::Config,
    origin: Instant,
}

impl PccController {
    fn at(&self, now: Instant) -> Timestamp {
        Timestamp::ZERO + now.saturating_duration_since(self.origin)
    }
}

impl Controller for PccController {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.pcc.on_packet_sent(self.at(now), pn, Bytes::new(bytes.into()));
    }

    fn on_ack(&mut self, now: Instant, _: Instant, _: u64, pn: u64, app_limited: bool, _: &noq_proto::RttEstimator) {
        if app_limited {
            self.pcc.on_limited(self.at(now), LimitedBy::Application);
        }
        self.pcc.on_ack(self.at(now), pn);
    }

    fn on_end_acks(&mut self, now: Instant, _: u64, _: bool, _: Option<u64>) {
        self.pcc.on_end_acks(self.at(now));
    }

    fn on_packet_lost(&mut self, _: u16, pn: u64, now: Instant) {
        self.pcc.on_loss(self.at(now), pn);
    }

    fn on_congestion_event(&mut self, now: Instant, _: Instant, persistent: bool, _: bool, _: u64, _: u64) {
        if persistent {
            self.pcc.on_persistent_congestion(self.at(now));
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.pcc.set_max_datagram_size(Bytes::new(new_mtu.into()));
    }

    fn window(&self) -> u64 {
        self.pcc.congestion_window().get()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.pacing_rate = Some(self.pcc.rate().bytes_per_sec() as u64);
        metrics.send_quantum = Some(self.pcc.send_quantum().get());
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            pcc: Pcc::new(self.core.clone(), Timestamp::ZERO),
            core: self.core.clone(),
            origin: self.origin,
        })
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
