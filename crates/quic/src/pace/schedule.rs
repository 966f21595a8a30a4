//! When the next packet is due: arithmetic on given times, no clock.

use core::time::Duration;
use pcc::units::{Bytes, Rate, Timestamp};

/// How much faster than its rate a sender goes while it catches up on time that the host took from it. Slow enough to
/// look like the rate to a shallow buffer, quick enough that 10 ms are made good within 50.
const CATCH_UP: f64 = 1.25;

/// Lost time beyond this is not made good: it would be an answer to a question that the path has forgotten.
pub(super) const LARGEST_DEBT: Duration = Duration::from_millis(10);

/// No gap is longer, whatever the rate: a rate may rise while its packet waits.
const LONGEST_GAP: Duration = Duration::from_secs(5);

/// How fast packets should leave from now on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The rate to keep on average.
    pub(crate) rate: Rate,
    /// What may leave back to back, as one train.
    pub(crate) quantum: Bytes,
    /// A full packet.
    pub(crate) packet: Bytes,
}

/// A run of packets sent back to back.
#[derive(Clone, Copy, Debug)]
struct Train {
    /// When it should have begun.
    due: Timestamp,
    /// When it did.
    began: Timestamp,
    /// When it would have begun on a host without its usual delay.
    on_time: Timestamp,
    sent: Bytes,
}

/// The departure times of a connection's packets.
///
/// Every train is followed by the time that its bytes take at the rate, counted from the moment it was due: a train
/// that leaves late does not delay those after it, so the average is exact. Late trains are not answered by a burst:
/// they follow each other at 1.25 times the rate until the schedule is met again.
///
/// A host that always wakes up a little late could never catch up that way, if each gap counted from the late start
/// before it. So the faster pace counts from when a host like this would have been on time: its usual delay is known.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// When the next train is due.
    due: Timestamp,
    /// When the next train may begin: later than `due` while catching up.
    next: Timestamp,
    /// Until when the last train occupies the sender at the rate, counted from when it really began.
    paid_until: Timestamp,
    train: Option<Train>,
    delay: UsualDelay,
}

impl Schedule {
    /// When the next packet was or will be due.
    pub(crate) const fn due(&self) -> Timestamp {
        self.due
    }

    /// A packet of `bytes` leaves at `now`. If it was ready before its time, `woken` is when the host first found
    /// that it may leave: so much of the delay is the host's, and is made good. Answers when the next packet may leave,
    /// or `None` while the train has room for one more.
    pub(crate) fn on_sent(
        &mut self,
        now: Timestamp,
        bytes: Bytes,
        woken: Option<Timestamp>,
        pace: Pace,
    ) -> Option<Timestamp> {
        let mut train = match self.train.take() {
            Some(train) if now < train.began + gap(train.sent, pace.rate) => train,
            unfinished => {
                // Nothing was there to complete that train, and now its time is over.
                if let Some(train) = unfinished {
                    self.follow(&train, pace.rate);
                }
                self.begin(now, woken)
            }
        };
        train.sent += bytes;
        if train.sent + pace.packet <= pace.quantum {
            self.train = Some(train);
            return None;
        }
        self.follow(&train, pace.rate);
        Some(self.next)
    }

    fn begin(&mut self, now: Timestamp, woken: Option<Timestamp>) -> Train {
        if let Some(woken) = woken {
            self.delay.observe(woken.since(self.next));
        }
        // While catching up, a packet may be allowed at once and so never have waited; what is owed is owed still.
        let woken = woken.or((now < self.paid_until).then_some(now));
        let owed = woken.map_or(Duration::ZERO, |woken| woken.since(self.due).min(LARGEST_DEBT));
        Train {
            due: self.due.max(now - owed),
            began: now,
            on_time: self.next.max(now - self.delay.0.min(owed)),
            sent: Bytes::ZERO,
        }
    }

    fn follow(&mut self, train: &Train, rate: Rate) {
        let gap = gap(train.sent, rate);
        self.due = train.due + gap;
        self.next = self.due.max(train.on_time + gap.div_f64(CATCH_UP));
        self.paid_until = train.began + gap;
    }
}

/// How late this host usually wakes up: a smoothed mean, on which one long stop leaves little trace.
#[derive(Debug, Default)]
struct UsualDelay(Duration);

impl UsualDelay {
    fn observe(&mut self, delay: Duration) {
        let believable = delay.min(self.0 * 2 + Duration::from_micros(20));
        self.0 = (self.0 * 15 + believable) / 16;
    }
}

/// The time that `volume` takes.
fn gap(volume: Bytes, rate: Rate) -> Duration {
    rate.time_for(volume).min(LONGEST_GAP)
}

#[cfg(test)]
mod tests;
