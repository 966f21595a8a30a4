//! Two computers meet by a code: here both are this one, and the relay too.

mod two_ends;

use core::time::Duration;
use pcc_reach::Event;
use std::path::Path;
use two_ends::{PATIENCE, fetch, relay, send};

/// Bytes without a pattern that compression or a mistake in an offset would hide.
fn content(bytes: usize) -> Vec<u8> {
    let mut output = vec![0; bytes];
    blake3::Hasher::new().finalize_xof().fill(&mut output);
    output
}

fn write(dir: &Path, name: &str, bytes: usize) -> std::path::PathBuf {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, content(bytes)).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_and_a_folder_arrive_by_one_code() {
    let (_relay, at) = relay().await;
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = write(from.path(), "big file.bin", 3_000_000);
    write(from.path(), "folder/a", 10);
    write(from.path(), "folder/below/b", 100_000);
    let sending = send(&[file, from.path().join("folder")], &at, PATIENCE).await;
    let tallies = fetch(&sending.code, to.path()).await.unwrap();
    assert_eq!(tallies.len(), 1);
    let connected = |name: &str| Event::Connected { name: name.to_owned() };
    let events = sending.events.lock().unwrap().clone();
    assert!(["big file.bin", "folder"].iter().all(|name| events.contains(&connected(name))), "{events:?}");
    for (name, bytes) in [("big file.bin", 3_000_000), ("folder/a", 10), ("folder/below/b", 100_000)] {
        assert!(std::fs::read(to.path().join(name)).unwrap() == content(bytes), "{name}");
    }
    tokio::time::timeout(PATIENCE, sending.done).await.unwrap().unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_used_once() {
    let (_relay, at) = relay().await;
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let sending = send(&[write(from.path(), "x", 10)], &at, PATIENCE).await;
    fetch(&sending.code, to.path()).await.unwrap();
    sending.done.await.unwrap().unwrap();
    let error = fetch(&sending.code, to.path()).await.unwrap_err();
    assert!(error.contains("nobody answered to this code"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_code_ends_the_sender() {
    let (_relay, at) = relay().await;
    let from = tempfile::tempdir().unwrap();
    let sending = send(&[write(from.path(), "x", 10)], &at, Duration::from_millis(1)).await;
    let error = sending.done.await.unwrap().unwrap_err().to_string();
    assert!(error.starts_with("nobody fetched it within"), "{error}");
}
