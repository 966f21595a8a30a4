//! The sender's host, which may have other things to do: timers and acknowledgements are attended to late.

use core::time::Duration;
use pcc::rng::Rng;
use pcc::units::Timestamp;

/// For so long Linux lets a process run before another one gets its turn (EEVDF, two processors: 3 ms).
const SLICE: Duration = Duration::from_millis(3);
/// One wake-up in so many finds the processor owed to all of the others first.
const LAST_IN_TURN: f64 = 1.0 / 16.0;

/// A processor that the sender shares with processes that never sleep.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    burners: u32,
    rng: Rng,
    /// When the sender runs, or last ran.
    runs_at: Timestamp,
    late: Duration,
}

impl Host {
    pub(crate) fn new(burners: u32, seed: u64) -> Self {
        Self { burners, rng: Rng::new(seed ^ 0x686f_7374), runs_at: Timestamp::ZERO, late: Duration::ZERO }
    }

    /// When the sender gets to what happens now; `None` if at once.
    pub(crate) fn delays(&mut self, now: Timestamp) -> Option<Timestamp> {
        if self.burners == 0 || self.runs_at == now {
            return None;
        }
        if self.runs_at < now {
            let turns = if self.rng.unit() < LAST_IN_TURN { self.burners } else { 1 };
            self.late = (SLICE * turns).mul_f64(self.rng.unit());
            self.runs_at = now + self.late;
        }
        (self.runs_at > now).then_some(self.runs_at)
    }

    /// By how much the sender runs late now.
    pub(crate) fn late(&self, now: Timestamp) -> Duration {
        if self.runs_at == now { self.late } else { Duration::ZERO }
    }
}
