//! Servers that break, stall, drip, lie and change.

use super::super::store::Target;
use super::super::transfer::transfer;
use super::fake::{Fake, MIB, Manner, Odd, Page, Place, data, part_of};
use crate::choice::{Choice, Excluded, Names};
use crate::client::names;
use crate::failure::{Failure, failure_of};
use core::time::Duration;
use http::StatusCode;

const SECOND: Duration = Duration::from_secs(1);

fn listing(names: &[&str]) -> Page {
    let entries: Vec<_> = names.iter().map(|name| serde_json::json!({"name": name, "type": "file"})).collect();
    Page::of(serde_json::json!(entries).to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_changes_under_way_costs_nothing_that_was_there() {
    let (server, place) = (Fake::new([("/a", Page::of(data(6 * MIB)))]), Place::new());
    {
        let mut site = server.site.lock().unwrap();
        site.break_at = Some(5 * MIB);
        site.afterwards = Some(Page::of(vec![3; 6 * MIB]));
    }
    let error = format!("{:#}", server.fetch("/a", &place).await.unwrap_err());
    assert!(error.contains("another file now") && error.contains(".file.pcc-part"), "{error}");
    assert!(std::fs::metadata(part_of(&place.file())).unwrap().len() > 4 * MIB as u64);
    assert!(!place.file().exists());
    server.fetch("/a", &place).await.unwrap();
    assert!(place.read() == vec![3; 6 * MIB]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_validator_two_versions_are_never_put_together() {
    let page = |byte| Page { etag: None, digest: None, ..Page::of(vec![byte; 2 * MIB]) };
    let (server, place) = (Fake::new([("/a", page(1))]), Place::new());
    {
        let mut site = server.site.lock().unwrap();
        site.break_at = Some(MIB);
        site.afterwards = Some(page(2));
    }
    let error = format!("{:#}", server.fetch("/a", &place).await.unwrap_err());
    assert!(error.contains("another file now"), "{error}");
    assert_eq!(place.names(), Vec::<String>::new(), "no later run could go on with it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_validator_an_unchanged_file_still_arrives() {
    let page = Page { etag: None, ..Page::of(data(2 * MIB)) };
    let (server, place) = (Fake::new([("/a", page)]), Place::new());
    server.site.lock().unwrap().break_at = Some(MIB);
    assert!(server.fetch("/a", &place).await.unwrap().verified);
    assert!(place.read() == data(2 * MIB));
    assert_eq!(server.answered_from(), [0, 0], "the rest is not asked for alone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drip_is_given_up_like_silence() {
    let manners = [Manner::Drips(SECOND / 20), Manner::Breaks(10), Manner::Stalls(10)];
    for manner in manners {
        let (server, place) = (Fake::new([("/a", Page { manner, ..Page::of(data(MIB)) })]), Place::new());
        let error = server.fetch_within(SECOND, "/a", &place).await.unwrap_err();
        assert_eq!(failure_of(&error), Failure::Unreachable, "{manner:?}: {error:#}");
        assert!(format!("{error:#}").contains("no progress for 1s"), "{manner:?}: {error:#}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listing_that_stalls_drips_or_breaks_is_given_up() {
    for manner in [Manner::Stalls(10), Manner::Drips(SECOND / 20), Manner::Breaks(10)] {
        let (server, place) = (Fake::new([("/d/", Page { manner, ..listing(&["a"; 300]) })]), Place::new());
        let error = server.tree_within(SECOND, "/d/", &place).await.unwrap_err();
        assert_eq!(failure_of(&error), Failure::Unreachable, "{manner:?}: {error:#}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_the_server_never_gives_does_not_cost_the_others() {
    let refused = Page { status: StatusCode::INTERNAL_SERVER_ERROR, ..Page::of("") };
    let stalled = Page { manner: Manner::Stalls(1), ..Page::of("never") };
    // Refused, it may be the only one left; stalled, the others show that it is not the server.
    for (page, names) in [(refused, ["1", "2", "3", "bad"]), (stalled, ["bad", "1", "2", "3"])] {
        let server = Fake::new([("/d/", listing(&names)), ("/d/bad", page)]);
        for name in ["1", "2", "3"] {
            server.set(&format!("/d/{name}"), Page::of(data(1000)));
        }
        let tree = server.tree_within(5 * SECOND, "/d/", &Place::new()).await.unwrap();
        assert_eq!((tree.files, tree.failed), (3, 1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_that_the_server_leaves_out_are_missing_ones() {
    let page = Page::of(r#"{"entries":[{"name":"a","type":"file","size":1}],"omitted":7}"#);
    let (server, place) = (Fake::new([("/d/", page), ("/d/a", Page::of("a"))]), Place::new());
    let tree = server.tree("/d/", &place).await.unwrap();
    assert_eq!((tree.files, tree.failed), (1, 7));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_no_listing_and_leaves_no_directory() {
    let (server, place) = (Fake::new([("/d/", Page::of("<html>"))]), Place::new());
    let error = format!("{:#}", server.tree("/d/", &place).await.unwrap_err());
    assert!(error.contains("no list that programs can read") && !error.contains("line 1"), "{error}");
    assert_eq!(place.names(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_before_the_answer_are_not_taken_for_it() {
    let page = Page { interim: 2, ..Page::of(data(1000)) };
    let (server, place) = (Fake::new([("/a", page)]), Place::new());
    assert!(server.fetch("/a", &place).await.unwrap().verified);
    assert!(place.read() == data(1000));
    server.set("/b", Page { interim: 100, ..Page::of("") });
    let error = format!("{:#}", server.fetch("/b", &Place::new()).await.unwrap_err());
    assert!(error.contains("does not come to its answer"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_true_of_a_file_is_an_error() {
    for (name, value, says) in [
        ("content-length", "-1", "impossible length `-1`"),
        ("content-length", "abc", "impossible length `abc`"),
        ("content-encoding", "gzip", "as gzip"),
    ] {
        let page = Page { fields: vec![(name, value)], ..Page::of(data(1000)) };
        let (server, place) = (Fake::new([("/a", page)]), Place::new());
        let error = format!("{:#}", server.fetch("/a", &place).await.unwrap_err());
        assert!(error.contains(says), "{error}");
        assert_eq!(place.names(), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_is_not_taken_for_the_file_that_was_asked_for() {
    for range in ["bytes 0-9/*", "bytes 0-9/10", "bytes 0-9/1000"] {
        let fields = vec![("content-range", range)];
        let page = Page { status: StatusCode::PARTIAL_CONTENT, digest: None, fields, ..Page::of(data(10)) };
        let (server, place) = (Fake::new([("/a", page)]), Place::new());
        let error = format!("{:#}", server.fetch("/a", &place).await.unwrap_err());
        assert!(error.contains("another part"), "{error}");
        assert_eq!(place.names(), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_answers_to_a_range_end_with_the_file_all_the_same() {
    for odd in [Odd::Earlier(1000), Odd::Unnamed, Odd::Unsatisfiable] {
        let page = Page { odd, ..Page::of(data(6 * MIB)) };
        // Within one run, and in the next one.
        for give_up in [SECOND * 30, Duration::ZERO] {
            let (server, place) = (Fake::new([("/a", page.clone())]), Place::new());
            server.site.lock().unwrap().break_at = Some(5 * MIB);
            let first = server.fetch_within(give_up, "/a", &place).await;
            assert_eq!(first.is_ok(), give_up > Duration::ZERO, "{odd:?}: {first:?}");
            let fetched = server.fetch("/a", &place).await.unwrap();
            assert!(fetched.verified && place.read() == data(6 * MIB), "{odd:?}");
            assert_eq!(place.names(), ["file"], "{odd:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_of_no_use_after_all_is_fetched_anew_in_the_same_run() {
    let (server, place) = (Fake::new([("/a", Page::of(data(6 * MIB)))]), Place::new());
    server.site.lock().unwrap().break_at = Some(5 * MIB);
    assert!(server.fetch_within(Duration::ZERO, "/a", &place).await.is_err());
    server.set("/a", Page { odd: Odd::OtherTag, ..Page::of(data(6 * MIB)) });
    let fetched = server.fetch("/a", &place).await.unwrap();
    assert_eq!((fetched.resumed_from, fetched.verified), (0, true));
    assert!(place.read() == data(6 * MIB));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_malformed_digest_is_refused() {
    for value in ["blake3=:AAAA:", "blake3=abc"] {
        let page = Page { fields: vec![("repr-digest", value)], digest: None, ..Page::of(data(1000)) };
        let (server, place) = (Fake::new([("/a", page)]), Place::new());
        let error = format!("{:#}", server.fetch("/a", &place).await.unwrap_err());
        assert!(error.contains("malformed BLAKE3"), "{error}");
        assert_eq!(place.names(), Vec::<String>::new());
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fits_on_no_disk_is_refused_before_a_byte_is_written() {
    let page = Page { fields: vec![("content-length", "4000000000000000000")], ..Page::of(data(1000)) };
    let entries = r#"[{"name":"a","type":"file","size":1000},{"name":"b","type":"file","size":4000000000000000000}]"#;
    let server = Fake::new([("/a", page), ("/d/", Page::of(entries)), ("/d/a", Page::of(data(1000)))]);
    let place = Place::new();
    let error = server.fetch("/a", &place).await.unwrap_err();
    let text = format!("{error:#}");
    assert!(failure_of(&error) == Failure::Error && text.contains("the disk has room for"), "{text}");
    assert_eq!(place.names(), Vec::<String>::new());
    let text = format!("{:#}", server.tree("/d/", &place).await.unwrap_err());
    assert!(text.contains("could not download all of") && text.contains("the disk has room for"), "{text}");
    assert_eq!(place.names(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_without_end_leaves_no_directories_here() {
    let sub = r#"[{"name":"sub","type":"directory"}]"#;
    let top = r#"[{"name":"sub","type":"directory"},{"name":"empty","type":"directory"}]"#;
    let server = Fake::new([("/d/", Page::of(top)), ("/d/empty/", Page::of("[]"))]);
    for depth in 1..70 {
        server.set(&format!("/d/{}", "sub/".repeat(depth)), Page::of(sub));
    }
    let place = Place::new();
    let tree = server.tree("/d/", &place).await.unwrap();
    assert_eq!((tree.files, tree.failed), (0, 1), "the deepest is left out");
    let made: Vec<_> = place.file().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(made, ["empty"]);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trouble_here_with_one_entry_costs_no_other() {
    let (server, place) = (Fake::new([("/d/", listing(&["busy", "directory", "good", "link", "pipe"]))]), Place::new());
    for name in ["busy", "directory", "good", "link", "pipe"] {
        server.set(&format!("/d/{name}"), Page::of(data(1000)));
    }
    std::fs::create_dir(place.file()).unwrap();
    let part = |name: &str| names::part_and_journal(&place.file().join(name)).0;
    let busy = std::fs::File::create(part("busy")).unwrap();
    busy.lock().unwrap();
    // A file that is not ours has another name, or goes.
    std::fs::create_dir(part("directory")).unwrap();
    std::os::unix::fs::symlink("good", part("link")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        part("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let tree = server.tree("/d/", &place).await.unwrap();
    assert_eq!((tree.files, tree.failed), (4, 1));
    assert_eq!(server.lacking(), [(place.file().join("busy"), 1)]);
    for name in ["directory", "good", "link", "pipe"] {
        assert_eq!(std::fs::read(place.file().join(name)).unwrap(), data(1000), "{name}");
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_too_long_for_this_computer_is_one_missing_entry() {
    let long = "n".repeat(200);
    let top = format!(r#"[{{"name":"{long}","type":"directory"}},{{"name":"good","type":"file","size":4}}]"#);
    let sub = format!(r#"[{{"name":"{long}","type":"file","size":4}}]"#);
    let server = Fake::new([("/d/", Page::of(top)), ("/d/good", Page::of("good"))]);
    server.set(&format!("/d/{long}/"), Page::of(sub));
    server.set(&format!("/d/{long}/{long}"), Page::of("long"));
    let place = Place::new();
    let mut deep = place.file();
    std::fs::create_dir(&deep).unwrap();
    while deep.as_os_str().len() < 3900 - long.len() {
        deep.push("d".repeat(50));
        std::fs::create_dir(&deep).unwrap();
    }
    let url = server.url("/d/");
    let (source, choice) = (server.source(&url), Choice::default());
    let tree = super::super::tree::fetch_tree(&source, &url, &deep, &choice, &|_| {}).await.unwrap();
    assert_eq!((tree.files, tree.failed), (1, 1));
    assert_eq!(std::fs::read(deep.join("good")).unwrap(), b"good");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_downloads_to_one_name_at_once_leave_a_whole_file() {
    let server = Fake::new([("/a", Page::of(data(3 * MIB))), ("/b", Page::of(vec![2; 3 * MIB]))]);
    let place = Place::new();
    let (one, other) = (server.url("/a"), server.url("/b"));
    let target = Target::File(place.file());
    let (first, second) = (server.source(&one), server.source(&other));
    let outcomes = tokio::join!(transfer(&first, &one, &target), transfer(&second, &other, &target));
    let errors = [outcomes.0.err(), outcomes.1.err()];
    assert!(errors.iter().filter(|error| error.is_none()).count() >= 1, "{errors:?}");
    for error in errors.into_iter().flatten() {
        assert!(format!("{error:#}").contains("another pcc is downloading"), "{error:#}");
    }
    assert!(place.read() == data(3 * MIB) || place.read() == vec![2; 3 * MIB]);
    assert_eq!(place.names(), ["file"]);
}

/// A destination with these files, and a choice that deletes what the server does not have.
fn destination(files: &[&str]) -> (Place, Choice) {
    let place = Place::new();
    for file in files {
        let path = place.file().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "here").unwrap();
    }
    (place, Choice { delete: true, ..Choice::default() })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_deleted_after_an_incomplete_listing() {
    let text = |entries: &str| Page::of(format!(r#"{{"entries":[{entries}],"omitted":0}}"#));
    let there = r#"{"name":"a","type":"file","size":1}"#;
    let incomplete = [
        Page::of(format!(r#"{{"entries":[{there}],"omitted":1}}"#)),
        text(&format!(r#"{there},{{"name":"../x","type":"file"}}"#)),
        text(&format!(r#"{there},{{"name":"gone","type":"file","size":3}}"#)),
        text(&format!(r#"{there},{{"name":"sub","type":"directory"}}"#)),
        text(&format!(r#"{there},{{"name":"odd","type":"socket"}}"#)),
        text(&format!("{there},{there}")),
    ];
    for (number, page) in incomplete.into_iter().enumerate() {
        let server = Fake::new([("/d/", page), ("/d/a", Page::of("x"))]);
        let (place, choice) = destination(&["mine", "old/mine"]);
        let tree = server.choose("/d/", &place, &choice).await.unwrap();
        assert!(tree.failed > 0 && tree.deleted == 0, "{number}: {tree:?}");
        assert!(place.file().join("mine").exists() && place.file().join("old/mine").exists(), "{number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listing_deletes_inside_of_the_destination_only() {
    let server = Fake::new([("/d/", listing(&["a"])), ("/d/a", Page::of("x"))]);
    let (place, choice) = destination(&["old/b", "keep.me"]);
    let beside = place.file().with_file_name("beside");
    std::fs::write(&beside, "precious").unwrap();
    let rehearsal = Choice { dry_run: true, ..choice.clone() };
    let tree = server.choose("/d/", &place, &rehearsal).await.unwrap();
    assert_eq!((tree.due, tree.deleted, tree.files), (1, 3, 0));
    assert!(place.file().join("old/b").exists() && !place.file().join("a").exists());
    let excluded = Excluded::new(["*.me"]).unwrap();
    let tree = server.choose("/d/", &place, &Choice { excluded, ..choice }).await.unwrap();
    assert_eq!((tree.files, tree.deleted), (1, 2));
    assert!(place.file().join("keep.me").exists() && !place.file().join("old").exists());
    assert_eq!(std::fs::read(beside).unwrap(), b"precious");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_excluded_is_not_asked_for() {
    let entries = r#"[{"name":"a.log","type":"file","size":1},{"name":"cache","type":"directory"},
        {"name":"../bad.log","type":"file"},{"name":"b","type":"file","size":1}]"#;
    let server = Fake::new([("/d/", Page::of(entries)), ("/d/b", Page::of("x"))]);
    let (place, _) = destination(&[]);
    let excluded = Excluded::new(["*.log", "cache/"]).unwrap();
    let tree = server.choose("/d/", &place, &Choice { excluded, ..Choice::default() }).await.unwrap();
    assert_eq!((tree.files, tree.failed), (1, 0));
    let only = |pattern| Choice { only: Some(Names::new(pattern).unwrap()), dry_run: true, ..Choice::default() };
    assert_eq!(server.choose("/d/", &place, &only("?.log")).await.unwrap().due, 1);
    let error = server.choose("/d/", &place, &only("x*")).await.unwrap_err();
    assert!(format!("{error:#}").contains("called like `x*`"), "{error:#}");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_link_of_a_server_leads_out_of_the_destination() {
    let link =
        |name: &str, target: &str| serde_json::json!({"name": name, "type": "link", "link": true, "target": target});
    let long = "x/".repeat(3000);
    let entries = serde_json::json!([
        link("in", "a"),
        link("out", "/etc/passwd"),
        link("up", "../beside"),
        link("down-up", "sub/../../beside"),
        link("../beside", "a"),
        link("in", "b"),
        link("long", &long),
        link("empty", ""),
        {"name": "bare", "type": "link"},
        {"name": "old", "type": "file", "size": 1, "link": true},
        {"name": "a", "type": "file", "size": 1},
    ]);
    let server =
        Fake::new([("/d/", Page::of(entries.to_string())), ("/d/a", Page::of("x")), ("/d/old", Page::of("x"))]);
    let (place, _) = destination(&[]);
    let beside = place.file().with_file_name("beside");
    std::fs::write(&beside, "precious").unwrap();
    let keeps = crate::Keeps { links: true, ..crate::Keeps::default() };
    let tree = server.keep("/d/", &place, keeps.clone()).await.unwrap();
    assert_eq!((tree.files, tree.links, tree.failed), (1, 1, 9));
    let mut names: Vec<_> = place.file().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["a", "in"]);
    // A name that was a link is a directory the next time: nothing is written through it.
    std::os::unix::fs::symlink(place.file().parent().unwrap(), place.file().join("sub")).unwrap();
    server.set("/d/", Page::of(r#"[{"name":"sub","type":"directory"}]"#));
    server.set("/d/sub/", listing(&["beside"]));
    server.set("/d/sub/beside", Page::of("theirs"));
    let tree = server.keep("/d/", &place, crate::Keeps { links_out: true, ..keeps }).await.unwrap();
    assert_eq!((tree.files, tree.failed), (0, 1));
    assert_eq!(std::fs::read(beside).unwrap(), b"precious");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_further_name_of_a_file_that_never_came_is_missing() {
    let name = |name: &str, same: &str| serde_json::json!({"name": name, "type": "file", "size": 1, "same": same});
    let entries = serde_json::json!([name("gone", "1"), name("again", "1"), name("a", "2"), name("b", "2")]);
    let server = Fake::new([("/d/", Page::of(entries.to_string())), ("/d/a", Page::of("x"))]);
    let (place, _) = destination(&[]);
    let keeps = crate::Keeps { hard_links: true, ..crate::Keeps::default() };
    let tree = server.keep("/d/", &place, keeps).await.unwrap();
    assert_eq!((tree.files, tree.links, tree.failed), (1, 1, 2));
    assert_eq!(std::fs::read(place.file().join("b")).unwrap(), b"x");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_with_holes_may_be_larger_than_the_disk() {
    let entries = r#"[{"name":"a","type":"file","size":1152921504606846976}]"#;
    let server = Fake::new([("/d/", Page::of(entries)), ("/d/a", Page::of("x"))]);
    let place = Place::new();
    let full = server.keep("/d/", &place, crate::Keeps::default()).await.unwrap_err();
    assert!(format!("{full:#}").contains("make room"), "{full:#}");
    let sparse = crate::Keeps { sparse: true, ..crate::Keeps::default() };
    assert_eq!(server.keep("/d/", &place, sparse).await.unwrap().files, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_unfolds_otherwise_than_agreed_is_refused() {
    let frame = |content: &[u8], kind: u8| [&[kind, 0, 0, content.len() as u8], content].concat();
    let bomb = zstd::bulk::compress(&vec![0; 300_000], 1).unwrap();
    let digest: &str = crate::wire::digest_field(&blake3::hash(b"x")).leak();
    let coded = |body: Vec<u8>, length: &'static str| Page {
        fields: vec![("body-coding", "zstd"), ("body-length", length), ("repr-digest", digest)],
        digest: None,
        etag: None,
        ..Page::of(body)
    };
    let keeps = crate::Keeps { compress: true, ..crate::Keeps::default() };
    for (what, page, keeps, is_right) in [
        ("as agreed", coded(frame(b"x", 0), "1"), keeps.clone(), true),
        ("more than its length", coded(frame(&bomb, 0x80), "1000"), keeps.clone(), false),
        ("no frame", coded(b"\x80\0\0\x04abcd".to_vec(), "4"), keeps.clone(), false),
        ("cut off", coded(b"\0\0\0\x04ab".to_vec(), "4"), keeps.clone(), false),
        ("no length", coded(frame(b"x", 0), "?"), keeps, false),
        ("not asked for", coded(frame(b"x", 0), "1"), crate::Keeps::default(), false),
    ] {
        let server = Fake::new([("/d/", listing(&["a"])), ("/d/a", page)]);
        let place = Place::new();
        let got = server.keep("/d/", &place, keeps).await;
        let files = got.as_ref().map_or(0, |tree| tree.files);
        assert_eq!(files == 1, is_right, "{what}: {got:?}");
        assert_eq!(place.file().join("a").exists(), is_right, "{what}");
    }
}
