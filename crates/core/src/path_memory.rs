//! One connection's knowledge of a path, for the next one over the same path (RFC 9959, Careful Resume).

use crate::units::{Bytes, Rate};
use core::time::Duration;

/// A path as it was when a connection over it ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathMemory {
    /// Bytes delivered over the last second or more, over that time.
    pub rate: Rate,
    /// RTT without a queue.
    pub base_rtt: Duration,
}

impl PathMemory {
    /// Whether this sample of the RTT is one of the same path: not shorter than half of the base RTT, nor longer than ten times
    /// that (RFC 9959 §3.2).
    pub(crate) fn agrees_with(&self, sample: Duration) -> bool {
        (self.base_rtt / 2..=self.base_rtt * 10).contains(&sample)
    }

    /// The rate to begin at: half, so that a path that two connections share is sent no more than it carries (RFC 9959 §3.3).
    pub(crate) fn first_rate(&self) -> Rate {
        self.rate * 0.5
    }

    /// Half of the saved window: no more is under way until the path has answered for some of it (RFC 9959 §3.3).
    pub(crate) fn unproven(&self) -> Bytes {
        self.first_rate() * self.base_rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_rtt_from_half_to_ten_times_the_old_one_agrees() {
        let memory = PathMemory { rate: Rate::from_mbit(42.0), base_rtt: Duration::from_millis(100) };
        for (ms, agrees) in [(49, false), (50, true), (100, true), (1000, true), (1001, false)] {
            assert_eq!(memory.agrees_with(Duration::from_millis(ms)), agrees, "{ms} ms");
        }
        assert_eq!(memory.first_rate(), Rate::from_mbit(21.0));
    }
}
