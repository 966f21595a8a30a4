//! Which packets an acknowledgement or a loss of quinn's means: quinn tells their time of sending, not their number.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Instant;

/// Packets that left in one call of quinn, at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    sent: Instant,
    /// Packets without an answer. An acknowledgement does not tell which of them it means, and it does not matter.
    unanswered: Range<u64>,
    /// The size of each but the last, and that of the last one.
    size: u64,
    last: u64,
}

impl Call {
    /// The next packet to be answered, and its size.
    fn next(&mut self) -> Option<(u64, u64)> {
        let packet = self.unanswered.next()?;
        Some((packet, if self.unanswered.is_empty() { self.last } else { self.size }))
    }
}

/// The packets without an answer, by the time of sending.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    calls: VecDeque<Call>,
    next: u64,
}

impl InFlight {
    /// `bytes` leave now in packets of `size`: their numbers, oldest first.
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u64, size: u64) -> Range<u64> {
        let size = size.max(1);
        let packets = self.next..self.next + bytes.div_ceil(size);
        self.next = packets.end;
        // quinn's time never goes back; were it to, the search by time would still find a call, if another one.
        let sent = self.calls.back().map_or(now, |last| last.sent.max(now));
        let last = bytes - bytes.saturating_sub(1) / size * size;
        self.calls.push_back(Call { sent, unanswered: packets.clone(), size, last });
        packets
    }

    /// A packet sent at that time was acknowledged: its number, if one of that time has no answer yet.
    pub(crate) fn on_ack(&mut self, sent: Instant) -> Option<u64> {
        // Most often it is the first one, and of thousands the search costs as much as all the rest.
        let is_first = self.calls.front().is_some_and(|call| call.sent >= sent);
        let first = if is_first { 0 } else { self.calls.partition_point(|call| call.sent < sent) };
        let mut calls = self.calls.range_mut(first..).take_while(|call| call.sent == sent);
        let packet = calls.find_map(Call::next);
        self.trim();
        packet.map(|(packet, _)| packet)
    }

    /// `bytes` were lost, the newest of them in a packet sent at that time: the number of each packet.
    ///
    /// QUIC gives packets up in order (RFC 9002 §6.1), so of older calls nothing will be heard. Only of the newest call
    /// some packets may be under way still, and the bytes tell how many.
    pub(crate) fn on_lost(&mut self, sent: Instant, bytes: u64, mut lost: impl FnMut(u64)) {
        let mut bytes = bytes;
        for call in self.calls.iter_mut().take_while(|call| call.sent <= sent) {
            let is_older = call.sent < sent;
            while (is_older || bytes > 0)
                && let Some((packet, size)) = call.next()
            {
                bytes = bytes.saturating_sub(size);
                lost(packet);
            }
        }
        self.trim();
    }

    /// Forgets what was sent before that time: the number of the oldest packet that is not forgotten, if any was.
    pub(crate) fn forget_before(&mut self, sent: Instant) -> Option<u64> {
        let before = self.calls.len();
        while self.calls.front().is_some_and(|call| call.sent < sent) {
            self.calls.pop_front();
        }
        (self.calls.len() < before).then(|| self.calls.front().map_or(self.next, |call| call.unanswered.start))
    }

    /// Drops calls from the front of which every packet has its answer.
    fn trim(&mut self) {
        while self.calls.front().is_some_and(|call| call.unanswered.is_empty()) {
            self.calls.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Three calls, 10 ms apart, of three full packets and a short one.
    fn three_calls() -> (InFlight, [Instant; 3]) {
        let start = Instant::now();
        let at = [0, 10, 20].map(|ms| start + Duration::from_millis(ms));
        let mut in_flight = InFlight::default();
        for sent in at {
            in_flight.on_sent(sent, 3 * 1200 + 100, 1200);
        }
        (in_flight, at)
    }

    fn lost(in_flight: &mut InFlight, sent: Instant, bytes: u64) -> Vec<u64> {
        let mut packets = Vec::new();
        in_flight.on_lost(sent, bytes, |packet| packets.push(packet));
        packets
    }

    #[test]
    fn an_acknowledgement_finds_its_call_by_its_time() {
        let (mut in_flight, at) = three_calls();
        assert_eq!(in_flight.on_ack(at[1]), Some(4));
        assert_eq!(in_flight.on_ack(at[0]), Some(0));
        assert_eq!(in_flight.on_ack(at[1]), Some(5));
        assert_eq!(in_flight.on_ack(at[1] + Duration::from_millis(1)), None, "nothing was sent then");
    }

    #[test]
    fn a_packet_is_answered_once() {
        let (mut in_flight, at) = three_calls();
        let answered: Vec<_> = (0..6).map(|_| in_flight.on_ack(at[2])).collect();
        assert_eq!(answered, [Some(8), Some(9), Some(10), Some(11), None, None]);
    }

    #[test]
    fn all_older_packets_without_an_answer_are_lost() {
        let (mut in_flight, at) = three_calls();
        for sent in [at[0], at[1], at[1], at[1]] {
            in_flight.on_ack(sent);
        }
        // Two full packets and a short one of the first call, one of the second.
        assert_eq!(lost(&mut in_flight, at[1], 2 * 1200 + 100 + 100), [1, 2, 3, 7]);
        assert_eq!(in_flight.on_ack(at[2]), Some(8));
    }

    #[test]
    fn of_the_newest_call_as_many_are_lost_as_the_bytes_say() {
        let (mut in_flight, at) = three_calls();
        assert_eq!(lost(&mut in_flight, at[0], 2 * 1200), [0, 1]);
        assert_eq!(in_flight.on_ack(at[0]), Some(2), "the others are under way");
    }

    #[test]
    fn what_is_forgotten_has_no_answer() {
        let (mut in_flight, at) = three_calls();
        in_flight.on_ack(at[1]);
        assert_eq!(in_flight.forget_before(at[1]), Some(5));
        assert_eq!(in_flight.forget_before(at[1]), None);
        assert_eq!(in_flight.on_ack(at[0]), None);
        assert_eq!(in_flight.forget_before(at[2] + Duration::from_millis(1)), Some(12));
    }

    #[test]
    fn memory_is_bounded_by_what_is_in_flight() {
        let (mut in_flight, start) = (InFlight::default(), Instant::now());
        for call in 0..10_000 {
            let sent = start + Duration::from_millis(call);
            in_flight.on_sent(sent, 1200, 1200);
            in_flight.on_ack(sent);
        }
        assert!(in_flight.calls.is_empty());
        assert!(in_flight.calls.capacity() < 16, "{}", in_flight.calls.capacity());
    }
}
