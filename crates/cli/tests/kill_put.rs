//! `kill -9` of either side of an upload, at any instant.

mod upload;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use upload::{Bench, lines, said, wait_until};

const SIZE: usize = 5_000_000;

/// How fast it goes: one upload takes half a second.
const LIMIT: &str = "80Mbit";

/// How many instants: `PCC_KILLS`, or few enough for every day.
fn kills() -> u64 {
    std::env::var("PCC_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(20)
}

/// The `number`-th instant of an upload, from shortly before its beginning to shortly after its end: SplitMix64.
fn instant(number: u64) -> Duration {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    Duration::from_millis((z ^ z >> 31) % 700)
}

/// Nothing but the whole file ever has its name.
fn assert_whole_or_absent(bench: &Bench, data: &[u8], number: u64) {
    if let Ok(there) = std::fs::read(bench.path("served/file")) {
        assert!(there == data, "kill {number}: {} bytes under the final name", there.len());
    }
}

#[test]
fn an_upload_goes_on_after_its_client_is_killed_at_any_instant() {
    let bench = Bench::new();
    let data = bench.write("client/file", SIZE);
    let server = bench.serve(0);
    let url = server.url("");
    for number in 0..kills() / 2 {
        let mut put = bench.spawn(&["put", "file", &url, "-q", "--limit", LIMIT]);
        std::thread::sleep(instant(number));
        put.0.kill().unwrap();
        put.0.wait().unwrap();
        let there = bench.unfinished_bytes();
        assert_whole_or_absent(&bench, &data, number);
        let put = bench.run(&["put", "file", &url, "--json"]);
        assert!(put.status.success(), "kill {number}: {}", said(&put));
        let resumed = lines(&put).last().unwrap()["resumed_from"].as_u64().unwrap();
        assert!(resumed >= there, "kill {number}: {there} bytes were there, only {resumed} were used");
        assert!(std::fs::read(bench.path("served/file")).unwrap() == data, "kill {number}");
        assert!(bench.unfinished().is_empty(), "kill {number}: {:?}", bench.unfinished());
        std::fs::remove_file(bench.path("served/file")).unwrap();
    }
}

#[test]
fn an_upload_goes_on_after_its_server_is_killed_at_any_instant() {
    let bench = Bench::new();
    let data = bench.write("client/file", SIZE);
    let mut server = bench.serve(0);
    let (port, url) = (server.port, server.url(""));
    for number in 0..kills() / 2 {
        let put = bench.pcc(&["put", "file", &url, "--json", "--limit", LIMIT]).spawn().unwrap();
        // A server that was never reached is a wrong address.
        wait_until("the upload begins", || !bench.unfinished().is_empty() || bench.path("served/file").exists());
        std::thread::sleep(instant(number));
        server.process.0.kill().unwrap();
        server.process.0.wait().unwrap();
        let there = bench.unfinished_bytes();
        let was_whole = bench.path("served/file").exists();
        assert_whole_or_absent(&bench, &data, number);
        server = bench.serve(port);
        let put = put.wait_with_output().unwrap();
        assert!(put.status.success(), "kill {number}: {}", said(&put));
        assert!(std::fs::read(bench.path("served/file")).unwrap() == data, "kill {number}");
        assert!(bench.unfinished().is_empty(), "kill {number}: {:?}", bench.unfinished());
        // Bytes that were on the disk are not sent again.
        let missing = if was_whole { 0 } else { SIZE as u64 - there };
        assert!(server.received() <= missing, "kill {number}: {} bytes came for {missing}", server.received());
        std::fs::remove_file(bench.path("served/file")).unwrap();
    }
}

/// `client/tree` with files small and large, and a directory in it.
fn tree(bench: &Bench) -> BTreeMap<PathBuf, Vec<u8>> {
    std::fs::create_dir_all(bench.path("client/tree/sub")).unwrap();
    let file = |number: usize| {
        let name = if number.is_multiple_of(2) { format!("{number}") } else { format!("sub/{number}") };
        let data = bench.write(&format!("client/tree/{name}"), if number == 7 { 3_000_000 } else { 60_000 + number });
        (name.into(), data)
    };
    (0..30).map(file).collect()
}

/// Bytes that arrived of it. Nothing but whole files ever have their names, and none goes away again.
fn arrived(bench: &Bench, files: &BTreeMap<PathBuf, Vec<u8>>, number: u64) -> u64 {
    let served = bench.path("served/tree");
    let whole = files.iter().filter_map(|(name, data)| {
        let there = std::fs::read(served.join(name)).ok()?;
        assert!(there == *data, "kill {number}: {} bytes under the final name {}", there.len(), name.display());
        Some(there.len() as u64)
    });
    whole.sum::<u64>() + hidden(&served).iter().map(|path| path.metadata().map_or(0, |found| found.len())).sum::<u64>()
}

/// The unfinished uploads.
fn hidden(served: &Path) -> Vec<PathBuf> {
    let entries = [served.to_owned(), served.join("sub")].into_iter().filter_map(|dir| std::fs::read_dir(dir).ok());
    let is_hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".pcc"));
    entries.flatten().filter_map(|entry| Some(entry.ok()?.path())).filter(is_hidden).collect()
}

#[test]
fn directory_goes_on_after_its_client_is_killed_at_any_instant() {
    let bench = Bench::new();
    let files = tree(&bench);
    let server = bench.serve(0);
    let url = server.url("");
    for number in 0..kills() / 2 {
        let mut put = bench.spawn(&["put", "tree", &url, "-q", "--limit", LIMIT]);
        std::thread::sleep(instant(number));
        put.0.kill().unwrap();
        put.0.wait().unwrap();
        let there = arrived(&bench, &files, number);
        let put = bench.run(&["put", "tree", &url, "--json"]);
        assert!(put.status.success(), "kill {number}: {}", said(&put));
        let resumed = lines(&put).last().unwrap()["resumed_from"].as_u64().unwrap();
        assert!(resumed >= there, "kill {number}: {there} bytes were there, only {resumed} were used");
        assert_all_arrived(&bench, &files, number);
        std::fs::remove_dir_all(bench.path("served/tree")).unwrap();
    }
}

#[test]
fn directory_goes_on_after_its_server_is_killed_at_any_instant() {
    let bench = Bench::new();
    let files = tree(&bench);
    let all: u64 = files.values().map(|data| data.len() as u64).sum();
    let mut server = bench.serve(0);
    let (port, url) = (server.port, server.url(""));
    for number in 0..kills() / 2 {
        let put = bench.pcc(&["put", "tree", &url, "--json", "--limit", LIMIT]).spawn().unwrap();
        // A server that was never reached is a wrong address.
        wait_until("the upload begins", || bench.path("served/tree").exists());
        std::thread::sleep(instant(number));
        server.process.0.kill().unwrap();
        server.process.0.wait().unwrap();
        let there = arrived(&bench, &files, number);
        server = bench.serve(port);
        let put = put.wait_with_output().unwrap();
        assert!(put.status.success(), "kill {number}: {}", said(&put));
        assert_all_arrived(&bench, &files, number);
        assert!(
            server.received() <= all - there,
            "kill {number}: {} bytes came, {there} were there",
            server.received()
        );
        std::fs::remove_dir_all(bench.path("served/tree")).unwrap();
    }
}

fn assert_all_arrived(bench: &Bench, files: &BTreeMap<PathBuf, Vec<u8>>, number: u64) {
    let all = files.values().map(|data| data.len() as u64).sum::<u64>();
    assert_eq!(arrived(bench, files, number), all, "kill {number}");
    let left = hidden(&bench.path("served/tree"));
    assert!(left.is_empty(), "kill {number}: {left:?}");
}
