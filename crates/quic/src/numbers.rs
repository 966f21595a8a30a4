//! noq's packet numbers, made unique.
//!
//! QUIC counts packets from zero three times: in the Initial, the Handshake and the Data space. A congestion controller
//! hears numbers of all three and not which is meant, and PCC wants each number once.

use std::time::Instant;

/// Where one packet number space begins in our numbering.
#[derive(Clone, Copy, Debug)]
struct Space {
    first: u64,
    first_id: u64,
    /// noq's time of its first packet.
    since: Instant,
}

/// Gives each packet an id that is higher than all before it.
///
/// A number that is not above the last one can only be of another space. From then on the earlier packets count as
/// never to be reported: their space is about to be discarded, and only the time of sending tells their
/// acknowledgements from later ones. While spaces alternate, during the handshake, this drops more packets than
/// necessary, and none of them says much about the path.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    space: Option<Space>,
    last: u64,
    next_id: u64,
}

/// The id of a packet just sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(crate) id: u64,
    /// A new space began: packets below `id` will not be reported any more.
    pub(crate) starts_space: bool,
}

impl Numbers {
    /// Packet `number` was sent at `now`.
    pub(crate) fn on_sent(&mut self, number: u64, now: Instant) -> Numbered {
        let known = self.space.filter(|_| number > self.last);
        let space = known.unwrap_or(Space { first: number, first_id: self.next_id, since: now });
        let id = space.first_id + (number - space.first);
        self.space = Some(space);
        self.last = number;
        self.next_id = id + 1;
        Numbered { id, starts_space: known.is_none() }
    }

    /// The id of packet `number`, which was sent at `sent`; `None` if it is of an earlier space.
    pub(crate) fn id(&self, number: u64, sent: Instant) -> Option<u64> {
        let space = self.space?;
        let known = (space.first..=self.last).contains(&number) && sent >= space.since;
        known.then(|| space.first_id + (number - space.first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    /// Numbers seen from a moment, in milliseconds.
    fn moments() -> impl Fn(u64) -> Instant {
        let start = Instant::now();
        move |ms| start + Duration::from_millis(ms)
    }

    #[test]
    fn ids_rise_through_all_spaces_and_gaps() {
        let at = moments();
        let mut numbers = Numbers::default();
        // Initial 0 and 1, Handshake 0, Data 0, a number skipped on purpose, Data 2 and 3.
        let sent: Vec<_> = [0, 1, 0, 0, 2, 3].into_iter().map(|number| numbers.on_sent(number, at(0))).collect();
        let starts: Vec<_> = sent.iter().map(|numbered| numbered.starts_space).collect();
        assert!(sent.windows(2).all(|pair| pair[0].id < pair[1].id), "{sent:?}");
        assert_eq!(starts, [true, false, true, true, false, false]);
    }

    #[test]
    fn a_packet_keeps_its_id() {
        let at = moments();
        let mut numbers = Numbers::default();
        let sent: Vec<_> = (5..9).map(|number| numbers.on_sent(number, at(number)).id).collect();
        let found: Vec<_> = (5..9).filter_map(|number| numbers.id(number, at(number))).collect();
        assert_eq!(sent, found);
    }

    #[test]
    fn what_belongs_to_an_earlier_space_has_no_id() {
        let at = moments();
        let mut numbers = Numbers::default();
        assert_eq!(numbers.id(0, at(0)), None, "nothing was sent");
        for number in 0..5 {
            numbers.on_sent(number, at(number));
        }
        for number in 0..3 {
            numbers.on_sent(number, at(10 + number));
        }
        assert_eq!(numbers.id(1, at(1)), None, "sent before the space began");
        assert_eq!(numbers.id(4, at(4)), None, "a number that the space has not reached");
        assert!(numbers.id(1, at(11)).is_some());
    }

    #[test]
    fn a_path_that_takes_over_starts_at_any_number() {
        let at = moments();
        let mut numbers = Numbers::default();
        assert_eq!(numbers.on_sent(1_000_000, at(5)), Numbered { id: 0, starts_space: true });
        assert_eq!(numbers.id(999_999, at(0)), None, "sent on the old path");
    }
}
