//! A relay's counts: forwarded, dropped and why.

use crate::lateness::Lateness;
use core::time::Duration;
use pcc_link::{Count, Counters};

/// A relay's counts so far.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// From the clients to the server.
    pub up: Direction,
    /// From the server to the clients.
    pub down: Direction,
    /// Client addresses that have a path now.
    pub sessions: usize,
    /// Client addresses that ever had one.
    pub sessions_ever: u64,
    /// Packets of further clients, turned away because there were too many.
    pub turned_away: u64,
    /// Packets that this host dropped before the relay could read them: nothing on the emulated path.
    pub missed: u64,
    /// How often the system reported that nobody listens at the server's address.
    pub nobody_there: u64,
    /// How late packets left.
    pub lateness: Lateness,
    /// Since the relay began.
    pub elapsed: Duration,
}

/// One direction of all paths. Sizes are those on the wire: with UDP and IP headers.
///
/// `link.sent + link.duplicated = forwarded + dropped by the link + dropped_host + in_transit`, in packets and bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Direction {
    /// The links' counts.
    pub link: Counters,
    /// Sent on.
    pub forwarded: Count,
    /// Should have been sent on, but this host could not: no memory left for it, or the system refused the packet.
    pub dropped_host: Count,
    /// On the emulated path now.
    pub in_transit: Count,
}

/// Adds one packet.
pub(super) fn add(count: &mut Count, bytes: pcc::units::Bytes) {
    count.packets += 1;
    count.bytes += bytes;
}

/// Takes one packet out.
pub(super) fn take(count: &mut Count, bytes: pcc::units::Bytes) {
    count.packets -= 1;
    count.bytes -= bytes;
}

fn sum(to: &mut Count, from: Count) {
    to.packets += from.packets;
    to.bytes += from.bytes;
}

impl Direction {
    /// Adds what another path counted.
    pub(super) fn merge(&mut self, other: &Self) {
        let (link, from) = (&mut self.link, &other.link);
        for (to, from) in [
            (&mut link.sent, from.sent),
            (&mut link.delivered, from.delivered),
            (&mut link.duplicated, from.duplicated),
            (&mut link.reordered, from.reordered),
            (&mut link.dropped_buffer, from.dropped_buffer),
            (&mut link.dropped_random, from.dropped_random),
            (&mut link.dropped_blackout, from.dropped_blackout),
            (&mut link.dropped_queue, from.dropped_queue),
            (&mut link.marked, from.marked),
            (&mut self.forwarded, other.forwarded),
            (&mut self.dropped_host, other.dropped_host),
            (&mut self.in_transit, other.in_transit),
        ] {
            sum(to, from);
        }
    }

    /// Share of packets that the path dropped, 0 to 1.
    pub fn loss(&self) -> f64 {
        self.link.dropped().packets as f64 / self.link.sent.packets.max(1) as f64
    }
}
