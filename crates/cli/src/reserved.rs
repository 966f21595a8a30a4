//! Files that are complete or not there at all.

use anyhow::{Context as _, ensure};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that will be written, and surely can be: it is begun under another name, and nothing is seen of it until it
/// is complete.
pub(crate) struct Reserved {
    target: PathBuf,
    begun: NamedTempFile,
}

impl Reserved {
    /// Begins the file that `option` named.
    pub(crate) fn at(target: &Path, option: &str) -> anyhow::Result<Self> {
        let advice = || format!("cannot write {}: choose another place with {option} FILE", target.display());
        ensure!(!target.is_dir(), "{}: it is a directory", advice());
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".pcc-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less the umask
        let begun = builder.tempfile_in(folder).with_context(advice)?;
        Ok(Self { target: target.to_owned(), begun })
    }

    /// Completes it.
    pub(crate) fn write(mut self, text: &str) -> anyhow::Result<()> {
        let target = &self.target;
        let failed = || format!("cannot write {}", target.display());
        self.begun.write_all(text.as_bytes()).with_context(failed)?;
        self.begun.as_file().sync_all().with_context(failed)?;
        self.begun.persist(target).map_err(|error| error.error).with_context(failed)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_seen_of_a_file_before_it_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("race.html");
        let reserved = Reserved::at(&target, "--html").unwrap();
        assert!(!target.exists());
        drop(reserved);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        Reserved::at(&target, "--html").unwrap().write("all of it").unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "all of it");
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named_with_the_option() {
        let dir = tempfile::tempdir().unwrap();
        for wrong in [dir.path().to_owned(), dir.path().join("no/race.html")] {
            let error = format!("{:#}", Reserved::at(&wrong, "--html").map(|_| ()).unwrap_err());
            assert!(error.contains("--html FILE") && error.contains(&*wrong.to_string_lossy()), "{error}");
        }
    }
}
