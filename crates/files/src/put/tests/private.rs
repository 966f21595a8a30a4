//! Directories there that nobody but their owner may look into before everything is there.

use super::{PATIENCE, data, directory, served, watched};
use crate::client::watch::Watch;
use crate::keeps::Keeps;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Below the directory that is sent, which is `""`; the file is in the last one.
const NAMES: [&str; 3] = ["", "a", "a/b"];

fn modes(top: &Path) -> [u32; 3] {
    NAMES.map(|name| top.join(name).metadata().unwrap().permissions().mode() & 0o7777)
}

/// Only root removes what is in a directory that nobody may write to.
fn removable(dir: &Path) {
    std::fs::set_permissions(dir, PermissionsExt::from_mode(0o755)).unwrap();
}

/// Looks at the permissions there whenever bytes move.
struct Looking {
    there: PathBuf,
    seen: Mutex<BTreeSet<[u32; 3]>>,
}

impl Watch for Looking {
    fn moved(&self, _bytes: u64) {
        self.seen.lock().unwrap().insert(modes(&self.there));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_directory_is_private_until_all_of_it_is_there() {
    let usual = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(usual.path().join("top/a/b")).unwrap();
    let (usual, private, told) = (modes(&usual.path().join("top")), [0o700; 3], [0o750, 0o711, 0o555]);
    for (what, permissions, is_there, during, after) in [
        ("new", true, false, private, told),
        ("there already", true, true, usual, told),
        ("no permissions are kept", false, false, usual, usual),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (here, there) = (dir.path().join("here"), dir.path().join("served/file"));
        std::fs::create_dir_all(if is_there { there.join("a/b") } else { dir.path().join("served") }).unwrap();
        std::fs::create_dir_all(here.join("a/b")).unwrap();
        std::fs::write(here.join("a/b/c"), data(300_000)).unwrap();
        for (name, mode) in NAMES.iter().zip(told) {
            std::fs::set_permissions(here.join(name), PermissionsExt::from_mode(mode)).unwrap();
        }
        let (_server, url) = served(&dir.path().join("served"));
        let looking = Arc::new(Looking { there: there.clone(), seen: Mutex::default() });
        let source = watched(&url, PATIENCE, looking.clone()).keeping(Keeps { permissions, ..Keeps::default() });
        let sent = directory(&source, &here, &url, "token", &crate::Choice::default(), &|_| ()).await.unwrap();
        assert_eq!((sent.files, sent.failed), (1, 0), "{what}");
        assert_eq!(*looking.seen.lock().unwrap(), BTreeSet::from([during]), "{what}");
        assert_eq!(modes(&there), after, "{what}");
        for top in [&here, &there] {
            removable(&top.join("a/b"));
        }
    }
}
