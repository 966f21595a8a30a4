//! Uploads that are done: a client whose last answer was lost on its way asks again, and must not send it all again.

use crate::serve::path::SafePath;
use crate::version::Version;
use blake3::Hash;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// The last so many are remembered: far more than can wait for an answer at a time.
const MOST: usize = 1024;

/// The last uploads that got their names, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Finished(Mutex<VecDeque<Done>>);

#[derive(Debug)]
struct Done {
    path: SafePath,
    id: String,
    version: Version,
    digest: Hash,
}

impl Finished {
    pub(super) fn remember(&self, path: SafePath, id: String, version: Version, digest: Hash) {
        let mut done = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if done.len() == MOST {
            done.pop_front();
        }
        done.push_back(Done { path, id, version, digest });
    }

    /// The digest of this upload, if the file with its name still is what it brought.
    pub(super) fn digest(&self, path: &SafePath, id: &str, now: &Version) -> Option<Hash> {
        let done = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = done.iter().rev().find(|done| done.id == id && done.path == *path)?;
        (last.version == *now).then_some(last.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(path: &std::path::Path) -> Version {
        Version::of(&cap_std::fs::File::from_std(std::fs::File::open(path).unwrap())).unwrap()
    }

    #[test]
    fn a_finished_upload_is_known_while_its_file_is_what_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "abc").unwrap();
        let (path, digest, finished) = (SafePath::parse("/file").unwrap(), blake3::hash(b"abc"), Finished::default());
        finished.remember(path.clone(), "id".to_owned(), version(&file), digest);
        assert_eq!(finished.digest(&path, "id", &version(&file)), Some(digest));
        assert_eq!(finished.digest(&path, "other", &version(&file)), None);
        std::fs::write(&file, "abcd").unwrap();
        assert_eq!(finished.digest(&path, "id", &version(&file)), None);
    }

    #[test]
    fn the_memory_for_finished_uploads_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "abc").unwrap();
        let (path, finished) = (SafePath::parse("/file").unwrap(), Finished::default());
        for number in 0..2 * MOST {
            finished.remember(path.clone(), number.to_string(), version(&file), blake3::hash(b"abc"));
        }
        assert_eq!(finished.0.lock().unwrap().len(), MOST);
        assert!(finished.digest(&path, &(2 * MOST - 1).to_string(), &version(&file)).is_some(), "the youngest stays");
    }
}
