//! The source of an upload: a file, which can be read again from anywhere, or what can be read only once.

use super::once::Once;
use crate::attributes::Attributes;
use crate::blocking::{Wanted, while_wanted};
use crate::disk;
use crate::extended::{self, Kinds};
use crate::unmeasured::Unmeasured;
use crate::version::Version;
use anyhow::Context;
use blake3::{Hash, Hasher};
use bytes::Bytes;
use cap_std::fs::File;
use pcc_net::url::Url;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;

/// Read at a time: large enough for a disk, small enough that several fit into a cache.
const PIECE: usize = 256 << 10;

/// Pieces read ahead of the network.
const AHEAD: usize = 8;

/// Something to upload.
pub(super) enum Content {
    File(FileContent),
    Once(Box<Once>),
}

/// How often a file is read for its digest, if each time something happens to it meanwhile.
const LOOKS: usize = 4;

/// A file in the state in which it was opened.
pub(super) struct FileContent {
    open: Arc<Open>,
    id: String,
}

struct Open {
    path: PathBuf,
    file: Arc<File>,
    version: Version,
    attributes: Attributes,
    sent: Mutex<Sent>,
}

/// The bytes that were read to be sent, from the first one on.
#[derive(Default)]
struct Sent {
    /// Before the first one was read.
    version: Option<Version>,
    hasher: Hasher,
}

impl Sent {
    /// `piece` of the file was read at position `at`. Some of it may have been read before.
    fn on_read(&mut self, at: u64, piece: &[u8]) {
        let known = self.hasher.count().checked_sub(at).and_then(|known| piece.get(usize::try_from(known).ok()?..));
        if let Some(new) = known.filter(|_| self.version.is_some()) {
            self.hasher.update(new);
        }
    }
}

/// The file is not what it was when it was opened.
#[derive(Debug, thiserror::Error)]
#[error("{} changed under way: run the command again, it starts anew", .0.display())]
pub(super) struct Changed(PathBuf);

/// The bytes from some position on.
pub(super) enum Pieces<'a> {
    File(mpsc::Receiver<anyhow::Result<Bytes>>),
    Once(&'a mut Once, u64),
}

impl Content {
    /// The file at `path`, to be uploaded to `url`.
    pub(super) fn file(path: &Path, url: &Url) -> anyhow::Result<Self> {
        let unreadable = || format!("could not read {}", path.display());
        let mut options = std::fs::OpenOptions::new();
        options.read(true);
        // A file of the kernel may have nothing to say yet, and is not waited for.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
        let file = options.open(path).with_context(unreadable)?;
        let id = identity(path, &file.metadata().with_context(unreadable)?, url);
        let file = Arc::new(File::from_std(file));
        if let Some(file) = Unmeasured::of(&file).with_context(unreadable)? {
            return Ok(Self::Once(Once::file(path, file).into()));
        }
        let version = Version::of(&file).with_context(unreadable)?;
        let attributes = Attributes::within(&file.metadata().with_context(unreadable)?);
        let open = Open { path: path.to_owned(), file, version, attributes, sent: Mutex::default() };
        Ok(Self::File(FileContent { open: Arc::new(open), id }))
    }

    /// The same for the same file in the same state, so that a later run finds what an earlier one uploaded.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::File(file) => &file.id,
            Self::Once(once) => &once.id,
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::File(file) => Some(&file.open.path),
            Self::Once(once) => once.path(),
        }
    }

    /// The bytes that are sent are not those that were read before.
    pub(super) fn changed(&self) -> anyhow::Error {
        Changed(self.path().unwrap_or(Path::new("standard input")).to_owned()).into()
    }

    /// The attributes that `-a` keeps of it.
    pub(super) fn attributes(&self, kinds: Kinds) -> Attributes {
        match self {
            Self::File(file) => {
                let extended = extended::of(&*file.open.file, kinds);
                let attributes = Attributes { extended, ..file.open.attributes.clone() }.with_room();
                attributes.extended.warn_unknown(kinds, &file.open.path.display());
                attributes
            }
            Self::Once(once) => once.attributes(),
        }
    }

    /// Whether a later run could go on with it.
    pub(super) fn outlives_us(&self) -> bool {
        matches!(self, Self::File(_))
    }

    /// Bytes in all, as soon as that is known.
    pub(super) fn size(&self) -> Option<u64> {
        match self {
            Self::File(file) => Some(file.open.version.size),
            Self::Once(once) => once.size(),
        }
    }

    /// The bytes from `at` on.
    pub(super) fn pieces(&mut self, at: u64) -> Pieces<'_> {
        match self {
            Self::File(file) => Pieces::File(file.pieces(at)),
            Self::Once(once) => Pieces::Once(once, at),
        }
    }

    /// BLAKE3 of all of it. Where not all of it was read by one run to be sent, that takes as long as reading a file does.
    ///
    /// Errors: the file is not what it was when it was opened; what can be read only once has not ended.
    pub(super) async fn digest(&self) -> anyhow::Result<Hash> {
        match self {
            Self::File(file) => {
                let open = file.open.clone();
                while_wanted(move |wanted| open.digest(wanted)).await
            }
            Self::Once(once) => once.digest(),
        }
    }
}

impl Pieces<'_> {
    /// The next one; empty at the end. May be dropped while it waits, and called again.
    pub(super) async fn next(&mut self) -> anyhow::Result<Bytes> {
        match self {
            Self::File(pieces) => pieces.recv().await.unwrap_or_else(|| Ok(Bytes::new())),
            Self::Once(once, at) => {
                let piece = once.read(*at).await?;
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

impl FileContent {
    /// Read on another thread, a little ahead of the network.
    fn pieces(&self, mut at: u64) -> mpsc::Receiver<anyhow::Result<Bytes>> {
        let (pieces, receiver) = mpsc::channel(AHEAD);
        let open = self.open.clone();
        tokio::task::spawn_blocking(move || {
            loop {
                let piece = open.read_to_send(at);
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
    fn read(&self, at: u64) -> anyhow::Result<Bytes> {
        let left = usize::try_from(self.version.size.saturating_sub(at)).unwrap_or(usize::MAX).min(PIECE);
        let mut piece = Vec::new();
        disk::append_all_at(&self.file, &mut piece, left, at).with_context(|| self.unreadable())?;
        if piece.len() == left { Ok(piece.into()) } else { Err(self.changed()) }
    }

    /// The same, hashed on the way. A reader for an earlier connection may not have ended yet.
    fn read_to_send(&self, at: u64) -> anyhow::Result<Bytes> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if at == 0 && sent.version.is_none() {
            // One that changes right now is read again when it has been sent.
            sent.version = self.standing().ok();
        }
        let piece = self.read(at)?;
        sent.on_read(at, &piece);
        Ok(piece)
    }

    /// The digest of what was read to be sent, if that was all of it and nothing happened to the file meanwhile. Blocks, for
    /// 20 ms at most.
    fn digest_of_sent(&self) -> anyhow::Result<Option<Hash>> {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(before) = sent.version.filter(|_| sent.hasher.count() == self.version.size) else { return Ok(None) };
        Ok((self.standing()? == before).then(|| sent.hasher.finalize()))
    }

    /// Blocks. Nothing may happen to the file while it is read: whoever rewrites it can set its time of modification back.
    /// Another name or other permissions only have it read again.
    fn digest(&self, wanted: &Wanted) -> anyhow::Result<Hash> {
        if let Some(digest) = self.digest_of_sent()? {
            return Ok(digest);
        }
        for _ in 0..LOOKS {
            let before = self.standing()?;
            let mut hasher = Hasher::new();
            while hasher.count() < self.version.size {
                wanted.still()?;
                hasher.update(&self.read(hasher.count())?);
            }
            if self.standing()? == before {
                return Ok(hasher.finalize());
            }
        }
        Err(self.changed())
    }

    /// The version that the file has now. Blocks, for 20 ms at most.
    ///
    /// Errors: it is another file.
    fn standing(&self) -> anyhow::Result<Version> {
        let now = Version::settled(&self.file).with_context(|| self.unreadable())?;
        let now = now.filter(|now| now.may_hold_the_same_as(&self.version));
        now.ok_or_else(|| self.changed())
    }

    fn unreadable(&self) -> String {
        format!("could not read {}", self.path.display())
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

    /// Reads all of it from there, as to send it.
    async fn read_from(content: &mut Content, at: u64) {
        let mut pieces = content.pieces(at);
        while !pieces.next().await.unwrap().is_empty() {}
    }

    fn digest_of_sent(content: &Content) -> Option<Hash> {
        let Content::File(file) = content else { return None };
        file.open.digest_of_sent().unwrap()
    }

    #[tokio::test]
    async fn a_file_that_was_sent_is_not_read_again_for_its_digest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        // More than is read ahead of the network.
        let data: Vec<u8> = (0..(AHEAD + 4) * PIECE).map(|i| i as u8).collect();
        std::fs::write(&path, &data).unwrap();
        let open = || Content::file(&path, &"https://host/file".parse().unwrap()).unwrap();
        let mut content = open();
        assert_eq!(content.pieces(0).next().await.unwrap().len(), PIECE);
        assert_eq!(digest_of_sent(&content), None, "there is more");
        // The connection was lost, and some of what was read did not arrive.
        read_from(&mut content, 100_000).await;
        assert_eq!(digest_of_sent(&content), Some(blake3::hash(&data)));

        let mut resumed = open();
        read_from(&mut resumed, 100_000).await;
        assert_eq!(digest_of_sent(&resumed), None, "the beginning was sent by an earlier run");
        assert_eq!(resumed.digest().await.unwrap(), blake3::hash(&data));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn digest_of_sent_is_not_that_of_file_that_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, vec![7; 300_000]).unwrap();
        let mut content = Content::file(&path, &"https://host/file".parse().unwrap()).unwrap();
        read_from(&mut content, 0).await;
        let modified = path.metadata().unwrap().modified().unwrap();
        std::fs::write(&path, vec![8; 300_000]).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        assert_eq!(digest_of_sent(&content), None);
        assert_eq!(content.digest().await.unwrap(), blake3::hash(&vec![8; 300_000]));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_source_whose_time_is_set_back_has_the_digest_of_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, vec![7; 300_000]).unwrap();
        let content = Content::file(&path, &"https://host/file".parse().unwrap()).unwrap();
        std::fs::hard_link(&path, dir.path().join("link")).unwrap();
        assert_eq!(content.digest().await.unwrap(), blake3::hash(&vec![7; 300_000]), "another name is nothing");
        let modified = path.metadata().unwrap().modified().unwrap();
        std::fs::write(&path, vec![8; 300_000]).unwrap();
        assert!(content.digest().await.is_err(), "its time tells");
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        assert_eq!(content.digest().await.unwrap(), blake3::hash(&vec![8; 300_000]));
    }

    #[test]
    fn nobody_waits_for_digest_of_file_that_is_not_wanted_any_more() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::File::create(&path).unwrap().set_len(1 << 40).unwrap(); // takes minutes to read
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
