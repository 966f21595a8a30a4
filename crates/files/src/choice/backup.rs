//! Replaced files that are kept.

use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::filename;
use anyhow::{Context, anyhow};
use std::path::{Path, PathBuf};

/// The place of replaced files: beside the new one, under a name with this at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup(String);

impl Backup {
    /// By this end of the name, such as `~`.
    ///
    /// Errors: no name can end so.
    pub fn new(suffix: &str) -> Result<Self> {
        if suffix.is_empty() || !filename::is_possible(suffix) || suffix.len() > filename::LONGEST / 2 {
            let why = anyhow!("`{suffix}` cannot end the names of files that are kept: write --suffix '~'");
            return Err(Error::from(why.context(Failure::Usage)));
        }
        Ok(Self(suffix.to_owned()))
    }

    /// The end of the names.
    pub(crate) fn suffix(&self) -> &str {
        &self.0
    }

    /// The name under which a replaced file is kept.
    pub(crate) fn place(&self, path: &Path) -> Option<PathBuf> {
        let mut name = path.file_name()?.to_owned();
        name.push(&self.0);
        Some(path.with_file_name(name))
            .filter(|place| place.file_name().is_some_and(|name| name.len() <= filename::LONGEST))
    }

    /// Gives the file or the link at `path` its second name, so that the first one can be given away. An older backup goes.
    ///
    /// Errors: a directory has the name; or the system refuses.
    pub(crate) fn keep(&self, path: &Path) -> anyhow::Result<()> {
        let Ok(found) = path.symlink_metadata() else { return Ok(()) };
        if found.is_dir() {
            return Ok(()); // it is in the way, and somebody else says so
        }
        let place =
            self.place(path).with_context(|| format!("the name {} is too long for a backup", path.display()))?;
        // Where it can have two names for a moment, it is never without its own.
        let _ = std::fs::remove_file(&place);
        std::fs::hard_link(path, &place).or_else(|_| std::fs::rename(path, &place)).with_context(|| {
            format!("could not keep {} as {}, so it was not replaced", path.display(), place.display())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_is_kept_under_another_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let backup = Backup::new("~").unwrap();
        backup.keep(&path).unwrap();
        for (old, kept) in [("1", "1"), ("2", "2")] {
            std::fs::write(&path, old).unwrap();
            backup.keep(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            assert_eq!(std::fs::read_to_string(dir.path().join("file~")).unwrap(), kept);
        }
        assert!(backup.place(Path::new(&"n".repeat(255))).is_none());
        for wrong in ["", "a/b", "../x"] {
            assert!(Backup::new(wrong).is_err(), "{wrong}");
        }
    }
}
