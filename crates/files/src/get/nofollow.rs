//! Opens plain files and nothing else: not through a link that somebody laid there, and without waiting for the other end
//! of a pipe.

use super::place_error::PlaceError;
use crate::ours::is_ours;
use std::fs::{File, Metadata, OpenOptions};
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

/// The kind of thing under a name that others can foresee.
pub(super) enum Claimed {
    /// A file that this program made.
    Ours(File),
    /// A link, a file of somebody else, one that has another name, or no file.
    Others,
    Nothing,
}

/// Opens what this program left at `path`.
///
/// Errors: those of opening what is ours.
pub(super) fn open_ours(path: &Path, options: &mut OpenOptions) -> Result<Claimed> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_ours = |found: &Metadata| is_ours(found, || tempfile::tempfile_in(dir));
    match open(path, options) {
        Ok(file) if is_ours(&file.metadata()?)? => Ok(Claimed::Ours(file)),
        Ok(_) => Ok(Claimed::Others),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Claimed::Nothing),
        // Others may have made it one that we must not open.
        Err(error) => match std::fs::symlink_metadata(path) {
            Ok(found) if !is_ours(&found)? => Ok(Claimed::Others),
            _ => Err(error),
        },
    }
}

/// Opens whatever is there, but not by way of a link.
fn unlinked(path: &Path, options: &mut OpenOptions) -> Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::custom_flags(options, FILE_FLAG_OPEN_REPARSE_POINT);
    options.open(path)
}
