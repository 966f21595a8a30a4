//! How much the peer still takes: the flow control of QUIC (RFC 9000 §4), as far as a trace tells of it.

use super::event::{Allowance, Number, Side};
use std::collections::BTreeMap;

/// The number of streams that are known. With more, the connection's credit is unknown.
const MOST_STREAMS: usize = 4096;

/// With so little credit a sender may as well wait: a header of a frame needs room, too. Unit: bytes.
const NEXT_TO_NOTHING: f64 = 64.0;

/// A stream on which this end sends.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// Bytes up to the highest offset.
    sent: f64,
    most: Option<f64>,
    is_ended: bool,
}

/// The credit that this end has.
#[derive(Debug, Default)]
pub(crate) struct Credit {
    side: Option<Side>,
    /// The connection's limit. Unit: bytes.
    most: Option<f64>,
    sent: f64,
    /// The limit of a new stream: one that the peer began, one that this end began, one of one way.
    initial: [Option<f64>; 3],
    streams: BTreeMap<u64, Stream>,
    /// Streams were forgotten, so `sent` may be wrong.
    is_partial: bool,
    /// The stream on which was sent last.
    latest: u64,
    /// This end said that it is blocked, and heard of no credit since.
    is_told: bool,
}

impl Credit {
    pub(crate) fn of(side: Option<Side>) -> Self {
        Self { side, ..Self::default() }
    }

    /// The peer's transport parameters.
    pub(crate) fn allow(&mut self, told: &Allowance) {
        let raise = |most: &mut Option<f64>, told: Number| *most = told.0.or(*most);
        raise(&mut self.most, told.initial_max_data);
        // The peer's names are from the peer's point of view: what it began is local to it.
        raise(&mut self.initial[0], told.initial_max_stream_data_bidi_local);
        raise(&mut self.initial[1], told.initial_max_stream_data_bidi_remote);
        raise(&mut self.initial[2], told.initial_max_stream_data_uni);
    }

    pub(crate) fn raised(&mut self, most: f64) {
        self.most = Some(self.most.map_or(most, |before| before.max(most)));
        self.is_told = false;
    }

    pub(crate) fn raised_of(&mut self, id: u64, most: f64) {
        let stream = self.stream(id);
        stream.most = Some(stream.most.map_or(most, |before| before.max(most)));
        self.is_told = false;
    }

    pub(crate) fn blocked(&mut self) {
        self.is_told = true;
    }

    /// Bytes of a stream were sent.
    pub(crate) fn sent(&mut self, id: u64, until: f64, is_end: bool) {
        let stream = self.stream(id);
        let more = (until - stream.sent).max(0.0);
        stream.sent += more;
        stream.is_ended |= is_end;
        self.sent += more;
        if more > 0.0 {
            self.latest = id;
        }
    }

    fn stream(&mut self, id: u64) -> &mut Stream {
        if self.streams.len() >= MOST_STREAMS && !self.streams.contains_key(&id) {
            self.streams.pop_first();
            self.is_partial = true;
        }
        self.streams.entry(id).or_default()
    }

    /// Whether the peer takes no more: of all, or of the stream on which was sent last.
    pub(crate) fn is_spent(&self) -> bool {
        let is_spent = |most: Option<f64>, sent: f64| most.is_some_and(|most| most - sent < NEXT_TO_NOTHING);
        let of_stream = self.streams.get(&self.latest).is_some_and(|stream| {
            !stream.is_ended && stream.sent > 0.0 && is_spent(stream.most.or(self.initial_of(self.latest)), stream.sent)
        });
        self.is_told || of_stream || !self.is_partial && self.sent > 0.0 && is_spent(self.most, self.sent)
    }

    /// The limit of a new stream of this number (RFC 9000 §2.1); `None` if it is unknown whose trace this is.
    fn initial_of(&self, id: u64) -> Option<f64> {
        let is_own = (id % 2 == 1) == (self.side? == Side::Server);
        self.initial[if id & 2 != 0 { 2 } else { usize::from(is_own) }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowance(all: f64, stream: f64) -> Allowance {
        let number = |value| Number(Some(value));
        let mut allowance = Allowance::default();
        (allowance.initial_max_data, allowance.initial_max_stream_data_uni) = (number(all), number(stream));
        allowance
    }

    #[test]
    fn credit_ends_with_the_window_of_connection_or_stream() {
        for (all, stream) in [(1000.0, 5000.0), (5000.0, 1000.0)] {
            let mut credit = Credit::of(Some(Side::Server));
            credit.allow(&allowance(all, stream));
            credit.sent(3, 900.0, false);
            assert!(!credit.is_spent());
            credit.sent(3, 1000.0, false);
            assert!(credit.is_spent());
            credit.sent(3, 500.0, false);
            assert!(credit.is_spent(), "sent again");
            credit.raised(9000.0);
            credit.raised_of(3, 9000.0);
            assert!(!credit.is_spent());
        }
    }

    #[test]
    fn a_stream_that_is_over_waits_for_no_credit() {
        let mut credit = Credit::of(Some(Side::Server));
        credit.allow(&allowance(5000.0, 1000.0));
        credit.sent(3, 1000.0, true);
        assert!(!credit.is_spent());
    }

    #[test]
    fn a_frame_that_says_blocked_holds_until_there_is_credit() {
        let mut credit = Credit::of(None);
        credit.blocked();
        assert!(credit.is_spent());
        credit.raised(1000.0);
        assert!(!credit.is_spent());
    }

    #[test]
    fn streams_are_bounded_and_then_the_sum_is_not_used() {
        let mut credit = Credit::of(Some(Side::Client));
        credit.allow(&allowance(100.0, f64::MAX));
        for number in 0..2 * MOST_STREAMS as u64 {
            credit.sent(4 * number + 2, 1.0, true);
        }
        assert!(credit.streams.len() == MOST_STREAMS && !credit.is_spent());
    }
}
