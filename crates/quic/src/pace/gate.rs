//! Whether a packet may leave now.

use super::schedule::{Departure, Pace, Schedule};
use super::{clock, turn};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use pcc::units::{Bytes, Timestamp};

/// A packet due this soon leaves now: waking up for it would take longer. The schedule counts from when it was due,
/// so the average stays exact.
const SOON: Duration = Duration::from_micros(5);

/// Opens for each packet at its time.
///
/// One controller owns it and noq calls that under a lock; the atomics only serve to change through `&self`, as noq's
/// trait demands. Outside a turn that our runtime gives (see [`turn`]) it stays open: nobody would wake the connection.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    schedule: Schedule,
    /// Nanoseconds on our clock; zero while open.
    closed_until: AtomicU64,
    /// When the gate was first found open again, for a packet that it had held; zero before.
    reopened: AtomicU64,
    /// The gate held back the packet that leaves next.
    held: AtomicBool,
    /// The turn in which the last packet left.
    turn: Option<u64>,
}

impl Gate {
    /// Whether data may leave now. If not, our runtime will wake the connection when it may.
    pub(crate) fn admits(&self) -> bool {
        if self.closed_until.load(Relaxed) == 0 || !turn::is_ours() {
            return true;
        }
        match self.admits_at(clock::now()) {
            Ok(()) => true,
            Err(until) => {
                turn::wake_at(until);
                false
            }
        }
    }

    fn admits_at(&self, now: Timestamp) -> Result<(), Timestamp> {
        let until = Timestamp::from_nanos(self.closed_until.load(Relaxed));
        if now + SOON < until {
            self.held.store(true, Relaxed);
            return Err(until);
        }
        self.closed_until.store(0, Relaxed);
        self.reopened.store(now.as_nanos(), Relaxed);
        Ok(())
    }

    /// If the packet that leaves at `now` waited for its time: when the gate was found open for it.
    fn woken(&self, now: Timestamp) -> Option<Timestamp> {
        let found_open = Timestamp::from_nanos(self.reopened.load(Relaxed));
        self.held.load(Relaxed).then_some(if found_open == Timestamp::ZERO { now } else { found_open })
    }

    /// Since when this host has lost sending time for good, if it has: more of it than the schedule will make up for.
    pub(crate) fn host_limited_since(&self, now: Timestamp) -> Option<Timestamp> {
        let end_of_grace = self.schedule.end_of_grace();
        self.woken(now).filter(|&woken| woken > end_of_grace).map(|_| end_of_grace)
    }

    /// A packet of `bytes` leaves at `now`; closes until the next is due, if that ends its train.
    pub(crate) fn on_sent(&mut self, now: Timestamp, bytes: Bytes, pace: Pace) {
        self.on_sent_in(turn::number(), now, bytes, pace);
    }

    fn on_sent_in(&mut self, turn: Option<u64>, now: Timestamp, bytes: Bytes, pace: Pace) {
        let departure = match self.woken(now) {
            Some(woken) => Departure::Waited { woken },
            None if turn.is_some() && turn == self.turn => Departure::Followed,
            None => Departure::Fresh,
        };
        self.turn = turn;
        *self.held.get_mut() = false;
        if let Some(next) = self.schedule.on_sent(now, bytes, departure, pace) {
            *self.closed_until.get_mut() = next.as_nanos();
            *self.reopened.get_mut() = 0;
        }
    }
}

#[cfg(test)]
mod tests;
