//! A connection's turn: one poll of the task that drives it.
//!
//! noq builds and sends packets only in its connection drivers, which it spawns through the runtime. Ours notes on the
//! thread that a turn is on. A controller that is called meanwhile then knows that a gate it closes will be opened
//! again, and leaves behind when its connection wants to be woken. A controller that is asked at any other time, for
//! statistics or under another runtime, finds no turn and answers as though there were no gate.
//!
//! Time stands still in a turn until something is sent or received: the clock is read once, however often noq and the
//! gate ask. A read is a system call where the kernel does not lend its clock to programs, as in many virtual machines.

use super::{Timer, clock};
use core::cell::Cell;
use core::pin::Pin;
use core::task::{Context, Poll};
use pcc::units::Timestamp;
use std::sync::Arc;
use std::time::Instant;

#[derive(Clone, Copy)]
struct Turn {
    /// Which turn of its task this is.
    number: u64,
    wake_at: Option<Timestamp>,
    /// The time, if it was asked for and has not passed since.
    now: Option<Timestamp>,
    /// The answer to the first question for the time, if not the truth.
    told: Option<Timestamp>,
    /// The answer that was given.
    first: Option<Timestamp>,
    /// The answer for the next turn of this task.
    next: Option<Timestamp>,
}

thread_local! {
    static CURRENT: Cell<Option<Turn>> = const { Cell::new(None) };
}

/// Whether this code runs in a turn that [`PollScope`] gave.
pub(crate) fn is_ours() -> bool {
    CURRENT.get().is_some()
}

/// Which turn of its connection this is, from one on, if any: packets of one turn were built one right after the other.
pub(super) fn number() -> Option<u64> {
    CURRENT.get().map(|turn| turn.number)
}

/// The time; in a turn, as it was when first asked for since it began or since [`time_passes`].
pub(crate) fn now() -> Timestamp {
    CURRENT.get().map_or_else(clock::now, now_in)
}

/// The time in a turn; outside, what noq takes for the time.
pub(crate) fn now_or(now: Instant) -> Timestamp {
    CURRENT.get().map_or_else(|| clock::at(now), now_in)
}

fn now_in(turn: Turn) -> Timestamp {
    if let Some(now) = turn.now {
        return now;
    }
    let now = turn.told.unwrap_or_else(clock::now);
    if TIME_STANDS {
        let stands = turn.told.is_none().then_some(now);
        CURRENT.set(Some(Turn { now: stands, told: None, first: turn.first.or(Some(now)), ..turn }));
    }
    now
}

/// Elsewhere the sockets are Tokio's, and nobody says when time passes.
const TIME_STANDS: bool = cfg!(target_os = "linux");

/// Something was sent or received in this turn: that took time.
#[cfg(any(test, target_os = "linux"))]
pub(crate) fn time_passes() {
    if let Some(turn) = CURRENT.get() {
        CURRENT.set(Some(Turn { now: None, ..turn }));
    }
}

/// The first answer for the time in this turn: noq takes it for the arrival of everything that it receives in this
/// turn.
#[cfg(any(test, target_os = "linux"))]
pub(crate) fn first() -> Option<Timestamp> {
    CURRENT.get().and_then(|turn| turn.first)
}

/// The first time that the next turn of this task asks for the time, it is `at`, or the latest of several. The task must be woken
/// for it.
#[cfg(any(test, target_os = "linux"))]
pub(crate) fn begin_next_at(at: Timestamp) {
    if let Some(turn) = CURRENT.get() {
        CURRENT.set(Some(Turn { next: turn.next.max(Some(at)), ..turn }));
    }
}

/// Asks for the connection whose turn it is to be woken at `at`, or earlier if that was asked for already.
pub(super) fn wake_at(at: Timestamp) {
    if let Some(turn) = CURRENT.get() {
        let earliest = turn.wake_at.map_or(at, |earlier| earlier.min(at));
        CURRENT.set(Some(Turn { wake_at: Some(earliest), ..turn }));
    }
}

/// Ends the turn however it ends, also by a panic: the thread goes on to other tasks.
struct Guard {
    outer: Option<Turn>,
}

impl Guard {
    fn begin(number: u64, told: Option<Timestamp>) -> Self {
        let turn = Turn { number, wake_at: None, now: None, told, first: None, next: None };
        Self { outer: CURRENT.replace(Some(turn)) }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        CURRENT.set(self.outer);
    }
}

/// A task of noq that is polled in turns, and woken when a gate in it opens.
pub(crate) struct PollScope {
    task: Pin<Box<dyn Future<Output = ()> + Send>>,
    timer: Arc<Timer>,
    turns: u64,
    /// The timer will wake this task then.
    armed: Option<Timestamp>,
    /// The answer to the next turn's first question for the time.
    told: Option<Timestamp>,
}

impl PollScope {
    pub(crate) fn new(task: Pin<Box<dyn Future<Output = ()> + Send>>, timer: Arc<Timer>) -> Self {
        Self { task, timer, turns: 0, armed: None, told: None }
    }

    /// Sees to it that the task is woken at `at`.
    fn arm(&mut self, at: Timestamp, now: Timestamp, cx: &Context<'_>) {
        if self.armed == Some(at) && at > now {
            return; // the timer still has it: it forgets a time only once that has passed
        }
        self.armed = Some(at);
        self.timer.wake_at(at, cx.waker().clone());
    }
}

impl Future for PollScope {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.turns += 1;
        let guard = Guard::begin(self.turns, self.told.take());
        let result = self.task.as_mut().poll(cx);
        self.told = CURRENT.get().and_then(|turn| turn.next);
        let asked = CURRENT.get().and_then(|turn| turn.wake_at).map(|at| (at, now()));
        drop(guard);
        if let (Poll::Pending, Some((at, now))) = (&result, asked) {
            self.arm(at, now, cx);
        }
        result
    }
}

#[cfg(test)]
mod tests;
