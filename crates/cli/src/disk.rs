//! What the standard library does not do on all systems alike: room for a file, reading and writing anywhere in it, and a
//! name that lasts.

use cap_std::fs::{Dir, File, FileExt};
use std::io;

/// Makes sure that `length` bytes have room in the file, without changing its size.
///
/// Errors: `StorageFull` and its kin. File systems that cannot reserve find out while writing.
#[cfg(target_os = "linux")]
pub(crate) fn reserve(file: &File, length: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    if length == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, length) {
        Ok(()) => Ok(()),
        Err(error) => match io::Error::from(error) {
            full if is_full(&full) => Err(full),
            error => {
                tracing::debug!(%error, "no space is reserved");
                Ok(())
            }
        },
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn reserve(_: &File, _: u64) -> io::Result<()> {
    Ok(())
}

/// Whether the error means that there is no room, for whatever reason.
#[cfg(target_os = "linux")]
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
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
