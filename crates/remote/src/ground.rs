//! The files that the far side serves, and the place of the near side's path among them.

use crate::far_error::FarError;
use crate::remote::{directory_and_pattern, is_directory};
use pcc_files::Names;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The files that are served, and the place of the near side's path among them. Paths are as a user wrote them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ground {
    pub(crate) root: PathBuf,
    /// Below the root; empty for all of it.
    pub(crate) file: String,
    /// Its name here.
    pub(crate) name: String,
    /// Whether the path's last name is a pattern of names in the root.
    pub(crate) matches: bool,
}

impl Ground {
    /// The file or the directory, and nothing beside it. A name that nothing has is a pattern, if it can be one.
    pub(crate) fn to_read(written: &str) -> Result<Self, FarError> {
        let found = Self::of(&at_home(written));
        match (found, directory_and_pattern(written)) {
            (Err(FarError::Unreadable { source, .. }), Some((directory, _)))
                if source.kind() == ErrorKind::NotFound =>
            {
                Ok(Self { matches: true, ..Self::of(&at_home(directory))? })
            }
            (found, _) => found,
        }
    }

    /// The sources of an upload: the path, or what its last name matches where nothing has that name.
    pub(crate) fn to_send(written: &str) -> Result<Vec<PathBuf>, FarError> {
        let path = at_home(written);
        match (path.metadata(), directory_and_pattern(written)) {
            (Ok(_), _) => Ok(vec![path]),
            (Err(source), Some((directory, pattern))) if source.kind() == ErrorKind::NotFound => {
                matching(&at_home(directory), pattern)
            }
            (Err(source), _) => Err(FarError::Unreadable { path, source }),
        }
    }

    fn of(path: &Path) -> Result<Self, FarError> {
        let real = path.canonicalize().map_err(|source| FarError::Unreadable { path: path.to_owned(), source })?;
        if real.is_dir() {
            return Ok(Self::all_of(real));
        }
        if !real.is_file() {
            return Err(FarError::NeitherFileNorDirectory(path.to_owned()));
        }
        let name = name_of(&real)?;
        Ok(Self { root: real, file: name.clone(), name, matches: false })
    }

    /// The place that an upload becomes, in the directory around it. A path that can only be a directory's is that of the directory
    /// that uploads go into, which is made if need be.
    pub(crate) fn to_write(written: &str) -> Result<Self, FarError> {
        let path = at_home(written);
        let named = || path.clone();
        if is_directory(written) {
            if !path.exists() {
                std::fs::create_dir(&path).map_err(|source| FarError::NotMade { path: named(), source })?;
            }
            let root = path.canonicalize().map_err(|source| FarError::NotOpened { path: named(), source })?;
            return Ok(Self::all_of(root));
        }
        // Writing follows a link, also to a place elsewhere.
        let path = if path.is_dir() { path.canonicalize().unwrap_or(path) } else { path };
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let root = above.canonicalize().map_err(|source| FarError::NoDirectory { path: path.clone(), source })?;
        let name = name_of(&path)?;
        Ok(Self { root, file: name.clone(), name, matches: false })
    }

    /// The same; nothing is made there.
    pub(crate) fn to_compare(written: &str) -> Result<(Self, Option<TempDir>), FarError> {
        let path = at_home(written);
        if is_directory(written) && !path.exists() {
            let (nothing, empty) = Self::nothing()?;
            return Ok((Self { name: name_of(&path)?, ..nothing }, Some(empty)));
        }
        Ok((Self::to_write(written)?, None))
    }

    /// An empty directory, which goes when the other value does.
    pub(crate) fn nothing() -> Result<(Self, TempDir), FarError> {
        let empty = tempfile::tempdir().map_err(FarError::NoTemporary)?;
        Ok((Self::all_of(empty.path().canonicalize()?), empty))
    }

    fn all_of(root: PathBuf) -> Self {
        let name = name_of(&root).unwrap_or_else(|_| "root".to_owned());
        Self { root, file: String::new(), name, matches: false }
    }
}

/// The entries of a directory that the pattern matches, in the order of their names.
fn matching(directory: &Path, pattern: &str) -> Result<Vec<PathBuf>, FarError> {
    let unreadable = |source| FarError::Unreadable { path: directory.to_owned(), source };
    let names = Names::new(pattern).map_err(|_| FarError::NoMatch(directory.join(pattern)))?;
    let mut found = Vec::new();
    for entry in directory.read_dir().map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        // A name that is not UTF-8 is refused by the upload, in words.
        if names.has(&name.to_string_lossy()) {
            found.push(directory.join(name));
        }
    }
    found.sort();
    if found.is_empty() { Err(FarError::NoMatch(directory.join(pattern))) } else { Ok(found) }
}

/// As a shell there takes it: relative to the home directory, where ssh starts programs.
fn at_home(path: &str) -> PathBuf {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    match path.strip_prefix('~') {
        Some("") => home().unwrap_or_else(|| ".".into()),
        Some(rest) if rest.starts_with('/') => {
            home().map_or(path.into(), |home| home.join(rest.trim_start_matches('/')))
        }
        _ if path.is_empty() => ".".into(),
        // `-` alone is standard input to those who read it.
        _ if path == "-" => "./-".into(),
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

    /// A directory, and a function that writes a path in it.
    fn top() -> (tempfile::TempDir, PathBuf, impl Fn(&str) -> String) {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let here = top.clone();
        (dir, top, move |path: &str| format!("{}/{path}", here.display()))
    }

    fn file(root: PathBuf, name: &str) -> Ground {
        Ground { root, file: name.into(), name: name.into(), matches: false }
    }

    #[test]
    fn a_path_is_read_and_nothing_beside_it() {
        let (_dir, top, at) = top();
        std::fs::create_dir(top.join("photos")).unwrap();
        std::fs::write(top.join("photos/a"), "a").unwrap();
        let of = |path: &str| Ground::to_read(&at(path)).unwrap();
        let photos = top.join("photos");
        let all = || Ground { file: String::new(), ..file(photos.clone(), "photos") };
        assert_eq!((of("photos"), of("photos/"), of("photos/.")), (all(), all(), all()));
        assert_eq!(of("photos/a"), file(photos.join("a"), "a"));
        assert!(with_causes(&Ground::to_read(&at("none")).unwrap_err()).contains("none"));
    }

    #[test]
    fn a_name_that_is_there_is_no_pattern() {
        let (_dir, top, at) = top();
        std::fs::write(top.join("Film [1080p].mkv"), "a").unwrap();
        let of = |path: &str| Ground::to_read(&at(path)).unwrap();
        assert_eq!(of("Film [1080p].mkv"), file(top.join("Film [1080p].mkv"), "Film [1080p].mkv"));
        for pattern in ["*.mkv", "Film [0-9]", "Film \\[1080p\\].mkv"] {
            let found = of(pattern);
            assert!(found.matches && found.root == top && found.file.is_empty(), "{pattern}: {found:?}");
        }
        assert!(Ground::to_read(&at("none/*")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed() {
        let (_dir, top, at) = top();
        std::fs::create_dir(top.join("there")).unwrap();
        std::fs::write(top.join("there/file"), "a").unwrap();
        for (link, to) in [("link", "there/file"), ("dir", "there")] {
            std::os::unix::fs::symlink(to, top.join(link)).unwrap();
        }
        assert_eq!(Ground::to_read(&at("link")).unwrap(), file(top.join("there/file"), "file"));
        assert_eq!(Ground::to_write(&at("dir")).unwrap(), file(top.clone(), "there"));
        assert_eq!(Ground::to_write(&at("dir/")).unwrap().root, top.join("there"));
    }

    #[test]
    fn only_the_slash_decides_where_an_upload_goes() {
        let (_dir, top, at) = top();
        let of = |path: &str| Ground::to_write(&at(path));
        for _ in 0..2 {
            assert_eq!(of("place").unwrap(), file(top.clone(), "place"), "also once it is there");
            std::fs::create_dir_all(top.join("place")).unwrap();
        }
        for into in ["place/", "place/.", "made/"] {
            let ground = of(into).unwrap();
            assert_eq!((ground.root, ground.file.as_str()), (top.join(&into[..into.find('/').unwrap()]), ""), "{into}");
        }
        assert!(with_causes(&of("no/such/dir").unwrap_err()).contains("make it first"));
    }
}
