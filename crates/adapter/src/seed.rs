//! Seeds of connections: senders that share a path must not try rates in step.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// A seed that nobody chose.
pub fn random_seed() -> u64 {
    RandomState::new().hash_one(0)
}

/// A seed for the next of this process's paths; the multiplier spreads consecutive numbers over all bits (Knuth).
pub fn vary(seed: u64) -> u64 {
    static PATHS: AtomicU64 = AtomicU64::new(0);
    seed ^ PATHS.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_paths_have_one_seed() {
        let seeds: std::collections::BTreeSet<_> = (0..1000).map(|_| vary(7)).collect();
        assert_eq!(seeds.len(), 1000);
    }
}
