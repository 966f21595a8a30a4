//! BLAKE3 digests of files, each computed once.

use super::root::Opened;
use super::version::Version;
use blake3::{Hash, Hasher};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OnceCell, Semaphore};

/// Digests kept: a few hundred kilobytes.
const KEPT: usize = 4096;

/// Files hashed at a time, since more would only make the disk seek and starve the transfers.
const AT_A_TIME: usize = 2;

/// Read at once.
const CHUNK: usize = 1 << 20;

/// Digests of the files that were asked for lately.
#[derive(Debug)]
pub(super) struct Digests {
    known: Mutex<Known>,
    turns: Semaphore,
}

#[derive(Debug, Default)]
struct Known {
    cells: HashMap<Version, Arc<OnceCell<Hash>>>,
    /// The oldest first.
    order: VecDeque<Version>,
}

impl Default for Digests {
    fn default() -> Self {
        Self { known: Mutex::default(), turns: Semaphore::new(AT_A_TIME) }
    }
}

impl Digests {
    /// The digest of that version, if it was computed already.
    pub(super) fn known(&self, version: &Version) -> Option<Hash> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).cells.get(version)?.get().copied()
    }

    /// The digest of the file, computed unless it is known; whoever asks at the same time waits for the same
    /// computation. `None` if the file is being changed.
    pub(super) async fn of(&self, opened: &Opened) -> io::Result<Option<Hash>> {
        let Some(version) = opened.version else { return Ok(None) };
        let cell = self.known.lock().unwrap_or_else(PoisonError::into_inner).cell(version);
        let compute = async || {
            // Never closed, so there is always a permit to come.
            let _turn = self.turns.acquire().await;
            let opened = opened.clone();
            tokio::task::spawn_blocking(move || hash(&opened)).await?
        };
        match cell.get_or_try_init(compute).await {
            Ok(hash) => Ok(Some(*hash)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Known {
    fn cell(&mut self, version: Version) -> Arc<OnceCell<Hash>> {
        if let Some(cell) = self.cells.get(&version) {
            return cell.clone();
        }
        if self.order.len() >= KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.cells.remove(&oldest);
        }
        self.order.push_back(version);
        self.cells.entry(version).or_default().clone()
    }
}

/// Hashes the file; `InvalidData` if it changed while that went on.
fn hash(opened: &Opened) -> io::Result<Hash> {
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; CHUNK];
    let mut offset = 0;
    loop {
        let read = opened.read(offset, &mut buffer)?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
        offset += read as u64;
    }
    if opened.is_unchanged() { Ok(hasher.finalize()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::fs::File;

    fn opened(path: &std::path::Path) -> Opened {
        let file = File::from_std(std::fs::File::open(path).unwrap());
        let version = Version::settled(&file).unwrap();
        let size = file.metadata().unwrap().len();
        Opened { file: Arc::new(file), version, size }
    }

    #[tokio::test]
    async fn a_digest_is_computed_once_for_each_version() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let digests = Digests::default();
        let content = vec![7; 3 << 20];
        std::fs::write(&path, &content).unwrap();
        let first = opened(&path);
        assert_eq!(digests.known(&first.version.unwrap()), None);
        assert_eq!(digests.of(&first).await.unwrap(), Some(blake3::hash(&content)));
        assert_eq!(digests.known(&first.version.unwrap()), Some(blake3::hash(&content)));

        std::fs::write(&path, "short").unwrap();
        let second = opened(&path);
        assert_eq!(digests.known(&second.version.unwrap()), None, "another version");
        assert_eq!(digests.of(&second).await.unwrap(), Some(blake3::hash(b"short")));
    }

    #[tokio::test]
    async fn a_file_that_changed_has_no_digest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "before").unwrap();
        let stale = opened(&path);
        std::fs::write(&path, "after").unwrap();
        assert_eq!(Digests::default().of(&stale).await.unwrap(), None);
    }

    #[test]
    fn the_memory_for_digests_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "").unwrap();
        let mut version = opened(&path).version.unwrap();
        let mut known = Known::default();
        for size in 0..2 * KEPT as u64 {
            version.size = size;
            known.cell(version);
        }
        assert_eq!(known.cells.len(), KEPT);
        assert!(known.cells.contains_key(&version), "the youngest stays");
        version.size = 0;
        assert!(!known.cells.contains_key(&version), "the oldest went");
    }
}
