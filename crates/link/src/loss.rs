//! Random loss: which packets the wire eats.

use crate::rng::Rng;

/// How packets are lost at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Each packet is lost with this probability, whatever happened to the others.
    Bernoulli(f64),
    /// Loss in bursts: a chain with a good and a bad state takes one step a packet.
    GilbertElliott(GilbertElliott),
}

/// The Gilbert-Elliott model (Gilbert 1960, Elliott 1963). All four values are probabilities a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// From the good state to the bad one.
    pub to_bad: f64,
    /// From the bad state to the good one; its inverse is the mean length of a bad spell in packets.
    pub to_good: f64,
    /// Loss in the good state.
    pub loss_good: f64,
    /// Loss in the bad state.
    pub loss_bad: f64,
}

impl Loss {
    /// No loss.
    pub const NONE: Self = Self::Bernoulli(0.0);

    /// Loses the share `rate` of all packets, in bursts of `burst` packets on average, with no loss between bursts.
    /// `None` if no such chain exists: `rate` outside 0 to 1 (1 excluded), or so high that the gaps between bursts
    /// would be shorter than a packet, or `burst` below 1.
    pub fn in_bursts(rate: f64, burst: f64) -> Option<Self> {
        let to_good = 1.0 / burst;
        let to_bad = to_good * rate / (1.0 - rate);
        ((0.0..1.0).contains(&rate) && burst >= 1.0 && to_bad <= 1.0).then_some(Self::GilbertElliott(GilbertElliott {
            to_bad,
            to_good,
            loss_good: 0.0,
            loss_bad: 1.0,
        }))
    }

    /// The share of packets lost in the long run.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Bernoulli(rate) => rate,
            Self::GilbertElliott(ge) => {
                let moves = ge.to_bad + ge.to_good;
                // A chain that never moves stays in the good state, where it starts.
                let bad = if moves > 0.0 { ge.to_bad / moves } else { 0.0 };
                bad * ge.loss_bad + (1.0 - bad) * ge.loss_good
            }
        }
    }

    /// The probabilities in it, each of which must lie between 0 and 1.
    pub(crate) fn probabilities(&self) -> [f64; 4] {
        match *self {
            Self::Bernoulli(rate) => [rate; 4],
            Self::GilbertElliott(ge) => [ge.to_bad, ge.to_good, ge.loss_good, ge.loss_bad],
        }
    }
}

/// The state of a loss model on its way through the packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct LossProcess {
    bad: bool,
}

impl LossProcess {
    /// Whether the next packet is lost. The chain steps before the packet is judged.
    pub(crate) fn next(&mut self, loss: &Loss, rng: &mut Rng) -> bool {
        match *loss {
            Loss::Bernoulli(rate) => rng.chance(rate),
            Loss::GilbertElliott(ge) => {
                if rng.chance(if self.bad { ge.to_good } else { ge.to_bad }) {
                    self.bad = !self.bad;
                }
                rng.chance(if self.bad { ge.loss_bad } else { ge.loss_good })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_described_by_their_length_and_the_mean_loss() {
        let loss = Loss::in_bursts(0.02, 8.0).unwrap();
        assert!((loss.mean() - 0.02).abs() < 1e-12);
        for (rate, burst) in [(1.0, 8.0), (-0.1, 8.0), (0.1, 0.5), (0.6, 1.0), (f64::NAN, 8.0), (0.1, f64::NAN)] {
            assert!(Loss::in_bursts(rate, burst).is_none(), "{rate} {burst}");
        }
    }
}
