//! Downloads from a server that does whatever a test wants, also what `pcc serve` never would.

mod deltas;
mod fake;
mod hostile;
#[cfg(unix)]
mod private;

use super::store::Target;
use super::transfer::transfer;
use crate::client::names;
use crate::failure::{Failure, failure_of};
use core::time::Duration;
use fake::{Fake, MIB, Page, Place, data, part_of};
use http::StatusCode;
use pcc::units::Rate;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_any_size_arrive_as_they_are() {
    for size in [0, 1, 300_000, 9 * MIB + 1] {
        let (server, place) = (Fake::new([("/a", Page::of(data(size)))]), Place::new());
        let fetched = server.fetch("/a", &place).await.unwrap();
        assert_eq!((fetched.bytes, fetched.resumed_from, fetched.verified), (size as u64, 0, true));
        assert!(place.read() == data(size));
        assert_eq!(fetched.digest, blake3::hash(&data(size)));
        assert_eq!(place.names(), ["file"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_holds_for_what_is_taken() {
    let (server, place) = (Fake::new([("/a", Page::of(data(3 * MIB)))]), Place::new());
    let (url, limit) = (server.url("/a"), Rate::from_mbit(16.0));
    let source = server.source(&url).limited_to(Some(limit));
    let fetched = transfer(&source, &url, &Target::File(place.file())).await.unwrap();
    assert!(place.read() == data(3 * MIB));
    let due = limit.time_for(pcc::units::Bytes::new(3 << 20)).as_secs_f64();
    assert!(fetched.seconds >= 0.95 * due, "{} s, not {due}", fetched.seconds);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_ranges_starts_over_and_the_file_is_right() {
    let page = Page { ranges: false, digest: None, ..Page::of(data(2 * MIB)) };
    let (server, place) = (Fake::new([("/a", page)]), Place::new());
    server.site.lock().unwrap().break_at = Some(MIB);
    let fetched = server.fetch("/a", &place).await.unwrap();
    assert!(!fetched.verified, "a server without digests verifies nothing");
    assert!(place.read() == data(2 * MIB));
    assert_eq!(server.answered_from(), [0, 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_that_only_the_digest_shows_is_an_integrity_error() {
    let page = Page { digest: Some(blake3::hash(b"another file")), ..Page::of(data(MIB)) };
    let (server, place) = (Fake::new([("/a", page)]), Place::new());
    let error = server.fetch("/a", &place).await.unwrap_err();
    assert_eq!(failure_of(&error), Failure::Integrity);
    assert_eq!(place.names(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_run_goes_on_from_the_damaged_block() {
    let (server, place) = (Fake::new([("/a", Page::of(data(14 * MIB)))]), Place::new());
    // The first run is cut off by its user, as a killed one would be.
    server.site.lock().unwrap().break_at = Some(13 * MIB);
    let part = part_of(&place.file());
    {
        let error = server.fetch_within(Duration::ZERO, "/a", &place).await.unwrap_err();
        assert_eq!(failure_of(&error), Failure::Unreachable, "{error:#}");
    }
    let mut bytes = std::fs::read(&part).unwrap();
    assert!(bytes.len() > 12 * MIB && !place.file().exists(), "{}", bytes.len());
    bytes[5 * MIB] ^= 1;
    std::fs::write(&part, &bytes).unwrap();
    let fetched = server.fetch("/a", &place).await.unwrap();
    assert_eq!((fetched.resumed_from, fetched.verified), (4 * MIB as u64, true));
    assert!(place.read() == data(14 * MIB));
    assert_eq!(server.answered_from(), [0, 4 * MIB]);
    assert_eq!(place.names(), ["file"]);
}

/// A kill between the last two steps: the journal is gone, and the file has not got its name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_file_that_lacks_only_its_name_gets_it() {
    let (server, place) = (Fake::new([("/a", Page::of(data(9 * MIB)))]), Place::new());
    std::fs::write(part_of(&place.file()), data(9 * MIB)).unwrap();
    let fetched = server.fetch("/a", &place).await.unwrap();
    assert_eq!((fetched.resumed_from, fetched.verified), (9 * MIB as u64, true));
    assert_eq!(server.answered_from(), Vec::<usize>::new(), "nothing was asked for");
    assert_eq!(place.names(), ["file"]);

    // One that only is as long is another file.
    std::fs::write(part_of(&place.file()), vec![7; 9 * MIB]).unwrap();
    let fetched = server.fetch("/a", &place).await.unwrap();
    assert_eq!((fetched.resumed_from, fetched.verified), (0, true));
    assert!(place.read() == data(9 * MIB));
    assert_eq!(place.names(), ["file"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_as_new_as_on_the_server() {
    let dated = |date| Page { fields: vec![("last-modified", date)], ..Page::of(data(MIB)) };
    let (server, place) = (Fake::new([("/a", dated("Sun, 06 Nov 1994 08:49:37 GMT"))]), Place::new());
    let modified = || place.file().metadata().unwrap().modified().unwrap();
    server.fetch("/a", &place).await.unwrap();
    assert_eq!(modified(), std::time::UNIX_EPOCH + Duration::from_secs(784_111_777));
    server.set("/a", dated("some day"));
    let begun = std::time::SystemTime::now() - Duration::from_secs(60);
    server.fetch("/a", &place).await.unwrap();
    assert!(modified() > begun, "it is not known");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_run_starts_anew_when_the_source_is_another() {
    let (server, place) = (Fake::new([("/a", Page::of(data(6 * MIB)))]), Place::new());
    server.site.lock().unwrap().break_at = Some(5 * MIB);
    assert!(server.fetch_within(Duration::ZERO, "/a", &place).await.is_err());
    assert!(part_of(&place.file()).exists());
    server.set("/a", Page::of(vec![3; 6 * MIB]));
    let fetched = server.fetch("/a", &place).await.unwrap();
    assert_eq!(fetched.resumed_from, 0);
    assert_eq!(place.read(), vec![3; 6 * MIB]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_refuses_is_named_at_once() {
    let gone = Page { status: StatusCode::FORBIDDEN, ..Page::of("") };
    let (server, place) = (Fake::new([("/secret", gone)]), Place::new());
    for (path, says) in [("/missing", "does not exist"), ("/secret", "does not allow")] {
        let error = format!("{:#}", server.fetch(path, &place).await.unwrap_err());
        assert!(error.contains(says) && error.contains(path), "{error}");
    }
    assert_eq!(place.names(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_arrives_whole_and_a_second_run_moves_nothing() {
    let top = r#"[{"name":"sub","type":"directory"},{"name":"a b","type":"file","size":5}]"#;
    let server = Fake::new([
        ("/d/", Page::of(top)),
        (
            "/d/sub/",
            Page::of(r#"{"entries":[{"name":"c","type":"file","size":0},{"name":"e","type":"file","size":3}]}"#),
        ),
        ("/d/a%20b", Page::of("hello")),
        ("/d/sub/c", Page::of("")),
        ("/d/sub/e", Page::of("abc")),
    ]);
    let place = Place::new();
    let tree = server.tree("/d/", &place).await.unwrap();
    assert_eq!((tree.files, tree.bytes, tree.resumed_from, tree.failed), (3, 8, 0, 0));
    assert_eq!(std::fs::read(place.file().join("a b")).unwrap(), b"hello");
    assert_eq!(std::fs::read(place.file().join("sub/e")).unwrap(), b"abc");
    assert_eq!(std::fs::read(place.file().join("sub/c")).unwrap(), b"");
    let again = server.tree("/d/", &place).await.unwrap();
    assert_eq!((again.files, again.bytes, again.resumed_from), (3, 8, 8));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_listing_writes_nothing_outside_and_rest_arrives() {
    let listing = r#"{"omitted":7,"entries":[{"name":"../evil","type":"file","size":1},{"name":"..","type":"directory"},
        {"name":"/tmp/evil","type":"file","size":1},{"name":"good","type":"file","size":4},
        {"name":"gone","type":"file","size":4},{"name":"sub","type":"directory"},{"name":"pipe","type":"other"}]}"#;
    let server = Fake::new([("/d/", Page::of(listing)), ("/d/good", Page::of("good")), ("/evil", Page::of("x"))]);
    let place = Place::new();
    let tree = server.tree("/d/", &place).await.unwrap();
    assert_eq!((tree.files, tree.failed), (1, 13));
    // Each by its name here; whatever has none is missing in the directory.
    let (top, below) = (|entries| (place.file(), entries), |name| (place.file().join(name), 1));
    assert_eq!(server.lacking(), [top(1), top(1), top(1), top(7), below("gone"), below("pipe"), below("sub")]);
    assert_eq!(place.names(), ["file"]);
    let names: Vec<_> = place.file().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["good"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn standard_output_is_a_target_too() {
    // Nothing but the path to it differs; a test cannot read its own output, so an empty file has to do.
    let server = Fake::new([("/a", Page::of(""))]);
    let url = server.url("/a");
    let fetched = transfer(&server.source(&url), &url, &Target::Stdout).await.unwrap();
    assert!(fetched.verified && fetched.bytes == 0);
    assert!(names::is_directory(&server.url("/a/")));
}
