//! What is under way, in the order in which it comes out.

use core::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::time::Instant;

/// Things that leave each at its moment; those of the same moment in the order in which they came in.
#[derive(Debug)]
pub(crate) struct Departures<T> {
    queue: BinaryHeap<Reverse<Departure<T>>>,
    order: u64,
}

impl<T> Default for Departures<T> {
    fn default() -> Self {
        Self { queue: BinaryHeap::new(), order: 0 }
    }
}

impl<T> Departures<T> {
    /// Takes one in.
    pub(crate) fn push(&mut self, at: Instant, what: T) {
        self.order += 1;
        self.queue.push(Reverse(Departure { at, order: self.order, what }));
    }

    /// When the next one leaves.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.queue.peek().map(|first| first.0.at)
    }

    /// The next one, if its moment has come, and that moment.
    pub(crate) fn due(&mut self, now: Instant) -> Option<(Instant, T)> {
        self.next().filter(|at| *at <= now)?;
        self.queue.pop().map(|Reverse(departure)| (departure.at, departure.what))
    }
}

#[derive(Debug)]
struct Departure<T> {
    at: Instant,
    order: u64,
    what: T,
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
            departures.push(at, what);
        }
        assert_eq!((departures.due(now), departures.due(now)), (Some((now, "first")), None));
        assert_eq!(departures.next(), Some(soon));
        assert_eq!((departures.due(soon), departures.due(soon)), (Some((soon, "second")), Some((soon, "third"))));
    }
}
