//! Access control lists (acl(5)): on the way as text, since a number is another user elsewhere, and on the disk as Linux has them.

use crate::owners::{self, Kind};
use std::collections::BTreeMap;

/// The lists of a file or a directory, where there are any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acls {
    pub(crate) access: Option<Acl>,
    /// The list that new entries of a directory get.
    pub(crate) default: Option<Acl>,
}

/// The rights of each, as in a mode's three bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Acl(BTreeMap<Who, u8>);

/// Whom rights are for, in Linux's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Owner,
    User(u32),
    OwningGroup,
    Group(u32),
    /// The most that users, groups and the owning group have.
    Mask,
    Others,
}

impl Acls {
    /// Entries with commas between them, as `setfacl` takes them: `u::rw-,u:1000 anna:r--`. Those of the default list have `d:` in front.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (mut access, mut default) = (BTreeMap::new(), BTreeMap::new());
        for entry in text.split(',').filter(|entry| !entry.is_empty()) {
            let (all, entry) = match entry.strip_prefix("d:") {
                Some(entry) => (&mut default, entry),
                None => (&mut access, entry),
            };
            let (who, rights) = entry.rsplit_once(':')?;
            let rights = rights_of(rights)?;
            // Two names may be one user's here, who then gets what both have.
            all.entry(Who::of(who)?).and_modify(|known| *known &= rights).or_insert(rights);
        }
        let list = |all: BTreeMap<Who, u8>| if all.is_empty() { Some(None) } else { Acl::complete(all).map(Some) };
        Some(Self { access: list(access)?, default: list(default)? })
    }

    pub(crate) fn text(&self, with_names: bool) -> String {
        let entries = |list: &Option<Acl>, front: &'static str| {
            let all = list.iter().flat_map(|list| list.0.clone()).collect::<Vec<_>>();
            all.into_iter().map(move |(who, rights)| format!("{front}{}:{}", who.text(with_names), rights_text(rights)))
        };
        entries(&self.access, "").chain(entries(&self.default, "d:")).collect::<Vec<_>>().join(",")
    }

    /// The same where the permissions are these.
    pub(crate) fn with_mode(self, mode: u32) -> Self {
        Self { access: self.access.map(|access| access.with_mode(mode)), ..self }
    }

    /// The permissions without the list: the group's bits are the mask, which would give the owning group the rights of others.
    pub(crate) fn alone(&self, mode: u32) -> u32 {
        let group = self.access.as_ref().and_then(|access| access.0.get(&Who::OwningGroup));
        group.map_or(mode, |group| mode & (0o707 | u32::from(*group) << 3))
    }
}

impl Acl {
    /// A list that Linux takes.
    fn complete(all: BTreeMap<Who, u8>) -> Option<Self> {
        let has_all = [Who::Owner, Who::OwningGroup, Who::Others].iter().all(|who| all.contains_key(who));
        let has_names = all.keys().any(|who| matches!(who, Who::User(_) | Who::Group(_)));
        (has_all && (!has_names || all.contains_key(&Who::Mask))).then_some(Self(all))
    }

    fn with_mode(mut self, mode: u32) -> Self {
        let has_mask = self.0.contains_key(&Who::Mask);
        for (who, rights) in &mut self.0 {
            let shift = match who {
                Who::Owner => 6,
                Who::Mask => 3,
                Who::OwningGroup if !has_mask => 3,
                Who::Others => 0,
                _ => continue,
            };
            *rights = (mode >> shift & 7) as u8;
        }
        self
    }

    /// Whether it says more than a mode.
    #[cfg(target_os = "linux")]
    pub(crate) fn exceeds_mode(&self) -> bool {
        self.0.contains_key(&Who::Mask)
    }
}

#[cfg(target_os = "linux")]
impl Acl {
    /// The list that says as much as a mode.
    pub(crate) fn of_mode(mode: u32) -> Self {
        let rights = [(Who::Owner, 6), (Who::OwningGroup, 3), (Who::Others, 0)];
        Self(rights.into_iter().map(|(who, shift)| (who, (mode >> shift & 7) as u8)).collect())
    }
}

/// As an attribute: version 2, then a tag, rights and a number for each entry (linux/posix_acl_xattr.h).
#[cfg(any(target_os = "linux", fuzzing))]
impl Acl {
    const VERSION: [u8; 4] = 2u32.to_le_bytes();

    pub(crate) fn from_system(bytes: &[u8]) -> Option<Self> {
        let (entries, []) = bytes.strip_prefix(&Self::VERSION)?.as_chunks::<8>() else { return None };
        let mut all = BTreeMap::new();
        for [tag, _, rights, _, id @ ..] in entries {
            all.insert(Who::tagged(*tag, u32::from_le_bytes(*id))?, (*rights < 8).then_some(*rights)?);
        }
        Self::complete(all)
    }

    pub(crate) fn to_system(&self) -> Vec<u8> {
        let mut bytes = Self::VERSION.to_vec();
        for (who, rights) in &self.0 {
            let (tag, id) = who.tag();
            bytes.extend([tag, 0, *rights, 0]);
            bytes.extend(id.to_le_bytes());
        }
        bytes
    }
}

impl Who {
    fn of(text: &str) -> Option<Self> {
        Some(match text.split_once(':')? {
            ("u", "") => Self::Owner,
            ("g", "") => Self::OwningGroup,
            ("m", "") => Self::Mask,
            ("o", "") => Self::Others,
            ("u", user) => Self::User(owners::read(Kind::User, user)?),
            ("g", group) => Self::Group(owners::read(Kind::Group, group)?),
            _ => return None,
        })
    }

    fn text(self, with_names: bool) -> String {
        let named = |letter, kind, id| {
            let text = owners::text(kind, id, with_names);
            // A name with one of these would end the entry.
            if text.contains([',', ':']) { format!("{letter}:{id}") } else { format!("{letter}:{text}") }
        };
        match self {
            Self::Owner => "u:".to_owned(),
            Self::User(id) => named('u', Kind::User, id),
            Self::OwningGroup => "g:".to_owned(),
            Self::Group(id) => named('g', Kind::Group, id),
            Self::Mask => "m:".to_owned(),
            Self::Others => "o:".to_owned(),
        }
    }

    #[cfg(any(target_os = "linux", fuzzing))]
    fn tagged(tag: u8, id: u32) -> Option<Self> {
        Some(match tag {
            1 => Self::Owner,
            2 if id != u32::MAX => Self::User(id),
            4 => Self::OwningGroup,
            8 if id != u32::MAX => Self::Group(id),
            16 => Self::Mask,
            32 => Self::Others,
            _ => return None,
        })
    }

    #[cfg(any(target_os = "linux", fuzzing))]
    fn tag(self) -> (u8, u32) {
        match self {
            Self::Owner => (1, u32::MAX),
            Self::User(id) => (2, id),
            Self::OwningGroup => (4, u32::MAX),
            Self::Group(id) => (8, id),
            Self::Mask => (16, u32::MAX),
            Self::Others => (32, u32::MAX),
        }
    }
}

/// As `ls` shows them: `r-x`.
fn rights_of(text: &str) -> Option<u8> {
    let [read, write, execute] = *text.as_bytes() else { return None };
    [(read, b'r'), (write, b'w'), (execute, b'x')].into_iter().try_fold(0, |rights, (found, letter)| match found {
        b'-' => Some(rights << 1),
        _ => (found == letter).then_some(rights << 1 | 1),
    })
}

fn rights_text(rights: u8) -> String {
    let letter = |(bit, letter)| if rights & bit == 0 { '-' } else { letter };
    [(4, 'r'), (2, 'w'), (1, 'x')].map(letter).iter().collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named() -> impl Strategy<Value = Who> {
        (0..u32::MAX, any::<bool>()).prop_map(|(id, is_user)| if is_user { Who::User(id) } else { Who::Group(id) })
    }

    fn list() -> impl Strategy<Value = Acl> {
        (prop::collection::btree_map(named(), 0..8u8, 0..5), [0..8u8, 0..8, 0..8, 0..8]).prop_map(
            |(mut all, rights)| {
                all.extend([Who::Owner, Who::OwningGroup, Who::Mask, Who::Others].into_iter().zip(rights));
                Acl(all)
            },
        )
    }

    proptest! {
        #[test]
        fn any_list_arrives_as_it_was(access in prop::option::of(list()), default in prop::option::of(list())) {
            for list in access.iter().chain(&default) {
                prop_assert_eq!(Acl::from_system(&list.to_system()), Some(list.clone()));
            }
            let all = Acls { access, default };
            prop_assert_eq!(Acls::read(&all.text(false)), Some(all));
        }

        #[test]
        fn any_text_and_any_bytes_are_a_list_or_none(
            text in "((d:)?[ugmox]:[0-9]{0,2}( [a-z]{0,3})?:?[rwx-]{2,3},?){0,6}",
            bytes in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            if let Some(read) = Acls::read(&text) {
                prop_assert_eq!(Acls::read(&read.text(false)), Some(read));
            }
            for bytes in [bytes.clone(), [&Acl::VERSION[..], &bytes].concat()] {
                if let Some(read) = Acl::from_system(&bytes) {
                    prop_assert_eq!(Acl::from_system(&read.to_system()), Some(read));
                }
            }
        }
    }

    #[test]
    fn a_list_reads_as_setfacl_takes_it() {
        let text = "u::rw-,u:4000123:r-x,g::r--,g:0 root:---,m::r-x,o::---,d:u::rwx,d:g::r-x,d:o::--x";
        let read = Acls::read(text).unwrap();
        assert_eq!(read.text(true), text);
        assert_eq!(
            read.access.as_ref().unwrap().to_system()[4..20],
            [1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 5, 0, 0x7b, 0x09, 0x3d, 0]
        );
        assert_eq!(Acls::read(""), Some(Acls::default()), "it is known that there are none");
        for wrong in [
            "u::rw-",
            "u::rw-,g::r--,o::r",
            "u::rw-,g::r--,o::-r-",
            "u::rw-,u:1:r--,g::r--,o::---",
            "u::rw-,u:x:r--,g::r--,m::r--,o::---",
            "u::rw-,u:4294967295:r--,g::r--,m::r--,o::---",
            "user::rw-,g::r--,o::---",
            "rw-",
        ] {
            assert_eq!(Acls::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn two_entries_of_one_user_leave_what_both_have() {
        let read = Acls::read("u::rwx,u:7:rw-,u:7 nobody-has-this:r-x,g::---,m::rwx,o::---").unwrap();
        assert_eq!(read.text(false), "u::rwx,u:7:r--,g::---,m::rwx,o::---");
    }

    #[test]
    fn permissions_are_those_of_the_mode() {
        let read = Acls::read("u::rwx,u:7:rwx,g::r--,m::rwx,o::---,d:u::rwx,d:g::rwx,d:o::rwx").unwrap();
        assert_eq!(read.alone(0o770), 0o740, "the owning group has no more than its own without the list");
        let changed = read.with_mode(0o654);
        assert_eq!(changed.text(false), "u::rw-,u:7:rwx,g::r--,m::r-x,o::r--,d:u::rwx,d:g::rwx,d:o::rwx");
        assert_eq!(Acls::default().alone(0o770), 0o770);
    }
}
