//! The content of a directory.

use crate::choice::Choice;
use crate::keeps::Keeps;
use crate::symlink;
use std::collections::HashMap;
use std::fs::{DirEntry, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// Lists what is chosen of everything below `root`, in the order of names. Links are followed if that is asked for: they may lead
/// anywhere.
pub(super) fn list(root: &Path, choice: &Choice, keeps: &Keeps) -> Tree {
    let top = Open { path: PathBuf::new(), depth: 0, within: None };
    let mut walk = Walk { choice, keeps, tree: Tree::default(), firsts: HashMap::new(), open: vec![top] };
    while let Some(Open { path: dir, depth, within }) = walk.open.pop() {
        let full = root.join(&dir);
        match entries(&full, depth) {
            Ok(entries) => {
                let real = keeps.copy_links.then(|| full.canonicalize().ok()).flatten();
                let within = real.map(|path| Arc::new(Real { path, within }));
                for entry in &entries {
                    walk.meet(
                        entry,
                        Open { path: dir.join(entry.file_name()), depth: depth + 1, within: within.clone() },
                    );
                }
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

/// A directory that is still to be read, or an entry of one.
struct Open {
    path: PathBuf,
    /// Levels above it.
    depth: usize,
    within: Option<Arc<Real>>,
}

/// A directory on the way to an entry, by its name without links.
struct Real {
    path: PathBuf,
    within: Option<Arc<Self>>,
}

impl Open {
    /// Whether that directory is one of those above it.
    fn is_within(&self, directory: &Path) -> bool {
        std::iter::successors(self.within.as_deref(), |real| real.within.as_deref()).any(|real| real.path == directory)
    }
}

/// A walk through directories, the deepest first.
struct Walk<'a> {
    choice: &'a Choice,
    keeps: &'a Keeps,
    tree: Tree,
    /// The first names of files that have several.
    firsts: HashMap<(u64, u64), PathBuf>,
    /// Directories that are still to be read.
    open: Vec<Open>,
}

impl Walk<'_> {
    /// Takes up an entry.
    fn meet(&mut self, entry: &DirEntry, met: Open) {
        match entry.file_type() {
            Ok(kind) if self.choice.leaves_out(&met.path, kind.is_dir()) => {}
            Ok(kind) if kind.is_dir() => self.open.push(met),
            Ok(kind) if kind.is_file() => self.add_file(met.path, entry.metadata().ok()),
            Ok(kind) if kind.is_symlink() && self.keeps.copy_links => self.follow(entry, met),
            Ok(kind) if kind.is_symlink() && self.keeps.links => match text_of(&entry.path(), &met.path, self.keeps) {
                Ok(text) => self.tree.files.push(File { path: met.path, size: Some(0), link: Some(Link::To(text)) }),
                Err(why) => self.skip_link(entry, met.path, &why),
            },
            Ok(kind) => {
                self.tree.links.extend(kind.is_symlink().then_some(met.path));
                self.skip(entry, "is no plain file");
            }
            Err(error) => self.skip(entry, &format!("could not be read: {error}")),
        }
    }

    fn add_file(&mut self, path: PathBuf, found: Option<Metadata>) {
        let link = found.as_ref().and_then(|found| self.first_of(found, &path)).map(Link::SameAs);
        self.tree.files.push(File { path, size: found.map(|found| found.len()), link });
    }

    /// Takes up what a link leads to.
    fn follow(&mut self, entry: &DirEntry, met: Open) {
        let found = std::fs::metadata(entry.path()).and_then(|found| Ok((found, entry.path().canonicalize()?)));
        match found {
            Ok((found, _)) if self.choice.leaves_out(&met.path, found.is_dir()) => {}
            Ok((found, real)) if found.is_dir() && met.is_within(&real) => {
                self.skip_link(entry, met.path, "back to a directory above it");
            }
            Ok((found, _)) if found.is_dir() => self.open.push(met),
            Ok((found, _)) if found.is_file() => self.add_file(met.path, Some(found)),
            Ok(_) => self.skip_link(entry, met.path, "to no plain file"),
            Err(error) => self.skip_link(entry, met.path, &format!("that leads nowhere: {error}")),
        }
    }

    fn skip_link(&mut self, entry: &DirEntry, path: PathBuf, why: &str) {
        self.tree.links.push(path);
        self.skip(entry, &format!("is a link {why}"));
    }

    fn skip(&mut self, entry: &DirEntry, why: &str) {
        let why = format!("{} {why}: skipped", entry.path().display());
        self.tree.skipped.push((entry.path(), why));
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

    #[cfg(unix)]
    #[test]
    fn followed_links_are_what_they_lead_to_and_end_above() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::create_dir_all(dir.path().join("a")).unwrap();
        std::fs::create_dir_all(outside.path().join("sub")).unwrap();
        std::fs::write(outside.path().join("sub/file"), "xyz").unwrap();
        let out = |name: &str| outside.path().join(name).to_str().unwrap().to_owned();
        // Two that lead to each other, besides those that lead back or nowhere.
        for (name, to) in [
            ("a/sub", out("sub")),
            ("a/file", out("sub/file")),
            ("a/up", "..".into()),
            ("a/none", "nowhere".into()),
            ("a/there", outside.path().to_str().unwrap().into()),
        ] {
            std::os::unix::fs::symlink(to, dir.path().join(name)).unwrap();
        }
        std::os::unix::fs::symlink(dir.path().join("a"), outside.path().join("back")).unwrap();
        let tree = list(dir.path(), &Choice::default(), &Keeps { copy_links: true, ..Keeps::default() });
        let files: Vec<_> = tree.files.iter().map(|file| (file.path.to_str().unwrap(), file.size)).collect();
        let found = ["a/file", "a/there/sub/file", "a/sub/file"].map(|name| (name, Some(3)));
        assert_eq!(files, found);
        let mut skipped: Vec<_> = tree.links.iter().map(|path| path.to_str().unwrap()).collect();
        skipped.sort_unstable();
        assert_eq!(skipped, ["a/none", "a/there/back", "a/up"]);
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
