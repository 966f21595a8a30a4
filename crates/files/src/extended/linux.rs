//! Extended attributes and access control lists on disks of Linux.

use super::acls::{Acl, Acls};
use super::xattrs::{Space, Xattrs};
use super::{Extended, Kinds, LONGEST};
use rustix::fs::{Mode, XattrFlags, fchmod, fgetxattr, flistxattr, fremovexattr, fsetxattr, fstat};
use rustix::io::{Errno, Result};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Linux's limit for all names, and for a value.
const MOST: usize = 64 << 10;

const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";

/// Those that an open file or directory has, none where the file system has none; unknown if they cannot be read, or are far more than has
/// room in a field.
pub(crate) fn of(file: impl AsFd, kinds: Kinds) -> Extended {
    let file = file.as_fd();
    let xattrs = kinds.xattrs.then(|| xattrs(file).ok()).flatten();
    let acls = kinds.acls.then(|| acls(file).ok()).flatten();
    Extended { xattrs, acls }
}

/// Those of a file or a directory that is opened only if any are wanted. Blocks.
///
/// Errors: it cannot be opened.
pub(crate) fn opened<F: AsFd>(kinds: Kinds, open: impl FnOnce() -> io::Result<F>) -> io::Result<Extended> {
    if kinds == Kinds::default() { Ok(Extended::default()) } else { Ok(of(open()?, kinds)) }
}

/// No more is read than has room, whatever a file has.
fn xattrs(file: BorrowedFd<'_>) -> Result<Xattrs> {
    let names = names(file)?;
    let (mut value, mut left) = (vec![0; if names.is_empty() { 0 } else { LONGEST }], LONGEST);
    let mut all = Xattrs::default();
    for name in names {
        let length = fgetxattr(file, &*name, &mut value[..])?;
        left = left.checked_sub(name.len() + length).ok_or(Errno::TOOBIG)?;
        all.0.insert(name, value.get(..length).unwrap_or_default().to_vec());
    }
    Ok(all)
}

/// The names of those that move.
fn names(file: BorrowedFd<'_>) -> Result<Vec<Vec<u8>>> {
    names_where(file, is_givable)
}

/// The names of which `is_due` says so.
fn names_where(file: BorrowedFd<'_>, is_due: impl Fn(&[u8]) -> bool) -> Result<Vec<Vec<u8>>> {
    let mut names = vec![0; MOST];
    let length = match flistxattr(file, &mut names[..]) {
        Err(Errno::OPNOTSUPP) => 0,
        length => length?,
    };
    let names = names.get(..length).unwrap_or_default().split(|byte| *byte == 0);
    Ok(names.filter(|name| is_due(name)).map(<[u8]>::to_vec).collect())
}

/// Gives `file` the attributes that users gave another one, and its access control list, each as long as Linux allows. Not those of the
/// system, which say what a program may do as whom, and none of a kind that is `known`: an old list would let others at the new content.
pub(crate) fn copy_unknown(from: impl AsFd, known: &Extended, file: impl AsFd) {
    let is_due = |name: &[u8]| match name == ACCESS.as_bytes() {
        true => known.acls.is_none(),
        false => known.xattrs.is_none() && Space::of(name) == Some(Space::User),
    };
    let Ok(names) = names_where(from.as_fd(), is_due) else { return };
    let mut value = vec![0; if names.is_empty() { 0 } else { MOST }];
    for name in names {
        let copied = fgetxattr(&from, &*name, &mut value[..])
            .and_then(|length| fsetxattr(&file, &*name, value.get(..length).unwrap_or_default(), XattrFlags::empty()));
        if let Err(error) = copied {
            tracing::debug!(%error, name = %String::from_utf8_lossy(&name), "an attribute is not kept");
        }
    }
}

/// Whether this process may give files an attribute of that name.
fn is_givable(name: &[u8]) -> bool {
    Space::of(name).is_some_and(Space::is_givable)
}

fn acls(file: BorrowedFd<'_>) -> Result<Acls> {
    let mut value = vec![0; MOST];
    let mut list = |name| match fgetxattr(file, name, &mut value[..]) {
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(None),
        Err(error) => Err(error),
        Ok(length) => Acl::from_system(value.get(..length).unwrap_or_default()).map(Some).ok_or(Errno::INVAL),
    };
    Ok(Acls { access: list(ACCESS)?.filter(Acl::exceeds_mode), default: list(DEFAULT)? })
}

/// Gives a file or a directory these extended attributes and no others, if they are known: before its permissions, which may forbid that.
///
/// Errors: the first that the system refuses; the others are given.
pub(crate) fn give_xattrs(extended: &Extended, file: impl AsFd) -> io::Result<()> {
    let Some(wanted) = &extended.xattrs else { return Ok(()) };
    let file = file.as_fd();
    let given = match give_all(wanted, file) {
        // The permissions count here, whatever the file is open for.
        Err(Errno::ACCESS) => {
            let mode = Mode::from_raw_mode(fstat(file)?.st_mode);
            fchmod(file, mode | Mode::WUSR)?;
            let given = give_all(wanted, file);
            fchmod(file, mode)?;
            given
        }
        given => given,
    };
    given.map_err(io::Error::from)
}

fn give_all(wanted: &Xattrs, file: BorrowedFd<'_>) -> Result<()> {
    let mut outcome = Ok(());
    for name in names(file)?.iter().filter(|name| !wanted.0.contains_key(*name)) {
        outcome = outcome.and(fremovexattr(file, &**name));
    }
    for (name, value) in wanted.0.iter().filter(|(name, _)| is_givable(name)) {
        outcome = outcome.and(fsetxattr(file, &**name, value, XattrFlags::empty()));
    }
    outcome
}

/// Gives these permissions in place of an access control list, in one step, if both lists and permissions are known. `chmod` would tell a
/// list that is there what its entries may do, and the list may stay if the new one is refused.
///
/// Errors: as of setting an attribute.
pub(crate) fn end_list(extended: &Extended, mode: Option<u32>, file: impl AsFd) -> io::Result<()> {
    let Some(mode) = mode.filter(|_| extended.acls.is_some()) else { return Ok(()) };
    match fsetxattr(&file, ACCESS, &Acl::of_mode(mode).to_system(), XattrFlags::empty()) {
        Err(Errno::OPNOTSUPP) => Ok(()),
        given => Ok(given?),
    }
}

/// Gives a file or a directory these lists and no others, if they are known: after its permissions, which a list has in it.
///
/// Errors: the first that the system refuses; the other is given.
pub(crate) fn give_acls(extended: &Extended, file: impl AsFd) -> io::Result<()> {
    let Some(Acls { access, default }) = &extended.acls else { return Ok(()) };
    let give = |name, list: &Option<Acl>| match list {
        Some(list) => fsetxattr(&file, name, &list.to_system(), XattrFlags::empty()),
        None => match fremovexattr(&file, name) {
            Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
            removed => removed,
        },
    };
    Ok(give(ACCESS, access).and(give(DEFAULT, default))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Kinds = Kinds { xattrs: true, acls: true };

    fn xattrs(pairs: &[(&[u8], &[u8])]) -> Option<Xattrs> {
        Some(Xattrs(pairs.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect()))
    }

    /// A file on a file system that has extended attributes.
    fn file() -> std::fs::File {
        let file = tempfile::tempfile().unwrap();
        let given = fsetxattr(&file, "user.old", b"1", XattrFlags::empty());
        assert_eq!(
            given,
            Ok(()),
            "set TMPDIR to a directory on ext4, XFS or Btrfs: this test needs extended attributes"
        );
        file
    }

    fn mode(file: &std::fs::File) -> u32 {
        std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions()) & 0o7777
    }

    #[test]
    fn a_file_gets_those_that_were_told_and_no_others() {
        let file = file();
        assert_eq!(of(&file, BOTH), Extended { xattrs: xattrs(&[(b"user.old", b"1")]), acls: Some(Acls::default()) });
        let told = Extended { xattrs: xattrs(&[(b"user.\xff", b""), (b"user.b", &[0, 255, 44])]), acls: None };
        give_xattrs(&told, &file).unwrap();
        assert_eq!(of(&file, BOTH).xattrs, told.xattrs);
        give_xattrs(&Extended::default(), &file).unwrap();
        assert_eq!(of(&file, BOTH).xattrs, told.xattrs, "nothing is known, and nothing is changed");
    }

    /// Does it as a user who is not root, on a thread that stays that user: permissions hold nothing back from root.
    fn as_a_user(file: &std::fs::File, act: impl FnOnce() + Send) {
        use rustix::fs::{Uid, fchown};
        std::thread::scope(|scope| {
            let user = scope.spawn(|| {
                if rustix::process::geteuid().is_root() {
                    let nobody = Uid::from_raw(65534);
                    fchown(file, Some(nobody), None).unwrap();
                    rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
                }
                act();
            });
            user.join().unwrap();
        });
    }

    #[test]
    fn a_file_that_its_owner_may_not_write_gets_them_too() {
        let file = file();
        fchmod(&file, Mode::from_raw_mode(0o440)).unwrap();
        let told = Extended { xattrs: xattrs(&[(b"user.new", b"2")]), acls: None };
        as_a_user(&file, || {
            let refused = give_all(told.xattrs.as_ref().unwrap(), file.as_fd());
            assert_eq!(refused, Err(Errno::ACCESS), "the permissions forbid it");
            give_xattrs(&told, &file).unwrap();
        });
        assert_eq!((of(&file, BOTH).xattrs, mode(&file)), (told.xattrs, 0o440));
    }

    #[test]
    fn a_list_comes_with_its_permissions_and_goes() {
        let file = file();
        let lists = Acls::read("u::rw-,u:4000123:rw-,g::---,m::rw-,o::---");
        let told = Extended { xattrs: None, acls: lists };
        give_acls(&told, &file).unwrap();
        assert_eq!((of(&file, BOTH).acls, mode(&file)), (told.acls, 0o660));
        give_acls(&Extended { xattrs: None, acls: Some(Acls::default()) }, &file).unwrap();
        assert_eq!(of(&file, BOTH).acls, Some(Acls::default()));
    }

    #[test]
    fn a_directory_has_a_list_for_new_entries_too() {
        let dir = tempfile::tempdir().unwrap();
        let open = std::fs::File::open(dir.path()).unwrap();
        let told = Extended { xattrs: None, acls: Acls::read("d:u::rwx,d:u:4000123:r-x,d:g::---,d:m::r-x,d:o::---") };
        give_acls(&told, &open).unwrap();
        assert_eq!(of(&open, BOTH).acls, told.acls);
        let refused = give_acls(&told, file());
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied, "a file has none");
    }

    #[test]
    fn a_list_that_ends_leaves_nobody_more_than_the_permissions() {
        let file = file();
        give_acls(&Extended { xattrs: None, acls: Acls::read("u::rw-,u:4000123:rwx,g::---,m::---,o::---") }, &file)
            .unwrap();
        let unknown = Extended::default();
        end_list(&unknown, Some(0o640), &file).unwrap();
        assert!(of(&file, BOTH).acls != Some(Acls::default()), "nothing is known of lists, and none ends");
        let none = Extended { xattrs: None, acls: Some(Acls::default()) };
        end_list(&none, None, &file).unwrap();
        assert!(of(&file, BOTH).acls != Some(Acls::default()), "nothing is known of permissions");
        end_list(&none, Some(0o640), &file).unwrap();
        assert_eq!((of(&file, BOTH).acls, mode(&file)), (Some(Acls::default()), 0o640));
    }

    #[test]
    fn no_more_is_read_than_has_room() {
        let file = file();
        for number in 0..3 {
            let given = fsetxattr(&file, format!("user.{number}"), &[7; 1000], XattrFlags::empty());
            given.expect("ext4 has room for 4 KiB of them");
        }
        assert!(of(&file, BOTH).xattrs.is_some_and(|xattrs| xattrs.0.len() == 4));
        let (long, few) = (vec![b'a'; LONGEST - 20], Kinds { xattrs: true, acls: false });
        let all = Extended { xattrs: xattrs(&[(b"user.a", &long)]), acls: None };
        assert_eq!(all.clone().only(few).with_room(), Extended::default(), "in base64 it is longer");
    }

    #[test]
    fn a_file_system_without_any_has_none_and_takes_none() {
        let file = std::fs::File::open("/proc/self/comm").unwrap();
        let none = Extended { xattrs: xattrs(&[]), acls: Some(Acls::default()) };
        assert_eq!(of(&file, BOTH), none);
        assert!(give_xattrs(&none, &file).is_ok() && give_acls(&none, &file).is_ok());
        let some = Extended { xattrs: xattrs(&[(b"user.a", b"1")]), acls: Acls::read("u::rw-,g::r--,m::r--,o::---") };
        for refused in [give_xattrs(&some, &file), give_acls(&some, &file)] {
            assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::Unsupported);
        }
    }

    #[test]
    fn those_without_room_in_a_field_are_unknown() {
        let users = |count: u32| (4_000_000..4_000_000 + count).map(|id| format!("u:{id}:r--,")).collect::<String>();
        for (bytes, count, has_room) in [(7600, 700, true), (7700, 800, false)] {
            let acls = Acls::read(&format!("u::rw-,{}g::r--,m::r--,o::---", users(count)));
            let all = Extended { xattrs: xattrs(&[(b"user.x", &vec![1; bytes])]), acls };
            let sent = all.clone().with_room();
            assert_eq!(sent == all, has_room, "{bytes} {count}");
            assert_eq!(sent == Extended::default(), !has_room, "{bytes} {count}");
            assert_eq!(Extended::told(&all.fields(true).collect(), BOTH), sent, "and so they are to the other side");
        }
    }
}
