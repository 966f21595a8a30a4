//! A part of a file as it is sent: all of one version, or not to its end.

mod second_look;

pub(super) use second_look::SecondLook;

use super::body::Pieces;
use super::broken::Broken;
use super::root::{Opened, Standing};
use crate::coding::Coder;
use blake3::{Hash, Hasher};
use core::ops::Range;
use std::io;

/// Bytes of a file, hashed as they are read.
///
/// The last piece is given out only once it is certain that all of them were in the file at one time: either the times
/// of the file say so, or that piece is held back for a [`SecondLook`].
#[derive(Debug)]
pub(super) struct Part {
    opened: Opened,
    range: Range<u64>,
    position: u64,
    hasher: Hasher,
    held_back: Option<SecondLook>,
}

impl Part {
    pub(super) fn new(opened: Opened, range: Range<u64>) -> Self {
        Self { opened, position: range.start, range, hasher: Hasher::new(), held_back: None }
    }

    /// The digest of all that was read.
    pub(super) fn digest(&self) -> Hash {
        self.hasher.finalize()
    }

    /// At the end: what has to be done before the last piece may go. `None` if it went.
    pub(super) fn held_back(&mut self) -> Option<SecondLook> {
        self.held_back.take()
    }

    /// The same from its beginning.
    fn again(&self) -> Self {
        Self::new(self.opened.clone(), self.range.clone())
    }

    /// The same from its beginning, of the file with the version that it has now. Blocks, for 20 ms at most.
    ///
    /// Errors: it is written to right now.
    pub(super) fn settled(&self) -> Result<Self, Broken> {
        let opened = self.opened.settle().map_err(Broken::Read)?.ok_or(Broken::Changed)?;
        Ok(Self::new(opened, self.range.clone()))
    }

    pub(super) fn is_read(&self) -> bool {
        self.position == self.range.end
    }

    pub(super) fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Keeps the last piece until what was read has been read again. Blocks, for 20 ms at most.
    ///
    /// Errors: it cannot be whole any more.
    fn hold_back(&mut self, standing: Standing, last: Vec<u8>) -> Result<(), Broken> {
        // A log: what it held at first is still there, or it isn't one. A file that rests now must rest until it is read.
        let must_rest = standing == Standing::Unsettled;
        let again = if must_rest { self.settled()? } else { self.again() };
        self.held_back = Some(SecondLook::new(again, self.digest(), must_rest, last.into()));
        Ok(())
    }

    /// Reads and hashes the next chunk; `false` if the file ends before.
    pub(super) fn read(&mut self, buffer: &mut Vec<u8>, size: usize) -> io::Result<bool> {
        let wanted = (self.range.end - self.position).min(size as u64) as usize;
        self.opened.read(self.position, buffer, wanted)?;
        self.hasher.update(buffer);
        self.position += buffer.len() as u64;
        Ok(buffer.len() == wanted)
    }
}

impl Pieces for Part {
    fn next(&mut self, buffer: &mut Vec<u8>, size: usize) -> Result<(), Broken> {
        if self.is_read() {
            buffer.clear();
            return Ok(());
        }
        if !self.read(buffer, size).map_err(Broken::Read)? {
            return Err(Broken::Changed);
        }
        match self.opened.standing().map_err(Broken::Read)? {
            Standing::Same => Ok(()),
            Standing::Changed => Err(Broken::Changed),
            standing if self.is_read() => self.hold_back(standing, core::mem::take(buffer)),
            _ => Ok(()),
        }
    }
}

/// A part of a file, compressed if its client wants that.
pub(super) struct Coded {
    pub(super) part: Part,
    pub(super) coder: Option<Coder>,
}

impl Pieces for Coded {
    fn next(&mut self, buffer: &mut Vec<u8>, size: usize) -> Result<(), Broken> {
        self.part.next(buffer, size)?;
        if let Some(coder) = self.coder.as_mut().filter(|_| !buffer.is_empty()) {
            *buffer = coder.frame(buffer);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::body::LARGE;
    use crate::serve::digest::Digests;
    use crate::serve::path::SafePath;
    use crate::serve::root::{Found, Root};
    use std::fs::{File, OpenOptions};
    use std::io::{Seek, SeekFrom, Write};
    use std::path::PathBuf;

    const SIZE: usize = 3 * LARGE;

    /// A file of three chunks, and the whole of it as a part.
    struct Bench {
        _dir: tempfile::TempDir,
        path: PathBuf,
        part: Part,
        content: Vec<u8>,
    }

    impl Bench {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("file");
            let content: Vec<u8> = (0..SIZE).map(|index| (index / 1000) as u8).collect();
            std::fs::write(&path, &content).unwrap();
            let part = whole(dir.path());
            Self { _dir: dir, path, part, content }
        }

        fn edit(&self) -> File {
            OpenOptions::new().read(true).write(true).open(&self.path).unwrap()
        }

        /// All that the part gives out, with `meanwhile` after the first piece.
        fn sent(mut self, meanwhile: impl FnOnce(&Self)) -> Result<bool, Broken> {
            let (mut sent, mut piece) = (Vec::new(), Vec::new());
            self.part.next(&mut piece, LARGE)?;
            sent.extend_from_slice(&piece);
            meanwhile(&self);
            while !self.part.is_read() {
                self.part.next(&mut piece, LARGE)?;
                sent.extend_from_slice(&piece);
            }
            if let Some(look) = self.part.held_back() {
                let queue = Digests::default().queue([10, 0, 0, 1].into());
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                sent.extend_from_slice(&runtime.block_on(look.finish(queue))?);
            }
            assert_eq!(self.part.digest(), blake3::hash(&sent));
            Ok(sent == self.content)
        }
    }

    fn whole(dir: &std::path::Path) -> Part {
        let Found::File(opened) = Root::open(dir).unwrap().find(&SafePath::parse("/file").unwrap()).unwrap() else {
            panic!("not a file")
        };
        let size = opened.size;
        Part::new(opened, 0..size)
    }

    #[test]
    fn a_file_that_rests_is_given_out_as_it_is() {
        assert!(Bench::new().sent(|_| {}).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn another_name_or_other_permissions_change_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let linked =
            Bench::new().sent(|bench| std::fs::hard_link(&bench.path, bench.path.with_extension("2")).unwrap());
        assert!(linked.unwrap());
        let mode = std::fs::Permissions::from_mode(0o600);
        assert!(Bench::new().sent(|bench| std::fs::set_permissions(&bench.path, mode).unwrap()).unwrap());
        assert!(Bench::new().sent(|bench| std::fs::remove_file(&bench.path).unwrap()).unwrap());
    }

    #[test]
    fn a_rewrite_whose_time_is_set_back_is_found_out() {
        let rewritten = |content: fn(&Bench) -> Vec<u8>| {
            Bench::new().sent(|bench| {
                let (mut file, content) = (bench.edit(), content(bench));
                let modified = file.metadata().unwrap().modified().unwrap();
                file.write_all(&content).unwrap();
                file.set_modified(modified).unwrap();
            })
        };
        let outcome = rewritten(|_| vec![7; SIZE]);
        assert!(matches!(outcome, Err(Broken::Changed)), "{outcome:?}");
        assert!(rewritten(|bench| bench.content.clone()).unwrap(), "with the same");
    }

    #[test]
    fn a_log_is_given_out_as_long_as_it_was_at_first() {
        let grown = Bench::new().sent(|bench| {
            let mut file = bench.edit();
            file.seek(SeekFrom::End(0)).unwrap();
            file.write_all(b"another line").unwrap();
        });
        assert!(grown.unwrap());
    }

    #[test]
    fn no_mixture_of_two_versions_is_ever_complete() {
        let rewrite = |at: u64, bytes: &'static [u8]| {
            move |bench: &Bench| {
                let mut file = bench.edit();
                file.seek(SeekFrom::Start(at)).unwrap();
                file.write_all(bytes).unwrap();
            }
        };
        let longer = [1; 10];
        for (what, outcome) in [
            ("in front", Bench::new().sent(rewrite(10, b"new"))),
            ("behind", Bench::new().sent(rewrite(SIZE as u64 - 10, b"new"))),
            ("shorter", Bench::new().sent(|bench| bench.edit().set_len(SIZE as u64 - 1).unwrap())),
            (
                "in front, and longer",
                Bench::new().sent(|bench| {
                    rewrite(10, b"new")(bench);
                    bench.edit().seek(SeekFrom::End(0)).and_then(|_| bench.edit().set_len(SIZE as u64 + 5)).unwrap();
                }),
            ),
            (
                "behind, and longer",
                Bench::new().sent(|bench| {
                    std::fs::write(&bench.path, vec![9; SIZE + longer.len()]).unwrap();
                }),
            ),
        ] {
            assert!(matches!(outcome, Err(Broken::Changed)), "{what}: {outcome:?}");
        }
    }

    #[test]
    fn a_file_in_writing_is_served_once_it_rests_or_never() {
        let mut bench = Bench::new();
        bench.part.opened.version = None; // as it is when a change was seen between two looks
        assert!(bench.sent(|_| {}).unwrap(), "nothing happened any more");
        let mut bench = Bench::new();
        bench.part.opened.version = None;
        let outcome = bench.sent(|bench| {
            let mut file = bench.edit();
            file.write_all(b"new").unwrap();
        });
        assert!(matches!(outcome, Err(Broken::Changed)), "{outcome:?}");
    }
}
