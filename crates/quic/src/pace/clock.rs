//! Time as a number: nanoseconds since this process first asked.

use pcc::units::Timestamp;
use std::sync::OnceLock;
use std::time::Instant;

fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    *ORIGIN.get_or_init(Instant::now)
}

/// This moment.
pub(crate) fn now() -> Timestamp {
    // The origin first: the other way round, the first answer would be before it.
    let origin = origin();
    Timestamp::ZERO + Instant::now().saturating_duration_since(origin)
}

/// A moment that noq names; one before the origin counts as the origin.
pub(crate) fn at(instant: Instant) -> Timestamp {
    Timestamp::ZERO + instant.saturating_duration_since(origin())
}

/// The way back, for timers that take an [`Instant`].
#[cfg(any(test, not(target_os = "linux")))]
pub(super) fn instant(at: Timestamp) -> Instant {
    origin() + at.since(Timestamp::ZERO)
}
