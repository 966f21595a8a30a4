//! What is uploaded: a file, which can be read again from anywhere, or standard input, which cannot.

use crate::url::Url;
use anyhow::{Context, anyhow, bail};
use bytes::Bytes;
use std::collections::VecDeque;
use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Read at a time: large enough for a disk, small enough that several fit into a cache.
const PIECE: usize = 256 << 10;

/// Of standard input so much is kept for sending again: more than fits the path and both ends' buffers.
const KEPT: usize = 128 << 20;

/// Something to upload.
pub(super) enum Content {
    File(FileContent),
    Stdin(Box<Stdin>),
}

/// A file in the state in which it was opened.
pub(super) struct FileContent {
    path: PathBuf,
    file: File,
    size: u64,
    modified: Option<SystemTime>,
    id: String,
}

/// Standard input and the end of what was read of it.
pub(super) struct Stdin {
    kept: VecDeque<Bytes>,
    /// Position of the first byte of `kept`.
    first: u64,
    /// Bytes read so far.
    read: u64,
    ended: bool,
    hasher: blake3::Hasher,
    id: String,
}

impl Content {
    pub(super) fn stdin() -> Self {
        let mut id = [0; 16];
        // Without random numbers two uploads could meet; the process number keeps most of them apart.
        if aws_lc_rs::rand::fill(&mut id).is_err() {
            id[..4].copy_from_slice(&std::process::id().to_le_bytes());
        }
        let id = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let (kept, hasher) = (VecDeque::new(), blake3::Hasher::new());
        Self::Stdin(Box::new(Stdin { kept, first: 0, read: 0, ended: false, hasher, id }))
    }

    /// The file at `path`, to be uploaded to `url`.
    pub(super) fn file(path: &Path, url: &Url) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| format!("could not read {}", path.display()))?;
        let found = file.metadata().with_context(|| format!("could not read {}", path.display()))?;
        let (size, modified) = (found.len(), found.modified().ok());
        let id = identity(path, &found, url);
        Ok(Self::File(FileContent { path: path.to_owned(), file, size, modified, id }))
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

    /// Bytes in all, if that is known beforehand.
    pub(super) fn size(&self) -> Option<u64> {
        match self {
            Self::File(file) => Some(file.size),
            Self::Stdin(_) => None,
        }
    }

    /// The next bytes from position `at` on; empty at the end. Blocks.
    pub(super) fn read(&mut self, at: u64) -> anyhow::Result<Bytes> {
        match self {
            Self::File(file) => file.read(at),
            Self::Stdin(stdin) => stdin.read(at),
        }
    }

    /// BLAKE3 of all of it, which has been read to its end. Blocks as long as it takes to read a file.
    ///
    /// Errors: the file is not what it was when it was opened.
    pub(super) fn digest(&mut self) -> anyhow::Result<blake3::Hash> {
        match self {
            Self::File(file) => file.digest(),
            Self::Stdin(stdin) => Ok(stdin.hasher.finalize()),
        }
    }
}

fn identity(path: &Path, found: &Metadata, url: &Url) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let state = format!("{}\n{}\n{:?}\n{}", path.display(), found.len(), found.modified().ok(), url.short());
    blake3::hash(state.as_bytes()).to_hex()[..32].to_owned()
}

impl FileContent {
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

    fn digest(&mut self) -> anyhow::Result<blake3::Hash> {
        let mut hasher = blake3::Hasher::new();
        let mut at = 0;
        while at < self.size {
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
        anyhow!("{} changed under way: run the command again, it starts anew", self.path.display())
    }
}

impl Stdin {
    fn read(&mut self, at: u64) -> anyhow::Result<Bytes> {
        if at < self.first || at > self.read {
            bail!(
                "the server lost byte {at} of standard input, which cannot be read twice: run the command again, or put \
                 the data into a file first"
            );
        }
        let mut position = self.first;
        for piece in &self.kept {
            let end = position + piece.len() as u64;
            if at < end {
                return Ok(piece.slice((at - position) as usize..));
            }
            position = end;
        }
        self.next_piece()
    }

    fn next_piece(&mut self) -> anyhow::Result<Bytes> {
        if self.ended {
            return Ok(Bytes::new());
        }
        let mut piece = vec![0; PIECE];
        let read = std::io::stdin().lock().read(&mut piece).context("could not read standard input")?;
        piece.truncate(read);
        let piece = Bytes::from(piece);
        self.ended = piece.is_empty();
        self.hasher.update(&piece);
        self.read += read as u64;
        if !piece.is_empty() {
            self.kept.push_back(piece.clone());
        }
        while self.read - self.first > KEPT as u64
            && let Some(oldest) = self.kept.pop_front()
        {
            self.first += oldest.len() as u64;
        }
        Ok(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_under_way_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, vec![7; 300_000]).unwrap();
        let url: Url = "https://host/file".parse().unwrap();
        let mut content = Content::file(&path, &url).unwrap();
        assert_eq!(content.read(0).unwrap().len(), PIECE);
        assert_eq!(content.read(299_999).unwrap().len(), 1);
        assert!(content.read(300_000).unwrap().is_empty());
        assert_eq!(content.digest().unwrap(), blake3::hash(&vec![7; 300_000]));
        std::fs::write(&path, vec![7; 200_000]).unwrap();
        assert!(content.read(250_000).unwrap_err().to_string().contains("changed under way"));
        assert!(content.digest().unwrap_err().to_string().contains("changed under way"));
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
