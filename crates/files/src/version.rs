//! Which version of a file is there: what strong entity tags are made of, and what tells that a file is another one.

#[cfg(windows)]
mod windows;

use cap_std::fs::File;
use core::time::Duration;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

/// Identifies the content of a file on this computer: another content has another version.
///
/// The time of the last change of the inode (ctime) alone tells versions apart, and no program can set it back. The
/// rest is for file systems that keep it coarsely or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Version {
    device: u64,
    inode: u64,
    /// Bytes.
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    modified: i128,
    changed: i128,
}

/// Two changes within one tick of the kernel's clock (at most 10 ms) bear the same time.
const TICK: Duration = Duration::from_millis(20);

impl Version {
    #[cfg(unix)]
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        use cap_std::fs::MetadataExt;
        let metadata = file.metadata()?;
        let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// The version of an open file that may be trusted: a file changed a moment ago could change again within the same
    /// tick, unnoticed, so this waits until that has passed. Blocks, for 20 ms at most; `None` if the file was changed
    /// again meanwhile.
    pub(crate) fn settled(file: &File) -> io::Result<Option<Self>> {
        let version = Self::of(file)?;
        let age = version.age();
        if age >= TICK {
            return Ok(Some(version));
        }
        std::thread::sleep(TICK - age);
        Ok((Self::of(file)? == version).then_some(version))
    }

    /// Whether only the time of the last change of the inode differs. A new name (`ln`) or other permissions do that, and
    /// so does whoever rewrites the file and sets its time of modification back: the bytes tell, nothing else does.
    pub(crate) fn may_hold_the_same_as(&self, other: &Self) -> bool {
        Self { changed: other.changed, ..*self } == *other
    }

    /// Time since the last change; a change in the future, from a clock that was set back, counts as old.
    fn age(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let changed = u64::try_from(self.changed).map_or(Duration::ZERO, Duration::from_nanos);
        now.checked_sub(changed).unwrap_or(TICK)
    }

    /// A strong entity tag (RFC 9110 §8.8.3).
    pub(crate) fn etag(&self) -> String {
        let Self { device, inode, size, modified, changed } = self;
        format!("\"{size:x}-{modified:x}-{changed:x}-{inode:x}.{device:x}\"")
    }

    /// When the content was last modified.
    pub(crate) fn modified(&self) -> SystemTime {
        u64::try_from(self.modified).map_or(UNIX_EPOCH, |nanos| UNIX_EPOCH + Duration::from_nanos(nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;
    use cap_std::fs::Dir;
    use std::io::Write;

    #[test]
    fn every_change_gives_another_tag_even_within_one_tick() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap();
        let mut tags = std::collections::HashSet::new();
        for round in 0..20u8 {
            let mut file = dir.create("file").unwrap();
            file.write_all(&[round; 10]).unwrap();
            let version = Version::settled(&dir.open("file").unwrap()).unwrap().unwrap();
            assert!(tags.insert(version.etag()), "round {round}");
        }
    }

    #[test]
    fn setting_the_modification_time_back_gives_another_tag() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "abc").unwrap();
        let version = || Version::settled(&File::from_std(std::fs::File::open(&path).unwrap())).unwrap().unwrap();
        let before = version();
        std::fs::write(&path, "xyz").unwrap();
        std::fs::File::open(&path).unwrap().set_modified(before.modified()).unwrap();
        assert_eq!(version().modified(), before.modified());
        assert_ne!(version().etag(), before.etag());
    }
}
