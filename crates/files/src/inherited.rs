//! What a file that takes the place of another gets of it, where the system allows that: owner, group, permissions, access control
//! list, and the attributes that users gave it.
//!
//! Nothing of a file in a directory where everybody may write: it may have been put there for that.

#[cfg(unix)]
use crate::extended;
use crate::extended::Extended;
use crate::permissions::Permissions;
#[cfg(unix)]
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, Uid, fchown, fstat, openat, statat};
#[cfg(unix)]
use std::os::fd::AsFd;
use std::path::Path;

/// Gives `file` what the file at `replaced` has, what is known of these in place of that, and these permissions.
pub(crate) fn inherit(replaced: &Path, extended: &Extended, permissions: Permissions, file: &std::fs::File) {
    #[cfg(unix)]
    inherit_within(CWD, replaced, extended, permissions, file);
    #[cfg(not(unix))]
    let _ = (replaced, extended, permissions, file); // there they belong to the directory
}

/// The same, of the file at `replaced` as seen from `dir`.
#[cfg(unix)]
pub(crate) fn inherit_within(
    dir: impl AsFd + Copy,
    replaced: &Path,
    extended: &Extended,
    permissions: Permissions,
    file: impl AsFd,
) {
    let owned = owned(dir, replaced);
    // In this order: whoever gives a file away may set nothing any more, and a list has the permissions in it.
    if owned.is_some() {
        copy_attributes(dir, replaced, extended, &file);
    }
    extended::warn_not_given(extended::give_xattrs(extended, &file), replaced);
    extended::warn_not_given(extended::end_list(extended, permissions.mode(), &file), replaced);
    permissions.give(&file);
    extended::warn_not_given(extended::give_acls(extended, &file), replaced);
    if let Some(owned) = owned {
        give_owner(&owned, &file);
    }
}

#[cfg(not(unix))]
pub(crate) fn inherit_within<D, F>(_: D, _: &Path, _: &Extended, _: Permissions, _: F) {}

/// The plain file at `replaced`, unless everybody may write beside it.
#[cfg(unix)]
fn owned(dir: impl AsFd + Copy, replaced: &Path) -> Option<Stat> {
    let found = statat(dir, replaced, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let around = replaced.parent().filter(|around| !around.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let around = statat(dir, around, AtFlags::empty()).ok()?;
    let is_everybodys = Mode::from_raw_mode(around.st_mode).contains(Mode::WOTH);
    (FileType::from_raw_mode(found.st_mode) == FileType::RegularFile && !is_everybodys).then_some(found)
}

/// Root gives files to anybody, others to their own groups.
#[cfg(unix)]
fn give_owner(found: &Stat, file: impl AsFd) {
    let Ok(own) = fstat(&file) else { return };
    if (own.st_uid, own.st_gid) == (found.st_uid, found.st_gid) {
        return;
    }
    let (owner, group) = (Uid::from_raw(found.st_uid), Gid::from_raw(found.st_gid));
    let given = fchown(&file, Some(owner), Some(group)).or_else(|_| fchown(&file, None, Some(group)));
    if let Err(error) = given {
        tracing::debug!(%error, "owner and group are not kept");
    }
}

#[cfg(target_os = "linux")]
fn copy_attributes(dir: impl AsFd, replaced: &Path, known: &Extended, file: impl AsFd) {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    if let Ok(found) = openat(dir, replaced, flags, Mode::empty()) {
        extended::copy_unknown(found, known, file);
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn copy_attributes(_: impl AsFd, _: &Path, _: &Extended, _: impl AsFd) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

    const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

    /// Of user 1 it may be read: an access control list as the system writes it, version 2 and five entries of tag, rights and
    /// number.
    fn access_list() -> Vec<u8> {
        let entry = |tag: u16, rights: u16, number: u32| {
            [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &number.to_le_bytes()].concat()
        };
        let nobody = u32::MAX;
        let entries = [(1, 6, nobody), (2, 4, 1), (4, 4, nobody), (16, 4, nobody), (32, 0, nobody)];
        let entries = entries.map(|(tag, rights, number)| entry(tag, rights, number));
        [2u32.to_le_bytes().to_vec(), entries.concat()].concat()
    }

    #[test]
    fn a_file_takes_over_what_the_system_lets_it() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        let is_root = rustix::process::geteuid().is_root();
        for everybodys in [false, true] {
            std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(if everybodys { 0o1777 } else { 0o755 }))
                .unwrap();
            let replaced = std::fs::File::create(&old).unwrap();
            // Not every file system has them.
            let given = [(&b"user.k"[..], b"value".to_vec()), (ACCESS_LIST, access_list())]
                .map(|(name, value)| (name, fsetxattr(&replaced, name, &value, XattrFlags::empty()).is_ok(), value));
            replaced.set_permissions(PermissionsExt::from_mode(0o640)).unwrap();
            if is_root {
                chown(&old, Some(65534), Some(65533)).unwrap();
            }
            let made = std::fs::File::create(&new).unwrap();
            inherit(&old, &Extended::default(), Permissions::of(&old), &made);
            let found = made.metadata().unwrap();
            assert_eq!(found.mode() & 0o7777, 0o640);
            let owner = (found.uid(), found.gid()) == (65534, 65533);
            assert_eq!(owner, is_root && !everybodys, "{everybodys}");
            for (name, was_given, value) in given {
                let mut buffer = [0; 100];
                let kept = fgetxattr(&made, name, &mut buffer[..]).is_ok_and(|length| buffer[..length] == value);
                assert_eq!(kept, was_given && !everybodys, "{everybodys} {}", String::from_utf8_lossy(name));
            }
            std::fs::remove_file(&old).and_then(|()| std::fs::remove_file(&new)).unwrap();
        }
    }

    #[test]
    fn what_is_known_comes_in_place_of_what_the_old_file_has() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        let replaced = std::fs::File::create(&old).unwrap();
        for (name, value) in [(&b"user.k"[..], b"value".to_vec()), (ACCESS_LIST, access_list())] {
            fsetxattr(&replaced, name, &value, XattrFlags::empty())
                .expect("set TMPDIR to a directory on ext4, XFS or Btrfs");
        }
        let known = Extended { xattrs: extended::xattrs(""), acls: extended::acls("") };
        let made = std::fs::File::create(&new).unwrap();
        copy_attributes(CWD, &old, &known, &made);
        let mut names = [0; 100];
        assert_eq!(rustix::fs::flistxattr(&made, &mut names[..]), Ok(0));
        inherit(&old, &known, Permissions::named(Some(0o600)), &made);
        assert_eq!(
            (rustix::fs::flistxattr(&made, &mut names[..]), made.metadata().unwrap().mode() & 0o777),
            (Ok(0), 0o600)
        );
    }

    #[test]
    fn a_link_passes_nothing_on() {
        let dir = tempfile::tempdir().unwrap();
        let (old, link) = (dir.path().join("old"), dir.path().join("link"));
        std::fs::write(&old, "").unwrap();
        std::os::unix::fs::symlink("old", &link).unwrap();
        assert!(owned(CWD, &old).is_some() && owned(CWD, &link).is_none() && owned(CWD, dir.path()).is_none());
    }
}
