//! The congestion window: a bound for a path that falls silent, and for the first rounds on a slow one.

use super::Pcc;
use crate::control::RateControl;
use crate::monitor::MAX_IN_FLIGHT;
use crate::units::{Bytes, Rate};
use core::time::Duration;

/// Packets in flight on a new path (RFC 9002 §7.2). PCC spreads them over half an RTT, as Linux does in slow start
/// (`tcp_pacing_ss_ratio`); over a whole one a short transfer would take a round trip longer than with TCP.
const INITIAL_WINDOW: u64 = 10;
/// The initial window has no more bytes than this, or than two packets if that is more (RFC 9002 §7.2).
const INITIAL_BYTES: u64 = 14_720;
/// How far the bytes in flight may run ahead of what the path has answered for while Starting. Doubling each RTT needs
/// exactly 1; the rest lets it go on through reordering, jitter and delayed acknowledgements.
pub(super) const STARTING_LEAD: f64 = 1.5;
crate::shared::shared_with_c!("PCC_" [] INITIAL_WINDOW = INITIAL_WINDOW as u32);

/// Where Starting began: the bytes whose fate was known, and how many more may be in flight at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) settled: Bytes,
    pub(super) volume: Bytes,
}

pub(super) fn initial_window(packet: Bytes) -> Bytes {
    let most = packet.get().saturating_mul(2).max(INITIAL_BYTES);
    Bytes::new(packet.get().saturating_mul(INITIAL_WINDOW).min(most))
}

impl Pcc {
    /// Upper bound of the bytes in flight. It bounds what a silent path is sent; otherwise the rate rules.
    pub fn congestion_window(&self) -> Bytes {
        if self.is_knocking() {
            self.window.max(self.bytes_in_flight() + self.packet + self.packet)
        } else {
            self.window
        }
    }

    /// The initial window in half an RTT; in less than a millisecond that would be a burst.
    pub(super) fn initial_rate(&self, rtt: Duration) -> Rate {
        Rate::from_volume(initial_window(self.packet), (rtt / 2).max(Duration::from_millis(1)))
    }

    /// The initial window before the first RTT sample. Then a bound of what a path that falls silent is sent, and in Starting
    /// also of how far the bytes in flight run ahead of the acknowledged ones.
    pub(super) fn safe_window(&self) -> Bytes {
        if self.rtt.smoothed().is_none() {
            return initial_window(self.packet);
        }
        // Two bandwidth-delay products of the path without its queue: with the queue in it, the bound would grow with what
        // it is to bound. But what somebody else fills is there whatever we do: without it the bound would hold the rate back
        // (`docs/sweeps/links.md`).
        // Nor does the law forget the base, as the least RTT of late is forgotten behind a queue of ours that a dark link keeps.
        let base = self
            .law
            .standing_rtt()
            .or(self.rtt.min())
            .unwrap_or(self.rtt.smoothed_or_assumed())
            .max(Duration::from_millis(1));
        // Packets that a radio holds back are in flight too.
        let time = base * 2 + self.rtt.spread();
        let rate = self.law.rate().max(self.plan.rate);
        let waiting = self.delivered.waiting(rate, self.rtt.smoothed_or_assumed());
        let window = rate * time + waiting + initial_window(self.packet);
        let window = window.min(Bytes::new(self.packet.get().saturating_mul(MAX_IN_FLIGHT)));
        let is_told = self.trains.told().is_some_and(|rate| rate > self.law.rate());
        if !self.law.is_starting() || is_told {
            return window;
        }
        // Its rate comes from the RTT of a path that may be empty no more: on a slow one the first packets fill a queue
        // for seconds, and until the path answers for them there is no reason to send four times as fast.
        let settled = self.monitor.bytes_settled().saturating_sub(self.start.settled).get() as f64;
        let paced = Bytes::new(((self.start.volume.get() as f64 + settled) * STARTING_LEAD) as u64);
        window.min(paced.max(initial_window(self.packet)).max(self.trains.volume(self.packet)))
    }

    /// From here on what is in flight grows from this by what the path answers for.
    pub(super) fn open_start_window(&mut self, volume: Bytes) {
        let volume = volume.max(initial_window(self.packet));
        self.start = Start { settled: self.monitor.bytes_settled(), volume };
    }
}
