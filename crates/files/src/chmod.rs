//! Changes of permissions on the way, as rsync's `--chmod` has them.

use crate::permissions::Permissions;
use core::str::FromStr;

/// Changes of permissions, one after the other; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chmod(Vec<Change>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    /// Files alone, or directories alone.
    only: Option<Kind>,
    how: How,
    /// Bits that are named.
    bits: u32,
    /// Bits that may change.
    who: u32,
    /// `X`: execution where somebody has it, and of directories.
    execution: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Add,
    Remove,
    Set,
}

const ALL: u32 = Permissions::MASK;
const EXECUTION: u32 = 0o111;

impl Chmod {
    /// The permissions that a file or a directory with these gets.
    pub(crate) fn applied(&self, mode: u32, is_directory: bool) -> u32 {
        let kind = if is_directory { Kind::Directory } else { Kind::File };
        let changes = self.0.iter().filter(|change| change.only.is_none_or(|only| only == kind));
        changes.fold(mode, |mode, change| {
            let may_execute = is_directory || mode & EXECUTION != 0;
            let bits = change.bits | if may_execute { change.execution } else { 0 };
            match change.how {
                How::Add => mode | bits,
                How::Remove => mode & !bits,
                How::Set => mode & !change.who | bits,
            }
        })
    }

    /// One change after the other.
    #[must_use]
    pub fn and(mut self, then: Self) -> Self {
        self.0.extend(then.0);
        self
    }
}

/// Why a text is no change of permissions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoChmod {
    /// It cannot be read.
    #[error("`{0}` is no change of permissions: write it like u=rwX,go-w or D755,F644")]
    Unreadable(String),
    /// It names a bit that lets a program run as somebody else.
    #[error("`{0}`: setuid, setgid and sticky bits are never set, so leave them out")]
    Special(String),
}

impl FromStr for Chmod {
    type Err = NoChmod;

    /// Changes with commas between, each like `D755`, `F644`, `go-w` or `u=rwX`.
    fn from_str(text: &str) -> Result<Self, NoChmod> {
        text.split(',').map(change).collect::<Result<_, _>>().map(Self)
    }
}

fn change(text: &str) -> Result<Change, NoChmod> {
    let (only, rest) = match text.split_at_checked(1) {
        Some(("D", rest)) => (Some(Kind::Directory), rest),
        Some(("F", rest)) => (Some(Kind::File), rest),
        _ => (None, text),
    };
    let unreadable = || NoChmod::Unreadable(text.to_owned());
    if !rest.is_empty() && rest.len() <= 4 && rest.bytes().all(|digit| (b'0'..=b'7').contains(&digit)) {
        let bits = u32::from_str_radix(rest, 8).map_err(|_| unreadable())?;
        if bits > ALL {
            return Err(NoChmod::Special(text.to_owned()));
        }
        return Ok(Change { only, how: How::Set, bits, who: ALL, execution: 0 });
    }
    let at = rest.find(['+', '-', '=']).ok_or_else(unreadable)?;
    let (whom, what) = rest.split_at(at);
    let how = match what.as_bytes().first() {
        Some(b'+') => How::Add,
        Some(b'-') => How::Remove,
        _ => How::Set,
    };
    let mut who = 0;
    for c in whom.chars() {
        who |= match c {
            'u' => 0o700,
            'g' => 0o070,
            'o' => 0o007,
            'a' => ALL,
            _ => return Err(unreadable()),
        };
    }
    let (mut each, mut execution) = (0, 0);
    for c in what.chars().skip(1) {
        match c {
            'r' => each |= 0o444,
            'w' => each |= 0o222,
            'x' => each |= EXECUTION,
            'X' => execution = EXECUTION,
            's' | 't' => return Err(NoChmod::Special(text.to_owned())),
            _ => return Err(unreadable()),
        }
    }
    // As of chmod(1): without a letter for whom it is for all, but for what new files lack anyway.
    let who = if whom.is_empty() { ALL & !umask() } else { who };
    Ok(Change { only, how, bits: each & who, who, execution: execution & who })
}

/// The bits that new files of this process lack.
#[cfg(unix)]
fn umask() -> u32 {
    // It can only be learned by setting it.
    let found = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    rustix::process::umask(found);
    #[allow(clippy::useless_conversion, reason = "it has another width elsewhere")]
    u32::from(found.as_raw_mode())
}

#[cfg(not(unix))]
fn umask() -> u32 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_change_as_chmod_says() {
        for (text, file, directory) in [
            ("D755,F644", 0o644, 0o755),
            ("go=", 0o600, 0o700),
            ("go-w", 0o640, 0o750),
            ("u=rwX,go=rX", 0o644, 0o755),
            ("a+X", 0o640, 0o751),
            ("F+x", 0o640 | EXECUTION & !umask(), 0o750),
            ("Du+w,Fo+r", 0o644, 0o750),
            ("600,D+X", 0o600, 0o600 | EXECUTION & !umask()),
        ] {
            let chmod: Chmod = text.parse().unwrap();
            let found = (chmod.applied(0o640, false), chmod.applied(0o750, true));
            assert_eq!(found, (file, directory), "{text}: {:o} {:o}", found.0, found.1);
        }
        let both = "go-w".parse::<Chmod>().unwrap().and("F600".parse().unwrap());
        assert_eq!((both.applied(0o666, false), both.applied(0o777, true)), (0o600, 0o755));
        assert_eq!(Chmod::default().applied(0o123, false), 0o123);
    }

    #[test]
    fn what_is_no_change_is_refused() {
        for wrong in ["", ",", "u", "rwx", "u+q", "k=r", "8", "F", "00644", "D-", "0x7"] {
            let read = wrong.parse::<Chmod>();
            assert!(wrong == "D-" || read.is_err(), "{wrong}: {read:?}");
        }
        for special in ["4755", "D2775", "u+s", "+t"] {
            assert_eq!(special.parse::<Chmod>(), Err(NoChmod::Special(special.to_owned())));
        }
    }
}
