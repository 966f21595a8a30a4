//! A partial file that is this process's alone for as long as it is open: two downloads into one file would spoil each
//! other's.

use super::place_error::PlaceError;
use super::plain;
use anyhow::{Context, bail};
use same_file::Handle;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Result};
use std::path::Path;

/// Owners that may come and go between opening the file and locking it. More than a few in a row are no accident.
const OWNERS: usize = 16;

/// The partial file at `part`, made if there is none.
///
/// Errors: another download has it; it cannot be written.
pub(super) fn make(part: &Path) -> anyhow::Result<File> {
    claim(part, true)?.with_context(|| PlaceError::File(part.to_owned()))
}

/// The partial file at `part`; `None` if there is none.
pub(super) fn existing(part: &Path) -> anyhow::Result<Option<File>> {
    claim(part, false)
}

fn claim(part: &Path, make: bool) -> anyhow::Result<Option<File>> {
    for _ in 0..OWNERS {
        // Emptied by its owner only, so not here.
        let opened = plain::open(part, OpenOptions::new().read(true).write(true).create(make).truncate(false));
        let file = match opened {
            Err(error) if error.kind() == ErrorKind::NotFound && !make => return Ok(None),
            opened => opened.with_context(|| PlaceError::File(part.to_owned()))?,
        };
        if take(&file, part)? {
            return Ok(Some(file));
        }
    }
    bail!(PlaceError::Busy(part.to_owned()))
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
    match plain::open(path, OpenOptions::new().read(true)) {
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
            let first = make(&part).unwrap();
            let late = plain::open(&part, OpenOptions::new().read(true).write(true)).unwrap();
            assert!(take(&late, &part).is_err(), "the first has it");
            end(&part, &target);
            drop(first);
            assert!(!take(&late, &part).unwrap(), "it is no partial file any more");
            drop(make(&part).unwrap());
        }
    }
}
