//! What is uploaded: a file, which can be read again from anywhere, or standard input, which cannot.

use super::stdin::Stdin;
use crate::blocking::{Wanted, while_wanted};
use crate::url::Url;
use anyhow::Context;
use blake3::Hash;
use bytes::Bytes;
use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
use tokio::sync::mpsc;

/// Read at a time: large enough for a disk, small enough that several fit into a cache.
const PIECE: usize = 256 << 10;

/// Pieces read ahead of the network.
const AHEAD: usize = 8;

/// Something to upload.
pub(super) enum Content {
    File(FileContent),
    Stdin(Stdin),
}

/// A file in the state in which it was opened.
pub(super) struct FileContent {
    path: PathBuf,
    open: Arc<Mutex<Open>>,
    size: u64,
    id: String,
}

struct Open {
    path: PathBuf,
    file: File,
    size: u64,
    modified: Option<SystemTime>,
}

/// The file is not what it was when it was opened.
#[derive(Debug, thiserror::Error)]
#[error("{} changed under way: run the command again, it starts anew", .0.display())]
pub(super) struct Changed(PathBuf);

/// The bytes from some position on.
pub(super) enum Pieces<'a> {
    File(mpsc::Receiver<anyhow::Result<Bytes>>),
    Stdin(&'a mut Stdin, u64),
}

impl Content {
    /// The file at `path`, to be uploaded to `url`.
    pub(super) fn file(path: &Path, url: &Url) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| format!("could not read {}", path.display()))?;
        let found = file.metadata().with_context(|| format!("could not read {}", path.display()))?;
        let (path, id, size) = (path.to_owned(), identity(path, &found, url), found.len());
        let open = Open { path: path.clone(), file, size, modified: found.modified().ok() };
        Ok(Self::File(FileContent { path, open: Arc::new(Mutex::new(open)), size, id }))
    }

    /// The same for the same file in the same state, so that a later run finds what an earlier one uploaded.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::File(file) => &file.id,
            Self::Stdin(stdin) => &stdin.id,
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::File(file) => Some(&file.path),
            Self::Stdin(_) => None,
        }
    }

    /// Whether a later run could go on with it.
    pub(super) fn outlives_us(&self) -> bool {
        matches!(self, Self::File(_))
    }

    /// Bytes in all, as soon as that is known.
    pub(super) fn size(&self) -> Option<u64> {
        match self {
            Self::File(file) => Some(file.size),
            Self::Stdin(stdin) => stdin.size(),
        }
    }

    /// The bytes from `at` on.
    pub(super) fn pieces(&mut self, at: u64) -> Pieces<'_> {
        match self {
            Self::File(file) => Pieces::File(file.pieces(at)),
            Self::Stdin(stdin) => Pieces::Stdin(stdin, at),
        }
    }

    /// BLAKE3 of all of it, which takes as long as reading a file does.
    ///
    /// Errors: the file is not what it was when it was opened; standard input has not ended.
    pub(super) async fn digest(&self) -> anyhow::Result<Hash> {
        match self {
            Self::File(file) => {
                let open = file.open.clone();
                while_wanted(move |wanted| locked(&open).digest(wanted)).await
            }
            Self::Stdin(stdin) => stdin.digest(),
        }
    }
}

impl Pieces<'_> {
    /// The next one; empty at the end. May be dropped while it waits, and called again.
    pub(super) async fn next(&mut self) -> anyhow::Result<Bytes> {
        match self {
            Self::File(pieces) => pieces.recv().await.unwrap_or_else(|| Ok(Bytes::new())),
            Self::Stdin(stdin, at) => {
                let piece = stdin.read(*at).await?;
                *at += piece.len() as u64;
                Ok(piece)
            }
        }
    }
}

fn identity(path: &Path, found: &Metadata, url: &Url) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let state = format!("{}\n{}\n{:?}\n{}", path.display(), found.len(), found.modified().ok(), url.short());
    blake3::hash(state.as_bytes()).to_hex()[..32].to_owned()
}

fn locked(open: &Mutex<Open>) -> std::sync::MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FileContent {
    /// Read on another thread, a little ahead of the network.
    fn pieces(&self, mut at: u64) -> mpsc::Receiver<anyhow::Result<Bytes>> {
        let (pieces, receiver) = mpsc::channel(AHEAD);
        let open = self.open.clone();
        tokio::task::spawn_blocking(move || {
            loop {
                let piece = locked(&open).read(at);
                let read = piece.as_ref().map_or(0, Bytes::len);
                // At the end, after an error, and as soon as nobody waits for it any more.
                if pieces.blocking_send(piece).is_err() || read == 0 {
                    return;
                }
                at += read as u64;
            }
        });
        receiver
    }
}

impl Open {
    /// The next bytes from position `at` on; empty at the end. Blocks.
    fn read(&mut self, at: u64) -> anyhow::Result<Bytes> {
        let left = usize::try_from(self.size.saturating_sub(at)).unwrap_or(usize::MAX).min(PIECE);
        let mut piece = vec![0; left];
        let read = self.file.seek(SeekFrom::Start(at)).and_then(|_| self.file.read_exact(&mut piece));
        match read {
            Ok(()) => Ok(piece.into()),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(self.changed()),
            Err(error) => Err(error).with_context(|| format!("could not read {}", self.path.display())),
        }
    }

    /// Blocks. What was sent is read once more: a file that is rewritten under way within one tick of the clock keeps its
    /// times, but not its content.
    fn digest(&mut self, wanted: &Wanted) -> anyhow::Result<Hash> {
        let mut hasher = blake3::Hasher::new();
        let mut at = 0;
        while at < self.size {
            wanted.still()?;
            let piece = self.read(at)?;
            at += piece.len() as u64;
            hasher.update(&piece);
        }
        let now = self.file.metadata().with_context(|| format!("could not read {}", self.path.display()))?;
        if now.len() != self.size || now.modified().ok() != self.modified {
            return Err(self.changed());
        }
        Ok(hasher.finalize())
    }

    fn changed(&self) -> anyhow::Error {
        Changed(self.path.clone()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_changes_under_way_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, vec![7; 300_000]).unwrap();
        let url: Url = "https://host/file".parse().unwrap();
        let mut content = Content::file(&path, &url).unwrap();
        for (at, length) in [(0, PIECE), (299_999, 1), (300_000, 0)] {
            assert_eq!(content.pieces(at).next().await.unwrap().len(), length);
        }
        assert_eq!(content.digest().await.unwrap(), blake3::hash(&vec![7; 300_000]));
        std::fs::write(&path, vec![7; 200_000]).unwrap();
        let error = content.pieces(250_000).next().await.unwrap_err();
        assert!(error.to_string().contains("changed under way"), "{error}");
        assert!(content.digest().await.unwrap_err().to_string().contains("changed under way"));
    }

    #[test]
    fn nobody_waits_for_the_digest_of_a_file_that_is_not_wanted_any_more() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        File::create(&path).unwrap().set_len(1 << 40).unwrap(); // takes minutes to read
        let content = Content::file(&path, &"https://host/file".parse().unwrap()).unwrap();
        assert!(crate::blocking::ends_when_nobody_waits(async move { content.digest().await }));
    }

    #[test]
    fn the_same_file_in_the_same_state_has_the_same_identity() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "x").unwrap();
        let url: Url = "https://host/file".parse().unwrap();
        let id = |path| Content::file(path, &url).unwrap().id().to_owned();
        let before = id(&path);
        assert_eq!(before, id(&path));
        std::fs::write(&path, "xy").unwrap();
        assert_ne!(before, id(&path));
    }
}
