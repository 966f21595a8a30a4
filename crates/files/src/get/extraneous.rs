//! Entries of the destination that the server does not have. `--delete` removes them at the end, once all listings were complete.
//!
//! A server decides which names it lists, and so what is removed. Nothing outside of the destination ever is: each step is taken
//! from the destination's open directory, and no link is followed.

use crate::choice::Excluded;
use crate::client::names::{self, BadName};
use crate::filename;
use anyhow::{Context, ensure};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use core::cell::OnceCell;
use std::collections::HashSet;
use std::fs::DirEntry;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The entries that only the destination has.
#[derive(Debug, Default)]
pub(super) struct Extraneous {
    /// Below the destination.
    paths: Vec<PathBuf>,
    /// Directories that go only when the file with their name has come.
    replaced: Vec<PathBuf>,
}

/// The message for each entry that is removed, or would be.
type Told<'a> = &'a mut dyn FnMut(&Path);

impl Extraneous {
    /// Notes what the directory `below` the destination `top` has besides these names, which are folded.
    ///
    /// Errors: it cannot be read, so that nobody knows.
    pub(super) fn look(
        &mut self,
        top: &Path,
        below: &Path,
        listed: &HashSet<String>,
        excluded: &Excluded,
    ) -> anyhow::Result<()> {
        let dir = top.join(below);
        let entries = match std::fs::read_dir(&dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.with_context(|| format!("could not read {}", dir.display()))?,
        };
        // Some file systems find one file under several names.
        let identities = OnceCell::new();
        let is_listed_file = |entry: &DirEntry| {
            let listed = || listed.iter().filter_map(|name| identity(&dir.join(name))).collect::<HashSet<_>>();
            identity(&entry.path()).is_some_and(|this| identities.get_or_init(listed).contains(&this))
        };
        for entry in entries {
            let entry = entry?;
            let (path, is_directory) = (below.join(entry.file_name()), entry.file_type()?.is_dir());
            let is_listed = entry.file_name().to_str().is_some_and(|name| listed.contains(&filename::folded(name)));
            if !is_listed && !stays(&path, is_directory, excluded) && !is_listed_file(&entry) {
                self.paths.push(path);
            }
        }
        Ok(())
    }

    /// Notes what is at `path`, in the way of something else with that name: a directory in that of a file, or anything else.
    /// Answers whether it may go.
    pub(super) fn replace(&mut self, path: &Path, is_directory: bool, excluded: &Excluded) -> bool {
        let goes = !stays(path, is_directory, excluded);
        if goes {
            let kind = if is_directory { &mut self.replaced } else { &mut self.paths };
            kind.push(path.to_owned());
        }
        goes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.replaced.is_empty()
    }

    /// Tells the entries that would go. Blocks.
    pub(super) fn tell(&self, top: &Path, excluded: &Excluded, told: Told<'_>) -> anyhow::Result<()> {
        clear(top, self.paths.iter().chain(&self.replaced), excluded, true, told).map(drop)
    }

    /// Removes all of it but what still stands in the way of a file. Blocks.
    pub(super) fn delete(&self, top: &Path, excluded: &Excluded, told: Told<'_>) -> anyhow::Result<()> {
        clear(top, self.paths.iter(), excluded, false, told).map(drop)
    }
}

/// Removes a directory that is in the way of a file. Blocks.
///
/// Errors: something in it is excluded.
pub(super) fn make_way(top: &Path, path: &PathBuf, excluded: &Excluded, told: Told<'_>) -> anyhow::Result<()> {
    let is_gone = clear(top, [path], excluded, false, told)?;
    ensure!(is_gone, "{} is in the way, and holds what is excluded or unfinished", top.join(path).display());
    Ok(())
}

/// Removes these, or tells of them only; answers whether all is gone.
fn clear<'a>(
    top: &Path,
    paths: impl IntoIterator<Item = &'a PathBuf>,
    excluded: &Excluded,
    dry_run: bool,
    told: Told<'_>,
) -> anyhow::Result<bool> {
    let mut paths = paths.into_iter().peekable();
    if paths.peek().is_none() {
        return Ok(true);
    }
    let dir =
        Dir::open_ambient_dir(top, ambient_authority()).with_context(|| format!("could not open {}", top.display()))?;
    let mut is_gone = true;
    for path in paths {
        is_gone &= remove(&dir, path, excluded, dry_run, told)
            .with_context(|| format!("could not delete {}", top.join(path).display()))?;
    }
    Ok(is_gone)
}

/// The number that tells a file from others, under whatever name; `None` where the system does not say, or without a file.
fn identity(path: &Path) -> Option<(u64, u64)> {
    #[cfg(unix)]
    return path.symlink_metadata().ok().map(|found| {
        use std::os::unix::fs::MetadataExt;
        (found.dev(), found.ino())
    });
    // There names that differ in case only are folded.
    #[cfg(not(unix))]
    return path.symlink_metadata().ok().and(None);
}

/// Whether an entry stays, though nobody lists it: it is excluded, or what an interrupted download goes on with.
fn stays(path: &Path, is_directory: bool, excluded: &Excluded) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    excluded.has(path, is_directory) || name.is_some_and(|name| names::check(name) == Err(BadName::Reserved))
}

/// Removes it, a directory with all that need not stay in it; answers whether all of it is gone.
fn remove(dir: &Dir, path: &Path, excluded: &Excluded, dry_run: bool, told: Told<'_>) -> io::Result<bool> {
    if !dir.symlink_metadata(path)?.is_dir() {
        if !dry_run {
            dir.remove_file(path)?;
        }
        told(path);
        return Ok(true);
    }
    let mut is_empty = true;
    for entry in dir.read_dir(path)? {
        let entry = entry?;
        let inner = path.join(entry.file_name());
        is_empty &=
            !stays(&inner, entry.file_type()?.is_dir(), excluded) && remove(dir, &inner, excluded, dry_run, told)?;
    }
    if is_empty {
        if !dry_run {
            dir.remove_dir(path)?;
        }
        told(path);
    }
    Ok(is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A destination with these files.
    fn holding(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        dir
    }

    fn deleted(top: &Path, listed: &[&str], excluded: &[&str], dry_run: bool) -> Vec<PathBuf> {
        let excluded = Excluded::new(excluded).unwrap();
        let listed = listed.iter().map(|name| filename::folded(name)).collect();
        let (mut extraneous, mut told) = (Extraneous::default(), Vec::new());
        extraneous.look(top, Path::new(""), &listed, &excluded).unwrap();
        let mut tell = |path: &Path| told.push(path.to_owned());
        if dry_run { extraneous.tell(top, &excluded, &mut tell) } else { extraneous.delete(top, &excluded, &mut tell) }
            .unwrap();
        told.sort();
        told
    }

    #[test]
    fn what_is_not_listed_goes_and_what_is_excluded_stays() {
        let files = ["a", "b", "old/x", "kept/y", "kept/deep/z.bak", ".c.pcc-part"];
        let dir = holding(&files);
        let expected = ["b", "kept/y", "old", "old/x"].map(PathBuf::from);
        assert_eq!(deleted(dir.path(), &["a"], &["*.bak"], true), expected);
        assert!(files.iter().all(|file| dir.path().join(file).exists()), "a dry run changes nothing");
        assert_eq!(deleted(dir.path(), &["a"], &["*.bak"], false), expected);
        let left: Vec<_> = files.iter().filter(|file| dir.path().join(file).exists()).collect();
        assert_eq!(left, [&"a", &"kept/deep/z.bak", &".c.pcc-part"]);
        assert!(!dir.path().join("old").exists());
    }

    #[cfg(unix)]
    #[test]
    fn another_name_of_a_listed_file_stays() {
        let dir = holding(&["listed", "sub/x"]);
        fs::hard_link(dir.path().join("listed"), dir.path().join("LISTED")).unwrap();
        assert_eq!(deleted(dir.path(), &["listed", "sub"], &[], false), Vec::<PathBuf>::new());
        assert!(dir.path().join("LISTED").exists());
    }

    #[cfg(unix)]
    #[test]
    fn links_go_and_nothing_behind_them_does() {
        let (dir, elsewhere) = (holding(&["a"]), holding(&["precious"]));
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join("link")).unwrap();
        assert_eq!(deleted(dir.path(), &["a"], &[], false), [PathBuf::from("link")]);
        assert!(elsewhere.path().join("precious").exists() && !dir.path().join("link").exists());
        // A directory that became a link after it was looked at.
        fs::create_dir(dir.path().join("sub")).unwrap();
        let extraneous = Extraneous { paths: vec!["sub/precious".into()], ..Extraneous::default() };
        fs::remove_dir(dir.path().join("sub")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join("sub")).unwrap();
        assert!(extraneous.delete(dir.path(), &Excluded::default(), &mut |_| ()).is_err());
        assert!(elsewhere.path().join("precious").exists());
    }
}
