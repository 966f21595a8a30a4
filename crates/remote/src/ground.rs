//! What of its files the far side serves, and where in it the near side's path is.

use crate::far_error::FarError;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What is served, and where in it the near side's path is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ground {
    pub(crate) root: PathBuf,
    /// Below the root; empty for all of it.
    pub(crate) file: String,
    /// What to call a copy.
    pub(crate) name: String,
}

impl Ground {
    /// The file or the directory, and nothing beside it.
    pub(crate) fn to_read(path: &Path) -> Result<Self, FarError> {
        let real = path.canonicalize().map_err(|source| FarError::Unreadable { path: path.to_owned(), source })?;
        if real.is_dir() {
            return Ok(Self::all_of(real));
        }
        if !real.is_file() {
            return Err(FarError::NeitherFileNorDirectory(path.to_owned()));
        }
        let file = name_of(&real)?;
        // Who asks for a link gets its target under the name of the link.
        let name = name_of(path).unwrap_or_else(|_| file.clone());
        Ok(Self { root: real, file, name })
    }

    /// The directory that uploads go into, or the one around a file that they make or replace. A path that ends in a slash is
    /// a directory, which is made if need be.
    pub(crate) fn to_write(path: &Path) -> Result<Self, FarError> {
        let named = || path.to_owned();
        if is_missing_directory(path) {
            std::fs::create_dir(path).map_err(|source| FarError::NotMade { path: named(), source })?;
        }
        if path.is_dir() {
            let root = path.canonicalize().map_err(|source| FarError::NotOpened { path: named(), source })?;
            return Ok(Self::all_of(root));
        }
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let root = above.canonicalize().map_err(|source| FarError::NoDirectory { path: named(), source })?;
        let name = name_of(path)?;
        Ok(Self { root, file: name.clone(), name })
    }

    /// The same; nothing is made there.
    pub(crate) fn to_compare(path: &Path) -> Result<(Self, Option<TempDir>), FarError> {
        if is_missing_directory(path) {
            let empty = tempfile::tempdir().map_err(FarError::NoTemporary)?;
            let root = empty.path().canonicalize()?;
            return Ok((Self { name: name_of(path)?, ..Self::all_of(root) }, Some(empty)));
        }
        Ok((Self::to_write(path)?, None))
    }

    fn all_of(root: PathBuf) -> Self {
        let name = name_of(&root).unwrap_or_else(|_| "root".to_owned());
        Self { root, file: String::new(), name }
    }
}

fn is_missing_directory(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/") && !path.exists()
}

/// As a shell there takes it: relative to the home directory, where ssh starts programs.
pub(crate) fn at_home(path: &str) -> PathBuf {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    match path.strip_prefix('~') {
        Some("") => home().unwrap_or_else(|| ".".into()),
        Some(rest) if rest.starts_with('/') => {
            home().map_or(path.into(), |home| home.join(rest.trim_start_matches('/')))
        }
        _ if path.is_empty() => ".".into(),
        _ => path.into(),
    }
}

fn name_of(path: &Path) -> Result<String, FarError> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| FarError::NoName(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_net::with_causes;

    #[test]
    fn a_path_is_read_and_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("photos")).unwrap();
        std::fs::write(top.join("photos/a"), "a").unwrap();
        let of = |path: &str| Ground::to_read(&top.join(path)).unwrap();
        let photos = top.join("photos");
        let all = Ground { root: photos.clone(), file: String::new(), name: "photos".into() };
        assert_eq!((of("photos"), of("photos/"), of("photos/.")), (all, of("photos"), of("photos")));
        assert_eq!(of("photos/a"), Ground { root: photos.join("a"), file: "a".into(), name: "a".into() });
        assert!(with_causes(&Ground::to_read(&top.join("none")).unwrap_err()).contains("none"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed_and_gives_the_name() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("there")).unwrap();
        std::fs::write(top.join("there/file"), "a").unwrap();
        std::os::unix::fs::symlink("there/file", top.join("link")).unwrap();
        let ground = Ground::to_read(&top.join("link")).unwrap();
        assert_eq!(ground, Ground { root: top.join("there/file"), file: "file".into(), name: "link".into() });
    }

    #[test]
    fn uploads_go_into_a_directory_or_beside_their_place() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("in")).unwrap();
        let of = |path: &str| Ground::to_write(&top.join(path));
        assert_eq!((of("in").unwrap().root, of("in").unwrap().file.as_str()), (top.join("in"), ""));
        assert_eq!(of("new").unwrap(), Ground { root: top.clone(), file: "new".into(), name: "new".into() });
        assert_eq!(of("made/").unwrap().root, top.join("made"));
        assert!(with_causes(&of("no/such/dir").unwrap_err()).contains("make it first"));
    }
}
