//! A copy of each object that is loaded, so that `top` and `use` also work by a tool that was built without one.
//!
//! A copy is known by the digest that the loaded variant has, so none is out of date. It goes when nothing is loaded from it any
//! more, or with a reboot, as all that is loaded.

use crate::object::Object;
use crate::variant::Variant;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Where they are; only root writes there.
const DIRECTORY: &str = "/run/pcc";

/// Only this version of the tool knows what the object's programs write.
fn file(directory: &Path, digest: u64) -> PathBuf {
    directory.join(format!("{}-{digest:016x}.bpf.o", env!("CARGO_PKG_VERSION")))
}

/// Keeps it. The loaded program works without it: a directory that takes no file is only told.
pub fn keep(object: &Object) {
    if let Err(error) = keep_in(Path::new(DIRECTORY), object) {
        tracing::warn!(
            "{DIRECTORY} takes no copy of the BPF object, so a tool without one has no `top` and no `use`: {error}"
        );
    }
}

fn keep_in(directory: &Path, object: &Object) -> io::Result<()> {
    let file = file(directory, object.digest());
    if file.exists() {
        return Ok(());
    }
    fs::create_dir_all(directory)?;
    let mut new = tempfile::NamedTempFile::new_in(directory)?;
    new.write_all(object.bytes())?;
    new.persist(file)?;
    Ok(())
}

/// The object from which that was loaded, if it was kept.
pub fn of(loaded: &Variant) -> Option<Object> {
    read(Path::new(DIRECTORY), loaded.variables.number("object_digest").ok()?)
}

fn read(directory: &Path, digest: u64) -> Option<Object> {
    let file = file(directory, digest);
    let object = Object::new(fs::read(&file).ok()?, file.display().to_string());
    (object.digest() == digest).then_some(object)
}

/// Removes those from which nothing is loaded any more, and that no connection has.
pub fn forget(loaded: &[Variant]) {
    let used = loaded.iter().filter(|one| one.is_registered || one.held > 0);
    let digests = used.filter_map(|one| one.variables.number("object_digest").ok());
    forget_in(Path::new(DIRECTORY), &digests.collect());
}

fn forget_in(directory: &Path, used: &BTreeSet<u64>) {
    let used: BTreeSet<_> = used.iter().map(|digest| file(directory, *digest)).collect();
    let files = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    for file in files.filter(|file| file.to_string_lossy().ends_with(".bpf.o") && !used.contains(file)) {
        let _ = fs::remove_file(file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_found_by_its_digest_until_nothing_needs_it() {
        let directory = tempfile::tempdir().unwrap();
        let there = directory.path().join("pcc");
        let objects = [b"one", b"two"].map(|bytes| Object::new(bytes.to_vec(), "it".into()));
        objects.iter().for_each(|object| keep_in(&there, object).unwrap());
        keep_in(&there, &objects[0]).unwrap();
        let [one, two] = objects.map(|object| object.digest());
        assert_eq!(read(&there, one).unwrap().bytes(), b"one");
        forget_in(&there, &BTreeSet::from([two]));
        assert!(read(&there, one).is_none() && read(&there, two).is_some());
        assert_eq!(fs::read_dir(&there).unwrap().count(), 1, "something is left beside it");
    }

    #[test]
    fn a_copy_that_was_changed_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let object = Object::new(b"one".to_vec(), "it".into());
        keep_in(directory.path(), &object).unwrap();
        fs::write(file(directory.path(), object.digest()), "other").unwrap();
        assert!(read(directory.path(), object.digest()).is_none());
        assert!(keep_in(Path::new("/dev/null/pcc"), &object).is_err());
    }
}
