//! The served directory, and no way out of it.

use super::path::SafePath;
use super::start_error::StartError;
use crate::attributes::Attributes;
use crate::disk;
use crate::extended::{self, Kinds};
use crate::unmeasured::Unmeasured;
use crate::version::Version;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use core::time::Duration;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// A directory that is opened once; everything else is opened relative to it by the system, which follows symbolic
/// links only as long as they stay below.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    dir: Arc<Dir>,
    /// The one file of it that is served, where not all of it is.
    only: Option<Arc<Path>>,
}

/// The thing that a path leads to.
#[derive(Debug)]
pub(super) enum Found {
    /// A regular file.
    File(Opened),
    /// A regular file of the kernel, whose size nobody knows.
    Unmeasured(Unmeasured),
    /// A directory.
    Directory(Dir),
    /// A device, a socket or a pipe: never opened, since that alone can have effects.
    Other,
}

/// A file to be sent.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    pub(super) file: Arc<File>,
    /// `None` if it is being written to right now.
    pub(super) version: Option<Version>,
    /// Its size when it was opened.
    pub(super) size: u64,
}

/// A kernel writes down the time of a change before the size that it gives, and a writer may be interrupted in between,
/// on a busy host for long: a log that grows would pass for a file that was rewritten.
const WRITE: Duration = Duration::from_secs(1);

/// The fate of an open file since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing happened to it.
    Same,
    /// It is longer.
    Grown,
    /// Its times can't tell whether it holds what it held. It was being written to when it was opened, or only the time of
    /// the inode's last change differs. `chmod` and `ln` do that, and a rewrite whose time of modification was set back.
    Unsettled,
    /// It is another.
    Changed,
}

impl Root {
    /// A directory, or one file and nothing beside it.
    ///
    /// Errors: it is neither, or not ours to read.
    pub(crate) fn open(path: &Path) -> Result<Self, StartError> {
        match path.file_name() {
            Some(name) if path.is_file() => Self::open_file(path, Path::new(name)),
            _ => Self::open_dir(path),
        }
    }

    fn open_dir(path: &Path) -> Result<Self, StartError> {
        let dir = Dir::open_ambient_dir(path, ambient_authority());
        let dir = dir.map_err(|source| StartError::Directory { path: path.to_owned(), source })?;
        Ok(Self { dir: Arc::new(dir), only: None })
    }

    fn open_file(path: &Path, name: &Path) -> Result<Self, StartError> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let root = Self { only: Some(name.into()), ..Self::open_dir(parent)? };
        root.dir.open(name).map_err(|source| {
            let (path, is_link) = (path.to_owned(), path.is_symlink());
            StartError::File { path, is_link, source }
        })?;
        Ok(root)
    }

    /// The directory itself, from which nothing above it can be reached.
    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// The text of the link at `path`, if it is one. Blocks.
    pub(super) fn link_at(&self, path: &SafePath) -> Option<String> {
        let relative = path.to_path();
        let is_served = self.only.as_deref().is_none_or(|only| only == relative);
        let target = is_served.then(|| self.dir.read_link_contents(&relative).ok())??;
        target.into_os_string().into_string().ok()
    }

    /// Opens what `path` leads to. Blocks.
    pub(super) fn find(&self, path: &SafePath) -> io::Result<Found> {
        let relative = path.to_path();
        if self.only.as_deref().is_some_and(|only| only != relative) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let kind = self.dir.metadata(&relative)?;
        if kind.is_dir() {
            return self.dir.open_dir(&relative).map(Found::Directory);
        }
        if !kind.is_file() {
            return Ok(Found::Other);
        }
        let mut options = OpenOptions::new();
        options.read(true);
        // It may have become a pipe since we looked: opening that must not block.
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
        let file = self.dir.open_with(&relative, &options)?;
        if !file.metadata()?.is_file() {
            return Ok(Found::Other);
        }
        let file = Arc::new(file);
        if let Some(unmeasured) = Unmeasured::of(&file)? {
            return Ok(Found::Unmeasured(unmeasured));
        }
        let version = Version::settled(&file)?;
        let size =
            version.map_or_else(|| file.metadata().map(|metadata| metadata.len()), |version| Ok(version.size))?;
        Ok(Found::File(Opened { file, version, size }))
    }
}

impl Opened {
    /// The attributes that `-a` keeps of it.
    pub(super) fn attributes(&self, kinds: Kinds) -> Attributes {
        let found = self.file.metadata().map(|found| Attributes::within(&found)).unwrap_or_default();
        Attributes { extended: extended::of(&self.file, kinds), ..found }.with_room()
    }

    /// The present state of the file. Blocks, for [`WRITE`] where it seems to be another of the same length.
    pub(super) fn standing(&self) -> io::Result<Standing> {
        let begun = Instant::now();
        loop {
            match self.judge(Version::of(&self.file)?) {
                Some(standing) => return Ok(standing),
                None if begun.elapsed() >= WRITE => return Ok(Standing::Changed),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// The standing of the file with this version. `None`: another of the same length, or one whose new length is still to come.
    fn judge(&self, now: Version) -> Option<Standing> {
        match self.version {
            Some(version) if now == version => Some(Standing::Same),
            Some(version) if now.may_hold_the_same_as(&version) => Some(Standing::Unsettled),
            _ if now.size > self.size => Some(Standing::Grown),
            None if now.size == self.size => Some(Standing::Unsettled),
            Some(_) if now.size == self.size => None,
            _ => Some(Standing::Changed),
        }
    }

    /// The same file with a version, if its writers let it rest. Blocks, for 20 ms at most.
    pub(super) fn settle(&self) -> io::Result<Option<Self>> {
        let version = Version::settled(&self.file)?.filter(|version| version.size == self.size);
        Ok(version.map(|version| Self { version: Some(version), ..self.clone() }))
    }

    /// Puts `wanted` bytes from `offset` on into `buffer`, fewer only at the end of the file, in place of what it holds. Blocks.
    pub(super) fn read(&self, offset: u64, buffer: &mut Vec<u8>, wanted: usize) -> io::Result<()> {
        buffer.clear();
        self.append(offset, buffer, wanted)
    }

    /// The same, behind what it holds. Blocks.
    pub(super) fn append(&self, offset: u64, buffer: &mut Vec<u8>, wanted: usize) -> io::Result<()> {
        disk::append_all_at(&self.file, buffer, wanted, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// `secret` beside the served directory `served`, which holds `inside/file` and the links that the test makes.
    fn served() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("secret"), "secret").unwrap();
        std::fs::create_dir_all(dir.path().join("served/inside")).unwrap();
        std::fs::write(dir.path().join("served/inside/file"), "public").unwrap();
        let root = Root::open(&dir.path().join("served")).unwrap();
        (dir, root)
    }

    fn find(root: &Root, path: &str) -> io::Result<Found> {
        root.find(&SafePath::parse(path).unwrap())
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_directory_is_told_what_would_be() {
        let (dir, _root) = served();
        std::os::unix::fs::symlink("../secret", dir.path().join("served/out")).unwrap();
        for (name, remedy) in [("served/out", "name the file that the link leads to"), ("nothing", "`mkdir` it first")]
        {
            let wrong = Root::open(&dir.path().join(name)).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(wrong.contains(remedy), "{wrong}");
        }
    }

    #[test]
    fn one_file_is_served_and_nothing_beside_it() {
        let (dir, _root) = served();
        let inside = dir.path().join("served/inside");
        std::fs::write(inside.join("other"), "other").unwrap();
        let root = Root::open(&inside.join("file")).unwrap();
        let find = |path: &str| root.find(&SafePath::parse(path).unwrap());
        assert!(matches!(find("/file"), Ok(Found::File(_))));
        for path in ["/", "/other", "/file/x", "/inside/file"] {
            assert_eq!(find(path).err().map(|error| error.kind()), Some(io::ErrorKind::NotFound), "{path}");
        }
    }

    #[test]
    fn links_are_followed_inside_and_refused_outside() {
        let (dir, root) = served();
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, dir.path().join("served").join(name)).unwrap()
        };
        link("inside/file", "good");
        link("../secret", "relative");
        link(dir.path().join("secret").to_str().unwrap(), "absolute");
        link("..", "up");
        link("/proc/self/root", "magic");
        link("loop", "loop");
        assert!(matches!(find(&root, "/good").unwrap(), Found::File(_)));
        for outside in ["/relative", "/absolute", "/up/secret", "/up/served/inside/file", "/magic/etc/passwd", "/loop"]
        {
            assert!(find(&root, outside).is_err(), "{outside}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_swapped_for_a_link_leads_nobody_outside() {
        let (dir, root) = served();
        let (served, done) = (dir.path().join("served"), AtomicBool::new(false));
        std::fs::create_dir(dir.path().join("outside")).unwrap();
        std::fs::write(dir.path().join("outside/file"), "secret").unwrap();
        std::os::unix::fs::symlink("../outside", served.join("link")).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (inside, link, aside) = (served.join("inside"), served.join("link"), served.join("aside"));
                while !done.load(Ordering::Relaxed) {
                    for [from, to] in [[&inside, &aside], [&link, &inside], [&inside, &link], [&aside, &inside]] {
                        std::fs::rename(from, to).unwrap();
                    }
                }
            });
            let (mut opened, mut refused, mut wrong) = (0, 0, None);
            while wrong.is_none() && (opened + refused < 20_000 || opened == 0 || refused == 0) {
                match find(&root, "/inside/file") {
                    Ok(Found::File(file)) => {
                        let mut buffer = Vec::new();
                        let _ = file.read(0, &mut buffer, 100);
                        wrong = (buffer != b"public").then_some(buffer);
                        opened += 1;
                    }
                    Ok(found) => wrong = Some(format!("{found:?}").into_bytes()),
                    Err(_) => refused += 1,
                }
            }
            done.store(true, Ordering::Relaxed);
            assert_eq!(wrong, None, "after {opened} that were right");
        });
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_neither_read_nor_waited_for() {
        let (dir, root) = served();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            dir.path().join("served/pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert!(matches!(find(&root, "/pipe").unwrap(), Found::Other));
    }

    #[test]
    fn a_change_is_noticed_on_the_open_file() {
        let (dir, root) = served();
        let Found::File(opened) = find(&root, "/inside/file").unwrap() else { panic!("not a file") };
        assert_eq!(opened.standing().unwrap(), Standing::Same);
        let mut buffer = b"what was there".to_vec();
        opened.read(3, &mut buffer, 100).unwrap();
        assert_eq!(buffer, b"lic");
        opened.read(1, &mut buffer, 2).unwrap();
        assert_eq!(buffer, b"ub", "no more than was wanted, whatever room there is");
        std::fs::write(dir.path().join("served/inside/file"), "public").unwrap();
        assert_eq!(opened.standing().unwrap(), Standing::Changed);
        std::fs::write(dir.path().join("served/inside/file"), "public, and more").unwrap();
        assert_eq!(opened.standing().unwrap(), Standing::Grown);
    }

    #[test]
    fn a_log_whose_time_is_written_before_its_size_is_no_other_file() {
        let (dir, root) = served();
        let Found::File(opened) = find(&root, "/inside/file").unwrap() else { panic!("not a file") };
        let mut file = std::fs::File::options().append(true).open(dir.path().join("served/inside/file")).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        let judged = || opened.judge(Version::of(&opened.file).unwrap());
        assert_eq!(judged(), None, "its length may be still to come");
        file.write_all(b", and more").unwrap();
        assert_eq!(judged(), Some(Standing::Grown));
    }
}
