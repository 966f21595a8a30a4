//! Packets under way, in the order in which they come out.

use core::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::time::Instant;

/// Packets under way hold at most this much memory.
const MOST_HELD: usize = 512 << 20;
/// Buffers that are kept to be used again.
const SPARE: usize = 4096;

/// Packets that leave each at its moment, with what is known of them; those of the same moment in the order in which they
/// came in.
#[derive(Debug)]
pub(crate) struct Departures<T> {
    queue: BinaryHeap<Reverse<Departure<T>>>,
    order: u64,
    /// For so many bytes more.
    room: usize,
    spare: Vec<Vec<u8>>,
}

impl<T> Default for Departures<T> {
    fn default() -> Self {
        Self { queue: BinaryHeap::new(), order: 0, room: MOST_HELD, spare: Vec::new() }
    }
}

impl<T> Departures<T> {
    /// Takes a packet in; `false` if there is no room for it, which is this computer's fault and not the path's.
    pub(crate) fn push(&mut self, at: Instant, about: T, data: &[u8]) -> bool {
        let Some(room) = self.room.checked_sub(data.len()) else { return false };
        self.room = room;
        self.order += 1;
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.extend_from_slice(data);
        self.queue.push(Reverse(Departure { at, order: self.order, about, data: copy }));
        true
    }

    /// The memory of one that has left.
    pub(crate) fn reuse(&mut self, mut data: Vec<u8>) {
        if self.spare.len() < SPARE {
            data.clear();
            self.spare.push(data);
        }
    }

    /// When the next one leaves.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.queue.peek().map(|first| first.0.at)
    }

    /// The next one, if its moment has come, and that moment.
    pub(crate) fn due(&mut self, now: Instant) -> Option<(Instant, T, Vec<u8>)> {
        self.next().filter(|at| *at <= now)?;
        let Reverse(first) = self.queue.pop()?;
        self.room += first.data.len();
        Some((first.at, first.about, first.data))
    }
}

#[derive(Debug)]
struct Departure<T> {
    at: Instant,
    order: u64,
    about: T,
    data: Vec<u8>,
}

impl<T> PartialEq for Departure<T> {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}
impl<T> Eq for Departure<T> {}
impl<T> PartialOrd for Departure<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Departure<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn each_leaves_at_its_moment_and_ties_in_order() {
        let (mut departures, now) = (Departures::default(), Instant::now());
        let soon = now + Duration::from_millis(1);
        for (at, what) in [(soon, "second"), (now, "first"), (soon, "third")] {
            assert!(departures.push(at, what, what.as_bytes()));
        }
        let mut due = |now| departures.due(now).map(|(at, what, data)| (at, what, String::from_utf8(data).unwrap()));
        assert_eq!((due(now), due(now)), (Some((now, "first", "first".to_owned())), None));
        assert_eq!((due(soon).unwrap().1, due(soon).unwrap().1), ("second", "third"));
        assert_eq!(departures.next(), None);
    }

    #[test]
    fn what_is_under_way_is_bounded_and_what_left_makes_room() {
        let (mut departures, now) = (Departures { room: 3000, ..Departures::default() }, Instant::now());
        assert!(departures.push(now, (), &[1; 1500]) && departures.push(now, (), &[2; 1500]));
        assert!(!departures.push(now, (), &[3]));
        let (_, (), data) = departures.due(now).unwrap();
        assert!(data == [1; 1500]);
        departures.reuse(data);
        assert!(departures.push(now, (), &[3]), "what has left makes room");
        let sizes = [(); 3].map(|()| departures.due(now).map(|(.., data)| data.len()));
        assert_eq!(sizes, [Some(1500), Some(1), None], "a buffer that is used again holds nothing of before");
    }
}
