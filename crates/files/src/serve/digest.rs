//! BLAKE3 digests of files, each computed once.

mod turns;

use super::root::{Opened, Standing};
use crate::version::Version;
use blake3::{Hash, Hasher};
use core::net::IpAddr;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
pub(super) use turns::Queue;
use turns::{Turn, Turns};

/// Digests kept, or begun: at most 8 MB.
const KEPT: usize = 4096;

/// Bytes hashed in one turn: some hundredths of a second, so that nobody waits long for a turn, and a megabyte at a
/// time.
pub(super) const SLICE: u64 = 16 << 20;
const CHUNK: usize = 1 << 20;

/// Digests of the files that were asked for lately.
///
/// A request that waits for one also works on it: a slice of the file in each turn, and the work is kept when the request goes.
/// So a file that nobody waits for any more costs nothing, and two that ask for the same one share the work.
#[derive(Debug, Default)]
pub(super) struct Digests {
    known: Mutex<Known>,
    turns: Turns,
}

#[derive(Debug, Default)]
struct Known {
    cells: HashMap<Version, Arc<Cell>>,
    /// The oldest first.
    order: VecDeque<Version>,
}

/// The digest of one version of a file.
#[derive(Debug, Default)]
struct Cell {
    done: OnceLock<Hash>,
    /// The digest of the beginning.
    begun: Arc<AsyncMutex<Hasher>>,
}

impl Digests {
    /// The digest of that version, if it was computed already.
    pub(super) fn known(&self, version: &Version) -> Option<Hash> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).cells.get(version)?.done.get().copied()
    }

    /// The digest of that version, found in another way.
    pub(super) fn learn(&self, version: Version, digest: Hash) {
        // The first result is as right.
        let _ = self.cell(version).done.set(digest);
    }

    /// The digest of the file, computed unless it is known, in turns with others; `asker` is whose turns they are.
    /// `None` if the file is being changed.
    pub(super) async fn of(&self, opened: &Opened, asker: IpAddr) -> io::Result<Option<Hash>> {
        let Some(version) = opened.version else { return Ok(None) };
        let cell = self.cell(version);
        let mut queue = self.turns.queue(asker);
        while cell.done.get().is_none() {
            let place = queue.place().await;
            let begun = cell.begun.clone().lock_owned().await;
            if cell.done.get().is_some() {
                break;
            }
            let turn = place.turn().await;
            let (opened, cell) = (opened.clone(), cell.clone());
            // A digest that is begun is finished and kept, also if nobody waits for it any more.
            if !tokio::task::spawn_blocking(move || cell.go_on(&opened, begun, turn)).await?? {
                return Ok(None);
            }
        }
        Ok(cell.done.get().copied())
    }

    /// Where to wait for a turn to read other things as large; `asker` is whose turns they are.
    pub(super) fn queue(&self, asker: IpAddr) -> Queue {
        self.turns.queue(asker)
    }

    fn cell(&self, version: Version) -> Arc<Cell> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).cell(version)
    }
}

impl Known {
    fn cell(&mut self, version: Version) -> Arc<Cell> {
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

impl Cell {
    /// Hashes the next slice; `false` if the file is no longer what it was.
    fn go_on(&self, opened: &Opened, mut begun: OwnedMutexGuard<Hasher>, _turn: Turn) -> io::Result<bool> {
        let end = (begun.count() + SLICE).min(opened.size);
        let mut buffer = Vec::new();
        while begun.count() < end {
            let wanted = (end - begun.count()).min(CHUNK as u64) as usize;
            opened.read(begun.count(), &mut buffer, wanted)?;
            // The part that was hashed before must stay the same, so the look comes first.
            if buffer.len() < wanted || opened.standing()? != Standing::Same {
                return Ok(false);
            }
            begun.update(&buffer);
        }
        if begun.count() == opened.size {
            // Nobody else holds the lock that guards it.
            let _ = self.done.set(begun.finalize());
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::fs::File;
    use core::time::Duration;

    const ONE: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1));
    const OTHER: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 2));

    fn opened(path: &std::path::Path) -> Opened {
        let file = File::from_std(std::fs::File::open(path).unwrap());
        let version = Version::settled(&file).unwrap();
        let size = file.metadata().unwrap().len();
        Opened { file: Arc::new(file), version, size }
    }

    /// A file that nobody can hash to its end here.
    fn endless(path: &std::path::Path) -> Opened {
        std::fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
        opened(path)
    }

    #[tokio::test]
    async fn a_digest_is_computed_once_for_each_version() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let digests = Digests::default();
        let content = vec![7; SLICE as usize + 5];
        std::fs::write(&path, &content).unwrap();
        let first = opened(&path);
        assert_eq!(digests.known(&first.version.unwrap()), None);
        assert_eq!(digests.of(&first, ONE).await.unwrap(), Some(blake3::hash(&content)));
        assert_eq!(digests.known(&first.version.unwrap()), Some(blake3::hash(&content)));

        std::fs::write(&path, "short").unwrap();
        let second = opened(&path);
        assert_eq!(digests.known(&second.version.unwrap()), None, "another version");
        assert_eq!(digests.of(&second, ONE).await.unwrap(), Some(blake3::hash(b"short")));
        std::fs::write(&path, "").unwrap();
        assert_eq!(digests.of(&opened(&path), ONE).await.unwrap(), Some(blake3::hash(b"")));
    }

    #[tokio::test]
    async fn a_file_that_changed_has_no_digest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "before").unwrap();
        let stale = opened(&path);
        std::fs::write(&path, "after").unwrap();
        assert_eq!(Digests::default().of(&stale, ONE).await.unwrap(), None);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn no_digest_is_filed_under_a_version_that_went() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "before").unwrap();
        let (before, digests) = (opened(&path), Digests::default());
        std::fs::write(&path, "behind").unwrap();
        let modified = before.version.unwrap().modified();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        assert_eq!(digests.of(&before, ONE).await.unwrap(), None, "its time was set back");
        assert_eq!(digests.known(&before.version.unwrap()), None);
        assert_eq!(digests.of(&opened(&path), ONE).await.unwrap(), Some(blake3::hash(b"behind")));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn many_large_files_of_one_peer_keep_no_other_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let digests = Arc::new(Digests::default());
        let greedy: Vec<_> = (0..20)
            .map(|number| {
                let (digests, large) = (digests.clone(), endless(&dir.path().join(format!("large{number}"))));
                tokio::spawn(async move { digests.of(&large, ONE).await })
            })
            .collect();
        // All of them wait or work by now.
        while digests.turns.is_idle() {
            tokio::task::yield_now().await;
        }
        let path = dir.path().join("small");
        std::fs::write(&path, "small").unwrap();
        let small = opened(&path);
        let asked = tokio::time::timeout(Duration::from_secs(60), digests.of(&small, OTHER));
        assert_eq!(asked.await.expect("not kept waiting").unwrap(), Some(blake3::hash(b"small")));
        assert!(greedy.iter().all(|task| !task.is_finished()));
        greedy.iter().for_each(tokio::task::JoinHandle::abort);
        // Nobody waits: nothing is computed.
        while !digests.turns.is_idle() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn what_was_hashed_is_kept_when_nobody_waits() {
        let dir = tempfile::tempdir().unwrap();
        let digests = Digests::default();
        let large = endless(&dir.path().join("large"));
        let cell = digests.cell(large.version.unwrap());
        // Long enough to begin, and not to hash all of that.
        let asked = tokio::time::timeout(Duration::from_millis(1), digests.of(&large, ONE));
        assert!(asked.await.is_err());
        assert!(cell.begun.lock().await.count() >= SLICE);
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
