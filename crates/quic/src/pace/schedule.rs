//! When the next packet is due: arithmetic on given times, no clock.

use core::time::Duration;
use pcc::units::{Bytes, Rate, Timestamp};

/// Factor on the rate while a sender catches up on time that the host took from it. It is slow enough to look like the
/// rate to a shallow buffer, and quick enough that a millisecond is made good within five.
pub(super) const CATCH_UP: f64 = 1.25;

/// Lost time is made good up to this much, or one gap where gaps are longer. It covers late timers and a turn of
/// another process on the same core. A longer stop is another thing: the queue on the path has drained meanwhile, what
/// it cannot take back it would drop, and the loss would be blamed on the rate.
const LARGEST_DEBT: Duration = Duration::from_millis(5);

/// On a host that is late as a rule, with busy processors, stops up to this multiple of its usual delay are made good
/// too. Otherwise its sender would keep a fraction of its rate. The second constant is the most in any case: the queues
/// of most paths hold it.
const USUAL_DEBT: u32 = 3;
const LARGEST_USUAL_DEBT: Duration = Duration::from_millis(50);
/// Share of a usual stop that leaves at once after it; the rest leaves by and by. All of it would overflow buffers, and
/// with too little the sender falls behind (docs/results/pacing.md).
const AT_ONCE: f64 = 0.75;
/// For so long stops are remembered.
const MEMORY: Duration = Duration::from_secs(1);
/// Stops are seen beside two hundred late timers of 100 µs.
const ORDINARY_DELAYS: Duration = Duration::from_millis(20);
/// A shorter stop is a late timer, and no turn of another process.
const SHORTEST_STOP: Duration = Duration::from_millis(1);

/// The reason for which a packet could not leave in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LostTo {
    Host,
    Application,
}

/// An application that writes when there is room again is woken for it: so late it is not silent, but on its way.
const SHORTEST_SILENCE: Duration = Duration::from_micros(200);

/// No gap is longer, whatever the rate: a rate may rise while its packet waits.
const LONGEST_GAP: Duration = Duration::from_secs(5);

/// How fast packets should leave from now on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The rate to keep on average.
    pub(crate) rate: Rate,
    /// Bytes that may leave back to back, as one train.
    pub(crate) quantum: Bytes,
    /// A full packet.
    pub(crate) packet: Bytes,
}

/// A packet's wait before it left: it tells the cause of a late departure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Departure {
    /// It was ready before its time, and the host found at `woken` that it may leave.
    Waited { woken: Timestamp },
    /// It was ready when the packet in front of it left, and could follow it until `ready`: now, or since when the window was full.
    Followed { ready: Timestamp },
    /// It came when nothing was waiting: if it is late, nobody owes it anything.
    Fresh,
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
    /// When its latest packet left: while a batch is built time stands, and nothing needs to be computed anew.
    latest: Timestamp,
    sent: Bytes,
}

/// The departure times of a connection's packets.
///
/// Every train is followed by the time that its bytes take at the rate, counted from the moment when it was due. A late
/// train does not delay those after it, so the average is exact. Late trains make no burst: they follow each other at
/// 1.25 times the rate until the schedule is met again.
///
/// A host that always wakes up a little late could never catch up that way, if each gap counted from the late start
/// before it. So the faster pace counts from when a host like this would have been on time: its usual delay is known.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// When the next train is due.
    due: Timestamp,
    /// When the next train may begin: later than `due` while catching up.
    next: Timestamp,
    /// How late the next train may be without losing anything.
    grace: Duration,
    train: Option<Train>,
    delay: UsualDelay,
}

impl Schedule {
    /// Until when the host may be late with the next packet and make good for all of it.
    pub(crate) fn end_of_grace(&self) -> Timestamp {
        self.due + self.grace
    }

    /// Whether what was late is not yet made good.
    pub(crate) fn is_owing(&self) -> bool {
        self.due < self.next
    }

    /// When the time of all that has left is over.
    pub(crate) fn free_from(&self, rate: Rate) -> Timestamp {
        self.train.as_ref().map_or(self.next, |train| train.began + gap(train.sent, rate))
    }

    /// The cause of sending time lost for good before a packet that leaves at `now`, and since when. It is this host,
    /// by more than is made up for, or the application, which gave it nothing to send. A fresh packet alone does not
    /// show that it was the application.
    pub(crate) fn limited(&self, now: Timestamp, departure: Departure, rate: Rate) -> Option<(Timestamp, LostTo)> {
        match departure {
            Departure::Waited { woken } => {
                let since = self.end_of_grace();
                (woken > since).then_some((since, LostTo::Host))
            }
            Departure::Followed { .. } => None,
            Departure::Fresh => {
                let since = self.free_from(rate);
                (now > since + SHORTEST_SILENCE).then_some((since, LostTo::Application))
            }
        }
    }

    /// A packet of `bytes` leaves at `now`. Answers when the next may leave, or `None` while the train has room for it.
    pub(crate) fn on_sent(
        &mut self,
        now: Timestamp,
        bytes: Bytes,
        departure: Departure,
        pace: Pace,
    ) -> Option<Timestamp> {
        // The train is changed where it is: this is asked for every packet, and most go on with one.
        let goes_on = |train: &Train| now == train.latest || now < train.began + gap(train.sent, pace.rate);
        if !self.train.as_ref().is_some_and(goes_on) {
            // Nothing was there to complete that train, and now its time is over.
            if let Some(unfinished) = self.train.take() {
                self.follow(&unfinished, pace.rate);
            }
            self.train = Some(self.begin(now, departure));
        }
        let train = self.train.as_mut()?;
        train.latest = now;
        train.sent += bytes;
        if train.sent + pace.packet <= pace.quantum {
            return None;
        }
        let complete = self.train.take()?;
        self.follow(&complete, pace.rate);
        Some(self.next)
    }

    fn begin(&mut self, now: Timestamp, departure: Departure) -> Train {
        let owed = match departure {
            Departure::Waited { woken } => {
                self.delay.observe(woken, woken.since(self.next));
                woken.since(self.due)
            }
            // Allowed at once, to catch up: what is owed is owed still.
            Departure::Followed { ready } => ready.since(self.due),
            Departure::Fresh => Duration::ZERO,
        };
        let owed = owed.min(self.grace);
        Train {
            due: self.due.max(now - owed),
            began: now,
            on_time: self.next.max(now - self.delay.at_once().min(owed)),
            latest: now,
            sent: Bytes::ZERO,
        }
    }

    fn follow(&mut self, train: &Train, rate: Rate) {
        let gap = gap(train.sent, rate);
        self.due = train.due + gap;
        self.next = self.due.max(train.on_time + gap.div_f64(CATCH_UP));
        self.grace = gap.max(LARGEST_DEBT).max((self.delay.usual() * USUAL_DEBT).min(LARGEST_USUAL_DEBT));
    }
}

/// How late this host usually wakes up: late timers by a smoothed mean, on which one long stop leaves little trace; and
/// where others have the processor, the length of their turns.
///
/// Most wake-ups of a busy host are prompt, and the few that are not lose the time. So stops count by their length:
/// Σd²/Σd over about the last second. One stop is no rule: it counts only while another is remembered.
#[derive(Debug, Default)]
struct UsualDelay {
    timers: Duration,
    sum: f64,
    squares: f64,
    /// The longest delay that is remembered.
    stop: f64,
    observed: Timestamp,
}

impl UsualDelay {
    fn observe(&mut self, now: Timestamp, delay: Duration) {
        let believable = delay.min(self.timers * 2 + Duration::from_micros(20));
        self.timers = (self.timers * 15 + believable) / 16;
        let kept = 1.0 / (1.0 + now.since(self.observed).as_secs_f64() / MEMORY.as_secs_f64());
        let delay = delay.min(LARGEST_USUAL_DEBT).as_secs_f64();
        let is_stop = |delay: f64| delay >= SHORTEST_STOP.as_secs_f64();
        self.stop *= kept;
        let counted = if is_stop(delay) && !is_stop(self.stop) { 0.0 } else { delay };
        self.stop = self.stop.max(delay);
        self.sum = self.sum * kept + counted;
        self.squares = self.squares * kept + counted * counted;
        self.observed = now;
    }

    /// Unit: s. No longer than the longest delay.
    fn stops(&self) -> f64 {
        let stops = self.squares / (self.sum + ORDINARY_DELAYS.as_secs_f64());
        if stops < SHORTEST_STOP.as_secs_f64() { 0.0 } else { stops }
    }

    fn usual(&self) -> Duration {
        self.timers.max(Duration::from_secs_f64(self.stops()))
    }

    /// For so long a time what is owed leaves at once: late timers are no stops, and all of them are made good so.
    fn at_once(&self) -> Duration {
        self.timers.max(Duration::from_secs_f64(AT_ONCE * self.stops()))
    }
}

/// The time that `volume` takes.
fn gap(volume: Bytes, rate: Rate) -> Duration {
    rate.time_for(volume).min(LONGEST_GAP)
}

#[cfg(test)]
mod tests;
