//! How late packets left: what the emulation itself adds to a path.

use core::time::Duration;

/// A histogram of delays with steps of about 9 % (eight to a doubling), in 512 counters.
#[derive(Clone, Debug)]
pub(crate) struct Lateness {
    counts: Box<[u64; BUCKETS]>,
    worst: Duration,
}

const BUCKETS: usize = 512;
/// Buckets to a doubling, as a power of two.
const FINE: u32 = 3;

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: Box::new([0; BUCKETS]), worst: Duration::ZERO }
    }
}

impl Lateness {
    pub(super) fn add(&mut self, late: Duration) {
        if let Some(count) = self.counts.get_mut(bucket(late)) {
            *count += 1;
        }
        self.worst = self.worst.max(late);
    }

    /// The delay that this share of packets did not exceed; zero if there were none.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let wanted = (self.counts.iter().sum::<u64>() as f64 * share).ceil() as u64;
        let mut seen = 0;
        let bucket = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted && wanted > 0
        });
        bucket.map_or(Duration::ZERO, |bucket| Duration::from_nanos(upper_end(bucket)).min(self.worst))
    }

    /// The longest delay.
    pub(crate) const fn worst(&self) -> Duration {
        self.worst
    }
}

/// Eight buckets to a doubling: the place of the highest bit, and the three bits below it.
fn bucket(late: Duration) -> usize {
    let nanos = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
    let Some(highest) = nanos.checked_ilog2() else { return 0 };
    if highest < FINE {
        return nanos as usize;
    }
    let below = (nanos >> (highest - FINE)) & ((1 << FINE) - 1);
    (((highest - FINE + 1) << FINE) as usize) + below as usize
}

/// The largest number of nanoseconds that falls into this bucket.
fn upper_end(bucket: usize) -> u64 {
    let (group, below) = ((bucket >> FINE) as u32, (bucket & ((1 << FINE) - 1)) as u64);
    if group == 0 {
        return below;
    }
    // 2^3 + below is the number's leading four bits; the next one up, less one, ends the bucket.
    (((1 << FINE) + below + 1).checked_shl(group - 1).unwrap_or(u64::MAX)).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_ends_where_the_next_begins() {
        for nanos in (0..5000).chain([1 << 20, (1 << 20) - 1, 123_456_789, 3_600_000_000_000, 1 << 62]) {
            let end = upper_end(bucket(Duration::from_nanos(nanos)));
            assert!(end >= nanos && end as f64 <= nanos as f64 * 1.125, "{nanos} {end}");
            assert!(bucket(Duration::from_nanos(end + 1)) == bucket(Duration::from_nanos(nanos)) + 1);
        }
        assert!(bucket(Duration::MAX) < BUCKETS);
    }

    #[test]
    fn quantiles_are_those_of_the_packets() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.quantile(0.99), Duration::ZERO);
        for micros in 1..=1000 {
            lateness.add(Duration::from_micros(micros));
        }
        let half = lateness.quantile(0.5).as_micros();
        assert!((500..=563).contains(&half), "{half}");
        assert_eq!(lateness.quantile(1.0), Duration::from_millis(1));
        assert_eq!(lateness.worst(), Duration::from_millis(1));
    }
}
