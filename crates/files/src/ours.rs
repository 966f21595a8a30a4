//! Whether a file under a name that others can foresee is the one that this program made: they may have made theirs before, or given
//! another file that name.

use std::fs::{File, Metadata};
use std::io;

/// Whether `found`, an open file's, is of a plain file of ours with one name. `make` makes a file beside it, whose owner tells
/// who owns our files there: some file systems give all files to one user.
///
/// Errors: of `make`.
#[cfg(unix)]
pub(crate) fn is_ours(found: &Metadata, make: impl FnOnce() -> io::Result<File>) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    // Some file systems count no names.
    if !found.is_file() || found.nlink() > 1 {
        return Ok(false);
    }
    Ok(found.uid() == rustix::process::geteuid().as_raw() || found.uid() == make()?.metadata()?.uid())
}

/// There a directory's rights decide who makes files in it.
#[cfg(not(unix))]
pub(crate) fn is_ours(found: &Metadata, _: impl FnOnce() -> io::Result<File>) -> io::Result<bool> {
    Ok(found.is_file() && !found.is_symlink())
}
