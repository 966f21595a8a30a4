//! Many deadlines on one alarm.

use super::alarm::Alarm;
use super::clock;
use core::cmp::{Ordering, Reverse};
use core::task::Waker;
use core::time::Duration;
use pcc::units::Timestamp;
use std::collections::BinaryHeap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

/// Deadlines this close together are served together: setting the alarm again would take as long.
const TOGETHER: Duration = Duration::from_micros(3);

/// Wakes tasks at their times, through one alarm that is set anew only when the earliest time changes.
#[derive(Debug)]
pub(crate) struct Timer {
    queue: Arc<Queue>,
    ringer: AbortHandle,
}

#[derive(Debug)]
struct Queue {
    waiting: Mutex<Waiting>,
    alarm: Alarm,
}

#[derive(Debug, Default)]
struct Waiting {
    deadlines: BinaryHeap<Reverse<Deadline>>,
    /// The time to which the alarm is set.
    set: Option<Timestamp>,
}

#[derive(Debug)]
struct Deadline {
    at: Timestamp,
    waker: Waker,
}

impl Ord for Deadline {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.cmp(&other.at)
    }
}

impl PartialOrd for Deadline {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Deadline {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Deadline {}

impl Timer {
    /// Starts the task that waits for the alarm; it ends with the timer.
    ///
    /// Errors: not inside a Tokio runtime; no descriptor for the alarm.
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        let queue = Arc::new(Queue { waiting: Mutex::default(), alarm: Alarm::new()? });
        let ringer = runtime.spawn(serve(Arc::clone(&queue))).abort_handle();
        Ok(Self { queue, ringer })
    }

    /// Wakes `waker` once at `at`.
    pub(crate) fn wake_at(&self, at: Timestamp, waker: Waker) {
        let mut waiting = self.queue.waiting();
        waiting.deadlines.push(Reverse(Deadline { at, waker }));
        self.queue.set_alarm(&mut waiting);
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.ringer.abort();
    }
}

/// Waits for the alarm and wakes who is due, for ever.
async fn serve(queue: Arc<Queue>) {
    let mut due = Vec::new();
    while queue.alarm.rings().await.is_ok() {
        queue.take_due(clock::now(), &mut due);
        // Woken outside the lock: a waker may run anything.
        due.drain(..).for_each(Waker::wake);
    }
}

impl Queue {
    /// Nothing in a critical section can leave the heap inconsistent, so a panic elsewhere is no reason to stop.
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_due(&self, now: Timestamp, due: &mut Vec<Waker>) {
        let mut waiting = self.waiting();
        while let Some(Reverse(next)) = waiting.deadlines.peek()
            && next.at <= now + TOGETHER
        {
            due.extend(waiting.deadlines.pop().map(|Reverse(deadline)| deadline.waker));
        }
        waiting.set = None; // it rang
        self.set_alarm(&mut waiting);
    }

    fn set_alarm(&self, waiting: &mut Waiting) {
        let Some(Reverse(earliest)) = waiting.deadlines.peek() else { return };
        if waiting.set.is_none_or(|set| earliest.at < set) {
            waiting.set = Some(earliest.at);
            self.alarm.set(earliest.at);
        }
    }
}

#[cfg(test)]
mod tests;
