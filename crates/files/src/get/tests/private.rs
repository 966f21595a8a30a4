//! Directories that nobody but their owner may look into before everything is there.

use super::fake::{Fake, MIB, Manner, Page, Place, data, part_of};
use crate::Keeps;
use core::time::Duration;
use std::os::unix::fs::PermissionsExt;

/// `top/sub/file`, which stalls after a third, and the permissions of both directories, if the server tells any.
fn stalling(is_told: bool) -> Fake {
    let directory = |text: &'static str, mode| {
        let fields = if is_told { vec![("file-mode", mode)] } else { Vec::new() };
        Page { fields, ..Page::of(text) }
    };
    Fake::new([
        ("/top/", directory(r#"[{"name":"sub","type":"directory"}]"#, "750")),
        ("/top/sub/", directory(r#"[{"name":"file","type":"file"}]"#, "555")),
        ("/top/sub/file", Page { manner: Manner::Stalls(MIB), ..Page::of(data(3 * MIB)) }),
    ])
}

/// The permissions of both.
fn modes(place: &Place) -> [u32; 2] {
    let mode = |name: &str| place.file().join(name).metadata().unwrap().permissions().mode() & 0o7777;
    ["", "sub"].map(mode)
}

/// Only root removes what is in a directory that nobody may write to.
fn removable(place: &Place) {
    std::fs::set_permissions(place.file().join("sub"), PermissionsExt::from_mode(0o755)).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_directory_is_private_until_all_of_it_is_there() {
    let there = Place::new();
    std::fs::create_dir_all(there.file().join("sub")).unwrap();
    let (usual, private, told) = (modes(&there), [0o700; 2], [0o750, 0o555]);
    for (what, permissions, is_told, is_there, before, after) in [
        ("new", true, true, false, private, told),
        ("there already", true, true, true, usual, told),
        ("no permissions are kept", false, true, false, usual, usual),
        ("no permissions are told", true, false, false, usual, usual),
    ] {
        let (server, place) = (stalling(is_told), Place::new());
        if is_there {
            std::fs::create_dir_all(place.file().join("sub")).unwrap();
        }
        let keeps = Keeps { permissions, ..Keeps::default() };
        let cut = server.keep_within(Duration::from_secs(1), "/top/", &place, keeps.clone()).await;
        assert!(cut.is_err() && part_of(&place.file().join("sub/file")).exists(), "{what}: {cut:?}");
        assert_eq!(modes(&place), before, "{what}");
        server.set("/top/sub/file", Page::of(data(3 * MIB)));
        assert_eq!(server.keep("/top/", &place, keeps).await.unwrap().files, 1, "{what}");
        assert_eq!(modes(&place), after, "{what}");
        removable(&place);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_keeps_its_own_permissions_is_not_private() {
    let (server, place, there) = (stalling(true), Place::new(), Place::new());
    server.set("/top/sub/file", Page::of(data(MIB)));
    std::fs::create_dir_all(there.file().join("sub")).unwrap();
    // Of a part of the top the top's permissions say nothing.
    let choice = crate::Choice { only: Some(crate::Names::new("s*").unwrap()), ..crate::Choice::default() };
    let keeps = Keeps { permissions: true, ..Keeps::default() };
    assert_eq!(server.choose_keeping("/top/", &place, &choice, keeps).await.unwrap().files, 1);
    assert_eq!(modes(&place), [modes(&there)[0], 0o555]);
    removable(&place);
}
