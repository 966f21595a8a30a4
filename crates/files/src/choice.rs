//! Which entries of a directory are moved, and whether they are moved or only told.

mod backup;
mod listed;
mod pattern;
mod rule;
mod spared;

pub use backup::Backup;
pub use listed::Listed;
pub use rule::{Excluded, Rule};
pub use spared::Spared;

use crate::error::Result;
use crate::failure::Failure;
use crate::moved::Moved;
use anyhow::anyhow;
use globset::{GlobBuilder, GlobMatcher};
use std::collections::HashSet;
use std::path::Path;

/// The part of a directory that is moved, and how.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Entries that stay where they are, on both sides.
    pub excluded: Excluded,
    /// Nothing but these, the directories on the way to them, and what is in them.
    pub listed: Option<Listed>,
    /// Files that stay as they are at the destination, whatever the other side has.
    pub spared: Spared,
    /// Keeps a file that is replaced.
    pub backup: Option<Backup>,
    /// Of the directory itself only these.
    pub only: Option<Names>,
    /// Names in the destination that belong to something else: an entry of the directory itself that has one is not brought.
    pub taken: HashSet<String>,
    /// Nothing is made, replaced or deleted: what would be is told.
    pub dry_run: bool,
    /// Deletes at the destination the entries that the other side does not have.
    pub delete: bool,
    /// Nothing is deleted where more entries than this would be.
    pub max_delete: Option<u64>,
}

impl Choice {
    /// Whether this entry stays where it is; `path` begins below the directory that is moved.
    pub(crate) fn leaves_out(&self, path: &Path, is_directory: bool) -> bool {
        self.excluded.has(path, is_directory) || self.listed.as_ref().is_some_and(|listed| !listed.has(path))
    }

    /// Whether nothing is deleted, since so many entries would be.
    pub(crate) fn spares(&self, extraneous: u64) -> bool {
        self.max_delete.is_some_and(|most| extraneous > most)
    }
}

/// The change of an entry of a directory, made or due in a dry run.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a, Place: ?Sized> {
    /// The file is complete, since before or since now.
    Complete(&'a Place, &'a Moved),
    /// A dry run found that the file would move, with so many bytes as far as they are known.
    Due(&'a Place, Option<u64>),
    /// A symbolic link or a further name of a file was made, or would be.
    Linked(&'a Place),
    /// The entry was deleted, or would be.
    Deleted(&'a Place),
}

/// The state of a file, as a look at both sides found it.
#[derive(Clone, Debug)]
pub enum Look<Moved> {
    /// Both sides have the same.
    There(Moved),
    /// It stays as it is at the destination, as [`Choice::spared`] says.
    Spared,
    /// It would move, with so many bytes as far as they are known.
    Due(Option<u64>),
}

/// Names as a shell's pattern matches them: `*.log`. A dot at the beginning is matched by a dot only.
#[derive(Clone, Debug)]
pub struct Names(GlobMatcher);

impl Names {
    /// By this pattern.
    ///
    /// Errors: it is none.
    pub fn new(pattern: &str) -> Result<Self> {
        let built = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
        let glob =
            built.map_err(|error| anyhow!("`{pattern}` is no pattern: {}", error.kind()).context(Failure::Usage))?;
        Ok(Self(glob.compile_matcher()))
    }

    /// Whether text is such a pattern, and not just a name.
    pub fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?', '['])
    }

    pub(crate) fn pattern(&self) -> &str {
        self.0.glob().glob()
    }

    /// Whether it matches this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.is_match(name) && (!name.starts_with('.') || self.pattern().starts_with('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_matched_as_a_shell_does() {
        let names = Names::new("*.log").unwrap();
        assert!(names.has("a.log") && !names.has(".b.log") && !names.has("a.txt"));
        assert!(Names::new(".*").unwrap().has(".a") && Names::is_pattern("a?") && !Names::is_pattern("a b"));
        assert!(Names::new("[").is_err());
    }
}
