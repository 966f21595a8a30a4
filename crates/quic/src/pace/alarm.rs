//! One alarm that rings within microseconds of its time.

#[cfg(target_os = "linux")]
pub(super) use kernel::Alarm;
#[cfg(not(target_os = "linux"))]
pub(super) use portable::Alarm;

/// A timer of the kernel that Tokio waits for together with the sockets. Tokio's own timers count milliseconds.
#[cfg(target_os = "linux")]
mod kernel {
    use super::super::clock;
    use core::time::Duration;
    use nix::sys::time::TimeSpec;
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
    use pcc::units::Timestamp;
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    #[derive(Debug)]
    pub(in super::super) struct Alarm {
        timer: TimerFd,
        /// A second descriptor of the timer, which Tokio waits for.
        expiry: AsyncFd<OwnedFd>,
    }

    impl Alarm {
        pub(in super::super) fn new() -> io::Result<Self> {
            let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
            let expiry = crate::sys::watch(timer.as_fd().try_clone_to_owned()?, Interest::READABLE)?;
            Ok(Self { timer, expiry })
        }

        /// Rings at `at`, at once if that has passed; an earlier setting is forgotten.
        pub(in super::super) fn set(&self, at: Timestamp) {
            // All zero would unset it.
            let at = TimeSpec::from_duration(clock::kernel(at).max(Duration::from_nanos(1)));
            let set = self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME);
            debug_assert!(set.is_ok(), "a valid time for an open timer: {set:?}");
        }

        /// Waits until it rings. It rings once for each setting.
        pub(in super::super) async fn rings(&self) -> io::Result<()> {
            // The expiry count is not read: each expiry makes the descriptor ready anew, and setting it clears it.
            self.expiry.readable().await?.clear_ready();
            Ok(())
        }
    }
}

/// Where there is no such timer: Tokio's, to the millisecond. The schedule keeps the average exact all the same, in
/// longer trains.
#[cfg(any(test, not(target_os = "linux")))]
#[cfg_attr(target_os = "linux", allow(dead_code, reason = "tested here, used elsewhere"))]
mod portable {
    use super::super::clock;
    use pcc::units::Timestamp;
    use std::io;
    use std::sync::{Mutex, PoisonError};
    use tokio::sync::Notify;

    #[derive(Debug)]
    pub(in super::super) struct Alarm {
        at: Mutex<Option<Timestamp>>,
        changed: Notify,
    }

    impl Alarm {
        pub(in super::super) fn new() -> io::Result<Self> {
            Ok(Self { at: Mutex::new(None), changed: Notify::new() })
        }

        pub(in super::super) fn set(&self, at: Timestamp) {
            *self.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
            self.changed.notify_one();
        }

        pub(in super::super) async fn rings(&self) -> io::Result<()> {
            loop {
                let at = *self.at.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(at) = at else {
                    self.changed.notified().await;
                    continue;
                };
                tokio::select! {
                    () = tokio::time::sleep_until(clock::instant(at).into()) => {
                        let mut set = self.at.lock().unwrap_or_else(PoisonError::into_inner);
                        if *set == Some(at) {
                            *set = None;
                            return Ok(());
                        }
                    }
                    () = self.changed.notified() => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
