//! Users and groups on their way to another computer: by name where both know it, by number otherwise, as rsync does.

mod written;

use pcc_net::percent;
#[cfg(unix)]
use std::collections::HashMap;
#[cfg(unix)]
use std::sync::{Mutex, PoisonError};

/// Owners of files, or their groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    User,
    Group,
}

/// Numbers and names that are remembered, so that not each file asks the system: a stranger may name any number of them.
#[cfg(unix)]
const REMEMBERED: usize = 1024;

/// The text of a field about this number: with its name, if it has one here and that is wanted.
pub(crate) fn text(kind: Kind, id: u32, with_name: bool) -> String {
    match with_name.then(|| name_of(kind, id)).flatten() {
        Some(name) => format!("{id} {}", percent::encode_segment(&name)),
        None => id.to_string(),
    }
}

/// The number that a field's text means here: that of its name, where there is such a name. 0 is root everywhere.
pub(crate) fn read(kind: Kind, text: &str) -> Option<u32> {
    let (id, name) = written::read(text)?;
    Some(name.filter(|_| id != 0).and_then(|name| id_of(kind, &name)).unwrap_or(id))
}

/// Answers of the system.
#[cfg(unix)]
type Known<K, V> = Mutex<Option<HashMap<K, V>>>;

#[cfg(unix)]
fn name_of(kind: Kind, id: u32) -> Option<String> {
    use nix::unistd::{Gid, Group, Uid, User};
    static KNOWN: Known<(Kind, u32), Option<String>> = Mutex::new(None);
    remembered(&KNOWN, (kind, id), || match kind {
        Kind::User => User::from_uid(Uid::from_raw(id)).ok().flatten().map(|user| user.name),
        Kind::Group => Group::from_gid(Gid::from_raw(id)).ok().flatten().map(|group| group.name),
    })
}

#[cfg(unix)]
fn id_of(kind: Kind, name: &str) -> Option<u32> {
    use nix::unistd::{Group, User};
    static KNOWN: Known<(Kind, String), Option<u32>> = Mutex::new(None);
    remembered(&KNOWN, (kind, name.to_owned()), || match kind {
        Kind::User => User::from_name(name).ok().flatten().map(|user| user.uid.as_raw()),
        Kind::Group => Group::from_name(name).ok().flatten().map(|group| group.gid.as_raw()),
    })
}

#[cfg(unix)]
fn remembered<K: core::hash::Hash + Eq, V: Clone>(known: &Known<K, V>, key: K, look: impl FnOnce() -> V) -> V {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if known.len() >= REMEMBERED && !known.contains_key(&key) {
        known.clear();
    }
    known.entry(key).or_insert_with(look).clone()
}

#[cfg(not(unix))]
fn name_of(_: Kind, _: u32) -> Option<String> {
    None
}

#[cfg(not(unix))]
fn id_of(_: Kind, _: &str) -> Option<u32> {
    None
}

/// Whether this process may give files to other users.
pub(crate) fn may_give_away() -> bool {
    #[cfg(unix)]
    return rustix::process::geteuid().is_root();
    #[cfg(not(unix))]
    return false;
}

/// Whether this process may give its files to this group: root to any, others to those that they are in.
pub(crate) fn may_give_to(group: u32) -> bool {
    #[cfg(unix)]
    {
        let is_ours = |own: rustix::fs::Gid| own.as_raw() == group;
        let among = || rustix::process::getgroups().is_ok_and(|groups| groups.into_iter().any(is_ours));
        may_give_away() || is_ours(rustix::process::getegid()) || among()
    }
    #[cfg(not(unix))]
    {
        let _ = group;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_name_that_is_known_counts_and_otherwise_the_number() {
        for kind in [Kind::User, Kind::Group] {
            assert_eq!(text(kind, 0, true), "0 root");
            assert_eq!((text(kind, 0, false), text(kind, 4_000_123, true)), ("0".to_owned(), "4000123".to_owned()));
            for (text, id) in [
                ("4000123 root", Some(0)),
                ("4000123 nobody-has-this", Some(4_000_123)),
                ("0 daemon", Some(0)),
                ("7", Some(7)),
                ("7 ", None),
                ("7 %zz", None),
                ("-1", None),
                ("root", None),
                ("", None),
                ("4294967295", None),
                ("4294967296", None),
            ] {
                assert_eq!(read(kind, text), id, "{text}");
            }
        }
        assert_eq!(read(Kind::User, &format!("7 {}", "x".repeat(written::LONGEST))), None);
    }

    #[cfg(unix)]
    #[test]
    fn so_many_names_are_remembered_and_no_more() {
        let known = Mutex::new(None);
        for number in 0..3 * REMEMBERED {
            assert_eq!(remembered(&known, number, || number), number);
        }
        assert!(known.lock().unwrap().as_ref().unwrap().len() <= REMEMBERED);
    }
}
