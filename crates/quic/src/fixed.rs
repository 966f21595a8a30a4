//! A sender that keeps one rate whatever happens, to measure paths and pacing with.

use crate::pace::{self, Pace, SendGate};
use core::time::Duration;
use noq::congestion::{Controller, ControllerFactory, ControllerMetrics};
use pcc::units::{Bytes, Rate};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// Bytes that may leave back to back, as for PCC.
const TRAIN: Duration = Duration::from_micros(100);

/// Bytes that may be in flight: enough for any round trip on Earth, and a bound for a path that answers no more.
const IN_FLIGHT: Duration = Duration::from_secs(2);

/// Makes senders of this rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed(pub(crate) Rate);

impl ControllerFactory for Fixed {
    fn build(self: Arc<Self>, _: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(FixedController { rate: self.0, mtu: current_mtu, gate: SendGate::default() })
    }
}

#[derive(Debug)]
struct FixedController {
    rate: Rate,
    mtu: u16,
    gate: SendGate,
}

impl FixedController {
    fn quantum(&self) -> Bytes {
        (self.rate * TRAIN).max(Bytes::new(self.mtu.into()))
    }

    /// At least ten packets, as every connection may have (RFC 9002 §7.2).
    fn congestion_window(&self) -> u64 {
        (self.rate * IN_FLIGHT).get().max(10 * u64::from(self.mtu))
    }
}

impl Controller for FixedController {
    fn on_packet_sent(&mut self, _: Instant, bytes: u16, _: u64) {
        let pace = Pace { rate: self.rate, quantum: self.quantum(), packet: Bytes::new(self.mtu.into()) };
        if let Some(leaving) = self.gate.leaving(pace::now()) {
            self.gate.on_sent(leaving, Bytes::new(bytes.into()), pace);
        }
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: bool, _: u64, _: u64) {}

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu;
    }

    fn window(&self) -> u64 {
        if self.gate.admits() { self.congestion_window() } else { 1 }
    }

    fn metrics(&self) -> ControllerMetrics {
        pace::metrics(self.congestion_window(), || (self.rate, self.quantum()))
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { gate: SendGate::default(), ..*self })
    }

    fn initial_window(&self) -> u64 {
        self.congestion_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
