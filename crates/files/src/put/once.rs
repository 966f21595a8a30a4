//! Sources that can be read only once: standard input, and files whose size nobody knows. The end of what was
//! read is kept.

use crate::attributes::Attributes;
use crate::unmeasured::Unmeasured;
use anyhow::{Context, bail};
use blake3::{Hash, Hasher};
use bytes::Bytes;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

/// Read at a time, and the size of the blocks in which it is kept.
const PIECE: usize = 256 << 10;

/// Pieces read ahead of the network.
const AHEAD: usize = 8;

/// Bytes that are kept for sending again: more than fit the path and both ends' buffers.
const KEPT: usize = 128 << 20;

/// Standard input, or a file.
pub(super) struct Once {
    file: Option<PathBuf>,
    attributes: Attributes,
    arriving: mpsc::Receiver<Event>,
    kept: Kept,
    /// BLAKE3 of all of it, once it has ended.
    digest: Option<Hash>,
    pub(super) id: String,
}

enum Event {
    Piece(Bytes),
    End(Hash),
    Failed(io::Error),
}

impl Once {
    pub(super) fn stdin() -> Self {
        Self::reading(io::stdin())
    }

    pub(super) fn file(path: &Path, file: Unmeasured) -> Self {
        let attributes = file.metadata().map(|found| Attributes::within(&found)).unwrap_or_default();
        Self { file: Some(path.to_owned()), attributes, ..Self::reading(file) }
    }

    /// Reads on a thread of its own, since a terminal or a pipe may keep it for ever: nobody waits for that thread, so
    /// the program can end.
    pub(super) fn reading(input: impl Read + Send + 'static) -> Self {
        let mut id = [0; 16];
        // Without random numbers two uploads could meet; the process number keeps most of them apart.
        if aws_lc_rs::rand::fill(&mut id).is_err() {
            id[..4].copy_from_slice(&std::process::id().to_le_bytes());
        }
        let id = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let (events, arriving) = mpsc::channel(AHEAD);
        std::thread::spawn(move || pump(input, &events));
        let kept = Kept::default();
        Self { file: None, attributes: Attributes::default(), arriving, kept, digest: None, id }
    }

    /// The file; `None` for standard input.
    pub(super) fn path(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The attributes that `-a` keeps of it.
    pub(super) fn attributes(&self) -> Attributes {
        self.attributes.clone()
    }

    fn name(&self) -> String {
        self.file.as_ref().map_or_else(|| "standard input".to_owned(), |path| path.display().to_string())
    }

    /// Bytes in all, once they are known.
    pub(super) fn size(&self) -> Option<u64> {
        self.digest.map(|_| self.kept.end)
    }

    pub(super) fn digest(&self) -> anyhow::Result<Hash> {
        self.digest.with_context(|| format!("{} has not ended", self.name()))
    }

    /// The next bytes from position `at` on; empty at the end. May be dropped while it waits, and called again.
    pub(super) async fn read(&mut self, at: u64) -> anyhow::Result<Bytes> {
        if at < self.kept.first || at > self.kept.end {
            bail!(
                "the server lost byte {at} of {}, which cannot be read twice: run the command again, or put the data into a \
                 file first",
                self.name()
            );
        }
        if at < self.kept.end {
            return Ok(self.kept.from(at));
        }
        if self.digest.is_some() {
            return Ok(Bytes::new());
        }
        match self.arriving.recv().await {
            Some(Event::Piece(piece)) => {
                self.kept.push(&piece);
                Ok(piece)
            }
            Some(Event::End(digest)) => {
                self.digest = Some(digest);
                Ok(Bytes::new())
            }
            Some(Event::Failed(error)) => Err(error).with_context(|| format!("could not read {}", self.name())),
            None => bail!("the thread that reads {} died", self.name()),
        }
    }
}

/// Whether the program was started without standard input. The standard library then opens the null device for reading and
/// writing in its place; who redirects standard input from there opens it for reading.
#[cfg(unix)]
pub fn is_closed() -> bool {
    use rustix::fs::{OFlags, fcntl_getfl, fstat, stat};
    let is_null = || Some(fstat(io::stdin()).ok()?.st_rdev == stat("/dev/null").ok()?.st_rdev);
    let writes = || Some(fcntl_getfl(io::stdin()).ok()? & OFlags::RWMODE == OFlags::RDWR);
    is_null() == Some(true) && writes() == Some(true)
}

#[cfg(not(unix))]
pub fn is_closed() -> bool {
    false
}

fn pump(mut input: impl Read, events: &mpsc::Sender<Event>) {
    let (mut buffer, mut hasher) = (vec![0; PIECE], Hasher::new());
    loop {
        let event = match input.read(&mut buffer) {
            Ok(0) => Event::End(hasher.finalize()),
            Ok(read) => {
                hasher.update(&buffer[..read]);
                // As large as what came: most writers into a pipe write little at a time.
                Event::Piece(Bytes::copy_from_slice(&buffer[..read]))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Event::Failed(error),
        };
        let last = !matches!(event, Event::Piece(_));
        if events.blocking_send(event).is_err() || last {
            return;
        }
    }
}

/// The last stretch of a stream, in blocks that are filled however small the pieces are.
#[derive(Default)]
struct Kept {
    blocks: VecDeque<Vec<u8>>,
    /// Position of the first byte that is kept.
    first: u64,
    /// Position behind the last.
    end: u64,
}

impl Kept {
    fn push(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            if self.blocks.back().is_none_or(|block| block.len() == PIECE) {
                self.blocks.push_back(Vec::with_capacity(PIECE));
            }
            let Some(block) = self.blocks.back_mut() else { return };
            let (fits, rest) = piece.split_at(piece.len().min(PIECE - block.len()));
            block.extend_from_slice(fits);
            self.end += fits.len() as u64;
            piece = rest;
        }
        while self.end - self.first > (KEPT + PIECE) as u64
            && let Some(oldest) = self.blocks.pop_front()
        {
            self.first += oldest.len() as u64;
        }
    }

    /// From `at`, which is kept, to the end of its block.
    fn from(&self, at: u64) -> Bytes {
        let offset = (at - self.first) as usize;
        // All blocks but the last are full.
        let block = self.blocks.get(offset / PIECE).map_or(&[][..], |block| &block[offset % PIECE..]);
        Bytes::copy_from_slice(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives so many bytes at a time.
    struct Dripping(io::Cursor<Vec<u8>>, usize);

    impl Read for Dripping {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(self.1);
            self.0.read(&mut buffer[..most])
        }
    }

    async fn all(stdin: &mut Once, from: u64) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let piece = stdin.read(from + all.len() as u64).await.unwrap();
            if piece.is_empty() {
                return all;
            }
            all.extend_from_slice(&piece);
        }
    }

    #[tokio::test]
    async fn what_was_read_can_be_sent_again_from_anywhere() {
        let data: Vec<u8> = (0..PIECE * 2 + 100).map(|i| (i * 31 % 251) as u8).collect();
        for at_a_time in [777, PIECE, usize::MAX] {
            let mut stdin = Once::reading(Dripping(io::Cursor::new(data.clone()), at_a_time));
            assert_eq!(stdin.size(), None);
            assert!(all(&mut stdin, 0).await == data);
            for at in [0, 1, PIECE - 1, PIECE, data.len() - 1, data.len()] {
                assert!(all(&mut stdin, at as u64).await == data[at..], "from {at}, {at_a_time} at a time");
            }
            assert_eq!(stdin.digest().unwrap(), blake3::hash(&data));
            assert_eq!(stdin.size(), Some(data.len() as u64));
            assert!(stdin.read(data.len() as u64 + 1).await.is_err());
        }
    }

    #[test]
    fn keeping_small_pieces_takes_no_more_memory_than_large_ones() {
        let mut kept = Kept::default();
        for _ in 0..PIECE {
            kept.push(b"abc");
        }
        let held: usize = kept.blocks.iter().map(Vec::capacity).sum();
        assert!(held <= 3 * PIECE + PIECE && kept.blocks.len() == 3, "{held} bytes for {}", 3 * PIECE);
    }

    #[test]
    fn only_the_end_is_kept() {
        let mut kept = Kept::default();
        let piece = vec![7; PIECE];
        for _ in 0..2 * KEPT / PIECE {
            kept.push(&piece);
        }
        assert_eq!(kept.end, 2 * KEPT as u64);
        assert!((KEPT as u64..=(KEPT + PIECE) as u64).contains(&(kept.end - kept.first)));
        assert_eq!(kept.from(kept.first).len(), PIECE);
    }
}
