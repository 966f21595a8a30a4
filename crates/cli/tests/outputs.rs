//! Where `pcc` writes what it was told to write: links, pipes, and what was there before.
#![cfg(unix)]

mod bench;

use bench::{Bench, data, said};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn a_download_onto_a_link_keeps_the_target_s_mode() {
    let bench = Bench::new();
    let content = bench.write("served/file", 300_000);
    let server = bench.serve(&[]);
    std::fs::create_dir(bench.path("store")).unwrap();
    std::fs::write(bench.path("store/old"), "old").unwrap();
    set_mode(&bench.path("store/old"), 0o600);
    symlink(bench.path("store/old"), bench.path("client/old")).unwrap();
    symlink("../store/new", bench.path("client/file")).unwrap();
    for output in [&["-o", "old"][..], &[]] {
        let got = bench.run(&[&["get", &server.url("file")], output].concat());
        assert!(got.status.success(), "{}", said(&got));
    }
    for (link, file) in [("client/old", "store/old"), ("client/file", "store/new")] {
        assert!(bench.path(link).is_symlink() && std::fs::read(bench.path(file)).unwrap() == content, "{link}");
    }
    assert_eq!(mode(&bench.path("store/old")), 0o600);
    assert_eq!(
        (bench.names("client"), bench.names("store")),
        (vec!["file".into(), "old".into()], vec!["new".into(), "old".into()])
    );
}

#[test]
fn a_download_replaces_no_pipe() {
    let bench = Bench::new();
    bench.write("served/file", 1000);
    let server = bench.serve(&[]);
    pipe(&bench.path("client/pipe"));
    symlink("pipe", bench.path("client/link")).unwrap();
    for name in ["pipe", "link"] {
        let got = bench.run(&["get", &server.url("file"), "-o", name]);
        assert!(got.status.code() == Some(2) && said(&got).contains(&format!("`-o - > {name}`")), "{}", said(&got));
    }
    assert!(bench.path("client/pipe").symlink_metadata().unwrap().file_type().is_fifo());
    assert!(bench.path("client/link").is_symlink());
}

#[test]
fn an_upload_is_as_private_as_what_it_replaces() {
    let bench = Bench::new();
    let content = bench.write("client/file", 300_000);
    std::fs::write(bench.path("served/file"), "old").unwrap();
    set_mode(&bench.path("served/file"), 0o4600);
    std::fs::write(bench.path("client/token"), "correct-horse").unwrap();
    let server = bench.serve(&["--writable", "--token-file", "token"]);
    let put = bench.run(&["put", "file", &server.url(""), "--token-file", "token"]);
    assert!(put.status.success(), "{}", said(&put));
    assert!(std::fs::read(bench.path("served/file")).unwrap() == content);
    assert_eq!(mode(&bench.path("served/file")), 0o600, "and nothing of it runs as another user");
}

/// A link to a file elsewhere in the served directory, and one to a directory.
#[test]
fn links_within_served_directory_are_listed_as_they_are_served() {
    let bench = Bench::new();
    for dir in ["served/a", "served/b"] {
        std::fs::create_dir(bench.path(dir)).unwrap();
    }
    let content = bench.write("served/file", 1000);
    bench.write("served/b/other", 2000);
    symlink("../file", bench.path("served/a/link")).unwrap();
    symlink("../b", bench.path("served/a/dir")).unwrap();
    let server = bench.serve(&[]);
    let got = bench.run(&["get", &server.url(""), "-o", "all"]);
    assert!(got.status.success(), "{}", said(&got));
    assert!(std::fs::read(bench.path("client/all/a/link")).unwrap() == content);
    assert!(std::fs::read(bench.path("client/all/a/dir/other")).unwrap() == data(2000, 0));

    // A way back to where it lies would be gone for ever.
    symlink("..", bench.path("served/a/up")).unwrap();
    symlink(".", bench.path("served/self")).unwrap();
    let got = bench.run(&["get", &server.url(""), "-o", "again"]);
    assert!(got.status.code() == Some(3) && said(&got).contains("2 entries are missing"), "{}", said(&got));
    assert_eq!(bench.names("client/again"), ["a", "b", "file"]);
    assert_eq!(bench.names("client/again/a"), ["dir", "link"]);
}

#[test]
fn no_name_reaches_the_terminal_as_a_command() {
    let bench = Bench::new();
    bench.write("served/\u{1b}[31mred", 1000);
    let server = bench.serve(&[]);
    let got = bench.run(&["get", &server.url("%1B%5B31mred")]);
    assert!(got.status.success(), "{}", said(&got));
    let text = said(&got);
    assert!(!text.contains('\u{1b}') && text.contains("red: 1.00 kB in"), "{text:?}");
    let got = bench.run(&["get", &server.url(""), "-o", "\u{1b}[31mdir"]);
    assert!(got.status.success() && !said(&got).contains('\u{1b}'), "{}", said(&got));
}
