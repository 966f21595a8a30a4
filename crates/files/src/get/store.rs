//! Where received bytes go: hashed, written in order, and kept so that a later run can go on.

mod left;

pub(super) use left::{Left, left};

use super::journal::{self, BLOCK, Header, Mark};
use super::partial;
use super::place_error::PlaceError;
use crate::attributes::Attributes;
use crate::choice::Backup;
use crate::client::names;
use crate::disk;
use crate::inherited::inherit;
use crate::permissions::Permissions;
use crate::sparse;
use anyhow::Context;
use core::time::Duration;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// A mark is written at least this often: what a crash costs on a slow path.
const MARK_INTERVAL: Duration = Duration::from_secs(1);

/// Where a download goes.
#[derive(Clone, Debug)]
pub enum Target {
    /// A file, under this name once it is complete.
    File(PathBuf),
    /// Standard output, as it comes.
    Stdout,
}

/// Takes the bytes of one download.
pub(super) struct Store {
    out: Out,
    /// The digest of everything up to `at`.
    whole: blake3::Hasher,
    at: u64,
    /// Stretches of zeros take no room.
    sparse: bool,
}

enum Out {
    Part(Box<Part>),
    Stdout,
}

/// A file that has no name yet. Dropped without one, it stays if it is complete or a later run can go on with it, and goes
/// otherwise.
struct Part {
    target: PathBuf,
    path: PathBuf,
    /// Locked until the file has its name or is gone.
    file: File,
    journal: Journal,
    /// Whether a later run can go on with what is marked.
    resumable: bool,
    complete: bool,
}

/// Made at the first mark, since most small files never need one; of a large file before its first byte, so that there is
/// room for it.
struct Journal {
    path: PathBuf,
    header: Option<Header>,
    writer: Option<journal::Writer>,
    last_mark: Instant,
    marked: u64,
}

impl Target {
    /// Runs `work`, which writes here, on a thread of its own, and answers what came of it.
    ///
    /// The process does not end before a file has what arrived; it does not wait for a pipe that nobody reads.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> std::io::Result<oneshot::Receiver<T>> {
        let (done, outcome) = oneshot::channel();
        let work = move || drop(done.send(work())); // nobody may wait for it any more
        match self {
            Self::File(_) => drop(tokio::task::spawn_blocking(work)),
            Self::Stdout => drop(std::thread::Builder::new().spawn(work)?),
        }
        Ok(outcome)
    }
}

impl Store {
    /// Starts from nothing, with `header` if the download could be resumed; the file is to have these attributes.
    pub(super) fn new(target: &Target, header: Option<Header>, attributes: Attributes) -> anyhow::Result<Self> {
        let out = match target {
            Target::Stdout => Out::Stdout,
            Target::File(target) => {
                let (path, journal) = names::part_and_journal(target);
                let partial::Partial { path, file, is_lasting } = partial::make(&path)?;
                // A private file is private as soon as there is something in it.
                protect(&file, &attributes, target);
                file.set_len(0).with_context(|| cannot_write(&path, false))?;
                // Where others keep these names, a later run does not go on with it.
                let is_free = remove(&journal).and_then(|()| remove(&names::unwritten(&journal))).is_ok();
                let header = header.filter(|_| is_lasting && is_free);
                let mut part = Part::new(target.clone(), path, file, Journal::new(journal, header, 0));
                part.journal.begin()?;
                Out::Part(part)
            }
        };
        Ok(Self { out, whole: blake3::Hasher::new(), at: 0, sparse: false })
    }

    /// The same, in which stretches of zeros take no room.
    pub(super) fn sparsely(self, sparse: bool) -> Self {
        Self { sparse, ..self }
    }

    /// Makes the rest of an earlier run as private as a partial file with these attributes: that run may have kept others.
    pub(super) fn protect(&self, attributes: &Attributes) {
        if let Out::Part(part) = &self.out {
            protect(&part.file, attributes, &part.target);
        }
    }

    /// Bytes it has.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Whether there is room for what is missing of `size` bytes.
    pub(super) fn has_room(&self, size: u64) -> anyhow::Result<()> {
        match &self.out {
            // Nobody knows how much of it is zeros.
            Out::Part(_) if self.sparse => Ok(()),
            Out::Part(part) => disk::has_room(&part.file, size.saturating_sub(self.at))
                .with_context(|| cannot_write(&part.path, part.resumable)),
            Out::Stdout => Ok(()),
        }
    }

    /// Writes everything that comes, until the sender is dropped, and gives the batches back empty. Blocks.
    pub(super) fn drain(
        mut self,
        mut batches: mpsc::Receiver<Vec<u8>>,
        give_back: mpsc::Sender<Vec<u8>>,
    ) -> anyhow::Result<Self> {
        while let Some(mut batch) = batches.blocking_recv() {
            if let Err(error) = self.write(&batch) {
                if let Out::Part(part) = &mut self.out {
                    // The bytes before it are good; a full disk may have room for these few bytes.
                    let _ = part.journal.mark(self.at, &self.whole, true);
                }
                return Err(error);
            }
            batch.clear();
            let _ = give_back.try_send(batch); // nobody needs it, then
        }
        match &mut self.out {
            Out::Part(part) => part.journal.mark(self.at, &self.whole, true)?,
            Out::Stdout => std::io::stdout().flush().context("could not write to standard output")?,
        }
        Ok(self)
    }

    fn write(&mut self, mut data: &[u8]) -> anyhow::Result<()> {
        while !data.is_empty() {
            let room = usize::try_from(BLOCK - self.at % BLOCK).unwrap_or(usize::MAX);
            let (now, later) = data.split_at(room.min(data.len()));
            match &mut self.out {
                Out::Part(part) if self.sparse => {
                    part.append_sparsely(now, self.at).with_context(|| cannot_write(&part.path, part.resumable))?
                }
                Out::Part(part) => {
                    part.file.write_all(now).with_context(|| cannot_write(&part.path, part.resumable))?
                }
                Out::Stdout => std::io::stdout().lock().write_all(now).context("could not write to standard output")?,
            }
            self.whole.update(now);
            self.at += now.len() as u64;
            if let Out::Part(part) = &mut self.out {
                part.journal.mark(self.at, &self.whole, false)?;
            }
            data = later;
        }
        Ok(())
    }

    /// The digest of all it has.
    pub(super) fn digest(&self) -> blake3::Hash {
        self.whole.finalize()
    }

    /// Brings the file under its name, with these attributes: only now, and at once. Blocks.
    pub(super) fn publish(self, attributes: Attributes, backup: Option<&Backup>) -> anyhow::Result<()> {
        match self.out {
            Out::Part(mut part) => part.publish(attributes, backup),
            Out::Stdout => Ok(()),
        }
    }

    /// Throws everything away, so that the next run starts anew. Blocks.
    pub(super) fn discard(mut self) {
        if let Out::Part(part) = &mut self.out {
            part.resumable = false;
        }
    }
}

impl Part {
    fn new(target: PathBuf, path: PathBuf, file: File, journal: Journal) -> Box<Self> {
        let resumable = journal.header.is_some();
        Box::new(Self { target, path, file, journal, resumable, complete: false })
    }

    fn append_sparsely(&self, mut data: &[u8], mut at: u64) -> std::io::Result<()> {
        let mut file = &self.file;
        while !data.is_empty() {
            let done = sparse::append(file, data, at, |data, at| {
                file.seek(SeekFrom::Start(at))?;
                file.write(data)
            })?;
            if done == 0 {
                return Err(std::io::ErrorKind::WriteZero.into());
            }
            at += done as u64;
            data = data.get(done..).unwrap_or_default();
        }
        Ok(())
    }

    fn publish(&mut self, attributes: Attributes, backup: Option<&Backup>) -> anyhow::Result<()> {
        if let Err(error) =
            (Attributes { modified: attributes.modified, ..Attributes::default() }).give(&self.file, &self.path)
        {
            // Not every file system keeps every time, and the content is right without it.
            tracing::debug!(%error, path = %self.path.display(), "the time of modification is another");
        }
        inherit(&self.target, &attributes.extended, permissions(&attributes, &self.target), &self.file);
        if let Err(error) = attributes.give_owners(&self.file) {
            tracing::debug!(%error, path = %self.path.display(), "owner and group are not kept");
        }
        self.file.sync_all().with_context(|| cannot_write(&self.path, self.resumable))?;
        self.complete = true;
        // In this order: of a run that is killed in between, a complete file is left that the server's digest tells to be
        // one, and not a journal that belongs to nothing. The file stays locked until it has its name: until then nobody
        // else may take it for a partial one.
        if self.resumable {
            remove(&self.journal.path)?;
        }
        backup.map_or(Ok(()), |backup| backup.keep(&self.target))?;
        std::fs::rename(&self.path, &self.target).with_context(|| {
            let (part, target) = (self.path.display(), self.target.display());
            format!("could not rename the complete file {part} to {target}; rename it yourself")
        })?;
        let dir = self.target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Where a directory cannot be synced the rename is on its way to the disk all the same.
        let _ = File::open(dir).and_then(|dir| dir.sync_all());
        Ok(())
    }
}

/// Gives a partial file the permissions that it has until it is whole.
fn protect(part: &File, attributes: &Attributes, replaced: &Path) {
    attributes.permissions_of_part().or(Permissions::of(replaced)).protect(part);
}

/// The permissions: those that the source names, or else those of the file that is replaced.
fn permissions(attributes: &Attributes, replaced: &Path) -> Permissions {
    attributes.permissions().or(Permissions::of(replaced))
}

impl Drop for Part {
    fn drop(&mut self) {
        let is_of_use = self.complete || self.resumable && self.journal.marked > 0;
        if !is_of_use {
            // A file that cannot be removed is only in the way; the next download to this name empties it.
            let _ = remove(&self.journal.path);
            let _ = remove(&self.path);
        }
    }
}

impl Journal {
    fn new(path: PathBuf, header: Option<Header>, marked: u64) -> Self {
        Self { path, header, writer: None, last_mark: Instant::now(), marked }
    }

    /// Makes it now, if the file is so large that it needs one for certain.
    fn begin(&mut self) -> anyhow::Result<()> {
        if let Some(header) = self.header.as_ref().filter(|header| header.size > BLOCK) {
            let made = journal::Writer::create(&self.path, header, &[]);
            self.writer = Some(made.with_context(|| cannot_write(&self.path, true))?);
        }
        Ok(())
    }

    /// Notes that the file is good up to `at`, if it is time to, or anyway when this is the end of the run.
    fn mark(&mut self, at: u64, whole: &blake3::Hasher, last: bool) -> anyhow::Result<()> {
        let due = at.is_multiple_of(BLOCK) || self.last_mark.elapsed() >= MARK_INTERVAL || last;
        let Some(header) = self.header.as_ref().filter(|header| due && at > self.marked && (!last || at < header.size))
        else {
            return Ok(());
        };
        let mark = Mark { end: at, blake3: whole.finalize() };
        let done = match &mut self.writer {
            Some(writer) => writer.add(&mark),
            None => journal::Writer::create(&self.path, header, &[mark]).map(|writer| self.writer = Some(writer)),
        };
        done.with_context(|| cannot_write(&self.path, true))?;
        self.marked = at;
        self.last_mark = Instant::now();
        Ok(())
    }
}

fn cannot_write(path: &Path, resumable: bool) -> PlaceError {
    let then =
        if resumable { "it goes on where it stopped" } else { "it starts anew, as this server knows no other way" };
    PlaceError::Full { file: path.to_owned(), then }
}

fn remove(path: &Path) -> anyhow::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("could not remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
