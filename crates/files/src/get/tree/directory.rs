//! A directory here and there, and where its entries belong.

use super::super::place_error::PlaceError;
use crate::client::listing::{Kind, Listing};
use crate::client::names;
use crate::disk;
use crate::filename;
use crate::permissions::Permissions;
use anyhow::Context;
use core::sync::atomic::{AtomicBool, Ordering};
use pcc_net::percent;
use pcc_net::url::Url;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Levels of directories: a server that links to itself has an end.
const DEEPEST: usize = 64;

/// A directory here and there.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) url: Url,
    pub(super) path: PathBuf,
    /// Levels above it.
    pub(super) depth: usize,
    /// The one around it; none around the one that was asked for.
    above: Option<Arc<Self>>,
    /// The permissions that it is made with.
    new: Permissions,
    made: AtomicBool,
    /// Whether what was in its way counts as gone. A dry run leaves that there, and does not look at it.
    pub(super) is_cleared: bool,
}

impl Directory {
    /// The one that was asked for.
    pub(super) fn top(url: Url, path: PathBuf) -> Self {
        let (made, new) = (AtomicBool::new(false), Permissions::named(None));
        Self { url, path, depth: 0, above: None, new, made, is_cleared: false }
    }

    fn below(above: &Arc<Self>, url: Url, path: PathBuf) -> Self {
        Self { depth: above.depth + 1, above: Some(above.clone()), ..Self::top(url, path) }
    }

    /// The same, made with these permissions.
    pub(super) fn made_with(self, new: Permissions) -> Self {
        Self { new, ..self }
    }

    /// The same, and whether what was in its way counts as gone.
    pub(super) fn cleared(self, is_cleared: bool) -> Self {
        Self { is_cleared, ..self }
    }

    /// Makes sure that it is here, and those above it up to the one that was asked for.
    pub(super) fn make(&self) -> anyhow::Result<()> {
        if !self.made.load(Ordering::Relaxed) {
            self.above.as_ref().map_or(Ok(()), |above| above.make())?;
            make_dir(&self.path, self.new)?;
            self.made.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Something else has the name here: a file that of a directory, or the other way round.
#[derive(Debug, thiserror::Error)]
#[error("{} is in the way: it is {is}", path.display())]
pub(super) struct InTheWay {
    pub(super) path: PathBuf,
    pub(super) is: &'static str,
}

/// An entry that is not fetched.
#[derive(Debug, thiserror::Error)]
#[error("left out {what} in {directory}: {why}")]
pub(super) struct BadEntry {
    pub(super) what: String,
    pub(super) directory: String,
    pub(super) why: String,
}

pub(super) fn left_out(directory: &Directory, what: String, why: String) -> anyhow::Error {
    BadEntry { what, directory: directory.url.short(), why }.into()
}

/// Whether there is room for what is missing of the files that are listed with their sizes.
pub(super) fn has_room(directory: &Directory, listing: &Listing) -> anyhow::Result<()> {
    let length = |path: &Path| path.symlink_metadata().ok().filter(std::fs::Metadata::is_file).map(|file| file.len());
    let missing = |(name, size): (&str, u64)| {
        let path = directory.path.join(name);
        match length(&path) {
            // It may be the same.
            Some(here) if here == size => 0,
            _ => size.saturating_sub(length(&names::part_and_journal(&path).0).unwrap_or(0)),
        }
    };
    let files = listing.entries.iter().filter(|entry| entry.kind == Kind::File);
    let sized = files.filter_map(|entry| Some((names::check(&entry.name).ok()?, entry.size?)));
    let needed = sized.map(missing).fold(0, u64::saturating_add);
    disk::has_room_at(&directory.path, needed).with_context(|| {
        let path = directory.path.display();
        format!("could not download all of {path}: make room or choose another place with -o, and run again")
    })
}

/// Where an entry belongs: `None` for a file in `directory`. Or why it is left out.
pub(super) fn place(
    directory: &Arc<Directory>,
    name: &str,
    kind: Kind,
    names: &mut HashSet<String>,
) -> Result<Option<Directory>, String> {
    let name = names::check(name).map_err(|bad| bad.to_string())?;
    if !names.insert(filename::folded(name)) {
        return Err("another entry or source has that name already, or one that is the same on this system".to_owned());
    }
    match kind {
        Kind::File | Kind::Link => Ok(None),
        Kind::Directory if directory.depth + 1 >= DEEPEST => Err(format!("it is more than {DEEPEST} levels deep")),
        Kind::Directory => {
            let (url, path) = (child(&directory.url, name, "/")?, directory.path.join(name));
            Ok(Some(Directory::below(directory, url, path)))
        }
        Kind::Other => {
            Err("it is neither a file nor a directory that the server can read, or a link out of what it serves, or back to where it lies"
                .to_owned())
        }
    }
}

/// The URL of an entry.
pub(super) fn child(url: &Url, name: &str, end: &str) -> Result<Url, String> {
    let path = format!("{}{}{end}", url.encoded_path(), percent::encode_segment(name));
    path.parse().map(|path| url.with_path(path)).map_err(|_| "its path is too long".to_owned())
}

/// Makes sure that there is a directory, and not a link to one: below the place that was asked for, names are the
/// server's choice.
fn make_dir(path: &Path, new: Permissions) -> anyhow::Result<()> {
    match new.make_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(error).with_context(|| PlaceError::Directory(path.to_owned()))
        }
        _ => is_free(path),
    }
}

/// Whether a directory is there, or could be made.
pub(super) fn is_free(path: &Path) -> anyhow::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.is_dir() => Err(InTheWay { path: path.to_owned(), is: "not a directory" }.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top() -> Directory {
        Directory::top("https://h/top/".parse().unwrap(), "here".into())
    }

    fn place_of(name: &str, kind: Kind, depth: usize) -> Result<Option<PathBuf>, String> {
        let top = Arc::new(Directory { depth, ..top() });
        Ok(place(&top, name, kind, &mut HashSet::new())?.map(|sub| {
            assert_eq!((sub.path.parent(), sub.depth), (Some(Path::new("here")), depth + 1));
            assert!(sub.url.encoded_path().starts_with("/top/") && sub.url.encoded_path().ends_with('/'));
            sub.path.file_name().map(PathBuf::from).unwrap()
        }))
    }

    #[test]
    fn entries_stay_in_the_directory() {
        assert_eq!(place_of("a b", Kind::File, 0), Ok(None));
        assert_eq!(place_of("sub", Kind::Directory, 0), Ok(Some("sub".into())));
        for name in ["..", "../x", "/etc/passwd", "a/b", "", ".", "a\0"] {
            assert!(place_of(name, Kind::File, 0).is_err(), "{name:?}");
            assert!(place_of(name, Kind::Directory, 0).is_err(), "{name:?}");
        }
        assert!(place_of("x", Kind::Other, 0).unwrap_err().contains("neither"));
        assert!(place_of("x", Kind::Directory, DEEPEST).unwrap_err().contains("levels"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_a_directory_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join("sub")).unwrap();
        assert!(make_dir(&dir.path().join("sub"), Permissions::named(None)).is_err());
    }

    #[test]
    fn a_name_listed_twice_counts_once() {
        let (top, mut names) = (Arc::new(top()), HashSet::new());
        assert!(place(&top, "a", Kind::File, &mut names).is_ok());
        assert!(place(&top, "a", Kind::File, &mut names).is_err());
    }
}
