//! Windows' knowledge of a file, part of which the standard library keeps to itself.

use super::Version;
use cap_std::fs::File;
use core::ffi::c_void;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_BASIC_INFO, FileBasicInfo, GetFileInformationByHandle,
    GetFileInformationByHandleEx,
};

impl Version {
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        let (found, times) = query(file)?;
        let join = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        Ok(Self {
            device: found.dwVolumeSerialNumber.into(),
            inode: join(found.nFileIndexHigh, found.nFileIndexLow),
            size: join(found.nFileSizeHigh, found.nFileSizeLow),
            modified: since_1970(times.LastWriteTime),
            changed: since_1970(times.ChangeTime),
        })
    }
}

/// Windows counts 100 ns from the year 1601 on.
fn since_1970(ticks: i64) -> i128 {
    const BETWEEN: i128 = 11_644_473_600 * 1_000_000_000;
    i128::from(ticks) * 100 - BETWEEN
}

fn query(file: &File) -> io::Result<(BY_HANDLE_FILE_INFORMATION, FILE_BASIC_INFO)> {
    let (mut found, mut times) = (BY_HANDLE_FILE_INFORMATION::default(), FILE_BASIC_INFO::default());
    let handle = file.as_handle().as_raw_handle();
    let room = size_of::<FILE_BASIC_INFO>() as u32;
    // SAFETY: the handle is open while borrowed, and the system writes no more than one structure to each pointer.
    let answered = unsafe {
        GetFileInformationByHandle(handle, &raw mut found) != 0
            && GetFileInformationByHandleEx(handle, FileBasicInfo, (&raw mut times).cast::<c_void>(), room) != 0
    };
    if answered { Ok((found, times)) } else { Err(io::Error::last_os_error()) }
}
