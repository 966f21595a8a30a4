//! A file that is being uploaded: it has a hidden name in its directory until all of it is there and proven right.

use super::refused::Refused;
use crate::attributes::Attributes;
use crate::choice::Backup;
use crate::disk;
use crate::inherited::inherit_within;
use crate::ours::is_ours;
use crate::permissions::Permissions;
use crate::serve::path::{HIDDEN_PREFIX, SafePath, is_hidden};
use crate::serve::root::Root;
use crate::serve::token::Token;
use crate::sparse;
use crate::version::Version;
use blake3::{Hash, Hasher};
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, File, OpenOptions};
use core::time::Duration;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// An unfinished upload that nobody continued for so long is removed when something is uploaded beside it.
pub(super) const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Read at once for hashing.
const CHUNK: usize = 1 << 20;

/// The part of a file that has arrived.
pub(super) struct Partial {
    dir: Dir,
    hidden: String,
    name: String,
    file: File,
    size: u64,
    /// The digest of all that is in the file; `None` if that was not read since the server started.
    hasher: Option<Hasher>,
    /// Stretches of zeros take no room.
    sparse: bool,
}

/// Why an upload could not be completed.
#[derive(Debug, thiserror::Error)]
pub(super) enum FinishError {
    #[error("the digest is {found}, not {expected}: what arrived is damaged and was dropped; send it again")]
    Damaged { expected: Hash, found: Hash },
    #[error(transparent)]
    Disk(#[from] io::Error),
}

impl Partial {
    /// The one of this upload, if there is one. Blocks.
    pub(super) fn find(root: &Root, path: &SafePath, id: &str) -> io::Result<Option<Self>> {
        let (hidden, name) = names(path, id)?;
        let dir = match root.dir().open_dir(path.parent()) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match dir.open_with(&hidden, &in_place(OpenOptions::new().read(true).write(true))) {
            // Others may have put theirs there, in a directory where they can write.
            Ok(file) if !is_ours(&file.try_clone()?.into_std().metadata()?, || nameless(&dir))? => Ok(None),
            Ok(file) => {
                let size = file.metadata()?.len();
                let hasher = (size == 0).then(Hasher::new);
                Ok(Some(Self { dir, hidden, name, file, size, hasher, sparse: false }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(_) if dir.symlink_metadata(&hidden).is_ok_and(|found| !found.is_file()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A new one; directories above it are made. Nothing is reserved for it, since whoever announces much may send
    /// little. Blocks.
    ///
    /// Errors: of the file system; `IsADirectory` if a directory has the name, [`Refused::Special`] if something else has it
    /// that is no file; `StorageFull` if a known `length` has no room now.
    pub(super) fn create(
        root: &Root,
        path: &SafePath,
        id: &str,
        length: Option<u64>,
        attributes: Attributes,
    ) -> io::Result<Self> {
        let (hidden, name) = names(path, id)?;
        root.dir().create_dir_all(path.parent())?;
        let dir = root.dir().open_dir(path.parent())?;
        is_free(&dir, &name)?;
        let options = in_place(OpenOptions::new().read(true).write(true).create_new(true));
        let file = match dir.open_with(&hidden, &options) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                dir.remove_file(&hidden)?; // no upload of ours
                dir.open_with(&hidden, &options)?
            }
            file => file?,
        };
        let partial = Self { dir, hidden, name, file, size: 0, hasher: Some(Hasher::new()), sparse: false };
        // A private file is private as soon as there is something in it.
        partial.protect(&attributes);
        if let Some(length) = length
            && let Err(error) = disk::has_room(&partial.file, length)
        {
            partial.discard();
            return Err(error);
        }
        Ok(partial)
    }

    /// The same, in which stretches of zeros take no room.
    pub(super) fn sparsely(mut self, sparse: bool) -> Self {
        self.sparse = sparse;
        self
    }

    /// Bytes that have arrived.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Continues the hash of an earlier request, if it covers exactly what is there.
    pub(super) fn adopt(&mut self, hasher: Option<Hasher>) {
        if let Some(hasher) = hasher.filter(|hasher| hasher.count() == self.size) {
            self.hasher = Some(hasher);
        }
    }

    /// For the next request.
    pub(super) fn hasher(&self) -> Option<Hasher> {
        self.hasher.clone()
    }

    /// Gives the file its attributes, if its digest is the expected one. Afterwards it is on the disk. Blocks.
    pub(super) fn prove(&self, expected: Option<Hash>, attributes: &Attributes) -> Result<Hash, FinishError> {
        let found = match &self.hasher {
            Some(hasher) => hasher.finalize(),
            None => self.read_hash()?,
        };
        if let Some(expected) = expected
            && found != expected
        {
            self.discard();
            return Err(FinishError::Damaged { expected, found });
        }
        if attributes.modified.is_some() {
            let modified = Attributes { modified: attributes.modified, ..Attributes::default() };
            if let Err(error) =
                self.file.try_clone().and_then(|file| modified.give(&file.into_std(), Path::new(&self.name)))
            {
                // Not every file system keeps every time, and the content is right without it.
                tracing::debug!(%error, "the time of modification is another");
            }
        }
        let (replaced, permissions) = (Path::new(&self.name), self.permissions(attributes));
        inherit_within(&self.dir, replaced, &attributes.extended, permissions, &self.file);
        let given = self.file.try_clone().and_then(|file| attributes.give_owners(&file.into_std()));
        if let Err(error) = given {
            tracing::debug!(%error, "owner and group are not kept");
        }
        self.file.sync_all()?;
        Ok(found)
    }

    /// Gives it its name, and answers whether that was free. The file that has it may be kept under another. Blocks.
    pub(super) fn take_name(&self, backup: Option<&Backup>) -> io::Result<bool> {
        let is_new = is_free(&self.dir, &self.name)?;
        if let Some(backup) = backup.filter(|_| !is_new) {
            keep(&self.dir, &self.name, backup)?;
        }
        self.dir.rename(&self.hidden, &self.dir, &self.name)?;
        Ok(is_new)
    }

    /// Makes sure that it has its name for good. Blocks.
    pub(super) fn keep_name(&self) -> io::Result<Version> {
        disk::sync_dir(&self.dir)?;
        Version::of(&self.file)
    }

    /// Gives it the permissions that it has until it is whole.
    pub(super) fn protect(&self, attributes: &Attributes) {
        let replaced = Permissions::within(&self.dir, Path::new(&self.name));
        attributes.permissions_of_part().or(replaced).protect(&self.file);
    }

    /// The permissions: those that the client names, or else those of the file that has the name now.
    fn permissions(&self, attributes: &Attributes) -> Permissions {
        attributes.permissions().or(Permissions::within(&self.dir, Path::new(&self.name)))
    }

    fn read_hash(&self) -> io::Result<Hash> {
        let mut hasher = Hasher::new();
        let mut buffer = vec![0; CHUNK];
        loop {
            match disk::read_at(&self.file, &mut buffer, hasher.count()) {
                Ok(0) => return Ok(hasher.finalize()),
                Ok(read) => hasher.update(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
        }
    }

    /// Removes it.
    pub(super) fn discard(&self) {
        if let Err(error) = self.dir.remove_file(&self.hidden) {
            tracing::warn!(%error, name = self.hidden, "could not remove an unfinished upload");
        }
    }

    /// Removes what nobody continued for [`KEPT`] from the directory around it, and answers the names of the others. Blocks.
    pub(super) fn sweep(&self) -> io::Result<Vec<PathBuf>> {
        let mut others = Vec::new();
        for entry in self.dir.entries()? {
            let entry = entry?;
            let name = entry.file_name();
            if !name.to_string_lossy().starts_with(HIDDEN_PREFIX) {
                continue;
            }
            let modified = entry.metadata()?.modified()?.into_std();
            if SystemTime::now().duration_since(modified).is_ok_and(|age| age > KEPT) {
                tracing::info!(name = %name.to_string_lossy(), "an old unfinished upload was removed");
                self.dir.remove_file(&name)?;
            } else {
                others.push(name.into());
            }
        }
        Ok(others)
    }
}

impl Write for Partial {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = if self.sparse {
            sparse::append(&self.file, data, self.size, |data, at| disk::write_at(&self.file, data, at))?
        } else {
            disk::write_at(&self.file, data, self.size)?
        };
        if let (Some(hasher), Some(written)) = (&mut self.hasher, data.get(..written)) {
            hasher.update(written);
        }
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Gives the file or the link with this name a second one, in place of what has that.
pub(super) fn keep(dir: &Dir, name: &str, backup: &Backup) -> io::Result<()> {
    let second = backup.place(Path::new(name)).ok_or(io::ErrorKind::InvalidFilename)?;
    if second.to_str().is_none_or(is_hidden) {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    is_free(dir, &second.to_string_lossy())?;
    let _ = dir.remove_file(&second);
    dir.hard_link(name, dir, &second).or_else(|_| dir.rename(name, dir, &second))
}

/// Whether nothing has the name; otherwise what has it can be replaced by a file.
fn is_free(dir: &Dir, name: &str) -> io::Result<bool> {
    match dir.symlink_metadata(name) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if found.is_file() || found.is_symlink() => Ok(false),
        Ok(_) => Err(Refused::Special.into()),
        Err(_) => Ok(true),
    }
}

/// Where an upload waits, below the served directory.
pub(super) fn hidden(path: &SafePath, id: &str) -> io::Result<PathBuf> {
    Ok(path.parent().join(names(path, id)?.0))
}

/// Options for what is there itself, not by way of a link, and without waiting for the other end of a pipe.
fn in_place(options: &mut OpenOptions) -> OpenOptions {
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::custom_flags(options, libc::O_NONBLOCK);
    options.follow(FollowSymlinks::No).clone()
}

/// A file in `dir` that nobody finds.
fn nameless(dir: &Dir) -> io::Result<std::fs::File> {
    let (_, unique) = Token::generate().map_err(io::Error::other)?;
    let name = format!("{HIDDEN_PREFIX}{unique}");
    let file = dir.open_with(&name, OpenOptions::new().write(true).create_new(true))?;
    dir.remove_file(&name)?;
    Ok(file.into_std())
}

/// The hidden name of an upload and the final one. The hidden one is always short, however long the other is.
fn names(path: &SafePath, id: &str) -> io::Result<(String, String)> {
    let name = path.name().ok_or(io::ErrorKind::IsADirectory)?;
    let unique = blake3::hash(format!("{id}/{name}").as_bytes()).to_hex();
    Ok((format!("{HIDDEN_PREFIX}{}", &unique[..32]), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        (dir, root)
    }

    fn path(text: &str) -> SafePath {
        SafePath::parse(text).unwrap()
    }

    impl Partial {
        fn finish(&self, expected: Option<Hash>, attributes: Attributes) -> Result<bool, FinishError> {
            self.prove(expected, &attributes)?;
            let is_new = self.take_name(None)?;
            self.keep_name()?;
            Ok(is_new)
        }
    }

    #[test]
    fn the_final_name_appears_only_when_the_digest_is_right() {
        let (dir, root) = served();
        let mut partial = Partial::create(&root, &path("/new/file"), "id", Some(5), Attributes::default()).unwrap();
        partial.write_all(b"hello").unwrap();
        assert!(!dir.path().join("new/file").exists());
        partial.finish(Some(blake3::hash(b"hello")), Attributes::default()).unwrap();
        assert_eq!(std::fs::read(dir.path().join("new/file")).unwrap(), b"hello");
        assert_eq!(std::fs::read_dir(dir.path().join("new")).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn a_wrong_digest_leaves_nothing_and_keeps_the_old_file() {
        let (dir, root) = served();
        std::fs::write(dir.path().join("file"), "old").unwrap();
        let mut partial = Partial::create(&root, &path("/file"), "id", None, Attributes::default()).unwrap();
        partial.write_all(b"hello").unwrap();
        let error = partial.finish(Some(blake3::hash(b"other")), Attributes::default()).unwrap_err();
        assert!(matches!(error, FinishError::Damaged { .. }), "{error}");
        assert_eq!(std::fs::read(dir.path().join("file")).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_upload_is_continued_by_its_id_and_verified_as_a_whole() {
        let (dir, root) = served();
        let mut partial = Partial::create(&root, &path("/file"), "id", None, Attributes::default()).unwrap();
        partial.write_all(b"hel").unwrap();
        drop(partial);
        assert!(Partial::find(&root, &path("/file"), "another").unwrap().is_none());
        let mut partial = Partial::find(&root, &path("/file"), "id").unwrap().unwrap();
        assert_eq!(partial.size(), 3);
        partial.write_all(b"lo").unwrap();
        partial.finish(Some(blake3::hash(b"hello")), Attributes::default()).unwrap();
        assert_eq!(std::fs::read(dir.path().join("file")).unwrap(), b"hello");
    }

    #[test]
    fn a_flipped_byte_in_the_partial_file_is_found() {
        let (dir, root) = served();
        let mut partial = Partial::create(&root, &path("/file"), "id", None, Attributes::default()).unwrap();
        partial.write_all(b"hel").unwrap();
        let hidden = dir.path().join(&partial.hidden);
        drop(partial);
        std::fs::write(hidden, "hEl").unwrap();
        let mut partial = Partial::find(&root, &path("/file"), "id").unwrap().unwrap();
        partial.write_all(b"lo").unwrap();
        assert!(matches!(
            partial.finish(Some(blake3::hash(b"hello")), Attributes::default()),
            Err(FinishError::Damaged { .. })
        ));
    }

    #[test]
    fn a_directory_is_not_replaced_by_a_file() {
        let (dir, root) = served();
        std::fs::create_dir(dir.path().join("name")).unwrap();
        let error = Partial::create(&root, &path("/name"), "id", None, Attributes::default()).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_not_replaced_by_a_file() {
        let (dir, root) = served();
        let pipe = || {
            let (fifo, rights) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
            rustix::fs::mknodat(rustix::fs::CWD, dir.path().join("name"), fifo, rights, 0).unwrap();
        };
        let create = || Partial::create(&root, &path("/name"), "id", None, Attributes::default());
        let partial = create().unwrap();
        pipe();
        let Err(FinishError::Disk(late)) = partial.finish(None, Attributes::default()) else { panic!("it came later") };
        let refused = [create().err().unwrap(), late].map(|error| Refused::within(&error));
        assert_eq!(refused, [Some(Refused::Special); 2]);
    }

    #[test]
    fn the_longest_name_can_be_uploaded() {
        let (dir, root) = served();
        let name = "n".repeat(255);
        Partial::create(&root, &path(&format!("/{name}")), "id", None, Attributes::default())
            .unwrap()
            .finish(None, Attributes::default())
            .unwrap();
        assert!(dir.path().join(name).exists());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_announced_takes_no_room_and_what_has_none_is_refused() {
        use std::os::unix::fs::MetadataExt;
        let (dir, root) = served();
        let partial = Partial::create(&root, &path("/file"), "id", Some(8 << 20), Attributes::default()).unwrap();
        assert_eq!(std::fs::metadata(dir.path().join(&partial.hidden)).unwrap().blocks(), 0);
        let error = Partial::create(&root, &path("/huge"), "id", Some(u64::MAX), Attributes::default()).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left of it");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_to_be_private_is_so_from_its_first_byte() {
        use std::os::unix::fs::PermissionsExt;
        let (dir, root) = served();
        let attributes = Attributes { mode: Some(0o400), ..Attributes::default() };
        let mut partial = Partial::create(&root, &path("/file"), "id", None, attributes.clone()).unwrap();
        let mode = |name: &str| dir.path().join(name).metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&partial.hidden), 0o600);
        partial.write_all(b"hello").unwrap();
        partial.finish(None, attributes).unwrap();
        assert_eq!(mode("file"), 0o400);
    }

    #[cfg(unix)]
    #[test]
    fn links_do_not_lead_an_upload_outside() {
        let (dir, root) = served();
        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).unwrap();
        assert!(Partial::create(&root, &path("/link/file"), "id", None, Attributes::default()).is_err());
        std::os::unix::fs::symlink(outside.path().join("target"), dir.path().join("name")).unwrap();
        Partial::create(&root, &path("/name"), "id", None, Attributes::default())
            .unwrap()
            .finish(None, Attributes::default())
            .unwrap();
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0, "the link was replaced, not followed");
    }

    #[cfg(unix)]
    #[test]
    fn what_others_put_under_a_hidden_name_is_no_upload() {
        let (dir, root) = served();
        let (hidden, victim) = (dir.path().join(names(&path("/file"), "id").unwrap().0), dir.path().join("victim"));
        type Link = fn(&Path, &Path) -> io::Result<()>;
        let links: [Link; 2] = [|to, at| std::os::unix::fs::symlink(to, at), |to, at| std::fs::hard_link(to, at)];
        for link in links {
            std::fs::write(&victim, "precious").unwrap();
            link(&victim, &hidden).unwrap();
            assert!(Partial::find(&root, &path("/file"), "id").unwrap().is_none());
            let mut partial = Partial::create(&root, &path("/file"), "id", None, Attributes::default()).unwrap();
            partial.write_all(b"hello").unwrap();
            assert_eq!(Partial::find(&root, &path("/file"), "id").unwrap().unwrap().size(), 5);
            partial.finish(None, Attributes::default()).unwrap();
            assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
        }
        if rustix::process::geteuid().is_root() {
            std::fs::write(&hidden, "theirs").unwrap();
            std::os::unix::fs::chown(&hidden, Some(65534), None).unwrap();
            assert!(Partial::find(&root, &path("/file"), "id").unwrap().is_none());
        }
    }

    #[test]
    fn only_old_unfinished_uploads_are_swept() {
        let (dir, root) = served();
        let old = dir.path().join(format!("{HIDDEN_PREFIX}old"));
        std::fs::write(&old, "").unwrap();
        std::fs::File::options().write(true).open(&old).unwrap().set_modified(SystemTime::now() - 2 * KEPT).unwrap();
        std::fs::write(dir.path().join("old file"), "").unwrap();
        let partial = Partial::create(&root, &path("/file"), "id", None, Attributes::default()).unwrap();
        assert_eq!(partial.sweep().unwrap(), [Path::new(&partial.hidden)]);
        assert!(!old.exists() && dir.path().join("old file").exists() && dir.path().join(&partial.hidden).exists());
    }
}
