//! The things that a copy keeps of the original besides its name and its content.

use crate::attributes::Attributes;
use crate::chmod::Chmod;
use crate::delta::Deltas;
use crate::extended::Kinds;
use crate::wire;
use http::request;

/// The things that a transfer keeps, in both directions.
#[derive(Clone, Debug, Default)]
pub struct Keeps {
    /// Times of modification. A download of a file has its time in any case.
    pub times: bool,
    /// Permissions of owner, group and others.
    pub permissions: bool,
    /// Changes of these permissions on the way.
    pub chmod: Chmod,
    /// Owners, where the receiver is root.
    pub owner: bool,
    /// Groups, where the receiver is root or one of their members.
    pub group: bool,
    /// Extended attributes that users gave; for root, those that root alone sees, too. Between computers with Linux.
    pub xattrs: bool,
    /// Access control lists, which need `permissions`. Between computers with Linux.
    pub acls: bool,
    /// Owners and groups by number, whatever their names are.
    pub numeric_ids: bool,
    /// Symbolic links of a directory, as links.
    pub links: bool,
    /// Symbolic links are followed, wherever they lead, and the things there go up in their place.
    pub copy_links: bool,
    /// With links that lead out of the directory.
    pub links_out: bool,
    /// Names of one file, as names of one file.
    pub hard_links: bool,
    /// Long stretches of zeros take no room where they are written.
    pub sparse: bool,
    /// Contents are compressed on the way, where that helps.
    pub compress: bool,
    /// Whether only the parts come that a file of the same name lacks.
    pub deltas: Deltas,
}

impl Keeps {
    /// Times, permissions, owners, groups and links.
    pub fn archive() -> Self {
        Self { times: true, permissions: true, owner: true, group: true, links: true, ..Self::default() }
    }

    /// Whether any attributes are kept.
    pub(crate) const fn attributes(&self) -> bool {
        self.times || self.permissions || self.owners() || self.xattrs || self.acls
    }

    /// The kinds of extended attributes that are kept.
    pub(crate) const fn extended(&self) -> Kinds {
        Kinds { xattrs: self.xattrs, acls: self.acls }
    }

    pub(crate) const fn owners(&self) -> bool {
        self.owner || self.group
    }

    /// The same request, with what it asks for besides contents.
    pub(crate) fn asks(&self, request: request::Builder) -> request::Builder {
        let owners = if self.numeric_ids { "?0" } else { "?1" };
        let fields = [
            (self.attributes(), wire::WANT_FILE_ATTRIBUTES, "?1"),
            (self.owners(), wire::WANT_FILE_OWNERS, owners),
            (self.xattrs, wire::WANT_FILE_XATTRS, "?1"),
            (self.acls, wire::WANT_FILE_ACLS, owners),
        ];
        let wanted = fields.into_iter().filter(|(is_wanted, ..)| *is_wanted);
        wanted.fold(request, |request, (_, name, value)| request.header(name, value))
    }

    /// The same of a listing.
    pub(crate) fn asks_of_listing(&self, request: request::Builder) -> request::Builder {
        let request = self.asks_for_links(self.asks(request));
        if self.hard_links { request.header(wire::WANT_FILE_NAMES, "?1") } else { request }
    }

    /// A request about the name itself, where links are kept, and not about what it leads to.
    pub(crate) fn asks_for_links(&self, request: request::Builder) -> request::Builder {
        if self.links { request.header(wire::WANT_FILE_LINKS, "?1") } else { request }
    }

    /// The attributes of these that a copy gets.
    pub(crate) fn of(&self, attributes: Attributes, is_directory: bool) -> Attributes {
        let mode = attributes.mode.filter(|_| self.permissions);
        let mode = mode.map(|mode| self.chmod.applied(mode, is_directory));
        Attributes {
            mode,
            modified: attributes.modified.filter(|_| self.times),
            owner: attributes.owner.filter(|_| self.owner),
            group: attributes.group.filter(|_| self.group),
            extended: attributes.extended.only(self.extended()).with_mode(mode),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extended::Extended;
    use std::time::UNIX_EPOCH;

    #[test]
    fn each_attribute_is_kept_by_itself() {
        let (mode, modified, extended) = (Some(0o640), Some(UNIX_EPOCH), Extended::default());
        let all = Attributes { mode, modified, owner: Some(1), group: Some(2), extended };
        let kept = |times, permissions| Keeps { times, permissions, ..Keeps::default() }.of(all.clone(), false);
        let ours = Attributes { owner: None, group: None, ..all.clone() };
        assert_eq!(kept(true, true), ours);
        assert_eq!(kept(true, false), Attributes { mode: None, ..ours.clone() });
        assert_eq!(kept(false, true), Attributes { modified: None, ..ours });
        assert_eq!(
            Keeps { group: false, ..Keeps::archive() }.of(all.clone(), false),
            Attributes { group: None, ..all.clone() }
        );
        assert_eq!(kept(false, false), Attributes::default());
        let chmod = "go=".parse().unwrap();
        assert_eq!(Keeps { chmod, ..Keeps::archive() }.of(all, false).mode, Some(0o600));
    }
}
