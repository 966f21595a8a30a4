//! What a program outside this crate does with it.

use core::sync::atomic::{AtomicU64, Ordering};
use pcc::units::Rate;
use pcc_files::get::{self, Target};
use pcc_files::serve::{Options, Server, Token, start};
use pcc_files::{Failure, Identity, Source, Url, Watch, put};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Notify;

/// Counts what moves, and says when that is so much.
struct Count {
    moved: AtomicU64,
    enough: u64,
    reached: Notify,
}

impl Count {
    fn until(enough: u64) -> Arc<Self> {
        Arc::new(Self { moved: AtomicU64::new(0), enough, reached: Notify::new() })
    }
}

impl Watch for Count {
    fn moved(&self, bytes: u64) {
        if self.moved.fetch_add(bytes, Ordering::Relaxed) + bytes >= self.enough {
            self.reached.notify_one();
        }
    }
}

fn server(dir: &Path) -> (Server, Url) {
    let identity = Identity::generate().unwrap();
    let options = Options::new(dir, ([127, 0, 0, 1], 0).into(), identity);
    let server = start(Options { token: Some(Token::new("secret")), ..options }).unwrap();
    let url = format!("https://{}/file#{}", server.address, server.fingerprint).parse().unwrap();
    (server, url)
}

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + at / 251) as u8).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_put_is_got_and_nothing_moves_twice() {
    let dir = tempfile::tempdir().unwrap();
    let (served, here, back) = (dir.path().join("served"), dir.path().join("here"), dir.path().join("back"));
    std::fs::create_dir(&served).unwrap();
    std::fs::write(&here, data(3_000_000)).unwrap();
    let (mut server, url) = server(&served);
    let count = Count::until(u64::MAX);
    let source = Source::of(&url, count.clone());
    for moved in [3_000_000, 0] {
        let before = count.moved.load(Ordering::Relaxed);
        let uploaded = put::file(&source, &here, &url, "secret").await.unwrap();
        assert_eq!((uploaded.bytes, count.moved.load(Ordering::Relaxed) - before), (3_000_000, moved));
    }
    for resumed_from in [0, 3_000_000] {
        let fetched = get::file(&source, &url, &Target::File(back.clone())).await.unwrap();
        assert_eq!((fetched.bytes, fetched.resumed_from, fetched.verified), (3_000_000, resumed_from, true));
    }
    assert!(std::fs::read(&back).unwrap() == data(3_000_000));
    source.close().await;
    server.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_that_was_dropped_goes_on_where_it_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let (served, file) = (dir.path().join("served"), dir.path().join("file"));
    std::fs::create_dir(&served).unwrap();
    std::fs::write(served.join("file"), data(8_000_000)).unwrap();
    let (_server, url) = server(&served);
    let count = Count::until(5_000_000);
    let target = Target::File(file.clone());
    let slow = Source::of(&url, count.clone()).limited_to(Some(Rate::from_mbit(16.0)));
    tokio::select! {
        _ = get::file(&slow, &url, &target) => panic!("it was to be dropped"),
        () = count.reached.notified() => {}
    }
    slow.close().await;
    assert!(!file.exists(), "no file has its name before it is complete");
    let source = Source::of(&url, Count::until(u64::MAX));
    let fetched = get::file(&source, &url, &target).await.unwrap();
    assert!(fetched.resumed_from > 0 && fetched.verified, "{fetched:?}");
    assert!(std::fs::read(&file).unwrap() == data(8_000_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_says_why_it_ended() {
    let dir = tempfile::tempdir().unwrap();
    let target = Target::File(dir.path().join("file"));
    let (server, url) = server(dir.path());
    let source = Source::of(&url, Count::until(u64::MAX));
    let error = get::file(&source, &url, &target).await.unwrap_err();
    assert!(error.failure() == Failure::Error && error.to_string().contains("404"), "{error}");
    let error = put::file(&source, Path::new("Cargo.toml"), &url, "wrong").await.unwrap_err();
    assert!(error.to_string().contains("token"), "{error}");
    drop(server);
    let nobody: Url = url.to_string().replace(&url.peer.port.to_string(), "1").parse().unwrap();
    let error = get::file(&Source::of(&nobody, Count::until(u64::MAX)), &nobody, &target).await.unwrap_err();
    assert_eq!(error.failure(), Failure::Unreachable, "{error}");
}
