//! Which entries of a directory are moved, and whether they are moved or only told.

mod pattern;

use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::moved::Moved;
use anyhow::{Context, anyhow};
use globset::{GlobBuilder, GlobMatcher};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::HashSet;
use std::path::Path;

/// The part of a directory that is moved, and how.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Entries that stay where they are, on both sides.
    pub excluded: Excluded,
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
    /// Whether nothing is deleted, since so many entries would be.
    pub(crate) fn spares(&self, surplus: u64) -> bool {
        self.max_delete.is_some_and(|most| surplus > most)
    }
}

/// The change of an entry of a directory, made or due in a dry run.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a, Place: ?Sized> {
    /// The file is complete, since before or since now.
    Complete(&'a Place, &'a Moved),
    /// A dry run found that the file would move, with so many bytes as far as they are known.
    Due(&'a Place, Option<u64>),
    /// The entry was deleted, or would be.
    Deleted(&'a Place),
}

/// The state of a file, as a look at both sides found it.
#[derive(Clone, Debug)]
pub enum Look<Moved> {
    /// Both sides have the same.
    There(Moved),
    /// It would move, with so many bytes as far as they are known.
    Due(Option<u64>),
}

/// Patterns of entries that are left out, by the rules of `.gitignore`.
///
/// A pattern without a slash matches a name at any depth. With a slash in front or within, it begins at the directory that is moved. With one
/// at the end it matches directories only, with everything in them. `*` and `?` match no slash, `**` does. `!` takes entries back, and
/// the last pattern that matches decides.
#[derive(Clone, Debug)]
pub struct Excluded(Gitignore);

impl Default for Excluded {
    fn default() -> Self {
        Self(Gitignore::empty())
    }
}

impl Excluded {
    /// By these patterns.
    ///
    /// Errors: one of them is none.
    pub fn new(patterns: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self> {
        Self::of(patterns).map_err(Error::from)
    }

    fn of(patterns: impl IntoIterator<Item = impl AsRef<str>>) -> anyhow::Result<Self> {
        let mut builder = GitignoreBuilder::new("");
        builder.allow_unclosed_class(false);
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let refused = |why: String| anyhow!("`{pattern}` {why}").context(Failure::Usage);
            if pattern.trim().is_empty() || pattern.starts_with('#') {
                return Err(refused("excludes nothing: write \\# for a name that begins with #".to_owned()));
            }
            let line = pattern::for_globset(pattern).map_err(|why| refused(format!("is no pattern: it {why}")))?;
            builder.add_line(None, &line).map_err(|error| refused(format!("is no pattern: {error}")))?;
        }
        Ok(Self(builder.build().context("the patterns are too many")?))
    }

    /// Whether this entry stays where it is; `path` begins below the directory that is moved.
    pub(crate) fn has(&self, path: &Path, is_directory: bool) -> bool {
        self.0.matched(path, is_directory).is_ignore()
    }
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

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.is_match(name) && (!name.starts_with('.') || self.pattern().starts_with('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(patterns: &[&str], path: &str) -> bool {
        let is_directory = path.ends_with('/');
        Excluded::new(patterns).unwrap().has(Path::new(path.trim_end_matches('/')), is_directory)
    }

    #[test]
    fn patterns_follow_the_rules_of_gitignore() {
        for (pattern, matched, others) in [
            ("*.log", &["a.log", "x/y/a.log", ".log"][..], &["a.log2", "log"][..]),
            ("/a", &["a", "a/"], &["x/a"]),
            ("x/a", &["x/a"], &["y/x/a", "a"]),
            ("cache/", &["cache/", "x/cache/"], &["cache", "caches/"]),
            ("x/**/b", &["x/b", "x/y/z/b"], &["b"]),
            ("?.[ch]", &["a.c", "x/b.h"], &["ab.c", "a.o"]),
        ] {
            assert!(matched.iter().all(|path| left_out(&[pattern], path)), "{pattern}");
            assert!(!others.iter().any(|path| left_out(&[pattern], path)), "{pattern}");
        }
        assert!(!left_out(&["*.log", "!keep.log"], "keep.log"));
        assert!(left_out(&["!keep.log", "*.log"], "keep.log"));
    }

    #[test]
    fn a_pattern_that_excludes_nothing_is_refused() {
        for wrong in ["", "  ", "# x", "[a"] {
            let error = Excluded::of([wrong]).unwrap_err();
            assert_eq!(crate::failure::failure_of(&error), Failure::Usage, "{wrong}");
            assert!(format!("{error:#}").contains(wrong), "{error:#}");
        }
        assert!(!Excluded::default().has(Path::new("a"), false));
    }

    #[test]
    fn names_are_matched_as_a_shell_does() {
        let names = Names::new("*.log").unwrap();
        assert!(names.has("a.log") && !names.has(".b.log") && !names.has("a.txt"));
        assert!(Names::new(".*").unwrap().has(".a") && Names::is_pattern("a?") && !Names::is_pattern("a b"));
        assert!(Names::new("[").is_err());
    }
}
