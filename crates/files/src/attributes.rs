//! Time of modification, permissions, owners, extended attributes and access control lists of a file or a directory, which a copy may keep
//! besides its content.

mod written;

pub(crate) use written::{mode, modified, seconds, whole_seconds};

use crate::extended::{self, Extended, Kinds};
use crate::owners::{self, Kind};
use crate::permissions::Permissions;
use crate::wire;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use std::io;
use std::path::Path;
use std::time::SystemTime;
#[cfg(unix)]
use written::{NANOS, nanos_since_1970};

/// All that is known of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// Permissions of owner, group and others, as `chmod` takes them.
    pub(crate) mode: Option<u32>,
    pub(crate) modified: Option<SystemTime>,
    /// The numbers of owner and group on this computer.
    pub(crate) owner: Option<u32>,
    pub(crate) group: Option<u32>,
    pub(crate) extended: Extended,
}

impl Attributes {
    /// Those of a file or a directory here.
    pub(crate) fn of(found: &std::fs::Metadata) -> Self {
        #[cfg(unix)]
        let (mode, owner, group) = {
            use std::os::unix::fs::MetadataExt;
            (Some(found.mode() & Permissions::MASK), Some(found.uid()), Some(found.gid()))
        };
        #[cfg(not(unix))]
        let (mode, owner, group) = (None, None, None);
        Self { mode, modified: found.modified().ok(), owner, group, extended: Extended::default() }
    }

    /// The same, of what the server has opened.
    pub(crate) fn within(found: &cap_std::fs::Metadata) -> Self {
        #[cfg(unix)]
        let (mode, owner, group) = {
            use cap_std::fs::MetadataExt;
            (Some(found.mode() & Permissions::MASK), Some(found.uid()), Some(found.gid()))
        };
        #[cfg(not(unix))]
        let (mode, owner, group) = (None, None, None);
        let modified = found.modified().ok().map(cap_std::time::SystemTime::into_std);
        Self { mode, modified, owner, group, extended: Extended::default() }
    }

    /// Those that a message tells, and of extended attributes these kinds. Other fields tell nothing.
    pub(crate) fn told(headers: &HeaderMap, kinds: Kinds) -> Self {
        let text = |name: HeaderName| headers.get(name)?.to_str().ok();
        Self {
            mode: text(wire::FILE_MODE).and_then(mode),
            modified: text(wire::FILE_MODIFIED).and_then(modified),
            owner: text(wire::FILE_OWNER).and_then(|text| owners::read(Kind::User, text)),
            group: text(wire::FILE_GROUP).and_then(|text| owners::read(Kind::Group, text)),
            extended: Extended::told(headers, kinds),
        }
    }

    /// The fields that say it; owners by name, too, if that is wanted.
    pub(crate) fn fields(&self, with_names: bool) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let mode = self.mode.map(|mode| (wire::FILE_MODE, format!("{mode:03o}")));
        let modified = self.modified.map(|modified| (wire::FILE_MODIFIED, seconds(modified)));
        let owner = self.owner.map(|owner| (wire::FILE_OWNER, owners::text(Kind::User, owner, with_names)));
        let group = self.group.map(|group| (wire::FILE_GROUP, owners::text(Kind::Group, group, with_names)));
        let value = |(name, text): (HeaderName, String)| Some((name, HeaderValue::from_str(&text).ok()?));
        let fields = [mode, modified, owner, group].into_iter().flatten().filter_map(value);
        fields.chain(self.extended.fields(with_names))
    }

    /// Those of these that this process can give: nobody but root gives files away, and a group gets files of its members only.
    pub(crate) fn givable(self) -> Self {
        Self {
            owner: self.owner.filter(|_| owners::may_give_away()),
            group: self.group.filter(|group| owners::may_give_to(*group)),
            extended: self.extended.givable(),
            ..self
        }
    }

    /// The same, as far as its extended attributes have room in a message.
    pub(crate) fn with_room(self) -> Self {
        let left = self.extended.clone().with_room();
        self.leaving(left)
    }

    /// The same with no more than these extended attributes. Without its list a file has no permissions for its group that the list does
    /// not give.
    pub(crate) fn leaving(self, left: Extended) -> Self {
        let lost = self.extended.acls.as_ref().filter(|_| left.acls.is_none());
        let mode = self.mode.map(|mode| lost.map_or(mode, |acls| acls.alone(mode)));
        Self { mode, extended: left, ..self }
    }

    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether what is known of both is the same.
    pub(crate) fn agree_with(&self, other: &Self) -> bool {
        fn agree<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
            one.as_ref().zip(other.as_ref()).is_none_or(|(one, other)| one == other)
        }
        agree(&self.mode, &other.mode)
            && agree(&self.modified, &other.modified)
            && agree(&self.owner, &other.owner)
            && agree(&self.group, &other.group)
            && agree(&self.extended.xattrs, &other.extended.xattrs)
            && agree(&self.extended.acls, &other.extended.acls)
    }

    /// The permissions, if they are known, without an access control list: whoever gives the list gives its own.
    pub(crate) fn permissions(&self) -> Permissions {
        let acls = self.extended.acls.as_ref();
        Permissions::named(self.mode.map(|mode| acls.map_or(mode, |acls| acls.alone(mode))))
    }

    /// The permissions of a file that is not whole yet: its owner's, where a list is to say who else may read it.
    pub(crate) fn permissions_of_part(&self) -> Permissions {
        match &self.extended.acls {
            Some(_) => Permissions::named(Some(self.mode.unwrap_or(0o600) & 0o700)),
            None => self.permissions(),
        }
    }

    /// The permissions of a new directory until everything is in it; the usual ones if it gets none then.
    pub(crate) fn permissions_of_new_directory(&self) -> Permissions {
        Permissions::named(self.mode.map(|_| Permissions::OWNER_ALONE))
    }

    /// Gives them to a file or a directory, which messages call `path`.
    ///
    /// Errors: it belongs to somebody else; or its file system has none of that kind. Extended attributes and access control lists that are
    /// not kept are none: a message says so once.
    pub(crate) fn give(&self, to: &std::fs::File, path: &Path) -> io::Result<()> {
        extended::warn_not_given(extended::give_xattrs(&self.extended, to), path);
        self.give_owners(to)?;
        self.modified.map_or(Ok(()), |modified| to.set_modified(modified))?;
        extended::warn_not_given(extended::end_list(&self.extended, self.permissions().mode(), to), path);
        self.permissions().try_give(to)?;
        extended::warn_not_given(extended::give_acls(&self.extended, to), path);
        Ok(())
    }

    /// Gives it to owner and group alone, as far as this process may. Setuid and setgid bits end with that.
    pub(crate) fn give_owners(&self, to: &std::fs::File) -> io::Result<()> {
        #[cfg(unix)]
        if let Self { owner, group, .. } = self.clone().givable()
            && (owner.is_some() || group.is_some())
        {
            let (owner, group) = (owner.map(rustix::fs::Uid::from_raw), group.map(rustix::fs::Gid::from_raw));
            return Ok(rustix::fs::fchown(to, owner, group)?);
        }
        let _ = to;
        Ok(())
    }

    /// Gives time and owners to the link with that name itself.
    ///
    /// Errors: as of [`Self::give`].
    #[cfg(unix)]
    pub(crate) fn give_link(&self, dir: &cap_std::fs::Dir, name: &str) -> io::Result<()> {
        use rustix::fs::{AtFlags, Gid, Timespec, Timestamps, UTIME_OMIT, Uid, chownat, utimensat};
        let Self { owner, group, .. } = self.clone().givable();
        if owner.is_some() || group.is_some() {
            let (owner, group) = (owner.map(Uid::from_raw), group.map(Gid::from_raw));
            chownat(dir, name, owner, group, AtFlags::SYMLINK_NOFOLLOW)?;
        }
        let Some(nanos) = self.modified.map(nanos_since_1970) else { return Ok(()) };
        let seconds = i64::try_from(nanos.div_euclid(NANOS)).unwrap_or(i64::MAX);
        let part = i64::try_from(nanos.rem_euclid(NANOS)).unwrap_or(0);
        let last_modification = Timespec { tv_sec: seconds, tv_nsec: part };
        let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        let times = Timestamps { last_access, last_modification };
        match utimensat(dir, name, &times, AtFlags::SYMLINK_NOFOLLOW) {
            // Some file systems keep none for links.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use proptest::prelude::*;
    use std::time::UNIX_EPOCH;

    proptest! {
        #[test]
        fn any_attributes_arrive_as_they_were(
            mode in prop::option::of(0..=Permissions::MASK),
            time in prop::option::of((any::<bool>(), 0..1u64 << 40, 0..1_000_000_000u32)),
            owners in prop::option::of((0..u32::MAX, 0..u32::MAX)),
        ) {
            let modified = time.map(|(is_before, seconds, nanos)| {
                let distance = Duration::new(seconds, nanos);
                if is_before { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
            });
            let (owner, group) = owners.unzip();
            let sent = Attributes { mode, modified, owner, group, ..Attributes::default() };
            prop_assert_eq!(Attributes::told(&sent.fields(true).collect(), Kinds::default()), sent);
        }
    }

    #[test]
    fn without_its_list_a_file_s_group_has_no_rights_of_the_mask() {
        let acls = extended::acls("u::rwx,u:7:rwx,g::---,m::rwx,o::---");
        let all = Attributes {
            mode: Some(0o770),
            extended: Extended { acls, ..Extended::default() },
            ..Attributes::default()
        };
        assert_eq!(all.clone().leaving(all.extended.clone()), all);
        assert_eq!(all.clone().leaving(Extended::default()), Attributes { mode: Some(0o700), ..Attributes::default() });
        let entries = (0..900).map(|user| format!("u:{}:rwx", 4_000_000 + user)).collect::<Vec<_>>().join(",");
        assert!(
            extended::acls(&format!("u::rwx,g::---,m::rwx,o::---,{entries}")).is_none(),
            "there is no room for so many"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_file_gets_what_was_said_and_no_setuid() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let file = std::fs::File::create(&path).unwrap();
        let found = Attributes::of(&path.metadata().unwrap());
        let wanted = Attributes { mode: mode("6750"), modified: modified("1000000000.25"), ..found };
        wanted.give(&file, &path).unwrap();
        let found = path.metadata().unwrap();
        assert_eq!(Attributes::of(&found), wanted);
        assert_eq!(found.permissions().mode() & 0o7777, 0o750);
        Attributes::default().give(&file, &path).unwrap();
        assert_eq!(Attributes::of(&path.metadata().unwrap()), wanted, "nothing is known, and nothing is set");
    }
}
