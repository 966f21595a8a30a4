//! The file that is raced with: the user's, or one that is made.

use blake3::{Hash, Hasher};
use cap_std::fs::File;
use pcc::units::Bytes;
use pcc_files::read_at;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why there is no file to race with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The file cannot be read.
    #[error("cannot read {}: check the name and its permissions", name.display())]
    Unreadable {
        /// As it was written.
        name: PathBuf,
        /// The system's reason.
        #[source]
        reason: io::Error,
    },
    /// A directory, a pipe, a device.
    #[error("{} is not a file: name one, or none to race with a file made for it", .0.display())]
    NotAFile(PathBuf),
    /// A race takes at least one byte.
    #[error("{} is empty: there is nothing to move", .0.display())]
    Empty(PathBuf),
    /// A file of 0 bytes was asked for.
    #[error("a file of 0 bytes: there is nothing to move")]
    Nothing,
    /// There is no folder for files without a name.
    #[error("cannot make a file in {}; set TMPDIR to a folder that exists", folder.display())]
    NoFolder {
        /// The system's.
        folder: PathBuf,
        /// The system's reason.
        #[source]
        reason: io::Error,
    },
    /// There is no room for the file.
    #[error(
        "cannot make a file of {size} in {}: choose a smaller size, or another folder with TMPDIR",
        folder.display()
    )]
    NoRoom {
        /// Its size.
        size: Bytes,
        /// The system's.
        folder: PathBuf,
        /// The system's reason.
        #[source]
        reason: io::Error,
    },
    /// The file that was made cannot be read back.
    #[error("cannot read the file that was made")]
    Lost(#[source] io::Error),
}

/// The file, and what it holds.
#[derive(Debug)]
pub struct Source {
    file: Arc<File>,
    /// The user's; what we made has no name.
    name: Option<PathBuf>,
    /// How large it is.
    pub bytes: u64,
    /// BLAKE3 of all of it.
    pub digest: Hash,
}

impl Source {
    /// The user's `file`, or a new one of `size` bytes.
    ///
    /// Errors: it cannot be read, or is empty, or no file, or there is no room to make one.
    pub fn open(file: Option<&Path>, size: u64, seed: u64) -> Result<Self, SourceError> {
        let Some(name) = file else {
            return if size > 0 {
                Self::of(make(size, seed)?, None).map_err(SourceError::Lost)
            } else {
                Err(SourceError::Nothing)
            };
        };
        let unreadable = |reason| SourceError::Unreadable { name: name.to_owned(), reason };
        // A named pipe would have us wait for somebody to write to it.
        if !std::fs::metadata(name).map_err(unreadable)?.is_file() {
            return Err(SourceError::NotAFile(name.to_owned()));
        }
        let source = std::fs::File::open(name).and_then(|file| Self::of(file, Some(name.to_owned())));
        let source = source.map_err(unreadable)?;
        if source.bytes == 0 {
            return Err(SourceError::Empty(name.to_owned()));
        }
        Ok(source)
    }

    fn of(file: std::fs::File, name: Option<PathBuf>) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        let file = Arc::new(File::from_std(file));
        let digest = digest(Reader { file: Arc::clone(&file), at: 0 }, u64::MAX)?;
        Ok(Self { file, name, bytes, digest })
    }

    /// Reads it from its beginning, whoever else does.
    pub fn reader(&self) -> Reader {
        Reader { file: Arc::clone(&self.file), at: 0 }
    }

    /// Whether `copy` holds exactly the first `bytes` bytes of this file.
    pub fn matches(&self, copy: std::fs::File, bytes: u64) -> io::Result<bool> {
        let expected = if bytes == self.bytes { self.digest } else { digest(self.reader(), bytes)? };
        let copy = Reader { file: Arc::new(File::from_std(copy)), at: 0 };
        Ok(digest(copy, u64::MAX)? == expected)
    }

    /// A few words for people.
    pub fn describe(&self) -> String {
        let size = Bytes::new(self.bytes);
        match &self.name {
            None => format!("{size} of random bytes"),
            Some(name) => format!("{} ({size})", name.display()),
        }
    }
}

/// A file from its beginning on.
#[derive(Debug)]
pub struct Reader {
    file: Arc<File>,
    at: u64,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = read_at(&self.file, buffer, self.at)?;
        self.at += len as u64;
        Ok(len)
    }
}

/// BLAKE3 of the first `bytes` bytes of a file, of all of it if it has fewer.
fn digest(file: Reader, bytes: u64) -> io::Result<Hash> {
    let mut hasher = Hasher::new();
    hasher.update_reader(file.take(bytes))?;
    Ok(hasher.finalize())
}

/// A file for a copy. It has no name, so nothing is left of it however this program ends.
///
/// Errors: there is no folder for such files.
pub fn nameless() -> Result<std::fs::File, SourceError> {
    tempfile::tempfile().map_err(|reason| SourceError::NoFolder { folder: std::env::temp_dir(), reason })
}

/// Writes a file that no compression on the way could make smaller, the same one for the same seed.
fn make(size: u64, seed: u64) -> Result<std::fs::File, SourceError> {
    let mut file = nameless()?;
    let mut write = || -> io::Result<()> {
        let mut random = Hasher::new().update(&seed.to_le_bytes()).finalize_xof();
        let mut part = vec![0; 1 << 20];
        let mut left = size;
        while left > 0 {
            random.fill(&mut part);
            let now = part.get(..usize::try_from(left).unwrap_or(usize::MAX)).unwrap_or(&part);
            file.write_all(now)?;
            left -= now.len() as u64;
        }
        Ok(())
    };
    write().map_err(|reason| SourceError::NoRoom { size: Bytes::new(size), folder: std::env::temp_dir(), reason })?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_file_has_the_size_and_follows_from_the_seed() {
        let make = |size, seed| Source::open(None, size, seed).unwrap();
        let first = make(3_000_001, 1);
        assert_eq!((first.bytes, first.describe()), (3_000_001, "3.00 MB of random bytes".to_owned()));
        assert_eq!(make(10_000, 1).describe(), "10.0 kB of random bytes");
        assert_eq!(make(3_000_001, 1).digest, first.digest);
        assert_ne!(make(3_000_001, 2).digest, first.digest);
    }

    #[test]
    fn part_is_verified_against_same_part_and_one_bit_is_noticed() {
        let source = Source::open(None, 100_000, 1).unwrap();
        let mut data = Vec::new();
        source.reader().read_to_end(&mut data).unwrap();
        data.truncate(70_000);
        let copy = |data: &[u8]| {
            let mut copy = nameless().unwrap();
            copy.write_all(data).unwrap();
            copy
        };
        assert!(source.matches(copy(&data), 70_000).unwrap());
        data[69_999] ^= 1;
        assert!(!source.matches(copy(&data), 70_000).unwrap());
    }

    #[test]
    fn readers_of_one_file_do_not_move_each_other() {
        let source = Source::open(None, 10_000, 1).unwrap();
        let (mut one, mut other) = (source.reader(), source.reader());
        let mut first = [0; 100];
        one.read_exact(&mut first).unwrap();
        one.read_exact(&mut [0; 100]).unwrap();
        let mut again = [1; 100];
        other.read_exact(&mut again).unwrap();
        assert_eq!(first, again);
    }

    #[test]
    fn what_is_no_readable_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("missing");
        let error = |file: &Path| Source::open(Some(file), 1, 1).unwrap_err().to_string();
        assert!(error(&missing).contains("missing"), "{}", error(&missing));
        assert!(error(dir.path()).contains("is not a file"), "{}", error(dir.path()));
    }
}
