//! Time as the sender reckons with it: it goes on whatever the caller's clock does.

use crate::units::Timestamp;
use core::time::Duration;

/// Times that are told may be a little older than others before them, as those of arrivals are that waited for their reader. A
/// clock that is further back was set: for as long as it takes to get to where it was, nothing would be due.
const SET_BACK: Duration = Duration::from_secs(1);
/// No pause is longer, for all that anybody asks: a clock may be set ahead as often as it likes, and time does not end.
const LONGEST_PAUSE_NANOS: u64 = Duration::from_secs(24 * 3600).as_nanos() as u64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The latest time that the caller's clock told since it was set, and what that is here.
    told: Timestamp,
    latest: Timestamp,
}

impl Clock {
    pub(super) const fn new(now: Timestamp) -> Self {
        Self { told: now, latest: now }
    }

    /// The time that it is when this is told.
    pub(super) fn read(&mut self, told: Timestamp) -> Timestamp {
        if told < self.told {
            return self.read_back(told);
        }
        // In bare nanoseconds, since every event asks: a `Duration` would be divided into seconds and the rest.
        let passed = (told.as_nanos() - self.told.as_nanos()).min(LONGEST_PAUSE_NANOS);
        self.latest = Timestamp::from_nanos(self.latest.as_nanos().saturating_add(passed));
        self.told = told;
        self.latest
    }

    /// The time that it is when one before the latest is told.
    fn read_back(&mut self, told: Timestamp) -> Timestamp {
        let back = self.told.since(told);
        if back <= SET_BACK {
            return self.latest - back;
        }
        self.told = told;
        self.latest
    }

    /// The caller's clock at that time.
    pub(super) fn told_at(&self, time: Timestamp) -> Timestamp {
        self.told + time.since(self.latest) - self.latest.since(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_little_older_stays_so_and_clock_that_was_set_goes_on() {
        let at = |ms: u64| Timestamp::from_nanos(ms * 1_000_000);
        let mut clock = Clock::new(at(0));
        for (told, read) in [(5000, 5000), (4500, 4500), (4000, 4000), (5000, 5000), (3999, 5000), (4099, 5100)] {
            assert_eq!(clock.read(at(told)), at(read), "{told} ms");
        }
        assert_eq!((clock.told_at(at(5200)), clock.told_at(at(5050))), (at(4199), at(4049)));
        // And once more, after an hour that was none.
        for (told, read) in [(3_604_099, 3_605_100), (4200, 3_605_100), (4300, 3_605_200)] {
            assert_eq!(clock.read(at(told)), at(read), "{told} ms");
        }
        let day = 24 * 3_600_000;
        assert_eq!(clock.read(at(4300 + 3 * day)), at(3_605_200 + day), "a day is as long as two");
    }
}
