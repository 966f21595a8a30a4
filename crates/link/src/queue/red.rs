//! Random early detection: the longer the queue on average, the likelier a packet that comes is dropped or marked.
//! Source: Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993; gentle as Floyd recommended in 2000.

use super::Packet;
use super::fifo::Rule;
use crate::rng::Rng;

/// Weight of a packet's queue in the average (1993 paper, §11).
const WEIGHT: f64 = 0.002;
/// Probability at the upper threshold: a tenth, as recommended in 1997.
const MOST: f64 = 0.1;

pub(super) struct Red {
    lower: f64,
    upper: f64,
    average: f64,
    /// Packets since the last one that was dropped or marked.
    since: f64,
    rng: Rng,
}

impl Red {
    /// Thresholds at a sixth and a half of the buffer: a lower one a third of the upper, as recommended.
    pub(super) fn new(limit: u64, seed: u64) -> Self {
        let (lower, upper) = (limit as f64 / 6.0, limit as f64 / 2.0);
        Self { lower, upper, average: 0.0, since: 0.0, rng: Rng::new(seed ^ 0x52_4544) }
    }

    /// How likely a packet is hit at this average length.
    fn probability(&self) -> f64 {
        let (average, lower, upper) = (self.average, self.lower, self.upper);
        if average < lower {
            0.0
        } else if average < upper {
            MOST * (average - lower) / (upper - lower)
        } else {
            (MOST + (1.0 - MOST) * (average - upper) / upper).min(1.0)
        }
    }

    fn hits(&mut self) -> bool {
        let base = self.probability();
        // Spread evenly instead of geometrically: of 1/p packets one is hit.
        let probability = if self.since * base < 1.0 { base / (1.0 - self.since * base) } else { 1.0 };
        self.since += 1.0;
        let hit = base > 0.0 && self.rng.unit() < probability;
        if hit || base == 0.0 {
            self.since = 0.0;
        }
        hit
    }
}

impl Rule for Red {
    fn admits(&mut self, packet: &mut Packet, waiting: u64) -> bool {
        self.average += WEIGHT * (waiting as f64 - self.average);
        !self.hits() || (self.average < self.upper && packet.mark())
    }
}

#[cfg(test)]
mod tests {
    use super::super::fifo::Ruled;
    use super::super::tests::{capable, enqueue, packet};
    use super::*;

    /// The share that is dropped, and marked, of packets that find so many of a hundred in the queue.
    fn hit(standing: u64, ecn: bool) -> (f64, f64) {
        let mut queue = Ruled::new(150_000, Red::new(150_000, 1));
        let (mut dropped, mut marked) = (0, 0);
        for number in 0..40_000 {
            while queue.fifo.len() < standing as usize {
                queue.fifo.push(packet(0, 0, 0), &mut Vec::new());
            }
            let packet = packet(0, number, 0);
            let drops = enqueue(&mut queue, if ecn { capable(packet) } else { packet });
            // The average needs its time.
            if number >= 5000 {
                dropped += drops;
                marked += u64::from(drops == 0 && queue.fifo.packets.back().is_some_and(|last| last.marked));
            }
            while queue.fifo.len() > standing as usize {
                queue.fifo.pop();
            }
        }
        (dropped as f64 / 35_000.0, marked as f64 / 35_000.0)
    }

    #[test]
    fn a_short_queue_loses_nothing_and_a_longer_one_more() {
        assert_eq!(hit(16, false).0, 0.0);
        let (a, b) = (hit(25, false).0, hit(33, false).0);
        // Even spacing between two hits doubles the rate of the law: (1/p + 1)/2 packets a hit.
        assert!((0.04..0.06).contains(&a), "{a}");
        assert!((0.08..0.12).contains(&b), "{b}");
    }

    #[test]
    fn marks_take_the_place_of_drops_up_to_the_upper_threshold() {
        let (dropped, marked) = hit(33, true);
        assert_eq!(dropped, 0.0);
        assert!((0.08..0.12).contains(&marked), "{marked}");
        assert!(hit(60, true).0 > 0.2, "above it nothing is spared");
    }
}
