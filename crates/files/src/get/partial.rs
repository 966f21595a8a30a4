//! A partial file that is this process's alone for as long as it is open: two downloads into one file would spoil each
//! other's. Its name can be foreseen, so whatever others put there is none.

use super::nofollow::{self, Claimed};
use super::place_error::PlaceError;
use crate::client::names::PART;
use anyhow::{Context, bail};
use same_file::Handle;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};

/// Owners that may come and go between opening the file and locking it. More than a few in a row are no accident.
const OWNERS: usize = 16;

/// An open partial file.
pub(super) struct Partial {
    pub(super) path: PathBuf,
    pub(super) file: File,
    /// Whether the next run finds it.
    pub(super) is_lasting: bool,
}

/// The partial file at `part`, made if there is none. Where others have that name, and keep it, it has another.
///
/// Errors: another download has it; it cannot be written.
pub(super) fn make(part: &Path) -> anyhow::Result<Partial> {
    let cannot = || PlaceError::File(part.to_owned());
    for _ in 0..OWNERS {
        let opened = match nofollow::open_ours(part, OpenOptions::new().read(true).write(true)).with_context(cannot)? {
            Claimed::Ours(file) => Ok(file),
            Claimed::Others if give_way(part) => continue,
            Claimed::Others => return elsewhere(part).with_context(cannot),
            Claimed::Nothing => nofollow::open(part, OpenOptions::new().read(true).write(true).create_new(true)),
        };
        match opened {
            Ok(file) if take(&file, part)? => return Ok(Partial { path: part.to_owned(), file, is_lasting: true }),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(cannot),
        }
    }
    bail!(PlaceError::Busy(part.to_owned()))
}

/// The partial file at `part`; `None` if there is none of ours.
pub(super) fn existing(part: &Path) -> anyhow::Result<Option<File>> {
    let cannot = || PlaceError::File(part.to_owned());
    for _ in 0..OWNERS {
        match nofollow::open_ours(part, OpenOptions::new().read(true).write(true)).with_context(cannot)? {
            Claimed::Ours(file) if take(&file, part)? => return Ok(Some(file)),
            Claimed::Ours(_) => {}
            Claimed::Others | Claimed::Nothing => return Ok(None),
        }
    }
    bail!(PlaceError::Busy(part.to_owned()))
}

/// Removes the name that others gave something of theirs, unless a download of theirs goes there; answers whether it is gone.
fn give_way(part: &Path) -> bool {
    let locked = |file: File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    let is_busy = nofollow::open(part, OpenOptions::new().read(true)).is_ok_and(locked);
    !is_busy && std::fs::remove_file(part).is_ok()
}

/// A partial file that nobody could foresee.
fn elsewhere(part: &Path) -> Result<Partial> {
    let dir = part.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(PART);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less the umask
    let (file, path) = builder.tempfile_in(dir)?.keep()?;
    Ok(Partial { path, file, is_lasting: false })
}

/// Locks the opened file, and answers whether it is still the partial one: its owner may have given it its final name, or
/// removed it, before the lock was ours. Then it is a finished file of somebody, and the name is free or another's.
fn take(file: &File, part: &Path) -> anyhow::Result<bool> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => bail!(PlaceError::Busy(part.to_owned())),
        // A file system without locks is no reason not to download.
        Err(TryLockError::Error(_)) | Ok(()) => is_still(file, part).with_context(|| PlaceError::File(part.to_owned())),
    }
}

/// Whether `file` is what the name `path` leads to.
fn is_still(file: &File, path: &Path) -> Result<bool> {
    match nofollow::open(path, OpenOptions::new().read(true)) {
        Ok(found) => Ok(Handle::from_file(found)? == Handle::from_file(file.try_clone()?)?),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_renamed_before_its_lock_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let (part, target) = (dir.path().join("part"), dir.path().join("target"));
        type End = fn(&Path, &Path);
        let ends: [End; 3] = [
            |part, target| std::fs::rename(part, target).unwrap(),
            |part, _| std::fs::remove_file(part).unwrap(),
            |part, target| {
                std::fs::rename(part, target).unwrap();
                std::fs::write(part, "another's").unwrap();
            },
        ];
        for end in ends {
            let first = make(&part).unwrap().file;
            let late = nofollow::open(&part, OpenOptions::new().read(true).write(true)).unwrap();
            assert!(take(&late, &part).is_err(), "the first has it");
            end(&part, &target);
            drop(first);
            assert!(!take(&late, &part).unwrap(), "it is no partial file any more");
            drop(make(&part).unwrap());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_of_somebody_else_is_no_partial_one() {
        let dir = tempfile::tempdir().unwrap();
        let (part, theirs) = (dir.path().join(".x.pcc-part"), dir.path().join("theirs"));
        type Put = fn(&Path, &Path);
        let puts: [Put; 4] = [
            |part, theirs| std::fs::hard_link(theirs, part).unwrap(),
            |part, theirs| std::os::unix::fs::symlink(theirs, part).unwrap(),
            |part, _| std::fs::create_dir(part).unwrap(),
            // Only root gives files away; of anybody else it is an ordinary one.
            |part, _| {
                std::fs::write(part, "precious").unwrap();
                let _ = std::os::unix::fs::chown(part, Some(65534), None);
            },
        ];
        for (number, put) in puts.into_iter().enumerate() {
            std::fs::write(&theirs, "precious").unwrap();
            put(&part, &theirs);
            let is_theirs = number < 3 || rustix::process::geteuid().is_root();
            assert_eq!(existing(&part).unwrap().is_none(), is_theirs, "{number}");
            let made = make(&part).unwrap();
            assert_eq!(made.is_lasting, !part.is_dir(), "{number}");
            assert!(made.path.to_str().unwrap().ends_with(PART), "{:?}", made.path);
            assert_eq!(made.file.metadata().unwrap().len() == 0, is_theirs, "{number}");
            made.file.set_len(0).unwrap();
            assert_eq!(std::fs::read(&theirs).unwrap(), b"precious", "{number}");
            assert!(is_still(&made.file, &made.path).unwrap(), "{number}");
            let _ = std::fs::remove_file(&part).or_else(|_| std::fs::remove_dir(&part));
            let _ = std::fs::remove_file(&made.path);
        }
    }
}
