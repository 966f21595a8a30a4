//! The attributes that `-a` keeps, asked for and set by requests.

use super::*;
use std::os::unix::fs::PermissionsExt;

fn attributes(path: &Path) -> (u32, i64, i64) {
    use std::os::unix::fs::MetadataExt;
    let found = path.metadata().unwrap();
    (found.mode() & 0o7777, found.mtime(), found.mtime_nsec())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attributes_are_told_to_those_who_ask() {
    let bench = Bench::new();
    bench.write("file", 5);
    std::fs::set_permissions(bench.path("file"), PermissionsExt::from_mode(0o4640)).unwrap();
    std::fs::set_permissions(bench.path(""), PermissionsExt::from_mode(0o750)).unwrap();
    let mut client = bench.client().await;
    for (path, mode) in [("/file", "640"), ("/", "750")] {
        for method in ["GET", "HEAD"] {
            let asked = [("want-file-attributes", "?1"), ("accept", "application/json")];
            let told = client.ask(method, path, &asked).await.unwrap();
            assert_eq!(told.headers["file-mode"], mode, "{method} {path}");
            let (_, seconds, nanos) = attributes(&bench.path(&path[1..]));
            assert_eq!(told.headers["file-modified"], format!("{seconds}.{nanos:09}"), "{method} {path}");
            let plain = client.ask(method, path, &[]).await.unwrap();
            assert!(!plain.headers.contains_key("file-mode") && !plain.headers.contains_key("file-modified"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attributes_are_set_with_the_token_and_nothing_else_is() {
    let bench = Bench::new();
    let data = bench.write("file", 5);
    std::fs::create_dir(bench.path("dir")).unwrap();
    std::os::unix::fs::symlink("../secret", bench.path("out")).unwrap();
    let secret = attributes(&bench.dir.path().join("secret"));
    let mut client = bench.client().await;
    let bearer = format!("Bearer {TOKEN}");
    let (token, time, mode) =
        (("authorization", bearer.as_str()), ("file-modified", "1000000000.5"), ("file-mode", "7751"));
    for (path, fields, status) in [
        ("/file", &[time, mode][..], 401),
        ("/file", &[token], 400),
        ("/file", &[token, time, ("file-mode", "rwx")], 400),
        ("/file", &[token, time, ("file-modified", "later"), mode], 400),
        ("/file/", &[token, time, mode], 409),
        ("/dir", &[token, time, mode], 409),
        ("/gone", &[token, time, mode], 404),
        ("/../secret", &[token, time, mode], 404),
        ("/file", &[token, time, mode], 204),
        ("/dir/", &[token, time, mode], 204),
    ] {
        let answer = client.ask("PATCH", path, fields).await.unwrap();
        assert_eq!(answer.status.as_u16(), status, "{path}: {}", String::from_utf8_lossy(&answer.body));
    }
    assert!(client.ask("PATCH", "/out", &[token, time, mode]).await.unwrap().status.is_client_error());
    let expected = (0o751, 1_000_000_000, 500_000_000);
    assert_eq!((attributes(&bench.path("file")), attributes(&bench.path("dir"))), (expected, expected));
    assert_eq!(attributes(&bench.dir.path().join("secret")), secret);
    assert_eq!(std::fs::read(bench.path("file")).unwrap(), data);
    let put = client.ask("PUT", "/new", &[token, time, mode]).await.unwrap();
    assert_eq!((put.status.as_u16(), attributes(&bench.path("new"))), (201, expected), "any client may say so");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_directory_has_the_permissions_that_are_named() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("there")).unwrap();
    let usual = attributes(&bench.path("there")).0;
    let mut client = bench.client().await;
    let bearer = format!("Bearer {TOKEN}");
    let (token, mode) = (("authorization", bearer.as_str()), ("file-mode", "700"));
    for (path, fields, status) in [
        ("/plain/", &[token][..], 201),
        ("/there/", &[token, mode], 204),
        ("/private/", &[token, mode], 201),
        ("/private/", &[token, ("file-mode", "755")], 204),
        ("/above/private/", &[token, mode], 201),
        ("/wrong/", &[token, ("file-mode", "rwx")], 400),
    ] {
        assert_eq!(client.ask("PUT", path, fields).await.unwrap().status.as_u16(), status, "{path}");
    }
    for (name, mode) in
        [("plain", usual), ("there", usual), ("private", 0o700), ("above", usual), ("above/private", 0o700)]
    {
        assert_eq!(attributes(&bench.path(name)).0, mode, "{name}");
    }
    assert!(!bench.path("wrong").exists());
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_neither_hear_of_extended_attributes_nor_give_any() {
    let bench = Bench::new();
    bench.write("file", 5);
    let mut client = bench.client().await;
    let asked = [("want-file-attributes", "?1"), ("want-file-xattrs", "?1"), ("want-file-acls", "?1")];
    for path in ["/file", "/"] {
        let told = client.ask("GET", path, &asked).await.unwrap();
        assert!(told.headers.contains_key("file-mode"), "{path}");
        // A field that is allowed is there where a file has no attributes, too.
        assert!(!told.headers.contains_key("file-xattrs") && !told.headers.contains_key("file-acls"), "{path}");
    }
    let bearer = format!("Bearer {TOKEN}");
    // user.a, and a list that says as much as a mode.
    let given = [("file-xattrs", "dXNlci5h:MQ=="), ("file-acls", "u::rwx,g::rwx,o::rwx")];
    let fields = [&[("authorization", bearer.as_str()), ("file-mode", "640")], &given[..]].concat();
    for (method, path, status) in [("PATCH", "/file", 204), ("PUT", "/new", 201)] {
        assert_eq!(client.ask(method, path, &fields).await.unwrap().status.as_u16(), status);
        let file = bench.path(path.trim_start_matches('/'));
        assert!(rustix::fs::getxattr(&file, "user.a", &mut [0u8; 9][..]).is_err(), "{method}");
        assert_eq!(attributes(&file).0, 0o640, "{method}");
    }
}
