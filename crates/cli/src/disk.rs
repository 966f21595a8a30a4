//! What a file must have before and after it is written: room, and a lasting name.

use cap_std::fs::{Dir, File};
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
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}

/// Makes renames in the directory last over a loss of power.
pub(crate) fn sync_dir(dir: &Dir) -> io::Result<()> {
    // A handle that only names the directory cannot be synchronised, so it is opened for reading.
    let readable = dir.open(".")?;
    readable.sync_all()
}
