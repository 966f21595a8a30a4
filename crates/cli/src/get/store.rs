//! Where received bytes go: hashed, written in order, and kept so that a later run can go on.

use super::journal::{self, BLOCK, Header, Mark};
use super::{claim, names};
use anyhow::Context;
use core::time::Duration;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// A mark is written at least this often: what a crash costs on a slow path.
const MARK_INTERVAL: Duration = Duration::from_secs(1);

/// Bytes read at a time when a partial file is checked.
const READ: usize = 1 << 20;

/// Where a download goes.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// A file, under this name once it is complete.
    File(PathBuf),
    /// Standard output, as it comes.
    Stdout,
}

/// Takes the bytes of one download.
pub(super) struct Store {
    out: Out,
    /// Of everything up to `at`.
    whole: blake3::Hasher,
    at: u64,
}

enum Out {
    Part(Box<Part>),
    Stdout,
}

/// A file that is not complete. Dropped without having been published, it stays for a later run, or goes if none could
/// use it.
struct Part {
    target: PathBuf,
    path: PathBuf,
    /// Locked until the file has its name or is gone.
    file: File,
    journal: Journal,
    keep: bool,
}

/// Made at the first mark: most small files never need one.
struct Journal {
    path: PathBuf,
    header: Option<Header>,
    writer: Option<journal::Writer>,
    last_mark: Instant,
    marked: u64,
}

/// What an earlier run left.
pub(super) struct Left {
    /// Where it came from.
    pub(super) header: Header,
    marks: Vec<Mark>,
    file: File,
}

/// What is good of it.
pub(super) struct Checked {
    /// Goes on where the good part ends.
    pub(super) store: Store,
    /// Offset of the block that does not match its hash, if one was found.
    pub(super) damaged_at: Option<u64>,
}

/// What an earlier download to `target` left; `None` if nothing that can be used.
///
/// Errors: another download is at it.
pub(super) fn left(target: &Target) -> anyhow::Result<Option<Left>> {
    let Target::File(target) = target else { return Ok(None) };
    let (part, journal) = names::part_and_journal(target);
    let Some(file) = claim::existing(&part)? else { return Ok(None) };
    let read = journal::read(&journal).with_context(|| format!("could not read {}", journal.display()))?;
    Ok(read.map(|(header, marks)| Left { header, marks, file }))
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
    /// Starts from nothing; `header` if the download could be resumed.
    pub(super) fn new(target: &Target, header: Option<Header>) -> anyhow::Result<Self> {
        let out = match target {
            Target::Stdout => Out::Stdout,
            Target::File(target) => {
                let (path, journal) = names::part_and_journal(target);
                let file = claim::make(&path)?;
                file.set_len(0).with_context(|| cannot_write(&path, false))?;
                remove(&journal)?;
                Out::Part(Part::new(target.clone(), path, file, Journal::new(journal, header, 0)))
            }
        };
        Ok(Self { out, whole: blake3::Hasher::new(), at: 0 })
    }

    /// Reads what an earlier run left, and goes on behind the last byte that is what it was when it was received.
    pub(super) fn check(target: &Path, left: Left) -> anyhow::Result<Checked> {
        let (part, journal) = names::part_and_journal(target);
        let mut file = left.file;
        let (mut whole, mut at) = (blake3::Hasher::new(), 0);
        let mut good = Vec::new();
        let mut damaged_at = None;
        let mut buffer = vec![0; READ];
        for mark in left.marks {
            let mut hasher = whole.clone();
            let mut missing = mark.end - at;
            while missing > 0 {
                let most = buffer.len().min(usize::try_from(missing).unwrap_or(usize::MAX));
                let read =
                    file.read(&mut buffer[..most]).with_context(|| format!("could not read {}", part.display()))?;
                if read == 0 {
                    break;
                }
                hasher.update(&buffer[..read]);
                missing -= read as u64;
            }
            if missing > 0 || !mark.fits(&hasher.finalize()) {
                damaged_at = Some(at);
                break;
            }
            (whole, at) = (hasher, mark.end);
            good.push(mark);
        }
        let cut = |file: &mut File| {
            file.set_len(at)?;
            file.seek(SeekFrom::Start(at))
        };
        cut(&mut file).with_context(|| cannot_write(&part, true))?;
        let writer =
            journal::Writer::create(&journal, &left.header, &good).with_context(|| cannot_write(&journal, true))?;
        let mut journal = Journal::new(journal, Some(left.header), at);
        journal.writer = Some(writer);
        let out = Out::Part(Part::new(target.to_owned(), part, file, journal));
        Ok(Checked { store: Self { out, whole, at }, damaged_at })
    }

    /// Bytes it has.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Writes everything that comes, until the sender is dropped, and gives the batches back empty. Blocks.
    pub(super) fn drain(
        mut self,
        mut batches: mpsc::Receiver<Vec<u8>>,
        give_back: mpsc::Sender<Vec<u8>>,
    ) -> anyhow::Result<Self> {
        while let Some(mut batch) = batches.blocking_recv() {
            self.write(&batch)?;
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
                Out::Part(part) => part.file.write_all(now).with_context(|| cannot_write(&part.path, part.keep))?,
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

    /// Brings the file under its name: only now, and at once. Blocks.
    pub(super) fn publish(self) -> anyhow::Result<()> {
        match self.out {
            Out::Part(mut part) => part.publish(),
            Out::Stdout => Ok(()),
        }
    }

    /// Throws everything away, so that the next run starts anew. Blocks.
    pub(super) fn discard(mut self) {
        if let Out::Part(part) = &mut self.out {
            part.keep = false;
        }
    }
}

impl Part {
    fn new(target: PathBuf, path: PathBuf, file: File, journal: Journal) -> Box<Self> {
        let keep = journal.header.is_some();
        Box::new(Self { target, path, file, journal, keep })
    }

    fn publish(&mut self) -> anyhow::Result<()> {
        self.file.sync_all().with_context(|| cannot_write(&self.path, self.keep))?;
        self.keep = true; // complete, whatever becomes of its name
        // The file stays locked until it has its name: until then nobody else may take it for a partial one.
        std::fs::rename(&self.path, &self.target).with_context(|| {
            let (part, target) = (self.path.display(), self.target.display());
            format!("could not rename the complete file {part} to {target}; rename it yourself")
        })?;
        // Before anything that takes time: the next download to this name may begin now, and will have its own journal.
        remove(&self.journal.path)?;
        let dir = self.target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Where a directory cannot be synced the rename is on its way to the disk all the same.
        let _ = File::open(dir).and_then(|dir| dir.sync_all());
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.keep {
            // What cannot be removed is only in the way; the next download to this name empties it.
            let _ = remove(&self.journal.path).and_then(|()| remove(&self.path));
        }
    }
}

impl Journal {
    fn new(path: PathBuf, header: Option<Header>, marked: u64) -> Self {
        Self { path, header, writer: None, last_mark: Instant::now(), marked }
    }

    /// Notes that the file is good up to `at`, if it is time to, or anyway when this is the end of the run.
    fn mark(&mut self, at: u64, whole: &blake3::Hasher, last: bool) -> anyhow::Result<()> {
        let due = at.is_multiple_of(BLOCK) || self.last_mark.elapsed() >= MARK_INTERVAL || last;
        let Some(header) = self.header.as_ref().filter(|header| due && at > self.marked && (!last || at < header.size))
        else {
            return Ok(());
        };
        let mark = Mark { end: at, blake3: whole.finalize().to_hex().to_string() };
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

fn cannot_write(path: &Path, resumable: bool) -> String {
    let then =
        if resumable { "it goes on where it stopped" } else { "it starts anew, as this server knows no other way" };
    format!("could not write {} (make room or choose another place with -o, and run again: {then})", path.display())
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
mod tests {
    use super::super::request::Version;
    use super::*;

    const SIZE: usize = 9 << 20;

    fn data() -> Vec<u8> {
        (0..SIZE).map(|place| (place * 31 / 7) as u8).collect()
    }

    fn header() -> Header {
        let version = Version { etag: Some("\"1\"".to_owned()), size: Some(SIZE as u64), ..Version::default() };
        Header::of(&"https://h/a".parse().unwrap(), &version).unwrap()
    }

    fn store(target: &Target, bytes: &[u8]) -> Store {
        let mut store = Store::new(target, Some(header())).unwrap();
        bytes.chunks(100_001).for_each(|chunk| store.write(chunk).unwrap());
        store
    }

    struct Place {
        dir: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            Self { dir: tempfile::tempdir().unwrap() }
        }

        fn path(&self) -> PathBuf {
            self.dir.path().join("file")
        }

        fn target(&self) -> Target {
            Target::File(self.path())
        }

        fn check(&self) -> Checked {
            Store::check(&self.path(), left(&self.target()).unwrap().expect("a journal")).unwrap()
        }

        fn names(&self) -> Vec<String> {
            let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
            self.dir.path().read_dir().unwrap().map(name).collect()
        }
    }

    #[test]
    fn a_second_download_into_the_same_file_is_refused_and_harms_nothing() {
        let place = Place::new();
        let first = store(&place.target(), &data());
        let error = Store::new(&place.target(), Some(header())).err().unwrap().to_string();
        assert!(error.contains("another pcc is downloading"), "{error}");
        assert_eq!(first.digest(), blake3::hash(&data()));
        first.publish().unwrap();
        assert_eq!(std::fs::read(place.path()).unwrap(), data());
    }

    #[test]
    fn what_was_killed_goes_on_from_the_last_mark() {
        let place = Place::new();
        drop(store(&place.target(), &data()[..SIZE - 500])); // as kill -9 would: nothing is said at the end
        let mut checked = place.check();
        assert_eq!((checked.store.at(), checked.damaged_at), (2 * BLOCK, None));
        checked.store.write(&data()[2 * BLOCK as usize..]).unwrap();
        assert_eq!(checked.store.digest(), blake3::hash(&data()));
        checked.store.publish().unwrap();
        assert_eq!(std::fs::read(place.path()).unwrap(), data());
        assert_eq!(place.names(), ["file"]);
    }

    #[test]
    fn a_run_that_ends_in_order_keeps_every_byte() {
        let place = Place::new();
        let (sender, receiver) = mpsc::channel(1);
        let (give_back, _done) = mpsc::channel(1);
        drop(sender);
        store(&place.target(), &data()[..5_000_000]).drain(receiver, give_back).unwrap();
        let mut checked = place.check();
        assert_eq!(checked.store.at(), 5_000_000);
        checked.store.write(&data()[5_000_000..]).unwrap();
        assert_eq!(checked.store.digest(), blake3::hash(&data()));
    }

    #[test]
    fn a_flipped_byte_is_found_and_its_block_starts_anew() {
        let place = Place::new();
        drop(store(&place.target(), &data()));
        let (part, _) = names::part_and_journal(&place.path());
        let mut bytes = std::fs::read(&part).unwrap();
        bytes[BLOCK as usize + 7] ^= 1;
        std::fs::write(&part, &bytes).unwrap();
        let mut checked = place.check();
        assert_eq!((checked.store.at(), checked.damaged_at), (BLOCK, Some(BLOCK)));
        checked.store.write(&data()[BLOCK as usize..]).unwrap();
        assert_eq!(checked.store.digest(), blake3::hash(&data()));
    }

    #[test]
    fn a_file_that_lost_its_end_goes_on_from_what_is_left() {
        let place = Place::new();
        drop(store(&place.target(), &data()));
        let (part, _) = names::part_and_journal(&place.path());
        File::options().write(true).open(&part).unwrap().set_len(BLOCK + 5).unwrap();
        let checked = place.check();
        assert_eq!((checked.store.at(), checked.damaged_at), (BLOCK, Some(BLOCK)));
        assert_eq!(std::fs::metadata(&part).unwrap().len(), BLOCK);
    }

    #[test]
    fn a_journal_without_its_file_is_nothing() {
        let place = Place::new();
        drop(store(&place.target(), &data()));
        std::fs::remove_file(names::part_and_journal(&place.path()).0).unwrap();
        assert!(left(&place.target()).unwrap().is_none());
    }

    #[test]
    fn what_nobody_can_resume_is_not_left_behind() {
        let place = Place::new();
        let mut store = Store::new(&place.target(), None).unwrap();
        store.write(&data()).unwrap();
        drop(store);
        assert_eq!(place.names(), Vec::<String>::new());
    }

    #[test]
    fn a_disk_that_fails_leaves_only_what_can_be_resumed() {
        for (header, left) in [(None, 0), (Some(header()), 2)] {
            let place = Place::new();
            let mut store = Store::new(&place.target(), header).unwrap();
            store.write(&data()[..5_000_000]).unwrap();
            let Out::Part(part) = &mut store.out else { unreachable!("it goes to a file") };
            part.file = File::open(&part.path).unwrap(); // takes no more, like a full disk
            let (batches, receiver) = mpsc::channel(1);
            batches.try_send(vec![1]).unwrap();
            let error = store.drain(receiver, mpsc::channel(1).0).err().unwrap().to_string();
            assert!(error.contains("make room"), "{error}");
            assert_eq!(place.names().len(), left, "{:?}", place.names());
        }
    }

    /// Begins and ends downloads of one name as fast as it can, each with bytes of its own.
    fn rival(target: &Target, number: u8) {
        for _ in 0..200 {
            let Ok(mut store) = Store::new(target, Some(header())) else { continue };
            for _ in 0..4 {
                store.write(&[number; 1000]).unwrap();
            }
            store.publish().unwrap();
        }
    }

    #[test]
    fn of_rivals_for_one_name_each_publishes_a_whole_file() {
        let place = Place::new();
        let target = place.target();
        std::thread::scope(|scope| {
            for number in 0..4 {
                let target = &target;
                scope.spawn(move || rival(target, number));
            }
            for _ in 0..2000 {
                if let Ok(found) = std::fs::read(place.path()) {
                    assert!(found.len() == 4000 && found.iter().all(|byte| *byte == found[0]), "{} bytes", found.len());
                }
            }
        });
        assert_eq!(place.names(), ["file"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_in_the_place_of_the_journal_is_an_error_and_holds_nobody() {
        let place = Place::new();
        let (part, journal) = names::part_and_journal(&place.path());
        std::fs::write(part, "x").unwrap();
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, &journal, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let error = format!("{:#}", left(&place.target()).err().unwrap());
        assert!(error.contains("no plain file") && error.contains("pcc-part.json"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_the_partial_file_is_not_followed() {
        let place = Place::new();
        let victim = place.dir.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, names::part_and_journal(&place.path()).0).unwrap();
        assert!(Store::new(&place.target(), Some(header())).is_err());
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
    }
}
