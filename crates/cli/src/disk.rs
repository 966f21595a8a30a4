//! What the standard library does not do on all systems alike: room for a file, reading and writing anywhere in it, and a
//! name that lasts.

use cap_std::fs::{Dir, File, FileExt};
use std::io;

/// Whether the file system has room for `length` more bytes now.
///
/// Errors: `StorageFull` if it has not. File systems that do not tell find out while writing.
#[cfg(unix)]
pub(crate) fn has_room(file: &File, length: u64) -> io::Result<()> {
    match rustix::fs::fstatvfs(file) {
        Ok(found) if length > found.f_bavail.saturating_mul(found.f_frsize) => Err(io::ErrorKind::StorageFull.into()),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
pub(crate) fn has_room(_: &File, _: u64) -> io::Result<()> {
    Ok(())
}

/// Reads from `at` on, wherever others read and write.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    #[cfg(unix)]
    {
        file.read_at(buffer, at)
    }
    #[cfg(windows)]
    file.seek_read(buffer, at)
}

/// Writes from `at` on, wherever others read and write.
pub(crate) fn write_at(file: &File, data: &[u8], at: u64) -> io::Result<usize> {
    #[cfg(unix)]
    {
        file.write_at(data, at)
    }
    #[cfg(windows)]
    file.seek_write(data, at)
}

/// Makes renames in the directory last over a loss of power.
#[cfg(unix)]
pub(crate) fn sync_dir(dir: &Dir) -> io::Result<()> {
    // A handle that only names the directory cannot be synchronised, so it is opened for reading.
    let readable = dir.open(".")?;
    readable.sync_all()
}

/// Windows does not let programs write a directory to the disk; NTFS keeps a journal of renames.
#[cfg(windows)]
pub(crate) fn sync_dir(_: &Dir) -> io::Result<()> {
    Ok(())
}
