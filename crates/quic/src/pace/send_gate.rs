//! Whether a packet may leave now.

use super::poll_scope;
use super::schedule::{Departure, LostTo, Pace, Schedule};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use pcc::units::{Bytes, Rate, Timestamp};

/// A packet due this soon leaves now: waking up for it would take longer. The schedule counts from when it was due,
/// so the average stays exact.
const SOON: Duration = Duration::from_micros(5);

/// noq ends a turn after 20 datagrams, acknowledgements among them, and has another one at once: after so many packets
/// it was not for want of data.
const LONG_TURN: u32 = 10;

/// A packet that leaves in a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    turn: u64,
    now: Timestamp,
    departure: Departure,
}

/// Opens for each packet at its time.
///
/// One controller owns it and noq calls that under a lock; the atomics only serve to change through `&self`, as noq's
/// trait demands. Outside a turn that our runtime gives (see [`turn`]) it stays open: nobody would wake the connection.
#[derive(Debug, Default)]
pub(crate) struct SendGate {
    schedule: Schedule,
    /// Nanoseconds on our clock; zero while open.
    closed_until: AtomicU64,
    /// When the gate was found open again, and in which turn; zero before.
    reopened: AtomicU64,
    reopened_in: AtomicU64,
    /// The gate held back the packet that leaves next.
    held: AtomicBool,
    /// The turn in which the last packet left, and how many did in it.
    sent_in: u64,
    sent: u32,
    /// Since when the next packet, which would have followed, has waited for room in the window.
    blocked: Option<Timestamp>,
}

impl SendGate {
    /// Whether data may leave now. If not, our runtime will wake the connection when it may.
    pub(crate) fn admits(&self) -> bool {
        if self.closed_until.load(Relaxed) == 0 {
            return true;
        }
        let Some(turn) = poll_scope::number() else { return true };
        match self.admits_at(turn, poll_scope::now()) {
            Ok(()) => true,
            Err(until) => {
                poll_scope::wake_at(until);
                false
            }
        }
    }

    fn admits_at(&self, turn: u64, now: Timestamp) -> Result<(), Timestamp> {
        let until = Timestamp::from_nanos(self.closed_until.load(Relaxed));
        if now + SOON < until {
            self.held.store(true, Relaxed);
            return Err(until);
        }
        self.closed_until.store(0, Relaxed);
        self.reopened.store(now.as_nanos(), Relaxed);
        self.reopened_in.store(turn, Relaxed);
        Ok(())
    }

    /// The wait of the packet that leaves at `now`. If it waited for its time, the host caused its delay, the time of
    /// building it included. If the gate was found open in a turn before this one, it waited for something else, such
    /// as room in the congestion window.
    fn departure(&self, turn: u64, now: Timestamp) -> Departure {
        let reopened = Timestamp::from_nanos(self.reopened.load(Relaxed));
        if self.held.load(Relaxed) {
            let waited_on = reopened != Timestamp::ZERO && self.reopened_in.load(Relaxed) != turn;
            Departure::Waited { woken: if waited_on { reopened } else { now } }
        } else if let Some(ready) = self.blocked {
            Departure::Followed { ready }
        } else if turn == self.sent_in || (turn == self.sent_in + 1 && self.sent >= LONG_TURN) {
            Departure::Followed { ready: now }
        } else {
            Departure::Fresh
        }
    }

    /// There is data, and it has to wait for room in the window: from now on its delay is the path's, but what the host owed
    /// before is owed still. After a stop the acknowledgements wait with the sender, and are often read only when what the
    /// window had room for has left.
    pub(crate) fn on_window_full(&mut self) {
        if let Some(turn) = poll_scope::number() {
            self.on_window_full_in(turn, poll_scope::now());
        }
    }

    fn on_window_full_in(&mut self, turn: u64, now: Timestamp) {
        if let Departure::Followed { ready } = self.departure(turn, now) {
            self.blocked = Some(ready);
        }
    }

    /// The packet that leaves at `now`; `None` outside a turn, where nothing is paced here.
    pub(crate) fn leaving(&self, now: Timestamp) -> Option<Leaving> {
        poll_scope::number().map(|turn| self.leaving_in(turn, now))
    }

    fn leaving_in(&self, turn: u64, now: Timestamp) -> Leaving {
        Leaving { turn, now, departure: self.departure(turn, now) }
    }

    /// The cause of sending time that was lost for good before this packet, and since when: see [`Schedule::limited`].
    pub(crate) fn limited(&self, leaving: Leaving, rate: Rate) -> Option<(Timestamp, LostTo)> {
        self.schedule.limited(leaving.now, leaving.departure, rate)
    }

    /// When the time of all that has left is over.
    pub(crate) fn free_from(&self, rate: Rate) -> Timestamp {
        self.schedule.free_from(rate)
    }

    /// The packet, of `bytes`, left; closes until the next is due, if that ends its train.
    pub(crate) fn on_sent(&mut self, leaving: Leaving, bytes: Bytes, pace: Pace) {
        let Leaving { turn, now, departure } = leaving;
        self.sent = if turn == self.sent_in { self.sent.saturating_add(1) } else { 1 };
        self.sent_in = turn;
        *self.held.get_mut() = false;
        self.blocked = None;
        if let Some(next) = self.schedule.on_sent(now, bytes, departure, pace) {
            *self.closed_until.get_mut() = next.as_nanos();
            *self.reopened.get_mut() = 0;
        }
    }
}

#[cfg(test)]
mod tests;
