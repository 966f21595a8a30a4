//! The rest of an earlier run, and its good part.

use super::super::journal::{self, Header, Mark};
use super::super::partial;
use super::{Journal, Out, Part, Store, Target, cannot_write};
use crate::blocking::Wanted;
use crate::client::names;
use anyhow::Context;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes read at a time when a partial file is checked.
const READ: usize = 1 << 20;

/// The remains of an earlier run. It is this process's alone.
pub(in crate::get) struct Left {
    file: File,
    /// Where it came from, and what its beginning hashes to. `None` for a file that had none yet, or none any more since
    /// only its name was missing.
    journal: Option<(Header, Vec<Mark>)>,
}

/// The part of it that is good.
pub(in crate::get) struct Checked {
    /// Goes on where the good part ends.
    pub(in crate::get) store: Store,
    /// Offset of the block that does not match its hash, if one was found.
    pub(in crate::get) damaged_at: Option<u64>,
}

/// The remains of an earlier download to `target`; `None` if there are none.
///
/// Errors: another download is at it.
pub(in crate::get) fn left(target: &Target) -> anyhow::Result<Option<Left>> {
    let Target::File(target) = target else { return Ok(None) };
    let (part, journal) = names::part_and_journal(target);
    let Some(file) = partial::existing(&part)? else { return Ok(None) };
    let length = file.metadata().with_context(|| format!("could not read {}", part.display()))?.len();
    let journal = journal::read(&journal, length).with_context(|| format!("could not read {}", journal.display()))?;
    Ok(Some(Left { file, journal }))
}

impl Left {
    /// Where it came from, if that was written down.
    pub(in crate::get) fn header(&self) -> Option<&Header> {
        self.journal.as_ref().map(|(header, _)| header)
    }

    /// Whether it has the size of the whole file.
    pub(in crate::get) fn is_as_long_as(&self, whole: &Header) -> bool {
        self.file.metadata().is_ok_and(|found| found.len() == whole.size) && whole.size > 0
    }

    /// Takes it for the whole file, if it turns out to have this digest.
    pub(in crate::get) fn take_for(&mut self, whole: Header, digest: &blake3::Hash) {
        let mark = Mark { end: whole.size, blake3: *digest };
        self.journal = Some((whole, vec![mark]));
    }

    /// Reads it, and goes on behind the last byte that is what it was when it was received; `None` without a journal.
    /// Nothing is changed before all is read. Blocks.
    pub(in crate::get) fn check(self, target: &Path, wanted: &Wanted) -> anyhow::Result<Option<Checked>> {
        let (part, path) = names::part_and_journal(target);
        let Self { mut file, journal: Some((header, marks)) } = self else { return Ok(None) };
        let mut good = Good { hasher: blake3::Hasher::new(), marks: Vec::new(), damaged_at: None };
        good.read(&mut file, marks, wanted).with_context(|| format!("could not read {}", part.display()))?;
        let at = good.hasher.count();
        let cut = |file: &mut File| {
            file.set_len(at)?;
            file.seek(SeekFrom::Start(at))
        };
        cut(&mut file).with_context(|| cannot_write(&part, true))?;
        let writer = journal::Writer::create(&path, &header, &good.marks).with_context(|| cannot_write(&path, true))?;
        let mut journal = Journal::new(path, Some(header), at);
        journal.writer = Some(writer);
        let out = Out::Part(Part::new(target.to_owned(), part, file, journal));
        let store = Store { out, whole: good.hasher, at, sparse: false };
        Ok(Some(Checked { store, damaged_at: good.damaged_at }))
    }
}

/// The part of a file that fits its marks.
struct Good {
    hasher: blake3::Hasher,
    marks: Vec<Mark>,
    damaged_at: Option<u64>,
}

impl Good {
    fn read(&mut self, file: &mut File, marks: Vec<Mark>, wanted: &Wanted) -> anyhow::Result<()> {
        let mut buffer = vec![0; READ];
        for mark in marks {
            let mut hasher = self.hasher.clone();
            while hasher.count() < mark.end {
                wanted.still()?;
                let missing = usize::try_from(mark.end - hasher.count()).unwrap_or(usize::MAX);
                let most = buffer.len().min(missing);
                match file.read(&mut buffer[..most]) {
                    Ok(0) => break,
                    Ok(read) => hasher.update(&buffer[..read]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error.into()),
                };
            }
            if hasher.count() < mark.end || mark.blake3 != hasher.finalize() {
                self.damaged_at = Some(self.hasher.count());
                break;
            }
            self.hasher = hasher;
            self.marks.push(mark);
        }
        Ok(())
    }
}
