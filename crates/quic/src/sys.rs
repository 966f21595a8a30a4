//! Calls of Linux that no dependency wraps safely: all unsafe code of this crate.
#![allow(unsafe_code)]

use core::mem::size_of;
use core::time::Duration;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Lends a descriptor that does not block to Tokio, to be waited for; not for both interests at a time.
///
/// Errors: not inside a Tokio runtime with I/O.
pub(crate) fn watch(descriptor: impl Into<OwnedFd>, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is an open descriptor and always the same one, and it moves into the `AsyncFd`.
    Ok(unsafe { AsyncFd::register_with_interest(descriptor.into(), interest) }?)
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

/// How long ago the datagram received last reached this socket, by the wall clock; `None` where the kernel does not say. The
/// first question makes it take note.
pub(crate) fn age_of_last(socket: &impl AsFd) -> Option<Duration> {
    // The structure has the same shape for these in every C library.
    if cfg!(not(target_pointer_width = "64")) {
        return None;
    }
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the descriptor is open while borrowed, and the kernel writes one `timespec`.
    let result = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), SIOCGSTAMPNS as _, &raw mut at) };
    if result != 0 {
        return None;
    }
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_REALTIME).ok()?;
    Duration::from(now).checked_sub(Duration::new(u64::try_from(at.tv_sec).ok()?, u32::try_from(at.tv_nsec).ok()?))
}

/// `asm-generic/sockios.h`.
const SIOCGSTAMPNS: u32 = 0x8907;
