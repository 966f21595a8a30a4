//! How far a transfer is, how fast it goes, and what holds it back: for whoever shows it.

mod amount;
mod limit;

pub use amount::Amount;
pub use limit::LimitedBy;

use crate::client::source::Source;
use crate::client::watch::Started;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use limit::{Looks, Waited};
use pcc::units::Rate;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Looks that the rate covers: three seconds, calm enough to read.
const LOOKS_OF_RATE: usize = 12;

/// Counts what a [`Watch`](crate::Watch) hears. [`Progress::look`] says what that comes to.
#[derive(Debug)]
pub struct Progress {
    begun: Instant,
    /// Whether a file has begun to arrive.
    started: AtomicBool,
    /// Whether what arrives is lost if the command is interrupted.
    transient: AtomicBool,
    /// Bytes that are here, those of earlier runs included.
    here: AtomicU64,
    amount: Mutex<Amount>,
    waited: Waited,
    past: Mutex<Past>,
    looks: Mutex<Looks>,
}

/// The findings of a look.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Bytes that are here, those of earlier runs included.
    pub here: u64,
    /// How much there is to move.
    pub amount: Amount,
    /// At what rate bytes came in the last three seconds.
    pub rate: Rate,
    /// How long the rest takes at this rate; `None` while nobody knows how much it is.
    pub left: Option<Duration>,
    /// The limit of the transfer.
    pub limited_by: LimitedBy,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            started: AtomicBool::new(false),
            transient: AtomicBool::new(false),
            here: AtomicU64::new(0),
            amount: Mutex::default(),
            waited: Waited::default(),
            past: Mutex::default(),
            looks: Mutex::default(),
        }
    }
}

impl Progress {
    /// How often to look.
    pub const TICK: Duration = Duration::from_millis(250);

    /// How things are, to be asked each [`TICK`](Self::TICK).
    pub fn look(&self, source: &Source) -> Moment {
        let rate = self.rate(Instant::now());
        let (here, amount) = (self.here(), self.amount());
        let limited_by = locked(&self.looks).look(&self.waited, source, rate, amount.files().is_some());
        let left = amount.total().map(|total| total.saturating_sub(here) as f64 / rate.bytes_per_sec());
        let left = left.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Moment { here, amount, rate, left, limited_by }
    }

    /// How much there is to move, as far as is known.
    pub fn amount(&self) -> Amount {
        *locked(&self.amount)
    }

    /// Time since this was made.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Whether a file has begun to arrive.
    pub fn has_started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }

    /// Whether what arrives is lost if the command is interrupted.
    pub fn is_transient(&self) -> bool {
        self.transient.load(Ordering::Relaxed)
    }

    /// A file begins.
    pub fn started(&self, started: Started<'_>) {
        let is_first = !self.started.swap(true, Ordering::Relaxed);
        {
            let mut past = locked(&self.past);
            past.found(started.resumed_from);
            let here = self.here.fetch_add(started.resumed_from, Ordering::Relaxed) + started.resumed_from;
            if is_first {
                past.look(Instant::now(), here);
            }
        }
        locked(&self.amount).begin(started.size);
    }

    /// A directory holds a file of this size.
    pub fn found(&self, size: Option<u64>) {
        locked(&self.amount).find(size);
    }

    /// All files that a directory holds were found.
    pub fn found_all(&self) {
        locked(&self.amount).find_no_more();
    }

    /// All of a file, so many bytes, was there already.
    pub fn kept(&self, bytes: u64) {
        locked(&self.past).found(bytes);
        self.here.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A file of a directory is complete; the listing may have had another size.
    pub fn complete(&self, listed: Option<u64>, bytes: u64) {
        self.started.store(true, Ordering::Relaxed);
        locked(&self.amount).complete(listed, bytes);
    }

    /// If the command is interrupted, what of this file has arrived is lost.
    pub fn transient(&self) {
        self.transient.store(true, Ordering::Relaxed);
    }

    /// This number of bytes arrived since the last report.
    pub fn moved(&self, bytes: u64) {
        self.here.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The disk kept the network waiting.
    pub fn disk_waited(&self, time: Duration) {
        self.waited.disk(time);
    }

    /// Standard input kept the network waiting.
    pub fn input_waited(&self, time: Duration) {
        self.waited.input(time);
    }

    fn here(&self) -> u64 {
        self.here.load(Ordering::Relaxed)
    }

    fn rate(&self, now: Instant) -> Rate {
        locked(&self.past).look(now, self.here())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes that were here at the last looks.
#[derive(Debug, Default)]
struct Past(VecDeque<(Instant, u64)>);

impl Past {
    /// This number of bytes turns out to have been here before: they are no rate.
    fn found(&mut self, bytes: u64) {
        for (_, here) in &mut self.0 {
            *here += bytes;
        }
    }

    /// At what rate they became as many as are `here` now.
    fn look(&mut self, now: Instant, here: u64) -> Rate {
        self.0.push_back((now, here));
        if self.0.len() > LOOKS_OF_RATE {
            self.0.pop_front();
        }
        let moved = self.0.front().map(|(then, before)| (now.duration_since(*then), here.saturating_sub(*before)));
        match moved {
            Some((time, bytes)) if !time.is_zero() => Rate::from_bytes_per_sec(bytes as f64 / time.as_secs_f64()),
            _ => Rate::from_bytes_per_sec(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_many_files_is_that_of_the_last_three_seconds() {
        let progress = Progress::default();
        let started = |resumed_from| progress.started(Started { url: "", file: None, size: None, resumed_from });
        started(0);
        let begun = Instant::now();
        for tick in 1..=2 * LOOKS_OF_RATE as u32 {
            progress.moved(100_000);
            started(1_000_000); // the next file, of which much is there
            let rate = progress.rate(begun + Progress::TICK * tick);
            assert!(rate.bytes_per_sec() > 0.0, "tick {tick}");
            if tick > LOOKS_OF_RATE as u32 {
                assert_eq!(rate.bytes_per_sec(), 400_000.0, "tick {tick}");
            }
        }
    }
}
