//! The file that is here already, and where in it a chunk is.

use super::{Chunk, Cuts};
use crate::blocking::Wanted;
use crate::disk;
use crate::version::Version;
use anyhow::ensure;
use cap_std::fs::File;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use std::io;

/// Read in one go: between two an interrupt is heard.
const SLICE: u64 = 4 << 20;

/// The chunks of a file, by name.
#[derive(Debug)]
pub(crate) struct Old {
    file: File,
    version: Version,
    average: usize,
    /// Name and place of each, by name.
    chunks: Vec<(u64, u64)>,
}

impl Old {
    /// Reads a file, and counts in `read` what was read. Blocks.
    ///
    /// Errors: of the file system; the file is being changed.
    pub(crate) fn read(file: File, average: usize, read: &AtomicU64, wanted: &Wanted) -> anyhow::Result<Self> {
        let version = Version::settled(&file)?;
        let Some(version) = version else { anyhow::bail!("it is being changed") };
        let (mut cuts, mut chunks) = (Cuts::new(average, false), Vec::new());
        let (mut place, mut is_more) = (0, true);
        while is_more {
            wanted.still()?;
            is_more = cuts.go_on(
                SLICE,
                |at, buffer, wanted| disk::append_all_at(&file, buffer, wanted, at),
                |content| {
                    chunks.push((Chunk::of(content).name, place));
                    place += content.len() as u64;
                },
            )?;
            read.store(cuts.at(), Ordering::Relaxed);
        }
        ensure!(Version::of(&file)? == version, "it changed while it was read");
        chunks.sort_unstable();
        chunks.dedup_by_key(|(name, _)| *name);
        Ok(Self { file, version, average, chunks })
    }

    /// The mean length of its chunks.
    pub(crate) const fn average(&self) -> usize {
        self.average
    }

    /// Where it has this chunk.
    pub(crate) fn find(&self, chunk: Chunk) -> Option<u64> {
        let place = self.chunks.binary_search_by_key(&chunk.name, |(name, _)| *name).ok()?;
        self.chunks.get(place).map(|(_, place)| *place)
    }

    /// Appends the bytes of this range. Blocks.
    ///
    /// Errors: of the file system; the file is not what it was when its chunks were cut.
    pub(crate) fn copy(&self, range: Range<u64>, buffer: &mut Vec<u8>) -> io::Result<()> {
        let (before, wanted) = (buffer.len(), (range.end - range.start) as usize);
        disk::append_all_at(&self.file, buffer, wanted, range.start)?;
        if buffer.len() - before == wanted && Version::of(&self.file)? == self.version {
            return Ok(());
        }
        Err(io::Error::other("the file that is here changed meanwhile"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_file_and_what_it_lacks_are_the_new_one() {
        let dir = tempfile::tempdir().unwrap();
        let mut data = vec![0; 3_000_000];
        blake3::Hasher::new().finalize_xof().fill(&mut data);
        std::fs::write(dir.path().join("old"), &data).unwrap();
        let open = || File::from_std(std::fs::File::open(dir.path().join("old")).unwrap());
        Wanted::always(|wanted| {
            let old = Old::read(open(), 4096, &AtomicU64::new(0), wanted).unwrap();
            // Bytes that come and go in the middle cost the chunks around them.
            let new = [&data[..1_000_000], b"something new", &data[1_500_000..]].concat();
            let (mut made, mut lacking) = (Vec::new(), 0);
            let read = |at: u64, buffer: &mut Vec<u8>, wanted: usize| {
                let rest = &new[at as usize..];
                buffer.extend_from_slice(&rest[..wanted.min(rest.len())]);
                Ok(())
            };
            Cuts::new(4096, false)
                .go_on(u64::MAX, read, |content| {
                    let chunk = Chunk::of(content);
                    match old.find(chunk) {
                        Some(place) => old.copy(place..place + u64::from(chunk.length), &mut made).unwrap(),
                        None => {
                            lacking += content.len();
                            made.extend_from_slice(content);
                        }
                    }
                })
                .unwrap();
            assert!(made == new);
            assert!((1..60_000).contains(&lacking), "{lacking}");
            // It is not believed once it has changed.
            std::fs::write(dir.path().join("old"), &new).unwrap();
            assert!(old.copy(0..10, &mut made).is_err());
        });
    }

    #[test]
    fn an_old_file_is_read_only_while_somebody_waits() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::File::create(&path).unwrap().set_len(1 << 40).unwrap(); // takes an hour to read
        assert!(crate::blocking::ends_when_nobody_waits(crate::blocking::while_wanted(move |wanted| {
            Old::read(File::from_std(std::fs::File::open(&path)?), 4096, &AtomicU64::new(0), wanted)
        })));
    }
}
