//! Extended attributes as a field has them: those that users give, and those that root alone sees.
//!
//! None of `security.` moves, nor of `system.`: they say what a program may do as whom, as setuid does, or are the file system's own.

use crate::owners;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;

/// Bytes of a name, Linux's limit.
const LONGEST_NAME: usize = 255;

/// All of a file, by their names, which are no text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Xattrs(pub(crate) BTreeMap<Vec<u8>, Vec<u8>>);

/// The namespace of an attribute (xattr(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// `user.`
    User,
    /// `trusted.`, which no process but root's sees or sets.
    Trusted,
}

impl Space {
    /// The one of that name; `None` if such attributes do not move.
    pub(crate) fn of(name: &[u8]) -> Option<Self> {
        let spaces = [(&b"user."[..], Self::User), (b"trusted.", Self::Trusted)];
        let is_one = name.len() <= LONGEST_NAME && !name.contains(&0);
        let found = spaces.into_iter().find(|(prefix, _)| name.len() > prefix.len() && name.starts_with(prefix));
        found.filter(|_| is_one).map(|(_, space)| space)
    }

    /// Whether this process may give files an attribute of it.
    pub(crate) fn is_givable(self) -> bool {
        self == Self::User || owners::may_give_away()
    }
}

impl Xattrs {
    /// Names and values in base64, with colons between them and commas behind.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut all = BTreeMap::new();
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once(':')?;
            let name = STANDARD.decode(name).ok().filter(|name| Space::of(name).is_some())?;
            all.insert(name, STANDARD.decode(value).ok()?);
        }
        Some(Self(all))
    }

    /// Those that this process may give.
    pub(crate) fn givable(mut self) -> Self {
        self.0.retain(|name, _| Space::of(name).is_some_and(Space::is_givable));
        self
    }

    pub(crate) fn text(&self) -> String {
        let pair =
            |(name, value): (&Vec<u8>, &Vec<u8>)| format!("{}:{}", STANDARD.encode(name), STANDARD.encode(value));
        self.0.iter().map(pair).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_attributes_arrive_as_they_were(
            all in prop::collection::btree_map(
                prop::collection::vec(1..=255u8, 1..40), prop::collection::vec(any::<u8>(), 0..50), 0..8
            ),
        ) {
            let all = Xattrs(all.into_iter().map(|(name, value)| ([&b"user."[..], &name].concat(), value)).collect());
            prop_assert_eq!(Xattrs::read(&all.text()), Some(all));
        }

        #[test]
        fn any_text_is_attributes_that_move_or_none(text in "[A-Za-z0-9+/=:,?]{0,60}") {
            if let Some(read) = Xattrs::read(&text) {
                prop_assert!(read.0.keys().all(|name| Space::of(name).is_some()));
            }
        }
    }

    #[test]
    fn attributes_of_the_system_do_not_move() {
        let read = |name: &str| Xattrs::read(&format!("{}:", STANDARD.encode(name)));
        for name in [
            "security.capability",
            "security.selinux",
            "system.posix_acl_access",
            "system.nfs4_acl",
            "user.",
            "user",
            "trusted.",
            "user.a\0b",
            "User.a",
            "",
        ] {
            assert_eq!(read(name), None, "{name}");
        }
        let long = format!("user.{}", "x".repeat(251));
        assert!(read(&long).is_none() && read(&long[..255]).is_some());
        assert!(read("trusted.a").is_some());
        assert_eq!(Xattrs::read(""), Some(Xattrs::default()), "it is known that there are none");
    }
}
