//! A large file that changed a little sends little, both ways, and arrives right whatever happens on the way.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use pcc::units::Rate;
use pcc_files::get::{self, Target};
use pcc_files::serve::{Options, Server, Token, start};
use pcc_files::{Deltas, Identity, Keeps, Moved, Source, Started, Url, Watch, put};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::UdpSocket;
use tokio::sync::Notify;

/// Counts what moves, and says when something was there already.
#[derive(Default)]
struct Count {
    moved: AtomicU64,
    kept: AtomicU64,
    /// Bytes that an earlier run had brought.
    resumed: AtomicU64,
    keeps: Notify,
}

impl Watch for Count {
    fn started(&self, started: Started<'_>) {
        self.resumed.store(started.resumed_from, Ordering::Relaxed);
    }

    fn moved(&self, bytes: u64) {
        self.moved.fetch_add(bytes, Ordering::Relaxed);
    }

    fn kept(&self, bytes: u64) {
        self.kept.fetch_add(bytes, Ordering::Relaxed);
        self.keeps.notify_one();
    }
}

/// A served file and one here: two versions of one file.
struct Bench {
    dir: tempfile::TempDir,
    server: Server,
    url: Url,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("served")).unwrap();
        let options =
            Options::new(dir.path().join("served"), ([127, 0, 0, 1], 0).into(), Identity::generate().unwrap());
        let server = start(Options { token: Some(Token::new("secret")), ..options }).unwrap();
        let url = format!("https://{}/file#{}", server.address, server.fingerprint).parse().unwrap();
        Self { dir, server, url }
    }

    fn here(&self) -> PathBuf {
        self.dir.path().join("here")
    }

    fn there(&self) -> PathBuf {
        self.dir.path().join("served/file")
    }

    fn source(&self, count: &Arc<Count>, keeps: Keeps, limit: Option<Rate>) -> Source {
        Source::of(&self.url, count.clone()).keeping(keeps).limited_to(limit)
    }
}

/// Two versions: bytes that no two stretches of are alike, of which some change, some go and some come.
fn versions() -> (Vec<u8>, Vec<u8>) {
    let mut old = vec![0; 8_000_000];
    blake3::Hasher::new().finalize_xof().fill(&mut old);
    let mut new = [&old[..2_000_000], b"inserted", &old[2_000_000..5_000_000], &old[5_020_000..]].concat();
    new[6_000_000] ^= 1;
    new.extend_from_slice(b"appended");
    (old, new)
}

fn always() -> Keeps {
    Keeps { deltas: Deltas::Always, ..Keeps::default() }
}

fn judge(moved: Moved, count: &Count, new: &[u8], most: u64) {
    let came = count.moved.load(Ordering::Relaxed);
    assert!((1..=most).contains(&came), "{came} bytes");
    assert_eq!((moved.bytes, moved.digest, moved.verified), (new.len() as u64, blake3::hash(new), true));
    assert_eq!(moved.resumed_from, moved.bytes - came, "the rest was there");
    assert_eq!(count.kept.load(Ordering::Relaxed), moved.bytes - came);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_changed_comes_and_goes() {
    let (old, new) = versions();
    for compress in [false, true] {
        for (deltas, most) in [(Deltas::Always, 150_000), (Deltas::Never, new.len() as u64)] {
            let keeps = Keeps { deltas, compress, ..Keeps::default() };
            let bench = Bench::new();
            std::fs::write(bench.there(), &new).unwrap();
            std::fs::write(bench.here(), &old).unwrap();
            let count = Arc::new(Count::default());
            let source = bench.source(&count, keeps.clone(), None);
            let got = get::file(&source, &bench.url, &Target::File(bench.here())).await.unwrap();
            judge(got, &count, &new, most);
            assert!(std::fs::read(bench.here()).unwrap() == new);

            std::fs::write(bench.there(), &old).unwrap();
            let count = Arc::new(Count::default());
            let source = bench.source(&count, keeps, None);
            let sent = put::file(&source, &bench.here(), &bench.url, "secret").await.unwrap();
            judge(sent, &count, &new, most);
            assert!(std::fs::read(bench.there()).unwrap() == new);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_the_same_size_goes_as_differences_too() {
    let (old, _) = versions();
    let mut new = old.clone();
    new[4_000_000] ^= 1;
    let bench = Bench::new();
    std::fs::write(bench.there(), &old).unwrap();
    std::fs::write(bench.here(), &new).unwrap();
    let count = Arc::new(Count::default());
    let sent = put::file(&bench.source(&count, always(), None), &bench.here(), &bench.url, "secret").await.unwrap();
    judge(sent, &count, &new, 100_000);
    assert!(std::fs::read(bench.there()).unwrap() == new);
}

/// Bytes that nobody limits but the network: over a slow one the old file is read long before the new one has come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_network_gets_the_rest_of_it_as_differences() {
    let (old, new) = versions();
    let bench = Bench::new();
    std::fs::write(bench.there(), &new).unwrap();
    std::fs::write(bench.here(), &old).unwrap();
    let count = Arc::new(Count::default());
    let source = bench.source(&count, Keeps::default(), Some(Rate::from_mbit(2.0)));
    let got = get::file(&source, &bench.url, &Target::File(bench.here())).await.unwrap();
    judge(got, &count, &new, new.len() as u64 / 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_in_common_is_sent_whole_and_right() {
    let (_, new) = versions();
    let bench = Bench::new();
    std::fs::write(bench.there(), &new).unwrap();
    std::fs::write(bench.here(), vec![7; 3_000_000]).unwrap();
    let count = Arc::new(Count::default());
    let got = get::file(&bench.source(&count, always(), None), &bench.url, &Target::File(bench.here())).await.unwrap();
    assert_eq!((got.resumed_from, count.moved.load(Ordering::Relaxed)), (0, new.len() as u64));
    std::fs::write(bench.there(), vec![7; 3_000_000]).unwrap();
    let sent = put::file(&bench.source(&count, always(), None), &bench.here(), &bench.url, "secret").await.unwrap();
    assert_eq!((sent.resumed_from, sent.verified), (0, true));
    assert!(std::fs::read(bench.there()).unwrap() == new);
}

/// A network to `to` that brings so many packets each way, and then none until there may be more.
async fn network(to: SocketAddr, packets: Arc<AtomicU64>) -> SocketAddr {
    let (near, far) = (UdpSocket::bind("127.0.0.1:0").await.unwrap(), UdpSocket::bind("127.0.0.1:0").await.unwrap());
    far.connect(to).await.unwrap();
    let address = near.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut client, mut up, mut down) = (None, 0, 0);
        let (mut one, mut other) = ([0; 1 << 16], [0; 1 << 16]);
        loop {
            tokio::select! {
                Ok((length, from)) = near.recv_from(&mut one) => {
                    client = Some(from);
                    up += 1;
                    if up <= packets.load(Ordering::Relaxed) {
                        let _ = far.send(&one[..length]).await;
                    }
                }
                Ok(length) = far.recv(&mut other), if client.is_some() => {
                    down += 1;
                    if down <= packets.load(Ordering::Relaxed) {
                        let _ = near.send_to(&other[..length], client.unwrap()).await;
                    }
                }
                else => {}
            }
        }
    });
    address
}

/// Waits until an unfinished file beside `of` has so many bytes.
async fn unfinished(of: &Path, bytes: u64) {
    let is_there = || {
        let beside = std::fs::read_dir(of.parent().unwrap()).unwrap().map(Result::unwrap);
        let mut others =
            beside.filter(|entry| entry.path() != of && entry.file_type().is_ok_and(|kind| kind.is_file()));
        others.any(|other| other.metadata().is_ok_and(|other| other.len() >= bytes))
    };
    while !is_there() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_delta_goes_on_where_it_stopped() {
    let (old, new) = versions();
    // The network dies in the middle of something new, for which 300 packets do not suffice.
    let new = [&new[..4_000_000], &vec![3; 1_000_000][..], &new[4_000_000..]].concat();
    for upwards in [false, true] {
        let mut bench = Bench::new();
        let packets = Arc::new(AtomicU64::new(300));
        let address = network(bench.server.address, packets.clone()).await;
        bench.url = format!("https://{address}/file#{}", bench.server.fingerprint).parse().unwrap();
        let here = bench.dir.path().join("near");
        std::fs::create_dir(&here).unwrap();
        let here = here.join("file");
        let (from, to) = if upwards { (&here, bench.there()) } else { (&bench.there(), here.clone()) };
        std::fs::write(from, &new).unwrap();
        std::fs::write(&to, &old).unwrap();
        let transfer = async |count: &Arc<Count>| {
            let source = bench.source(count, always(), None);
            match upwards {
                false => get::file(&source, &bench.url, &Target::File(here.clone())).await,
                true => put::file(&source, &here, &bench.url, "secret").await,
            }
        };
        let count = Arc::new(Count::default());
        tokio::select! {
            done = transfer(&count) => panic!("upwards: {upwards}: {done:?}"),
            () = unfinished(&to, 4_100_000) => {}
        }
        assert!(std::fs::read(&to).unwrap() == old, "no file gets its name before its end");
        packets.store(u64::MAX, Ordering::Relaxed);
        let count = Arc::new(Count::default());
        let again = transfer(&count).await.unwrap();
        let (resumed, moved) = (count.resumed.load(Ordering::Relaxed), count.moved.load(Ordering::Relaxed));
        assert!(
            again.verified && resumed > 0 && moved < 1_100_000,
            "upwards: {upwards}: {resumed}, {moved}, {again:?}"
        );
        assert!(std::fs::read(&to).unwrap() == new, "upwards: {upwards}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_file_that_changes_meanwhile_harms_nothing() {
    let (old, new) = versions();
    let bench = Bench::new();
    std::fs::write(bench.there(), &new).unwrap();
    std::fs::write(bench.here(), &old).unwrap();
    let count = Arc::new(Count::default());
    let source = bench.source(&count, always(), Some(Rate::from_mbit(8.0)));
    let change = async {
        count.keeps.notified().await;
        std::fs::write(bench.here(), vec![1; 8_000_000]).unwrap();
    };
    let target = Target::File(bench.here());
    let (got, ()) = tokio::join!(get::file(&source, &bench.url, &target), change);
    assert!(got.unwrap().verified && std::fs::read(bench.here()).unwrap() == new);
}
