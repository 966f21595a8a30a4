//! Waits until a packet is there or it is time to send one.

use core::time::Duration;

/// Makes this thread's timers as exact as the system can.
#[cfg(target_os = "linux")]
pub(crate) fn be_exact() {
    // Linux groups the timers of a thread within 50 µs unless told otherwise.
    if let Err(error) = nix::sys::prctl::set_timerslack(1) {
        tracing::debug!(%error, "timers stay coarse");
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn be_exact() {}

/// Waits for at most `time`, less if one of the sockets has something to read; `ready` is set to which ones may have.
#[cfg(target_os = "linux")]
pub(crate) fn wait<'a, S: std::os::fd::AsFd + 'a>(
    sockets: impl Iterator<Item = &'a S>,
    time: Duration,
    ready: &mut Vec<bool>,
) {
    use nix::poll::{PollFd, PollFlags, ppoll};

    let mut polled: Vec<_> = sockets.map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
    let result = ppoll(&mut polled, Some(time.into()), None);
    ready.clear();
    // An error condition counts as readable too: reading is what clears it. After an interruption all may be ready.
    ready.extend(polled.iter().map(|one| result.is_err() || one.any().unwrap_or(true)));
}

/// Waits for at most `time`; which sockets have something to read is found out by reading.
///
/// The standard library can sleep exactly but not watch several sockets, so where nothing else is at hand we look every
/// half millisecond: packets are noticed that much late, but leave on time.
#[cfg(not(target_os = "linux"))]
pub(crate) fn wait<'a, S: 'a>(sockets: impl Iterator<Item = &'a S>, time: Duration, ready: &mut Vec<bool>) {
    std::thread::sleep(time.min(Duration::from_micros(500)));
    ready.clear();
    ready.extend(sockets.map(|_| true));
}
