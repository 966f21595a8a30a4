//! Opens plain files and nothing else: not through a link that somebody laid there, and without waiting for the other end
//! of a pipe.

use super::place_error::PlaceError;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;
#[cfg(windows)]
use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_OPEN_REPARSE_POINT;

/// Opens the plain file or the directory at `path`, to change its time and its permissions.
///
/// Errors: those of opening; `InvalidInput` for anything else.
pub(super) fn to_describe(path: &Path) -> Result<File> {
    // Windows lets nobody change what is open for reading, and opens no directories this way.
    let mut options = OpenOptions::new();
    options.read(true).write(cfg!(windows));
    if cfg!(windows) { open(path, &mut options) } else { unlinked(path, &mut options) }
}

/// Opens the plain file at `path` with these options.
///
/// Errors: those of opening; `InvalidInput` for anything that is no plain file.
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> Result<File> {
    let file = unlinked(path, options)?;
    let found = file.metadata()?;
    // Windows opens the link itself.
    if found.is_file() && !found.is_symlink() {
        return Ok(file);
    }
    Err(Error::new(ErrorKind::InvalidInput, PlaceError::NotPlain))
}

/// Opens whatever is there, but not by way of a link.
fn unlinked(path: &Path, options: &mut OpenOptions) -> Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::custom_flags(options, FILE_FLAG_OPEN_REPARSE_POINT);
    options.open(path)
}
