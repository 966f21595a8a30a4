//! The facade a transport holds.

use crate::interval::LimitedBy;
use crate::observe::Observer;
use crate::units::{Bytes, Rate, Timestamp};
use crate::utility::{Safe, Utility};
use core::time::Duration;
use std::sync::Arc;

/// Everything a sender can be told in advance.
#[derive(Clone, Debug)]
pub struct Config {
    /// The utility function that ranks intervals.
    pub utility: Arc<dyn Utility>,
    /// Seed of the trial order and the interval lengths; equal seeds and equal events give equal decisions.
    pub seed: u64,
    /// Size of a full packet on the wire's payload (UDP payload for QUIC), until the transport says otherwise.
    pub max_datagram_size: Bytes,
    /// The rate never exceeds this.
    pub max_rate: Option<Rate>,
    /// Who is told of intervals and decisions.
    pub observer: Option<Arc<dyn Observer>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            utility: Arc::new(Safe::default()),
            seed: 1,
            max_datagram_size: Bytes::new(1200),
            max_rate: None,
            observer: None,
        }
    }
}

/// A PCC sender.
#[derive(Debug)]
pub struct Pcc {
    config: Config,
    in_flight: Bytes,
}

impl Pcc {
    /// A sender that knows nothing of its path yet.
    pub fn new(config: Config, _now: Timestamp) -> Self {
        Self { config, in_flight: Bytes::ZERO }
    }
    /// A packet that will be acknowledged or lost was sent. Numbers must increase.
    pub fn on_packet_sent(&mut self, _now: Timestamp, _packet: u64, _bytes: Bytes) {}
    /// That packet was acknowledged. Call [`Self::on_end_acks`] after the last one of an acknowledgement.
    pub fn on_ack(&mut self, _now: Timestamp, _packet: u64) {}
    /// All packets of one acknowledgement were reported; decisions are taken here. `max_ack_delay` etc. not needed.
    pub fn on_end_acks(&mut self, _now: Timestamp) {}
    /// That packet was declared lost.
    pub fn on_loss(&mut self, _now: Timestamp, _packet: u64) {}
    /// Those packets will never be reported (keys discarded, path abandoned): all numbers below `packet`.
    pub fn on_discarded(&mut self, _now: Timestamp, _below: u64) {}
    /// All packets over a period of several PTO were lost (RFC 9002 §7.6).
    pub fn on_persistent_congestion(&mut self, _now: Timestamp) {}
    /// The transport could send (rate and window allow it) but does not, for this reason; the next packet sent ends it.
    pub fn on_limited(&mut self, _now: Timestamp, _by: LimitedBy) {}
    /// The size of a full packet changed.
    pub fn set_max_datagram_size(&mut self, size: Bytes) {
        self.config.max_datagram_size = size;
    }
    /// The deadline of [`Self::next_timer`] passed.
    pub fn on_timer(&mut self, _now: Timestamp) {}
    /// When [`Self::on_timer`] wants to be called, if at all. A transport without a timer may call it at any event.
    pub fn next_timer(&self) -> Option<Timestamp> {
        None
    }
    /// The rate at which packets should leave now.
    pub fn rate(&self) -> Rate {
        Rate::from_mbit(10.0)
    }
    /// Upper bound of the bytes in flight: a safety net, so that the rate rules.
    pub fn congestion_window(&self) -> Bytes {
        Bytes::new(1 << 20)
    }
    /// How much may leave back to back: about 100 µs of the rate, at least one packet.
    pub fn send_quantum(&self) -> Bytes {
        (self.rate() * Duration::from_micros(100)).max(self.config.max_datagram_size)
    }
    /// Bytes sent and not yet acknowledged, lost or discarded.
    pub fn bytes_in_flight(&self) -> Bytes {
        self.in_flight
    }
    /// Smoothed RTT (RFC 9002 §5.3); `None` before the first sample.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        None
    }
    /// The name of the control law's state, as the paper calls it.
    pub fn state(&self) -> &'static str {
        "Starting"
    }
    /// What limited the latest resolved interval.
    pub fn limited_by(&self) -> LimitedBy {
        LimitedBy::Network
    }
}
