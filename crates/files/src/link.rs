//! Where a name leads: what is written under it must not take the place of a link.

use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// Links that may lead to one another, Linux's limit.
const MOST: usize = 40;

/// The file that `path` names, links followed; there need be none yet.
///
/// Errors: the system does not follow them, as those of strangers in a directory that is everybody's; or they lead to one
/// another.
pub fn followed(path: &Path) -> Result<PathBuf> {
    if let Err(error) = path.metadata()
        && error.kind() != ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut path = path.to_owned();
    for _ in 0..MOST {
        match path.read_link() {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(path), // no link, or nothing yet
        }
    }
    Err(Error::other("its links lead to one another"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_to_what_is_no_link_and_in_no_circle() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("sub")).unwrap();
        std::fs::write(at("sub/file"), "").unwrap();
        for (name, to) in [("one", "sub/two"), ("sub/two", "file"), ("new", "sub/new"), ("a", "b"), ("b", "a")] {
            symlink(to, at(name)).unwrap();
        }
        symlink(at("sub/file"), at("far")).unwrap();
        for (name, to) in [("one", "sub/file"), ("far", "sub/file"), ("new", "sub/new"), ("nothing", "nothing")] {
            assert_eq!(followed(&at(name)).unwrap(), at(to), "{name}");
        }
        assert!(followed(&at("a")).is_err());
    }
}
