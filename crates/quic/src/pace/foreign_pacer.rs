//! The factor by which noq's own pacer must be told a higher rate, under another runtime than ours, so that the average
//! is the rate.
//!
//! noq's pacer gathers credit for two milliseconds, or ten at a slow rate. If the host wakes it later, the rest is
//! lost. A sender that is judged by the rate that left then asks for less, has less credit, loses a larger part of it,
//! and ends at a packet for each wake-up. So the schedule is kept here as in a [`SendGate`](super::Gate), and noq is told a
//! rate at which it catches up.

use super::schedule::{CATCH_UP, Departure, LostTo, Pace, Schedule};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use core::time::Duration;
use pcc::units::{Bytes, Rate, Timestamp};

/// Unit in which the next packet's delay is counted: for each one, noq is told the rate once more. On a host that is
/// late by `d` each time, noq's credit (2 ms of the rate that it is told) must come to `d`. It does if some `d`/2 of
/// these units are owed beforehand. With a `d` of 30 ms, say, this stays below the 50 ms that [`Schedule`] makes good.
const UNIT: Duration = Duration::from_micros(500);

/// Nothing is gained by more: noq's credit then holds those 50 ms.
const MOST: f64 = 25.0;

/// One controller owns it and noq calls that under a lock; the atomics only serve to change through `&self`, as noq's trait
/// demands.
#[derive(Debug, Default)]
pub(crate) struct ForeignPacer {
    schedule: Schedule,
    /// The window was looked at, and not yet how fast its packet may leave: noq does both before each packet of data.
    looked: AtomicBool,
    /// So often it did since a packet left: once more than that if data is left when a packet was built.
    asked: AtomicU32,
    /// Since then data had to wait for room in the window.
    full: bool,
    /// When the last packet left, by noq's clock: that stands in a call that builds several.
    left: Timestamp,
    /// The rate to tell noq, as a multiple of the rate.
    haste: Option<f64>,
}

impl ForeignPacer {
    /// Somebody wants to know the window.
    pub(crate) fn on_window(&self) {
        self.looked.store(true, Relaxed);
    }

    /// Somebody wants to know how fast packets may leave: the multiple of their rate.
    pub(crate) fn haste(&self) -> f64 {
        if self.looked.load(Relaxed) {
            self.looked.store(false, Relaxed);
            self.asked.store(self.asked.load(Relaxed).saturating_add(1), Relaxed);
        }
        self.haste.unwrap_or(1.0)
    }

    /// Data is there, and the window is full: what it waits for is the path.
    pub(crate) fn on_window_full(&mut self) {
        self.full = true;
    }

    /// A packet of `bytes` leaves at `now`. Answers who has lost sending time for good before it, and since when: see
    /// [`Schedule::limited`]. `had_none`: the application is known to have had nothing to send before.
    pub(crate) fn on_sent(
        &mut self,
        now: Timestamp,
        bytes: Bytes,
        pace: Pace,
        had_none: bool,
    ) -> Option<(Timestamp, LostTo)> {
        let full = core::mem::take(&mut self.full);
        let departure = match core::mem::take(self.asked.get_mut()) {
            _ if now == self.left => Departure::Followed { ready: now },
            // Data was left, and had to wait for another call.
            2.. if !had_none && !full => Departure::Waited { woken: now },
            _ => Departure::Fresh,
        };
        let limited = self.schedule.limited(now, departure, pace.rate);
        self.left = now;
        // noq makes its own trains.
        if let Some(next) = self.schedule.on_sent(now, bytes, departure, Pace { quantum: pace.packet, ..pace }) {
            self.haste = Some(self.haste_for(next, now, pace.rate.time_for(bytes)));
        }
        limited
    }

    /// When the time of all that has left is over.
    pub(crate) fn free_from(&self, rate: Rate) -> Timestamp {
        self.schedule.free_from(rate)
    }

    /// For a packet that may leave at `next`. noq counts its time, `gap`, from `now`, the schedule from when the last was due.
    fn haste_for(&self, next: Timestamp, now: Timestamp, gap: Duration) -> f64 {
        let least = if self.schedule.is_owing() { CATCH_UP } else { 1.0 };
        let haste = match next.since(now) {
            Duration::ZERO => least + now.since(next).as_secs_f64() / UNIT.as_secs_f64(),
            wait => gap.as_secs_f64() / wait.as_secs_f64(),
        };
        haste.clamp(least, MOST)
    }
}

#[cfg(test)]
mod tests;
