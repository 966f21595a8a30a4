//! Deletes one entry a request, and only what lies in the served directory itself: no link is followed on the way, and a directory
//! goes only when it is empty.

use super::condition::Condition;
use super::{Uploads, blocking, refuse_disk};
use crate::serve::answer::{self, Outcome, response};
use crate::serve::broken::Broken;
use crate::serve::path::SafePath;
use crate::serve::root::Root;
use crate::serve::service::Service;
use crate::serve::stream::Stream;
use bytes::Bytes;
use cap_fs_ext::DirExt as _;
use http::StatusCode;
use std::io::{self, ErrorKind};

pub(super) async fn delete(
    service: &Service,
    uploads: &Uploads,
    path: SafePath,
    condition: Condition,
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    if !uploads.may_delete {
        let why = "this server deletes nothing; it would have to be started with --allow-delete";
        return answer::refuse(stream, StatusCode::FORBIDDEN, why).await;
    }
    let root = service.root.clone();
    match blocking(move || condition.change(|| remove(&root, &path))).await {
        Ok(()) => answer::send(stream, response(StatusCode::NO_CONTENT), Bytes::new(), true).await,
        Err(error) => match error.kind() {
            ErrorKind::DirectoryNotEmpty => answer::refuse(stream, StatusCode::CONFLICT, "it is not empty").await,
            ErrorKind::NotADirectory => {
                let why = "it is no directory, or behind a link: nothing there is deleted";
                answer::refuse(stream, StatusCode::CONFLICT, why).await
            }
            _ => refuse_disk(stream, &error).await,
        },
    }
}

/// Blocks.
fn remove(root: &Root, path: &SafePath) -> io::Result<()> {
    let name = path.name().ok_or(ErrorKind::PermissionDenied)?;
    let mut dir = root.dir().try_clone()?;
    for part in path.parent().components() {
        dir = dir.open_dir_nofollow(part.as_os_str()).map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied => error,
            // Systems have several codes for a link where none is followed.
            _ => ErrorKind::NotADirectory.into(),
        })?;
    }
    if path.directory { dir.remove_dir(name) } else { dir.remove_file_or_symlink(name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `precious` beside the served directory, which holds `a`, `d/b`, an empty `e`, and links out of it and within.
    fn served() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        let served = dir.path().join("served");
        std::fs::create_dir_all(served.join("d")).unwrap();
        std::fs::create_dir(served.join("e")).unwrap();
        for file in ["precious", "served/a", "served/d/b"] {
            std::fs::write(dir.path().join(file), "x").unwrap();
        }
        #[cfg(unix)]
        for (to, link) in [("..", "up"), ("d", "in"), ("../precious", "out"), ("/", "all")] {
            std::os::unix::fs::symlink(to, served.join(link)).unwrap();
        }
        let root = Root::open(&served).unwrap();
        (dir, root)
    }

    fn removed(root: &Root, path: &str) -> Result<(), ErrorKind> {
        remove(root, &SafePath::parse(path).unwrap()).map_err(|error| error.kind())
    }

    #[test]
    fn files_and_empty_directories_go() {
        let (dir, root) = served();
        for (path, outcome) in [
            ("/a/", Err(ErrorKind::NotADirectory)),
            ("/d/", Err(ErrorKind::DirectoryNotEmpty)),
            ("/gone", Err(ErrorKind::NotFound)),
            ("/gone/b", Err(ErrorKind::NotFound)),
            ("/", Err(ErrorKind::PermissionDenied)),
            ("/a", Ok(())),
            ("/a", Err(ErrorKind::NotFound)),
            ("/d/b", Ok(())),
            ("/d/", Ok(())),
            ("/e/", Ok(())),
        ] {
            assert_eq!(removed(&root, path), outcome, "{path}");
        }
        assert!(removed(&served().1, "/d").is_err(), "a directory is no file");
        assert!(dir.path().join("precious").exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_goes_and_nothing_behind_it() {
        let (dir, root) = served();
        for path in ["/up/precious", "/in/b", "/all/etc/hostname", "/up/served/a"] {
            assert_eq!(removed(&root, path), Err(ErrorKind::NotADirectory), "{path}");
        }
        for path in ["/in/", "/up/"] {
            assert!(removed(&root, path).is_err(), "{path}");
        }
        for path in ["/up", "/in", "/out", "/all"] {
            assert_eq!(removed(&root, path), Ok(()), "{path}");
        }
        for file in ["precious", "served/a", "served/d/b"] {
            assert!(dir.path().join(file).exists(), "{file}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn no_path_deletes_anything_outside(paths in prop::collection::vec(
            "/((up|in|out|all|a|d|b|e|served|precious|\\.\\.|%2e%2e|\\.|%2f)/?){1,4}", 1..8,
        )) {
            let (dir, root) = served();
            for path in paths {
                if let Ok(path) = SafePath::parse(&path) {
                    let _ = remove(&root, &path);
                }
                prop_assert!(dir.path().join("precious").exists() && dir.path().join("served").exists());
            }
        }
    }
}
