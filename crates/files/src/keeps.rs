//! The things that a copy keeps of the original besides its name and its content.

use crate::attributes::Attributes;
use crate::chmod::Chmod;

/// The things that a transfer keeps, in both directions.
#[derive(Clone, Debug, Default)]
pub struct Keeps {
    /// Times of modification. A download of a file has its time in any case.
    pub times: bool,
    /// Permissions of owner, group and others.
    pub permissions: bool,
    /// Changes of these permissions on the way.
    pub chmod: Chmod,
}

impl Keeps {
    /// Times and permissions.
    pub fn archive() -> Self {
        Self { times: true, permissions: true, ..Self::default() }
    }

    /// Whether any attributes are kept.
    pub(crate) const fn attributes(&self) -> bool {
        self.times || self.permissions
    }

    /// The attributes of these that a copy gets.
    pub(crate) fn of(&self, attributes: Attributes, is_directory: bool) -> Attributes {
        let mode = attributes.mode.filter(|_| self.permissions);
        Attributes {
            mode: mode.map(|mode| self.chmod.applied(mode, is_directory)),
            modified: attributes.modified.filter(|_| self.times),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    #[test]
    fn each_attribute_is_kept_by_itself() {
        let all = Attributes { mode: Some(0o640), modified: Some(UNIX_EPOCH) };
        let kept = |times, permissions| Keeps { times, permissions, ..Keeps::default() }.of(all, false);
        assert_eq!(kept(true, true), all);
        assert_eq!(kept(true, false), Attributes { mode: None, ..all });
        assert_eq!(kept(false, true), Attributes { modified: None, ..all });
        assert_eq!(kept(false, false), Attributes::default());
        let chmod = "go=".parse().unwrap();
        assert_eq!(Keeps { chmod, ..Keeps::archive() }.of(all, false).mode, Some(0o600));
    }
}
