//! Files whose size is known only once they are read: those of `/proc` say that they have no bytes, those of `/sys` that they
//! have a page.

use crate::disk;
use crate::version::Version;
use cap_std::fs::{File, Metadata};
use std::io::{self, Read};
use std::sync::Arc;

/// The largest page of any system, and so the most that a file of `/sys` says. A larger file is believed: on a disk its end
/// may be far from its beginning.
const PAGE: u64 = 64 << 10;

/// A file that does not end where its size says. It is read once, from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Unmeasured {
    file: Arc<File>,
    version: Version,
    at: u64,
}

impl Unmeasured {
    /// `file`, if it is one. Blocks.
    ///
    /// Errors: it cannot be read; `PermissionDenied` if it is the kernel that has nothing to say, which no later try changes.
    pub(crate) fn of(file: &Arc<File>) -> io::Result<Option<Self>> {
        let version = Version::of(file)?;
        if version.size > PAGE {
            return Ok(None);
        }
        let mut last = Vec::new();
        let read = disk::append_all_at(file, &mut last, 1, version.size.saturating_sub(1));
        read.map_err(|error| match version.size {
            0 => io::Error::new(io::ErrorKind::PermissionDenied, error),
            _ => error,
        })?;
        let is_as_it_says = last.is_empty() == (version.size == 0);
        // One that another program writes to has a size, which is another by now.
        let is_one = !is_as_it_says && Version::of(file)? == version;
        Ok(is_one.then(|| Self { file: file.clone(), version, at: 0 }))
    }

    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }
}

impl Read for Unmeasured {
    /// Errors: it was written to since it was opened.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = disk::read_at(&self.file, buffer, self.at)?;
        if read == 0 && !buffer.is_empty() && Version::of(&self.file)? != self.version {
            return Err(io::Error::other("it changed while it was read: run the command again"));
        }
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(path: &std::path::Path) -> Option<Unmeasured> {
        Unmeasured::of(&Arc::new(File::from_std(std::fs::File::open(path).unwrap()))).unwrap()
    }

    #[test]
    fn an_ordinary_file_is_as_long_as_it_says() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        for size in [0, 1, 4096, PAGE as usize, PAGE as usize + 1] {
            std::fs::write(&path, vec![0; size]).unwrap();
            assert!(opened(&path).is_none(), "{size}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn files_of_the_kernel_are_read_to_their_ends() {
        for path in
            ["/proc/version", "/proc/self/maps", "/sys/class/net/lo/mtu", "/sys/kernel/mm/transparent_hugepage/enabled"]
        {
            let Ok(expected) = std::fs::read(path) else { continue };
            let mut content = Vec::new();
            opened(path.as_ref()).unwrap_or_else(|| panic!("{path}")).read_to_end(&mut content).unwrap();
            // Others may change what they say, as this process changes its maps.
            assert!(!content.is_empty() && (path.ends_with("maps") || content == expected), "{path}");
        }
    }
}
