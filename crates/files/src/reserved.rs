//! Files that are complete or not there at all.

use crate::extended::Extended;
use crate::inherited::inherit;
use crate::link;
use crate::permissions::Permissions;
use std::fs::{Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that will be written, and that could be when it was named: nothing is seen of it until it is complete, and
/// nothing is left of it if it never is.
#[derive(Debug)]
pub struct Reserved {
    named: PathBuf,
    place: Place,
}

/// A place that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", named.display())]
pub struct ReserveError {
    /// The place, as it was named.
    pub named: PathBuf,
    /// The system's reason.
    #[source]
    pub reason: io::Error,
}

/// The file that the name leads to.
#[derive(Debug)]
enum Place {
    /// A file, or none yet: replaced once the other is complete.
    File(PathBuf),
    /// A device, a pipe or a socket: something that is written to, and that no file is to replace.
    Through,
    /// Where this program writes anyway.
    Stdout,
}

impl Reserved {
    /// Finds out whether the file can be written.
    ///
    /// Errors: it cannot, or is a directory.
    pub fn at(named: &Path) -> Result<Self, ReserveError> {
        let refused = |reason| ReserveError { named: named.to_owned(), reason };
        if named.is_dir() {
            return Err(refused(io::Error::other("it is a directory")));
        }
        let place = Place::of(named).map_err(refused)?;
        if let Place::File(target) = &place {
            // Gone again at once: whoever is interrupted in the minutes until it is written has no time to clean up.
            begin(target).map_err(refused)?;
        }
        Ok(Self { named: named.to_owned(), place })
    }

    /// Writes it.
    ///
    /// Errors: there is no room for it, or the other end of a pipe is gone.
    pub fn write(self, text: &str) -> Result<(), ReserveError> {
        let written = match &self.place {
            Place::File(target) => replace(target, text),
            Place::Through => write_through(&self.named, text),
            Place::Stdout => io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()),
        };
        written.map_err(|reason| ReserveError { named: self.named, reason })
    }
}

impl Place {
    fn of(named: &Path) -> io::Result<Self> {
        match named.metadata() {
            Ok(found) if is_stdout(&found) => Ok(Self::Stdout),
            Ok(found) if !found.is_file() => Ok(Self::Through),
            _ => link::followed(named).map(Self::File),
        }
    }
}

/// Whether it is this program's standard output, under another name like `/dev/stdout`: what was written there stays only
/// if this comes behind it.
#[cfg(unix)]
fn is_stdout(found: &Metadata) -> bool {
    use std::os::{fd::AsFd as _, unix::fs::MetadataExt as _};
    let stdout = io::stdout().as_fd().try_clone_to_owned().and_then(|stdout| std::fs::File::from(stdout).metadata());
    stdout.is_ok_and(|stdout| (stdout.dev(), stdout.ino()) == (found.dev(), found.ino()))
}

#[cfg(windows)]
fn is_stdout(_: &Metadata) -> bool {
    false
}

fn replace(target: &Path, text: &str) -> io::Result<()> {
    let mut begun = begin(target)?;
    begun.as_file_mut().write_all(text.as_bytes())?;
    inherit(target, &Extended::default(), Permissions::of(target), begun.as_file());
    begun.as_file().sync_all()?;
    begun.persist(target)?;
    Ok(())
}

/// Waits for the other end of a pipe, as whatever writes into one does.
fn write_through(named: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(named)?.write_all(text.as_bytes())
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
        Kind::NotFound => io::Error::new(Kind::NotFound, "its directory does not exist"),
        kind @ (Kind::NotADirectory
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
    fn a_file_appears_at_once_and_whole() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("race.html");
        let files = || std::fs::read_dir(dir.path()).unwrap().count();
        let reserved = Reserved::at(&target).unwrap();
        assert_eq!(files(), 0, "whoever is killed now leaves nothing");
        reserved.write("all of it").unwrap();
        assert_eq!((files(), std::fs::read_to_string(&target).unwrap().as_str()), (1, "all of it"));
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_written_to_and_stays_and_a_link_leads_on() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let (fifo, rights) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), fifo, rights, 0).unwrap();
        std::fs::write(at("file"), "old").unwrap();
        for (link, to) in [("to pipe", "pipe"), ("to file", "file"), ("to nothing", "new")] {
            std::os::unix::fs::symlink(to, at(link)).unwrap();
        }
        let write = |name| Reserved::at(&at(name)).unwrap().write("text").unwrap();
        for name in ["pipe", "to pipe"] {
            let reader = std::thread::spawn({
                let pipe = at("pipe");
                move || std::fs::read_to_string(pipe).unwrap()
            });
            write(name);
            assert_eq!(reader.join().unwrap(), "text", "{name}");
        }
        for (link, to) in [("to file", "file"), ("to nothing", "new")] {
            write(link);
            assert_eq!(std::fs::read_to_string(at(to)).unwrap(), "text", "{link}");
            assert!(at(link).is_symlink(), "{link}");
        }
        assert_eq!(dir.path().read_dir().unwrap().count(), 6, "nothing else is left");
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let dir = tempfile::tempdir().unwrap();
        for wrong in [dir.path().to_owned(), dir.path().join("no/race.html")] {
            let error = Reserved::at(&wrong).map(|_| ()).unwrap_err();
            let reason = std::error::Error::source(&error).unwrap().to_string();
            assert!(error.to_string().contains(&*wrong.to_string_lossy()), "{error}");
            assert!(!reason.contains(".pcc-"), "a name that nobody gave: {reason}");
        }
    }
}
