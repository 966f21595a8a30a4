//! How long to wait before the next attempt.

use core::time::Duration;

/// The first wait: longer than most hiccups, too short to annoy.
const FIRST: Duration = Duration::from_millis(250);

/// The longest wait, so that a server that comes back is noticed soon.
const LONGEST: Duration = Duration::from_secs(15);

/// Waits that double, with jitter, so that the clients of a restarted server do not all come at once.
#[derive(Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The next wait; `random` is uniform in 0..1. Between one half and all of what the doubling gives.
    pub fn next(&mut self, random: f64) -> Duration {
        let doubled = FIRST.saturating_mul(1 << self.failures.min(16)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        doubled.mul_f64(0.5 + 0.5 * random.clamp(0.0, 1.0))
    }

    /// Attempts that failed since the last success.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// After a success.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

/// Uniform in 0..1.
pub fn random() -> f64 {
    let mut bytes = [0; 4];
    match aws_lc_rs::rand::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..40).map(|_| backoff.next(1.0)).collect();
        assert_eq!(waits[..3], [FIRST, FIRST * 2, FIRST * 4]);
        assert!(waits[10..].iter().all(|wait| *wait == LONGEST), "{waits:?}");
        backoff.reset();
        assert_eq!(backoff.next(1.0), FIRST);
    }

    #[test]
    fn jitter_takes_at_most_half() {
        assert_eq!(Backoff::default().next(0.0), FIRST / 2);
        assert!((0.0..=1.0).contains(&random()));
    }
}
