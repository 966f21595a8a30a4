//! A file that takes the place of another keeps its permissions.

#[cfg(unix)]
use rustix::fs::{AtFlags, CWD, FileType, Mode, RawMode, fchmod, statat};
#[cfg(unix)]
use std::os::fd::AsFd;
use std::path::Path;

/// The permissions of a file that is to be replaced, if there is one.
///
/// Not what lets it run as its owner: that was said of other contents, and of an owner who may be another.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(windows, allow(dead_code, reason = "there they belong to the directory"))]
pub struct Permissions(#[cfg(unix)] Option<Mode>);

impl Permissions {
    /// The permissions of owner, group and others. Nothing that lets a program run as its owner or its group comes from another
    /// computer, or goes there.
    pub(crate) const MASK: u32 = 0o777;

    /// The permissions of a new directory until everything is in it, where it gets others then: nobody but its owner sees what comes.
    pub(crate) const OWNER_ALONE: u32 = 0o700;
}

#[cfg(unix)]
impl Permissions {
    /// The permissions of the plain file at `path`.
    pub fn of(path: &Path) -> Self {
        Self::within(CWD, path)
    }

    /// Those of the plain file at `path`, seen from `dir`.
    pub(crate) fn within(dir: impl AsFd, path: &Path) -> Self {
        let found = statat(dir, path, AtFlags::SYMLINK_NOFOLLOW).ok();
        let file = found.filter(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile);
        let mask = Mode::from_raw_mode(Self::MASK as RawMode);
        Self(file.map(|file| Mode::from_raw_mode(file.st_mode) & mask))
    }

    /// Those that somebody names, if anybody does.
    pub(crate) fn named(mode: Option<u32>) -> Self {
        Self(mode.map(|mode| Mode::from_raw_mode((mode & Self::MASK) as RawMode)))
    }

    /// These, or else the others.
    pub(crate) fn or(self, others: Self) -> Self {
        Self(self.0.or(others.0))
    }

    /// As `chmod` takes them, if there are any.
    #[allow(clippy::useless_conversion, reason = "on macOS a mode has 16 bits")]
    pub(crate) fn mode(self) -> Option<u32> {
        self.0.map(|mode| mode.as_raw_mode().into())
    }

    /// Gives them to what will take its place, which we go on writing to.
    pub fn protect(self, file: impl AsFd) {
        self.set(file, Mode::RUSR | Mode::WUSR);
    }

    /// Gives them to what takes its place now.
    pub fn give(self, file: impl AsFd) {
        self.set(file, Mode::empty());
    }

    /// The same, and says so if it cannot be.
    pub(crate) fn try_give(self, file: impl AsFd) -> std::io::Result<()> {
        self.0.map_or(Ok(()), |mode| fchmod(file, mode).map_err(Into::into))
    }

    /// Makes a directory that has no others from the first moment; the usual ones if there are none.
    ///
    /// Errors: as of `mkdir`.
    pub(crate) fn make_dir(self, path: &Path) -> std::io::Result<()> {
        use std::os::unix::fs::DirBuilderExt;
        let mut builder = std::fs::DirBuilder::new();
        if let Some(mode) = self.mode() {
            builder.mode(mode);
        }
        builder.create(path)
    }

    /// The same, of a path below `dir`.
    pub(crate) fn make_dir_within(self, dir: &cap_std::fs::Dir, path: &Path) -> std::io::Result<()> {
        use cap_std::fs::DirBuilderExt;
        let mut builder = cap_std::fs::DirBuilder::new();
        if let Some(mode) = self.mode() {
            builder.mode(mode);
        }
        dir.create_dir_with(path, &builder)
    }

    fn set(self, file: impl AsFd, ours: Mode) {
        if let Err(error) = Self(self.0.map(|mode| mode | ours)).try_give(file) {
            // There are file systems without any.
            tracing::debug!(%error, "the permissions are not kept");
        }
    }
}

#[cfg(windows)]
impl Permissions {
    pub fn of(_: &Path) -> Self {
        Self()
    }

    pub(crate) fn within<D>(_: D, _: &Path) -> Self {
        Self()
    }

    pub(crate) fn named(_: Option<u32>) -> Self {
        Self()
    }

    pub(crate) fn or(self, _: Self) -> Self {
        self
    }

    pub(crate) fn mode(self) -> Option<u32> {
        None
    }

    pub fn protect<F>(self, _: F) {}

    pub fn give<F>(self, _: F) {}

    pub(crate) fn try_give<F>(self, _: F) -> std::io::Result<()> {
        Ok(())
    }

    pub(crate) fn make_dir(self, path: &Path) -> std::io::Result<()> {
        std::fs::create_dir(path)
    }

    pub(crate) fn make_dir_within(self, dir: &cap_std::fs::Dir, path: &Path) -> std::io::Result<()> {
        dir.create_dir(path)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_replaced_file_keeps_its_mode_without_setuid() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        let made = std::fs::File::create(&new).unwrap();
        let mode = || new.metadata().unwrap().permissions().mode() & 0o7777;
        let usual = mode();
        Permissions::of(&old).give(&made);
        assert_eq!(mode(), usual, "nothing is replaced");
        std::fs::write(&old, "").unwrap();
        for (replaced, protected, given) in [(0o600, 0o600, 0o600), (0o4755, 0o755, 0o755), (0o440, 0o640, 0o440)] {
            std::fs::set_permissions(&old, PermissionsExt::from_mode(replaced)).unwrap();
            let found = Permissions::of(&old);
            found.protect(&made);
            assert_eq!(mode(), protected, "of {replaced:o}");
            found.give(&made);
            assert_eq!(mode(), given, "of {replaced:o}");
        }
        std::os::unix::fs::symlink("old", dir.path().join("link")).unwrap();
        assert!(Permissions::of(&dir.path().join("link")).0.is_none(), "a link's say nothing");
    }

    #[test]
    fn a_directory_is_private_from_the_first_moment() {
        let top = tempfile::tempdir().unwrap();
        let within = cap_std::fs::Dir::open_ambient_dir(top.path(), cap_std::ambient_authority()).unwrap();
        let mode = |name: &str| top.path().join(name).metadata().unwrap().permissions().mode() & 0o7777;
        std::fs::create_dir(top.path().join("usual")).unwrap();
        for (wanted, expected) in [(Some(Permissions::OWNER_ALONE), 0o700), (None, mode("usual"))] {
            let permissions = Permissions::named(wanted);
            permissions.make_dir(&top.path().join("a")).unwrap();
            permissions.make_dir_within(&within, Path::new("b")).unwrap();
            assert_eq!((mode("a"), mode("b")), (expected, expected), "{wanted:?}");
            assert!(permissions.make_dir(&top.path().join("a")).is_err(), "it is there");
            for name in ["a", "b"] {
                std::fs::remove_dir(top.path().join(name)).unwrap();
            }
        }
    }
}
