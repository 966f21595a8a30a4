//! The Linux system calls that have no safe wrapper among our dependencies: all unsafe code of this crate.
#![allow(unsafe_code)]

use core::ffi::c_int;
use core::mem::size_of;
use core::ptr;
use core::time::Duration;
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Sets one of `SO_RCVBUFFORCE` and `SO_SNDBUFFORCE`; needs `CAP_NET_ADMIN`.
pub(crate) fn set_buffer(socket: &impl AsFd, option: c_int, bytes: usize) -> io::Result<()> {
    let value = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    // SAFETY: the descriptor is open while borrowed, and the kernel reads exactly one c_int from the pointer.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const value).cast(),
            size_of::<c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Length of the array that `SO_MEMINFO` fills, and the index of the drop counter in it (`linux/sock_diag.h`).
const MEMINFO_VARS: usize = 9;
const MEMINFO_DROPS: usize = 8;

/// Packets dropped for want of receive buffer; `None` before Linux 4.12.
pub(crate) fn dropped(socket: &impl AsFd) -> Option<u32> {
    let mut info = [0_u32; MEMINFO_VARS];
    let mut length = size_of::<[u32; MEMINFO_VARS]>() as libc::socklen_t;
    // SAFETY: the descriptor is open while borrowed, and the kernel writes at most `length` bytes into the array.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    (result == 0 && length as usize == size_of::<[u32; MEMINFO_VARS]>()).then_some(info[MEMINFO_DROPS])
}

/// Lends a socket that does not block to Tokio, to be waited for; not for both interests at a time.
///
/// Errors: not inside a Tokio runtime with I/O.
pub(crate) fn watch(socket: UdpSocket, interest: Interest) -> io::Result<AsyncFd<UdpSocket>> {
    // SAFETY: `socket` owns an open descriptor, always answers with that one, and moves into the `AsyncFd`.
    Ok(unsafe { AsyncFd::register_with_interest(socket, interest) }?)
}

/// `CLOCK_MONOTONIC`, the clock of the kernel's timers. [`std::time::Instant`] reads it too, but does not tell.
pub(crate) fn monotonic() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec to the pointer.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    debug_assert_eq!(result, 0, "a clock that every Linux has: {}", io::Error::last_os_error());
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// A timer behind a file descriptor: `CLOCK_MONOTONIC`, to the resolution of the kernel's high-resolution timers.
#[derive(Debug)]
pub(crate) struct TimerFd(OwnedFd);

impl TimerFd {
    /// An unset timer.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed, and a descriptor that is not negative is open and ours alone.
        unsafe {
            let fd = libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC);
            if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(Self(OwnedFd::from_raw_fd(fd))) }
        }
    }

    /// Lends it to Tokio, to be waited for.
    pub(crate) fn into_async(self) -> io::Result<AsyncFd<Self>> {
        // SAFETY: `self` owns an open descriptor, always answers with that one, and moves into the `AsyncFd`.
        Ok(unsafe { AsyncFd::register_with_interest(self, Interest::READABLE) }?)
    }

    /// Expires at `at` on the clock of [`monotonic`], once, and forgets any earlier setting.
    pub(crate) fn set(&self, at: Duration) {
        // All zero would unset it.
        let at = at.max(Duration::from_nanos(1));
        let value = libc::timespec {
            tv_sec: libc::time_t::try_from(at.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: at.subsec_nanos().into(),
        };
        let setting = libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        // SAFETY: the descriptor is an open timer for as long as `self` lives, the kernel reads one itimerspec, and a
        // null pointer says that the old setting is not wanted.
        let result = unsafe {
            libc::timerfd_settime(self.0.as_raw_fd(), libc::TFD_TIMER_ABSTIME, &raw const setting, ptr::null_mut())
        };
        debug_assert_eq!(result, 0, "a valid time for an open timer: {}", io::Error::last_os_error());
    }
}

impl AsRawFd for TimerFd {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
