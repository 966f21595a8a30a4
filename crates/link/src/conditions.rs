//! The conditions of one direction of a path at one moment.

use crate::loss::Loss;
use crate::rng::Rng;
use crate::schedule::nanos;
use crate::wifi;
use core::fmt;
use core::time::Duration;
use pcc::units::{Bytes, Rate};

/// The largest packet of an ordinary network (Ethernet): no buffer may be smaller than this.
pub const PACKET: Bytes = Bytes::new(1500);

/// The conditions of one direction of a path at one moment. A packet meets its parts in this order: the buffer, the
/// transmitter of the bottleneck, loss on the wire, duplication, and the delays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Speed of the bottleneck, over all bytes the link is told of (headers included, if the caller counts them).
    pub rate: Rate,
    /// Room for packets that wait while another one is being transmitted, in whole packets: a packet is dropped if the
    /// waiting ones and itself exceed it. The packet in transmission has left the buffer and does not count, as in
    /// a router whose interface holds it. So a buffer of one packet passes evenly spaced packets at the full rate, and
    /// the longest wait before transmission is buffer / rate.
    pub buffer: Bytes,
    /// Propagation delay, one way: from the end of the transmission to the arrival.
    pub delay: Duration,
    /// Added to the delay of each packet, uniformly from zero to this, independently of the other packets.
    pub jitter: Duration,
    /// Whether jitter may let a packet overtake an earlier one. The usual case is no: queues make jitter, and queues
    /// keep the order. Then a packet arrives no earlier than the one before, and dense traffic arrives in clumps, near
    /// the upper end of the jitter.
    pub jitter_reorders: bool,
    /// Mean of what a contended Wi-Fi channel adds to the delay, from 1 to 91 ms; zero: there is none. Packets keep their
    /// order unless jitter reorders, so one packet that the radio sends again holds those behind it, and they arrive in a
    /// clump. The model is that of draft-huitema-ccwg-c4-test.
    pub wifi: Duration,
    /// Loss on the wire, behind the bottleneck: a lost packet has used capacity.
    pub loss: Loss,
    /// Share of packets that take a detour of [`Self::reorder_delay`] and are overtaken by those behind them.
    pub reorder: f64,
    /// Additional delay of a detoured packet.
    pub reorder_delay: Duration,
    /// Share of packets that arrive twice. The copy uses no capacity and draws its own jitter and detour.
    pub duplicate: f64,
}

impl Conditions {
    /// A link of this rate and one-way delay that loses, reorders and doubles nothing, with a buffer of one
    /// bandwidth-delay product of the round trip (twice the delay), at least ten packets.
    pub fn new(rate: Rate, delay: Duration) -> Self {
        Self {
            rate,
            buffer: (rate * (delay * 2)).max(Bytes::new(10 * PACKET.get())),
            delay,
            jitter: Duration::ZERO,
            jitter_reorders: false,
            wifi: Duration::ZERO,
            loss: Loss::NONE,
            reorder: 0.0,
            reorder_delay: Duration::ZERO,
            duplicate: 0.0,
        }
    }

    /// The random part of a packet's delay: jitter and Wi-Fi.
    pub fn lateness(&self, rng: &mut Rng) -> Duration {
        let jitter = if self.jitter.is_zero() { 0 } else { (rng.unit() * nanos(self.jitter) as f64) as u64 };
        let wifi = if self.wifi.is_zero() { 0 } else { wifi::extra(self.wifi, rng) };
        Duration::from_nanos(jitter.saturating_add(wifi))
    }

    /// Whether a link can be like this.
    pub fn check(&self) -> Result<(), Impossible> {
        let probability = |key, value: f64| {
            if (0.0..=1.0).contains(&value) {
                Ok(())
            } else {
                Err(Impossible { key, value: value.to_string(), rule: "a probability lies between 0 and 1" })
            }
        };
        let short = |key, value: Duration| {
            if value <= LONGEST_DELAY {
                Ok(())
            } else {
                Err(Impossible { key, value: format!("{value:?}"), rule: "no path takes more than an hour" })
            }
        };
        if !(SLOWEST_BITS..=FASTEST_BITS).contains(&self.rate.bits_per_sec()) {
            let (key, value) = ("rate", self.rate.to_string());
            return Err(Impossible { key, value, rule: "a link moves between 1 kbit/s and 1 Tbit/s" });
        }
        if self.buffer < PACKET {
            let (key, value) = ("buffer", self.buffer.to_string());
            return Err(Impossible { key, value, rule: "a buffer holds at least one packet of 1500 bytes" });
        }
        short("delay", self.delay)?;
        short("jitter", self.jitter)?;
        if !self.wifi.is_zero() && !(wifi::LEAST..=wifi::MOST).contains(&self.wifi) {
            let (key, value) = ("wifi", format!("{:?}", self.wifi));
            return Err(Impossible { key, value, rule: "the model's mean delay lies between 1 and 91 ms" });
        }
        short("reorder", self.reorder_delay)?;
        for share in self.loss.probabilities() {
            probability("loss", share)?;
        }
        probability("reorder", self.reorder)?;
        probability("duplicate", self.duplicate)
    }
}

/// Below this a packet takes longer than any test.
const SLOWEST_BITS: f64 = 1e3;
/// Above this a nanosecond clock cannot tell packets apart.
const FASTEST_BITS: f64 = 1e12;
const LONGEST_DELAY: Duration = Duration::from_secs(3600);

/// Why a link cannot be as described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    pub(crate) key: &'static str,
    pub(crate) value: String,
    pub(crate) rule: &'static str,
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` cannot be {}: {}", self.key, self.value, self.rule)
    }
}

impl core::error::Error for Impossible {}
