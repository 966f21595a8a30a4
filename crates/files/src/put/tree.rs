//! The content of a directory.

use crate::choice::Choice;
use crate::keeps::Keeps;
use crate::symlink;
use std::collections::HashMap;
use std::fs::{DirEntry, Metadata};
use std::path::{Path, PathBuf};

/// Deeper than any real tree, shallow enough for the names to fit into a URL.
pub(super) const DEEPEST: usize = 64;

/// A directory's entries, relative to it.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Itself first, parents before children.
    pub(super) directories: Vec<PathBuf>,
    pub(super) files: Vec<File>,
    /// The entries that are left out, by their paths from here, and why.
    pub(super) skipped: Vec<(PathBuf, String)>,
    /// Those of them that are links.
    pub(super) links: Vec<PathBuf>,
}

/// A plain file.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    /// When it was listed, if that could be told.
    pub(super) size: Option<u64>,
    /// Where it is no file of its own.
    pub(super) link: Option<Link>,
}

/// An entry without content of its own.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// A symbolic link, with its text.
    To(String),
    /// A further name of this file.
    SameAs(PathBuf),
}

/// Lists what is chosen of everything below `root`, in the order of names. Links are not followed: they may lead anywhere.
pub(super) fn list(root: &Path, choice: &Choice, keeps: &Keeps) -> Tree {
    let mut walk =
        Walk { choice, keeps, tree: Tree::default(), firsts: HashMap::new(), open: vec![(PathBuf::new(), 0)] };
    while let Some((dir, depth)) = walk.open.pop() {
        let full = root.join(&dir);
        match entries(&full, depth) {
            Ok(entries) => {
                entries.iter().for_each(|entry| walk.meet(entry, dir.join(entry.file_name()), depth));
                walk.tree.directories.push(dir);
            }
            Err(why) => walk.tree.skipped.push((full, why)),
        }
    }
    walk.tree
}

/// The entries of a directory, in the order of names. Or why they are left out.
fn entries(full: &Path, depth: usize) -> Result<Vec<DirEntry>, String> {
    let entries = std::fs::read_dir(full).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut entries = entries.map_err(|error| format!("could not read {}: {error}; skipped", full.display()))?;
    if depth >= DEEPEST {
        return Err(format!("{} is nested too deeply: skipped", full.display()));
    }
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries)
}

/// A walk through directories, the deepest first.
struct Walk<'a> {
    choice: &'a Choice,
    keeps: &'a Keeps,
    tree: Tree,
    /// The first names of files that have several.
    firsts: HashMap<(u64, u64), PathBuf>,
    /// Directories that are still to be read, and the levels above them.
    open: Vec<(PathBuf, usize)>,
}

impl Walk<'_> {
    /// Takes up an entry, which is `path` below the top.
    fn meet(&mut self, entry: &DirEntry, path: PathBuf, depth: usize) {
        match entry.file_type() {
            Ok(kind) if self.choice.leaves_out(&path, kind.is_dir()) => {}
            Ok(kind) if kind.is_dir() => self.open.push((path, depth + 1)),
            Ok(kind) if kind.is_file() => {
                let found = entry.metadata().ok();
                let link = found.as_ref().and_then(|found| self.first_of(found, &path)).map(Link::SameAs);
                self.tree.files.push(File { path, size: found.map(|found| found.len()), link });
            }
            Ok(kind) if kind.is_symlink() && self.keeps.links => match text_of(&entry.path(), &path, self.keeps) {
                Ok(text) => self.tree.files.push(File { path, size: Some(0), link: Some(Link::To(text)) }),
                Err(why) => {
                    self.tree.links.push(path);
                    let why = format!("{} is a link {why}: skipped", entry.path().display());
                    self.tree.skipped.push((entry.path(), why));
                }
            },
            Ok(kind) => {
                self.tree.links.extend(kind.is_symlink().then_some(path));
                let why = format!("{} is no plain file: skipped", entry.path().display());
                self.tree.skipped.push((entry.path(), why));
            }
            Err(error) => {
                let why = format!("could not read {}: {error}; skipped", entry.path().display());
                self.tree.skipped.push((entry.path(), why));
            }
        }
    }

    /// The first name of the file at `path`, if it has met it under another.
    fn first_of(&mut self, found: &Metadata, path: &Path) -> Option<PathBuf> {
        let several = Some(found).filter(|_| self.keeps.hard_links).and_then(several_names)?;
        let first = self.firsts.entry(several).or_insert_with(|| path.to_owned());
        Some(first.clone()).filter(|first| first != path)
    }
}

/// The text of the link at `full`, which is `path` below the top.
fn text_of(full: &Path, path: &Path, keeps: &Keeps) -> Result<String, String> {
    let text = std::fs::read_link(full).map_err(|error| format!("that could not be read: {error}"))?;
    let text = text.into_os_string().into_string().map_err(|_| "to a name that is not UTF-8".to_owned())?;
    if !keeps.links_out && !symlink::stays_inside(path, &text) {
        return Err("that leads out of the directory, or might".to_owned());
    }
    Ok(text)
}

/// The number of a file that has several names.
fn several_names(found: &Metadata) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (found.nlink() > 1).then(|| (found.dev(), found.ino()))
    }
    #[cfg(not(unix))]
    return Some(found).and(None);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_listed_and_links_left_out() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
        std::fs::write(dir.path().join("a/b/file"), "x").unwrap();
        std::fs::write(dir.path().join("top"), "yy").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("link")).unwrap();
        let tree = list(dir.path(), &Choice::default(), &Keeps::default());
        let files: Vec<_> = tree.files.iter().map(|file| (file.path.as_path(), file.size)).collect();
        assert_eq!(files, [(Path::new("top"), Some(2)), (Path::new("a/b/file"), Some(1))]);
        assert_eq!(tree.directories, [Path::new(""), Path::new("a"), Path::new("a/b")]);
        let skipped: Vec<_> = tree.skipped.iter().map(|(path, _)| path.strip_prefix(dir.path()).unwrap()).collect();
        assert_eq!(skipped, if cfg!(unix) { vec![Path::new("link")] } else { vec![] });
    }

    #[cfg(unix)]
    #[test]
    fn links_are_listed_if_they_are_kept_and_stay_inside() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "x").unwrap();
        std::fs::hard_link(dir.path().join("a"), dir.path().join("b")).unwrap();
        for (name, to) in [("in", "a"), ("out", "/etc/passwd")] {
            std::os::unix::fs::symlink(to, dir.path().join(name)).unwrap();
        }
        let listed = |keeps: &Keeps| {
            let tree = list(dir.path(), &Choice::default(), keeps);
            let files: Vec<_> = tree.files.into_iter().map(|file| (file.path, file.link)).collect();
            (files, tree.skipped.len())
        };
        let to = |text: &str| Some(Link::To(text.to_owned()));
        let (a, b) = ((PathBuf::from("a"), None), (PathBuf::from("b"), Some(Link::SameAs("a".into()))));
        let (inside, outside) = ((PathBuf::from("in"), to("a")), (PathBuf::from("out"), to("/etc/passwd")));
        let keeps = Keeps { links: true, hard_links: true, ..Keeps::default() };
        let kept = listed(&keeps);
        assert_eq!(kept.0.iter().collect::<Vec<_>>(), [&a, &b, &inside]);
        assert_eq!((kept.1, listed(&Keeps::default()).1), (1, 2));
        let all = listed(&Keeps { links_out: true, ..keeps });
        assert_eq!((all.0.last(), all.1), (Some(&outside), 0));
    }

    #[test]
    fn nothing_below_an_excluded_directory_is_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("a/cache/b")).unwrap();
        for file in ["a/cache/b/file", "a/x.log", "a/y"] {
            std::fs::write(dir.path().join(file), "x").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("link")).unwrap();
        let excluded = crate::Excluded::new(["cache/", "*.log", "/link"]).unwrap();
        let tree = list(dir.path(), &Choice { excluded, ..Choice::default() }, &Keeps::default());
        assert_eq!(tree.files.iter().map(|file| file.path.as_path()).collect::<Vec<_>>(), [Path::new("a/y")]);
        assert_eq!(tree.directories, [Path::new(""), Path::new("a")]);
        assert!(tree.skipped.is_empty(), "{:?}", tree.skipped);
    }
}
