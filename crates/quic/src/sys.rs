//! The Linux system calls that have no safe wrapper among our dependencies: all unsafe code of this crate.
#![allow(unsafe_code)]

use core::ffi::c_int;
use core::mem::size_of;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

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
