//! Time as a number: nanoseconds since this process first asked.

use pcc::units::Timestamp;
use std::sync::OnceLock;
use std::time::Instant;

fn origin() -> &'static Origin {
    static ORIGIN: OnceLock<Origin> = OnceLock::new();
    ORIGIN.get_or_init(Origin::now)
}

/// When time begins, on each clock that it is told by.
struct Origin {
    instant: Instant,
    #[cfg(target_os = "linux")]
    kernel: core::time::Duration,
}

impl Origin {
    #[cfg(target_os = "linux")]
    fn now() -> Self {
        /// A thread that is stopped between two readings takes them for one moment: the closest pair of some counts.
        const READINGS: usize = 8;
        let read = || {
            let (before, instant, kernel) = (monotonic(), Instant::now(), monotonic());
            // The later one: a time told to the kernel is at most this much late, never early.
            (kernel.saturating_sub(before), Self { instant, kernel })
        };
        let mut best = read();
        for _ in 1..READINGS {
            let next = read();
            if next.0 < best.0 {
                best = next;
            }
        }
        best.1
    }

    #[cfg(not(target_os = "linux"))]
    fn now() -> Self {
        Self { instant: Instant::now() }
    }
}

/// The clock of the kernel's timers. [`Instant`] reads it too, but does not tell.
#[cfg(target_os = "linux")]
fn monotonic() -> core::time::Duration {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC);
    now.map(core::time::Duration::from).expect("a clock that every Linux has")
}

/// This moment.
pub(crate) fn now() -> Timestamp {
    // The origin first: the other way round, the first answer would be before it.
    let origin = origin().instant;
    Timestamp::ZERO + Instant::now().saturating_duration_since(origin)
}

/// A moment that noq names; one before the origin counts as the origin.
pub(crate) fn at(instant: Instant) -> Timestamp {
    Timestamp::ZERO + instant.saturating_duration_since(origin().instant)
}

/// The way back, for noq and for timers that take an [`Instant`].
pub(crate) fn instant(at: Timestamp) -> Instant {
    origin().instant + at.since(Timestamp::ZERO)
}

/// The same on the kernel's `CLOCK_MONOTONIC`, for its timers.
#[cfg(target_os = "linux")]
pub(super) fn kernel(at: Timestamp) -> core::time::Duration {
    origin().kernel + at.since(Timestamp::ZERO)
}
