//! The random numbers of this crate: small, seeded, and the same on every platform for ever.

/// `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014): 64 bits of state, one multiply-xorshift chain a number.
///
/// Chosen because it is a dozen lines that can never change under us: a seed printed in a report replays the same
/// path in ten years. Only additions, multiplications and comparisons follow it, which every platform computes alike;
/// no logarithm or cosine, whose last bit differs between libraries. Not for secrets.
#[derive(Clone, Debug)]
pub struct Rng(pcc::rng::Rng);

impl Rng {
    /// A generator whose whole future follows from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(pcc::rng::Rng::new(seed))
    }

    /// The next 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 (included) to 1 (excluded), in steps of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    /// True with probability `share`; draws nothing when the answer is certain, so that an unused feature does not
    /// change what the others draw.
    pub fn chance(&mut self, share: f64) -> bool {
        share > 0.0 && (share >= 1.0 || self.unit() < share)
    }

    /// A generator for another purpose, so that one purpose's draws never shift another's.
    pub const fn split(&mut self) -> Self {
        Self::new(self.next_u64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_algorithm() {
        let mut rng = Rng::new(1_234_567);
        for expected in
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423, 4_593_380_528_125_082_431]
        {
            assert_eq!(rng.next_u64(), expected);
        }
    }

    #[test]
    fn certainties_draw_nothing() {
        let mut rng = Rng::new(7);
        assert!(!rng.chance(0.0) && rng.chance(1.0));
        assert_eq!(rng.next_u64(), Rng::new(7).next_u64());
    }
}
