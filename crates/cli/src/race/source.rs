//! The file that is raced with: the user's, or one that is made.

use anyhow::{Context, ensure};
use blake3::{Hash, Hasher};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The file, and what it holds.
#[derive(Debug)]
pub(super) struct Source {
    /// Where it is.
    pub(super) path: PathBuf,
    /// How large it is.
    pub(super) bytes: u64,
    /// BLAKE3 of all of it.
    pub(super) digest: Hash,
    /// Whether we made it.
    pub(super) made: bool,
}

impl Source {
    /// The user's `file`, or a new one of `size` bytes in `folder`.
    ///
    /// Errors: it cannot be read, or is empty, or no file, or there is no room to make one.
    pub(super) fn open(file: Option<&Path>, folder: &Path, size: u64, seed: u64) -> anyhow::Result<Self> {
        let made = file.is_none();
        let path = match file {
            Some(file) => file.to_owned(),
            None => make(folder.join("source"), size, seed)?,
        };
        let open = || -> io::Result<(u64, bool, Hash)> {
            let metadata = std::fs::metadata(&path)?;
            // A named pipe would have us wait for somebody to write to it.
            let digest = if metadata.is_file() { digest(&path, u64::MAX)? } else { Hash::from_bytes([0; 32]) };
            Ok((metadata.len(), metadata.is_file(), digest))
        };
        let (bytes, is_file, digest) =
            open().with_context(|| format!("cannot read {}: check the name and its permissions", path.display()))?;
        ensure!(is_file, "{} is not a file: name one, or none to race with a file made for it", path.display());
        ensure!(bytes > 0, "{} is empty: there is nothing to move", path.display());
        Ok(Self { path, bytes, digest, made })
    }

    /// Whether `copy` holds exactly the first `bytes` bytes of this file.
    pub(super) fn matches(&self, copy: &Path, bytes: u64) -> io::Result<bool> {
        let expected = if bytes == self.bytes { self.digest } else { digest(&self.path, bytes)? };
        Ok(digest(copy, u64::MAX)? == expected)
    }

    /// A few words for people.
    pub(super) fn describe(&self) -> String {
        let megabytes = self.bytes as f64 / 1e6;
        if self.made {
            format!("{megabytes:.1} MB of random bytes")
        } else {
            format!("{} ({megabytes:.1} MB)", self.path.display())
        }
    }
}

/// BLAKE3 of the first `bytes` bytes of a file, of all of it if it has fewer.
fn digest(file: &Path, bytes: u64) -> io::Result<Hash> {
    let mut hasher = Hasher::new();
    hasher.update_reader(File::open(file)?.take(bytes))?;
    Ok(hasher.finalize())
}

/// Writes a file that no compression on the way could make smaller, the same one for the same seed.
fn make(path: PathBuf, size: u64, seed: u64) -> anyhow::Result<PathBuf> {
    let write = || -> io::Result<()> {
        let mut random = Hasher::new().update(&seed.to_le_bytes()).finalize_xof();
        let mut file = File::create(&path)?;
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
    write().with_context(|| {
        let (folder, megabytes) = (std::env::temp_dir(), size / 1_000_000);
        format!(
            "cannot make a file of {megabytes} MB in {}: choose a smaller one with --size, or another folder with TMPDIR",
            folder.display()
        )
    })?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_file_has_the_size_and_follows_from_the_seed() {
        let dir = tempfile::tempdir().unwrap();
        let make = |size, seed| Source::open(None, dir.path(), size, seed).unwrap();
        let first = make(3_000_001, 1);
        assert_eq!((first.bytes, first.made), (3_000_001, true));
        assert_eq!(make(3_000_001, 1).digest, first.digest);
        assert_ne!(make(3_000_001, 2).digest, first.digest);
    }

    #[test]
    fn a_part_is_verified_against_the_same_part_and_one_bit_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let source = Source::open(None, dir.path(), 100_000, 1).unwrap();
        let mut data = std::fs::read(&source.path).unwrap();
        let copy = dir.path().join("copy");
        data.truncate(70_000);
        std::fs::write(&copy, &data).unwrap();
        assert!(source.matches(&copy, 70_000).unwrap());
        data[69_999] ^= 1;
        std::fs::write(&copy, &data).unwrap();
        assert!(!source.matches(&copy, 70_000).unwrap());
    }

    #[test]
    fn what_is_no_readable_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("missing");
        let error = |file: &Path| format!("{:#}", Source::open(Some(file), dir.path(), 1, 1).unwrap_err());
        assert!(error(&missing).contains("missing"), "{}", error(&missing));
        assert!(error(dir.path()).contains("is not a file"), "{}", error(dir.path()));
    }
}
