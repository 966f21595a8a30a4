//! Files that are complete or not there at all.

use anyhow::{Context as _, ensure};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that will be written, and that could be when it was named: nothing is seen of it until it is complete, and
/// nothing is left of it if it never is.
pub(crate) struct Reserved {
    target: PathBuf,
    option: String,
}

impl Reserved {
    /// Finds out whether the file that `option` named can be written.
    pub(crate) fn at(target: &Path, option: &str) -> anyhow::Result<Self> {
        ensure!(!target.is_dir(), "{}: it is a directory", advice(target, option));
        // Gone again at once: whoever is interrupted in the minutes until it is written has no time to clean up.
        begin(target).with_context(|| advice(target, option))?;
        Ok(Self { target: target.to_owned(), option: option.to_owned() })
    }

    /// Writes it.
    pub(crate) fn write(self, text: &str) -> anyhow::Result<()> {
        let write = || {
            let mut begun = begin(&self.target)?;
            begun.as_file_mut().write_all(text.as_bytes())?;
            begun.as_file().sync_all()?;
            begun.persist(&self.target)?;
            io::Result::Ok(())
        };
        write().with_context(|| advice(&self.target, &self.option))
    }
}

fn advice(target: &Path, option: &str) -> String {
    format!("cannot write {}: choose another place with {option} FILE", target.display())
}

/// Another name in the same folder, for what is not complete.
fn begin(target: &Path) -> io::Result<NamedTempFile> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pcc-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less the umask
    builder.tempfile_in(folder).map_err(without_name)
}

/// Without the name that was made up, which nobody asked for; what is rare keeps it.
fn without_name(error: io::Error) -> io::Error {
    use io::ErrorKind as Kind;
    match error.kind() {
        kind @ (Kind::NotFound
        | Kind::NotADirectory
        | Kind::PermissionDenied
        | Kind::ReadOnlyFilesystem
        | Kind::StorageFull
        | Kind::QuotaExceeded) => kind.into(),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_there_of_a_file_before_it_is_written_and_then_all_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("race.html");
        let files = || std::fs::read_dir(dir.path()).unwrap().count();
        let reserved = Reserved::at(&target, "--html").unwrap();
        assert_eq!(files(), 0, "whoever is killed now leaves nothing");
        reserved.write("all of it").unwrap();
        assert_eq!((files(), std::fs::read_to_string(&target).unwrap().as_str()), (1, "all of it"));
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named_with_the_option() {
        let dir = tempfile::tempdir().unwrap();
        for wrong in [dir.path().to_owned(), dir.path().join("no/race.html")] {
            let error = format!("{:#}", Reserved::at(&wrong, "--html").map(|_| ()).unwrap_err());
            assert!(error.contains("--html FILE") && error.contains(&*wrong.to_string_lossy()), "{error}");
            assert!(!error.contains(".pcc-"), "a name that nobody gave: {error}");
        }
    }
}
