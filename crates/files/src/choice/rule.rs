//! Rules about entries of a directory: the first one whose pattern matches decides, as for rsync.

use super::pattern::Pattern;
use crate::error::{Error, Result};
use crate::failure::Failure;
use anyhow::anyhow;
use std::path::Path;
use std::sync::Arc;

/// A pattern, and whether what it matches is moved.
///
/// A pattern without a slash matches a name at any depth. With slashes within, it matches the end of a path. A slash in front binds it to
/// the directory that is moved, one at the end is for directories only, and `/***` for a directory with everything in it. `*` and `?` match
/// no slash, `**` does.
#[derive(Clone, Debug)]
pub struct Rule {
    pattern: Pattern,
    is_moved: bool,
}

/// Entries that stay where they are. All that no rule matches is moved.
#[derive(Clone, Debug, Default)]
pub struct Excluded(Arc<[Rule]>);

impl Rule {
    /// Leaves out what the pattern matches. A text that begins with `+ ` takes it in all the same, as for rsync.
    ///
    /// Errors: it is no pattern.
    pub fn exclude(text: &str) -> Result<Self> {
        Self::of(text, false)
    }

    /// Takes in what the pattern matches. A text that begins with `- ` leaves it out all the same.
    ///
    /// Errors: it is no pattern.
    pub fn include(text: &str) -> Result<Self> {
        Self::of(text, true)
    }

    /// The rules of a text with one in each line. Empty lines count for nothing, nor do those that begin with `#` or `;`.
    ///
    /// Errors: a line is no pattern.
    pub fn lines(text: &str, is_moved: bool) -> Result<Vec<Self>> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
        lines.map(|line| Self::of(line, is_moved)).collect()
    }

    fn of(text: &str, is_moved: bool) -> Result<Self> {
        let (text, is_moved) = match (text.strip_prefix("+ "), text.strip_prefix("- ")) {
            (Some(rest), _) => (rest, true),
            (_, Some(rest)) => (rest, false),
            _ => (text, is_moved),
        };
        let refused = |why: &str| Error::from(anyhow!("`{text}` {why}").context(Failure::Usage));
        if text.starts_with('!') {
            return Err(refused(
                "takes nothing back: write --include PATTERN in front of the --exclude, and [!] for a name that begins with !",
            ));
        }
        let pattern = Pattern::new(text).map_err(|why| refused(&format!("is no pattern: it {why}")))?;
        Ok(Self { pattern, is_moved })
    }
}

impl Excluded {
    /// All that these patterns match.
    ///
    /// Errors: one of them is none.
    pub fn new(patterns: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self> {
        let rules = patterns.into_iter().map(|pattern| Rule::exclude(pattern.as_ref()));
        rules.collect::<Result<Vec<_>>>().map(Self::by)
    }

    /// By these rules.
    pub fn by(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self(rules.into_iter().collect())
    }

    /// Whether this entry stays where it is; `path` begins below the directory that is moved.
    pub(crate) fn has(&self, path: &Path, is_directory: bool) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let path = path.to_string_lossy();
        // The separator of this system.
        let path = if cfg!(windows) { path.replace('\\', "/").into() } else { path };
        let rule = self.0.iter().find(|rule| rule.pattern.matches(&path, is_directory));
        rule.is_some_and(|rule| !rule.is_moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(rules: &[Rule], path: &str) -> bool {
        let is_directory = path.ends_with('/');
        Excluded::by(rules.to_vec()).has(Path::new(path.trim_end_matches('/')), is_directory)
    }

    #[test]
    fn patterns_follow_the_rules_of_rsync() {
        for (pattern, matched, others) in [
            ("*.log", &["a.log", "x/y/a.log", ".log"][..], &["a.log2", "log"][..]),
            ("/a", &["a", "a/"], &["x/a"]),
            ("x/a", &["x/a", "y/x/a"], &["a", "x/y/a"]),
            ("cache/", &["cache/", "x/cache/"], &["cache", "caches/"]),
            ("x/**/b", &["x/y/z/b"], &["b", "x/b"]),
            ("x/***", &["x/", "x/y", "z/x/y/"], &["x"]),
            ("?.[ch]", &["a.c", "x/b.h"], &["ab.c", "a.o"]),
            ("#x", &["#x"], &["x"]),
        ] {
            let rules = [Rule::exclude(pattern).unwrap()];
            assert!(matched.iter().all(|path| left_out(&rules, path)), "{pattern}");
            assert!(!others.iter().any(|path| left_out(&rules, path)), "{pattern}");
        }
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let (keep, logs) = (Rule::include("keep.log").unwrap(), Rule::exclude("*.log").unwrap());
        assert!(!left_out(&[keep.clone(), logs.clone()], "keep.log") && left_out(&[logs, keep], "keep.log"));
        let rules = Rule::lines("# pictures only\n\n+ */\n+ *.jpg\n- *\n; end\n", true).unwrap();
        assert!(!left_out(&rules, "x/") && !left_out(&rules, "x/a.jpg") && left_out(&rules, "x/a.txt"));
    }

    #[test]
    fn what_is_no_rule_is_refused_with_the_remedy() {
        for wrong in ["", "[a", "!keep.tmp", "!", "+ "] {
            let error = Rule::exclude(wrong).unwrap_err();
            assert_eq!(crate::failure::failure_of(error.as_anyhow()), Failure::Usage, "{wrong}");
        }
        assert!(Rule::exclude("!keep").unwrap_err().to_string().contains("--include"));
        assert!(!Excluded::default().has(Path::new("a"), false));
    }
}
