//! `-X` and `-A`: extended attributes and access control lists, through a command in ssh's place.
#![cfg(target_os = "linux")]

mod far;
mod upload;

use far::{Far, done, same};
use rustix::fs::{XattrFlags, getxattr, listxattr, removexattr, setxattr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use upload::{said, wait_until};

const ACCESS: &[u8] = b"system.posix_acl_access";
const DEFAULT: &[u8] = b"system.posix_acl_default";
/// No text.
const ODD: &[u8] = b"user.\xff\xfe";

#[track_caller]
fn set(path: &Path, name: &[u8], value: &[u8]) {
    let given = setxattr(path, name, value, XattrFlags::empty());
    let path = path.display();
    given.unwrap_or_else(|error| panic!("{path}: {error}: set TMPDIR to a directory on ext4, XFS or Btrfs"));
}

/// All of them, by name.
fn all(path: &Path) -> Vec<(String, Vec<u8>)> {
    let (mut names, mut value) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let length = listxattr(path, &mut names[..]).unwrap();
    let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let mut all: Vec<_> = names
        .map(|name| {
            let length = getxattr(path, name, &mut value[..]).unwrap();
            (name.escape_ascii().to_string(), value[..length].to_vec())
        })
        .collect();
    all.sort();
    all
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

/// A list as Linux has it, of entries of tag, rights and number.
fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let entry = |(tag, rights, id): &(u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2u32.to_le_bytes().to_vec(), entries.iter().flat_map(entry).collect()].concat()
}

/// This user may do so much, the owning group nothing, and others nothing.
fn list_of(user: u32, rights: u16) -> Vec<u8> {
    let none = u32::MAX;
    list(&[(1, 7, none), (2, rights, user), (4, 0, none), (16, 7, none), (32, 0, none)])
}

/// Both directions, with their copies.
fn both<'a>(letters: &'a str, far: &Far) -> [([&'a str; 4], std::path::PathBuf); 2] {
    [
        (["put", letters, "tree", "localhost:there"], far.0.path("served/there")),
        (["get", letters, "localhost:there/", "back"], far.here("back")),
    ]
}

/// Runs it; the files that were due before, and that are due afterwards.
fn run(far: &Far, words: &[&str]) -> (u64, u64) {
    let due = || done(&far.run(&[words, &["-n", "--json"]].concat()))["due"].as_u64().unwrap();
    let before = due();
    let told = far.run(&[words, &["--json"]].concat());
    assert!(matches!(done(&told)["failed"].as_u64(), None | Some(0)), "{}", said(&told));
    assert!(!said(&told).contains("-X or -A"), "{}", said(&told));
    (before, due())
}

/// A directory `client/tree` with a file and a directory.
fn tree(far: &Far) {
    std::fs::create_dir_all(far.here("tree/sub")).unwrap();
    far.0.write("client/tree/file", 1000);
}

#[test]
fn extended_attributes_arrive_both_ways_and_go_again() {
    let far = Far::new();
    tree(&far);
    let (file, sub) = (far.here("tree/file"), far.here("tree/sub"));
    set(&file, ODD, b"\0\xff,:");
    set(&sub, b"user.of", b"a directory");
    if rustix::process::geteuid().is_root() {
        set(&file, b"trusted.pcc", b"for root");
    }
    for change in ["new", "changed", "taken away"] {
        match change {
            "taken away" => removexattr(&file, ODD).and_then(|()| removexattr(&sub, "user.of")).unwrap(),
            _ => set(&file, b"user.kind", change.as_bytes()),
        }
        for (words, there) in both("-aX", &far) {
            let due = run(&far, &words);
            assert_eq!(due, (1, 0), "{change}: {words:?}");
            assert_eq!(all(&there.join("file")), all(&file), "{change}: {words:?}");
            assert_eq!(all(&there.join("sub")), all(&sub), "{change}: {words:?}");
            assert!(same(&there.join("file"), &file));
        }
    }
    far.0.write("client/tree/file", 2000);
    set(&file, b"user.more", b"with other content");
    for (words, there) in both("-aX", &far) {
        assert_eq!(run(&far, &words), (1, 0));
        assert_eq!(all(&there.join("file")), all(&file), "{words:?}");
    }
}

#[test]
fn access_control_lists_arrive_both_ways_and_go_again() {
    let far = Far::new();
    tree(&far);
    let (file, sub) = (far.here("tree/file"), far.here("tree/sub"));
    set(&sub, ACCESS, &list_of(4_000_123, 5));
    set(&sub, DEFAULT, &list_of(4_000_124, 7));
    for change in [Some(6), Some(4), None] {
        match change {
            Some(rights) => set(&file, ACCESS, &list_of(4_000_125, rights)),
            None => {
                removexattr(&file, ACCESS).unwrap();
                removexattr(&sub, DEFAULT).unwrap();
            }
        }
        for (words, there) in both("-rtA", &far) {
            assert_eq!(run(&far, &words), (1, 0), "{change:?}: {words:?}");
            for name in ["file", "sub"] {
                let (here, there) = (far.here("tree").join(name), there.join(name));
                assert_eq!((all(&there), mode(&there)), (all(&here), mode(&here)), "{change:?}: {words:?}: {name}");
            }
        }
    }
}

#[test]
fn changes_of_permissions_go_into_the_lists() {
    let far = Far::new();
    far.0.write("client/file", 1000);
    set(&far.here("file"), ACCESS, &list_of(4_000_125, 6));
    let words = ["put", "-A", "--chmod", "g-w,o+r", "file", "localhost:there"];
    assert_eq!(run(&far, &words), (1, 0));
    let none = u32::MAX;
    let changed = list(&[(1, 7, none), (2, 6, 4_000_125), (4, 0, none), (16, 5, none), (32, 4, none)]);
    let there = far.0.path("served/there");
    assert_eq!((all(&there), mode(&there)), (vec![("system.posix_acl_access".to_owned(), changed)], 0o754));
}

#[test]
fn single_files_have_them_and_nothing_comes_unasked() {
    let far = Far::new();
    far.0.write("client/file", 1000);
    let file = far.here("file");
    set(&file, b"user.kind", b"letter");
    set(&file, ACCESS, &list_of(4_000_125, 6));
    if rustix::process::geteuid().is_root() {
        // As a capability would be.
        set(&file, b"security.pcc", b"what a program may do");
    }
    let moving: Vec<_> = all(&file).into_iter().filter(|(name, _)| !name.starts_with("security.")).collect();
    assert_eq!(run(&far, &["put", "-XA", "file", "localhost:there"]), (1, 0));
    assert_eq!(all(&far.0.path("served/there")), moving);
    assert_eq!(run(&far, &["get", "-XA", "localhost:there", "back"]), (1, 0));
    assert_eq!(all(&far.here("back")), moving);
    for (letters, name) in [("-a", "plain"), ("-aX", "attributes"), ("-aA", "list")] {
        run(&far, &["put", letters, "file", &format!("localhost:{name}")]);
        let names: Vec<_> = all(&far.0.path("served").join(name)).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.contains(&"user.kind".to_owned()), letters == "-aX", "{letters}");
        assert_eq!(names.contains(&"system.posix_acl_access".to_owned()), letters == "-aA", "{letters}");
    }
}

#[test]
fn transfers_that_go_on_have_them_and_are_private_before() {
    let far = Far::new();
    far.0.write("client/file", 6_000_000);
    let file = far.here("file");
    set(&file, b"user.kind", b"letter");
    set(&file, ACCESS, &list_of(4_000_125, 6));
    // Its users may read what is made there, and the new list says otherwise.
    for name in ["served", "client"] {
        set(&far.0.path(name), DEFAULT, &list_of(4_000_126, 6));
    }
    let hidden = |name: &str| {
        let all = std::fs::read_dir(far.0.path(name)).unwrap().map(|entry| entry.unwrap().path());
        let hidden = all.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with('.'));
        hidden.max_by_key(|path| path.metadata().map_or(0, |found| found.len()))
    };
    for (words, beside, there) in [
        (["put", "-aXA", "file", "localhost:there"], "served", far.0.path("served/there")),
        (["get", "-aXA", "localhost:there", "back"], "client", far.here("back")),
    ] {
        let mut moving = far.pcc(&[&words[..], &["--limit", "8Mbit"]].concat()).spawn().unwrap();
        let is_long = |path: &std::path::PathBuf| path.metadata().is_ok_and(|part| part.len() > 2_000_000);
        wait_until("a third is there", || hidden(beside).as_ref().is_some_and(is_long));
        assert_eq!(mode(&hidden(beside).unwrap()) & 0o077, 0, "the mask is nothing that the owning group may do");
        moving.kill().unwrap();
        moving.wait().unwrap();
        let done = done(&far.run(&[&words[..], &["--json"]].concat()));
        assert!(done["resumed_from"].as_u64().unwrap() > 500_000, "{done}");
        assert_eq!((all(&there), mode(&there)), (all(&file), mode(&file)), "{words:?}");
    }
}

#[test]
fn they_move_over_ssh_alone_and_lists_need_permissions() {
    let far = Far::new();
    far.0.write("client/file", 1000);
    for words in [["put", "-aX", "file", "https://localhost:1/"], ["get", "-aA", "https://localhost:1/file", "there"]] {
        let told = far.0.run(&words);
        assert!(told.status.code() == Some(2) && said(&told).contains("for user@host:path"), "{}", said(&told));
    }
    let told = far.run(&["put", "-aA", "--no-perms", "file", "localhost:"]);
    assert!(told.status.code() == Some(2) && said(&told).contains("leave out -A or --no-perms"), "{}", said(&told));
}
