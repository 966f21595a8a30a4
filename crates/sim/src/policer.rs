//! A policer: what exceeds a rate and a burst is dropped at once; nothing waits.

use pcc::units::{Bytes, Rate, Timestamp};

/// A contract's allowance: a token bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policer {
    /// How fast tokens come.
    pub rate: Rate,
    /// The bytes that the bucket holds.
    pub burst: Bytes,
}

/// A text is no policer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsePolicerError;

impl core::fmt::Display for ParsePolicerError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("write a rate and a burst, like 10Mbit:64kB")
    }
}

impl core::error::Error for ParsePolicerError {}

impl core::str::FromStr for Policer {
    type Err = ParsePolicerError;

    fn from_str(text: &str) -> Result<Self, ParsePolicerError> {
        let (rate, burst) = text.split_once(':').ok_or(ParsePolicerError)?;
        let (rate, burst) = (rate.parse().ok(), burst.parse().ok());
        Ok(Self { rate: rate.ok_or(ParsePolicerError)?, burst: burst.ok_or(ParsePolicerError)? })
    }
}

/// The bucket and what is in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    policer: Policer,
    /// Unit: bytes.
    tokens: f64,
    filled: Timestamp,
}

impl Bucket {
    /// It begins full.
    pub(crate) fn new(policer: Policer) -> Self {
        Self { policer, tokens: policer.burst.get() as f64, filled: Timestamp::ZERO }
    }

    /// Whether a packet of that size may pass now.
    pub(crate) fn admits(&mut self, now: Timestamp, size: Bytes) -> bool {
        let came = self.policer.rate.bytes_per_sec() * now.since(self.filled).as_secs_f64();
        self.tokens = (self.tokens + came).min(self.policer.burst.get() as f64);
        self.filled = now;
        let size = size.get() as f64;
        let passes = self.tokens >= size;
        if passes {
            self.tokens -= size;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policer_is_a_rate_and_a_burst() {
        assert_eq!("8Mbit:64kB".parse::<Policer>().unwrap().burst.get(), 64_000);
        assert!("8Mbit".parse::<Policer>().is_err() && "fast:64kB".parse::<Policer>().is_err());
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut bucket = Bucket::new(Policer { rate: Rate::from_mbit(12.0), burst: Bytes::new(15_000) });
        let size = Bytes::new(1500);
        let at = |millis: u64| Timestamp::from_nanos(millis * 1_000_000);
        assert_eq!((0..20).filter(|_| bucket.admits(at(0), size)).count(), 10);
        // 12 Mbit/s are one packet a millisecond.
        let passed = (1..=1000).filter(|millis| bucket.admits(at(*millis), size) | bucket.admits(at(*millis), size));
        assert!((999..=1000).contains(&passed.count()));
        assert_eq!((0..20).filter(|_| bucket.admits(at(60_000), size)).count(), 10, "no more than the burst is saved");
    }
}
