//! How late packets left: what the emulation itself adds to a path.

use core::time::Duration;
use hdrhistogram::Histogram;

/// A histogram of delays, exact to 1 %.
#[derive(Clone, Debug)]
pub struct Lateness {
    /// In nanoseconds.
    delays: Histogram<u64>,
    worst: Duration,
}

/// Nobody waits longer for a packet: what is later counts as this late.
const LATEST: Duration = Duration::from_secs(3600);
/// Two digits are 1 %.
const DIGITS: u8 = 2;

impl Default for Lateness {
    fn default() -> Self {
        let delays = Histogram::new_with_max(LATEST.as_nanos() as u64, DIGITS).expect("bounds that it takes");
        Self { delays, worst: Duration::ZERO }
    }
}

impl Lateness {
    pub(super) fn add(&mut self, late: Duration) {
        self.delays.saturating_record(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX));
        self.worst = self.worst.max(late);
    }

    /// The delay that this share of packets did not exceed; zero if there were none.
    pub fn quantile(&self, share: f64) -> Duration {
        Duration::from_nanos(self.delays.value_at_quantile(share)).min(self.worst)
    }

    /// The longest delay.
    pub const fn worst(&self) -> Duration {
        self.worst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_packets() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.quantile(0.99), Duration::ZERO);
        for micros in 1..=1000 {
            lateness.add(Duration::from_micros(micros));
        }
        let half = lateness.quantile(0.5).as_micros();
        assert!((500..=505).contains(&half), "{half}");
        assert_eq!(lateness.quantile(1.0), Duration::from_millis(1));
        assert_eq!(lateness.worst(), Duration::from_millis(1));
    }

    #[test]
    fn no_delay_is_too_long_for_it() {
        let mut lateness = Lateness::default();
        lateness.add(Duration::MAX);
        assert_eq!(lateness.worst(), Duration::MAX);
        assert!(lateness.quantile(0.5) >= LATEST, "{:?}", lateness.quantile(0.5));
    }
}
