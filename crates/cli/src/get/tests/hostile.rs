//! Servers that break, stall, drip, lie and change.

use super::super::store::Target;
use super::super::transfer::transfer;
use super::fake::{Fake, MIB, Manner, Page, Place, data, part_of};
use crate::exit::{Failure, failure_of};
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
        assert!(format!("{error:#}").contains("--give-up"), "{manner:?}: {error:#}");
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
