//! The content of a directory.

use crate::choice::Choice;
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
}

/// Lists what is chosen of everything below `root`, in the order of names. Links are not followed: they may lead anywhere.
pub(super) fn list(root: &Path, choice: &Choice) -> Tree {
    let mut tree = Tree::default();
    let mut open = vec![(PathBuf::new(), 0)];
    while let Some((dir, depth)) = open.pop() {
        let full = root.join(&dir);
        let entries = std::fs::read_dir(&full).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = match entries {
            Ok(entries) if depth < DEEPEST => entries,
            Ok(_) => {
                let why = format!("{} is nested too deeply: skipped", full.display());
                tree.skipped.push((full, why));
                continue;
            }
            Err(error) => {
                let why = format!("could not read {}: {error}; skipped", full.display());
                tree.skipped.push((full, why));
                continue;
            }
        };
        tree.directories.push(dir.clone());
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let path = dir.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if choice.leaves_out(&path, kind.is_dir()) => {}
                Ok(kind) if kind.is_dir() => open.push((path, depth + 1)),
                Ok(kind) if kind.is_file() => {
                    let size = entry.metadata().ok().map(|found| found.len());
                    tree.files.push(File { path, size });
                }
                Ok(kind) => {
                    tree.links.extend(kind.is_symlink().then_some(path));
                    let why = format!("{} is no plain file: skipped", entry.path().display());
                    tree.skipped.push((entry.path(), why));
                }
                Err(error) => {
                    let why = format!("could not read {}: {error}; skipped", entry.path().display());
                    tree.skipped.push((entry.path(), why));
                }
            }
        }
    }
    tree
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
        let tree = list(dir.path(), &Choice::default());
        let files: Vec<_> = tree.files.iter().map(|file| (file.path.as_path(), file.size)).collect();
        assert_eq!(files, [(Path::new("top"), Some(2)), (Path::new("a/b/file"), Some(1))]);
        assert_eq!(tree.directories, [Path::new(""), Path::new("a"), Path::new("a/b")]);
        let skipped: Vec<_> = tree.skipped.iter().map(|(path, _)| path.strip_prefix(dir.path()).unwrap()).collect();
        assert_eq!(skipped, if cfg!(unix) { vec![Path::new("link")] } else { vec![] });
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
        let tree = list(dir.path(), &Choice { excluded, ..Choice::default() });
        assert_eq!(tree.files.iter().map(|file| file.path.as_path()).collect::<Vec<_>>(), [Path::new("a/y")]);
        assert_eq!(tree.directories, [Path::new(""), Path::new("a")]);
        assert!(tree.skipped.is_empty(), "{:?}", tree.skipped);
    }
}
