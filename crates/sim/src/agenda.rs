//! The queue of events. Packets on a line arrive in the order in which they left. So each line is a queue of its own,
//! and only its head takes part in the sorting: lines are pending, not the packets on them.

use core::cmp::Ordering;
use core::mem;
use pcc::units::Timestamp;
use std::collections::VecDeque;
use std::collections::binary_heap::{BinaryHeap, PeekMut};

/// An event: when, the how-manieth that was planned, over which line, what.
#[derive(Debug)]
struct Entry<T> {
    time: Timestamp,
    number: u64,
    line: Option<u32>,
    what: T,
}

/// The heap's greatest comes first: the earliest, of those the one that was planned first. No two have the same number.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.number).cmp(&(self.time, self.number))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<T> Eq for Entry<T> {}

#[derive(Debug)]
struct Line<T> {
    /// Whether its head is in the heap.
    busy: bool,
    last: Timestamp,
    waiting: VecDeque<Entry<T>>,
}

/// Events in the order of time; those of one moment in the order in which they were planned.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    heap: BinaryHeap<Entry<T>>,
    lines: Vec<Line<T>>,
    count: u64,
}

impl<T> Agenda<T> {
    pub(crate) fn new(lines: usize) -> Self {
        let line = || Line { busy: false, last: Timestamp::ZERO, waiting: VecDeque::new() };
        Self { heap: BinaryHeap::new(), lines: (0..lines).map(|_| line()).collect(), count: 0 }
    }

    /// How many events were planned.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn plan(&mut self, time: Timestamp, what: T) {
        self.count += 1;
        self.heap.push(Entry { time, number: self.count, line: None, what });
    }

    /// The same for what comes over a line.
    pub(crate) fn plan_on(&mut self, number: u32, time: Timestamp, what: T) {
        let Some(line) = self.lines.get_mut(number as usize) else { return self.plan(time, what) };
        if line.busy && time < line.last {
            // It overtakes others.
            return self.plan(time, what);
        }
        self.count += 1;
        line.last = time;
        let entry = Entry { time, number: self.count, line: Some(number), what };
        if line.busy {
            line.waiting.push_back(entry);
        } else {
            line.busy = true;
            self.heap.push(entry);
        }
    }

    pub(crate) fn next(&mut self) -> Option<(Timestamp, T)> {
        let mut head = self.heap.peek_mut()?;
        if let Some(line) = head.line.and_then(|number| self.lines.get_mut(number as usize)) {
            if let Some(next) = line.waiting.pop_front() {
                // The next on its line takes its place, and both are sorted at once.
                let Entry { time, what, .. } = mem::replace(&mut *head, next);
                return Some((time, what));
            }
            line.busy = false;
        }
        let Entry { time, what, .. } = PeekMut::pop(head);
        Some((time, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc::rng::Rng;

    #[test]
    fn events_come_by_time_then_in_the_order_planned() {
        let mut rng = Rng::new(1);
        let (mut agenda, mut planned, mut came) = (Agenda::new(3), Vec::new(), Vec::new());
        let mut now = Timestamp::ZERO;
        for number in 0..5000_u64 {
            let at = Timestamp::from_nanos(now.as_nanos() + rng.next_u64() % 50);
            match rng.next_u64() % 4 {
                3 => agenda.plan(at, number),
                line => agenda.plan_on(line as u32, at, number),
            }
            planned.push((at, number));
            if rng.next_u64() % 5 < 3 {
                let (at, what) = agenda.next().unwrap();
                now = at;
                came.push((at, what));
            }
        }
        while let Some(event) = agenda.next() {
            came.push(event);
        }
        planned.sort_unstable();
        assert_eq!(came, planned);
    }
}
