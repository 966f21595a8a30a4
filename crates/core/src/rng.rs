//! The generator behind trial orders and interval lengths: small, seeded, the same on every platform.

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): one add and three mixing steps a number, any seed is a good seed.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator whose numbers depend on `seed` alone.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in 0 ≤ x < 1.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True half of the time.
    pub const fn coin(&mut self) -> bool {
        self.next_u64() >> 63 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_generator() {
        let mut rng = Rng::new(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn unit_stays_within_its_bounds_and_centres_on_one_half() {
        let mut rng = Rng::new(7);
        let drawn: Vec<f64> = (0..10_000).map(|_| rng.unit()).collect();
        assert!(drawn.iter().all(|x| (0.0..1.0).contains(x)));
        assert!((drawn.iter().sum::<f64>() / 1e4 - 0.5).abs() < 0.01);
    }
}
