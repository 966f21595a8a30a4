//! What happens next. Packets on a line arrive in the order in which they left, so each line is a queue of its own and
//! only its head takes part in the sorting: what is pending is the lines, not the packets on them.

use core::cmp::Reverse;
use pcc::units::Timestamp;
use std::collections::{BinaryHeap, VecDeque};

/// An event: when, the how-manieth that was planned, what.
type Entry<T> = (Timestamp, u64, Option<u32>, T);

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
    heap: BinaryHeap<Reverse<Entry<T>>>,
    lines: Vec<Line<T>>,
    count: u64,
}

impl<T: Ord> Agenda<T> {
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
        self.heap.push(Reverse((time, self.count, None, what)));
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
        let entry = (time, self.count, Some(number), what);
        if line.busy {
            line.waiting.push_back(entry);
        } else {
            line.busy = true;
            self.heap.push(Reverse(entry));
        }
    }

    pub(crate) fn next(&mut self) -> Option<(Timestamp, T)> {
        let Reverse((time, _, number, what)) = self.heap.pop()?;
        if let Some(line) = number.and_then(|number| self.lines.get_mut(number as usize)) {
            match line.waiting.pop_front() {
                Some(entry) => self.heap.push(Reverse(entry)),
                None => line.busy = false,
            }
        }
        Some((time, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc::rng::Rng;

    #[test]
    fn events_come_by_time_and_then_as_planned_whatever_overtakes_on_a_line() {
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
