//! When the next packet may leave.

use core::time::Duration;
use pcc::units::{Bytes, Rate, Timestamp};

/// Time that the host lost is made good up to this much. After a longer stop the queue on the path has drained, and what is owed
/// would overflow it.
const LARGEST_DEBT: Duration = Duration::from_millis(5);

/// The departure times of a connection's packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacing {
    /// When the time of all that left is over.
    due: Timestamp,
}

impl Pacing {
    /// Bytes leave at `now`. Answers since when the host is behind for good, if it is. `had_to_wait`: for its time, and neither
    /// for data nor for room in the window.
    pub(crate) fn on_sent(&mut self, now: Timestamp, bytes: Bytes, rate: Rate, had_to_wait: bool) -> Option<Timestamp> {
        let grace = if had_to_wait { LARGEST_DEBT } else { Duration::ZERO };
        let lost_since = (had_to_wait && now > self.due + grace).then_some(self.due + grace);
        self.due = self.due.max(now - grace) + rate.time_for(bytes);
        lost_since
    }

    /// When the next packet may leave, and when the time of all that left is over.
    pub(crate) const fn due(&self) -> Timestamp {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn packets_are_due_at_the_rate() {
        let mut pacing = Pacing::default();
        let rate = Rate::from_mbit(9.6); // 1200 bytes a millisecond
        pacing.on_sent(ms(10), Bytes::new(1200), rate, false);
        assert_eq!(pacing.due(), ms(11));
        assert_eq!(pacing.on_sent(ms(13), Bytes::new(1200), rate, true), None);
        assert_eq!(pacing.due(), ms(12), "a late host catches up");
    }

    #[test]
    fn a_stopped_host_is_told_of() {
        let mut pacing = Pacing::default();
        let rate = Rate::from_mbit(9.6);
        pacing.on_sent(ms(10), Bytes::new(1200), rate, false);
        assert_eq!(pacing.on_sent(ms(100), Bytes::new(1200), rate, true), Some(ms(16)));
        assert_eq!(pacing.due(), ms(96));
    }

    #[test]
    fn an_idle_sender_owes_nothing() {
        let mut pacing = Pacing::default();
        let rate = Rate::from_mbit(9.6);
        pacing.on_sent(ms(10), Bytes::new(1200), rate, false);
        assert_eq!(pacing.on_sent(ms(100), Bytes::new(1200), rate, false), None);
        assert_eq!(pacing.due(), ms(101));
    }
}
