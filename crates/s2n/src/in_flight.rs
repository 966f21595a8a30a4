//! Which packets an acknowledgement of s2n-quic's means: it tells the newest one and the sum of bytes.

use std::collections::VecDeque;

/// The packets that were sent and have no answer yet, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight {
    /// Bytes of each packet from `first` on; zero for one that was answered.
    packets: VecDeque<u16>,
    first: u64,
}

impl InFlight {
    /// The number of a packet that leaves.
    pub(crate) fn on_sent(&mut self, bytes: usize) -> u64 {
        self.packets.push_back(u16::try_from(bytes).unwrap_or(u16::MAX));
        self.first + self.packets.len() as u64 - 1
    }

    /// The fate of this packet is known.
    pub(crate) fn on_answered(&mut self, number: u64) -> Option<u64> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let bytes = core::mem::take(self.packets.get_mut(index)?);
        while self.packets.front() == Some(&0) {
            self.packets.pop_front();
            self.first += 1;
        }
        (bytes > 0).then_some(bytes.into())
    }

    /// So many bytes were acknowledged, the newest of them in this packet: the number of each packet, oldest last. Receivers
    /// acknowledge what came since they did so before, so the packets are neighbours.
    pub(crate) fn on_acked(&mut self, newest: u64, bytes: usize, mut acked: impl FnMut(u64)) {
        let (mut left, mut number) = (bytes as u64, newest);
        while left > 0 && number >= self.first {
            if let Some(bytes) = self.on_answered(number) {
                left = left.saturating_sub(bytes);
                acked(number);
            }
            let Some(below) = number.checked_sub(1) else { break };
            number = below;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ten() -> InFlight {
        let mut in_flight = InFlight::default();
        (0..10).for_each(|_| _ = in_flight.on_sent(1200));
        in_flight
    }

    fn acked(in_flight: &mut InFlight, newest: u64, bytes: usize) -> Vec<u64> {
        let mut numbers = Vec::new();
        in_flight.on_acked(newest, bytes, |number| numbers.push(number));
        numbers
    }

    #[test]
    fn an_acknowledgement_covers_neighbours() {
        let mut in_flight = ten();
        assert_eq!(acked(&mut in_flight, 1, 2400), [1, 0]);
        // Packet 2 is missing.
        assert_eq!(acked(&mut in_flight, 4, 2400), [4, 3]);
        assert_eq!(acked(&mut in_flight, 2, 1200), [2], "it was late");
    }

    #[test]
    fn more_bytes_than_are_in_flight_end_at_the_oldest() {
        let mut in_flight = ten();
        assert_eq!(acked(&mut in_flight, 2, 100_000), [2, 1, 0]);
        assert_eq!(acked(&mut in_flight, 2, 1200), [0_u64; 0]);
        assert_eq!(acked(&mut in_flight, 99, 1200), [9], "never sent, so it is the one before");
    }

    #[test]
    fn memory_is_bounded_by_what_is_in_flight() {
        let mut in_flight = InFlight::default();
        for number in 0..10_000 {
            assert_eq!(in_flight.on_sent(1200), number);
            assert_eq!(in_flight.on_answered(number), Some(1200));
        }
        assert!(in_flight.packets.capacity() < 16);
    }
}
