//! The distribution of delays of packets that hold each other up.
//!
//! On a path that keeps the order a late packet holds those behind it. A held packet tells only an upper bound of its own delay:
//! its sample is censored on the left. The product-limit estimator (Kaplan, Meier 1958) on the reversed axis knows such samples.

use super::train::{Heard, Packet};

/// The delays that a path adds to its base delay. Unit: seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Delays {
    /// Values and the probability of each, falling.
    masses: Vec<(f64, f64)>,
    /// Samples that are known exactly.
    exact: usize,
}

/// Arrivals that are no further apart than this part of the gap between packets came at once: a busy computer takes its time to
/// read each of them.
pub(super) const AT_ONCE: f64 = 0.125;

impl Delays {
    /// Those of a train that left the queue empty, above this base. Packets that arrive within this part of the gap were held.
    pub(super) fn of(heard: &Heard, base: f64, at_once: f64) -> Self {
        let at_once = at_once * heard.train.gap.as_secs_f64();
        let mut samples = Vec::new();
        let mut latest = f64::NEG_INFINITY;
        for Packet { sent, arrived } in &heard.packets {
            let Some(at) = *arrived else { continue };
            // Overtaken ones took another way.
            if at + at_once >= latest {
                samples.push((at - sent - base, at - latest <= at_once));
            }
            latest = latest.max(at);
        }
        Self::from_samples(samples)
    }

    /// The distribution of these values; each is exact or only an upper bound.
    fn from_samples(mut samples: Vec<(f64, bool)>) -> Self {
        samples.retain(|(value, _)| value.is_finite());
        samples.sort_by(|one, other| other.0.total_cmp(&one.0));
        let (mut left, mut masses, mut exact) = (1.0, Vec::new(), 0);
        let count = samples.len();
        for (place, (value, is_bound)) in samples.into_iter().enumerate() {
            if is_bound {
                continue;
            }
            exact += 1;
            let mass = left / (count - place) as f64;
            left -= mass;
            masses.push((value.max(0.0), mass));
        }
        if left > 1e-9 {
            // The rest is known to be less than all exact values.
            masses.push((0.0, left));
        }
        Self { masses, exact }
    }

    /// The mean.
    pub(super) fn mean(&self) -> f64 {
        self.masses.iter().map(|(value, mass)| value * mass).sum()
    }

    /// Half of the interval that has the mean with a probability of 95 %.
    pub(super) fn error(&self) -> f64 {
        let mean = self.mean();
        let variance: f64 = self.masses.iter().map(|(value, mass)| (value - mean).powi(2) * mass).sum();
        if self.exact == 0 { 0.0 } else { 1.96 * (variance / self.exact as f64).sqrt() }
    }

    /// This share of the packets is delayed by no more.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let mut above = 0.0;
        for (value, mass) in &self.masses {
            above += mass;
            if above > 1.0 - share {
                return *value;
            }
        }
        0.0
    }
}

impl Delays {
    /// The delay, at the median, of packets that follow each other after `gap` seconds and hold each other: the largest that any
    /// packet before leaves for this one. Delays are drawn independently.
    pub(super) fn held(&self, gap: f64) -> f64 {
        let longest = self.masses.first().map_or(0.0, |(value, _)| *value);
        let mut above = 0.0;
        let tail: Vec<(f64, f64)> = self
            .masses
            .iter()
            .map(|(value, mass)| {
                let before = above;
                above += mass;
                (*value, before)
            })
            .collect();
        // The probability of no more than `value`.
        let within = |value: f64| {
            let place = tail.partition_point(|(known, _)| *known > value);
            1.0 - tail.get(place).map_or(1.0, |(_, above)| *above)
        };
        let steps = (longest / gap.max(1e-6)).min(MOST_HELD) as usize;
        let chance = |delay: f64| (0..=steps).map(|step| within(delay + gap * step as f64)).product::<f64>();
        let (mut low, mut high) = (0.0, longest);
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            if chance(middle) < 0.5 { low = middle } else { high = middle }
        }
        high
    }
}

/// Packets that may hold one: 100 ms at 600 Mbit/s.
const MOST_HELD: f64 = 6000.0;
/// A hundred milliseconds to the microsecond.
const HALVINGS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_packets_bias_no_mean() {
        // Delays of 0 to 9 ms at random, seen through a path that keeps the order.
        let mut rng = pcc_link::Rng::new(1);
        let mut own = || rng.unit() * 9e-3;
        let mut latest = 0.0_f64;
        let packets = (0..5000).map(|place| {
            let sent = place as f64 * 2e-3;
            latest = latest.max(sent + own());
            Packet { sent, arrived: Some(latest) }
        });
        let packets: Vec<_> = packets.collect();
        let seen = packets.iter().map(|packet| packet.arrived.unwrap() - packet.sent).sum::<f64>() / 5000.0;
        let train = super::super::train::Train { packets: 5000, gap: std::time::Duration::from_millis(2) };
        let delays = Delays::of(&Heard { train, packets }, 0.0, AT_ONCE);
        assert!(seen > 5.2e-3, "{seen}: the plain mean has what they waited for each other");
        assert!((delays.mean() - 4.5e-3).abs() < 0.3e-3, "{}", delays.mean());
    }

    #[test]
    fn no_samples_are_no_delay() {
        let none = Delays::from_samples(Vec::new());
        assert_eq!((none.mean(), none.error(), none.quantile(0.99)), (0.0, 0.0, 0.0));
    }
}
