//! Downloads from a server that does whatever a test wants, also what `pcc serve` never would.

use super::source::Source;
use super::store::Target;
use super::transfer::{self, Fetched, transfer};
use super::tree::{Tree, fetch_tree};
use super::watch::{Started, Watch};
use super::{Failure, failure_of, names};
use crate::tls::Trust;
use crate::tls::{self, Identity};
use crate::url::Url;
use bytes::Bytes;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use http::{Method, Request, Response, StatusCode, header};
use noq::TransportConfig;
use noq::{Endpoint, EndpointConfig, ServerConfig};
use pcc::units::Rate;
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, PacedRuntime, http3, socket};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const PATIENCE: Duration = Duration::from_secs(60);
const MIB: usize = 1 << 20;

/// What there is under a path.
#[derive(Clone)]
struct Page {
    body: Bytes,
    etag: Option<String>,
    /// What HEAD says of the body.
    digest: Option<blake3::Hash>,
    ranges: bool,
    status: StatusCode,
}

impl Page {
    fn of(body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let digest = blake3::hash(&body);
        Self { body, etag: Some(format!("\"{digest}\"")), digest: Some(digest), ranges: true, status: StatusCode::OK }
    }
}

/// What the server does and has done.
#[derive(Default)]
struct Site {
    pages: HashMap<String, Page>,
    /// Break the connection off after so many bytes of body, once.
    break_at: Option<usize>,
    /// The page that takes the place of the one that was broken off.
    afterwards: Option<Page>,
    /// First byte of each GET's answer.
    answered_from: Vec<usize>,
}

type Shared = Arc<Mutex<Site>>;

struct Fake {
    site: Shared,
    url: String,
    _endpoint: Endpoint,
}

impl Fake {
    fn new(pages: impl IntoIterator<Item = (&'static str, Page)>) -> Self {
        let identity = Identity::generate().unwrap();
        let tls = tls::server(&identity, &[http3::ALPN]).unwrap();
        let mut config = ServerConfig::with_crypto(Arc::new(tls));
        config.transport_config(Arc::new(transport::config(&Algorithm::default(), &Windows::default())));
        let bound = socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let runtime = PacedRuntime::new().unwrap();
        let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), bound.socket, runtime).unwrap();
        let url = format!("https://{}{{}}#{}", endpoint.local_addr().unwrap(), identity.fingerprint());
        let pages = pages.into_iter().map(|(path, page)| (path.to_owned(), page)).collect();
        let site = Arc::new(Mutex::new(Site { pages, ..Site::default() }));
        tokio::spawn(serve(endpoint.clone(), site.clone()));
        Self { site, url, _endpoint: endpoint }
    }

    fn url(&self, path: &str) -> Url {
        self.url.replace("{}", path).parse().unwrap()
    }

    fn set(&self, path: &str, page: Page) {
        self.site.lock().unwrap().pages.insert(path.to_owned(), page);
    }

    fn answered_from(&self) -> Vec<usize> {
        self.site.lock().unwrap().answered_from.clone()
    }

    async fn fetch(&self, path: &str, place: &Place) -> anyhow::Result<Fetched> {
        let url = self.url(path);
        let request = Fetch {
            trust: Trust::Pinned(url.pin.unwrap()),
            url,
            target: place.file(),
            transport: Arc::new(transport::config(&Algorithm::default(), &Windows::default())),
            give_up: Duration::from_secs(30),
        };
        tokio::time::timeout(PATIENCE, fetch(request, &|_| {})).await.unwrap()
    }

    fn source(&self, url: &Url) -> Source {
        struct Silent;
        impl Watch for Silent {
            fn started(&self, _started: Started<'_>) {}
            fn moved(&self, _bytes: u64) {}
        }
        let transport = Arc::new(transport::config(&Algorithm::default(), &Windows::default()));
        let dialer = transfer::dialer(Trust::Pinned(url.pin.unwrap()), transport);
        Source::new(dialer, url.peer.clone(), Duration::from_secs(30), Arc::new(Silent))
    }

    async fn tree(&self, path: &str, place: &Place) -> anyhow::Result<Tree> {
        let url = self.url(path);
        let source = self.source(&url);
        tokio::time::timeout(PATIENCE, fetch_tree(&source, &url, &place.file(), &|_, _| {})).await.unwrap()
    }
}

async fn serve(endpoint: Endpoint, site: Shared) {
    while let Some(incoming) = endpoint.accept().await {
        let site = site.clone();
        tokio::spawn(async move {
            let connection = incoming.await?;
            let mut server = http3::server(connection.clone()).await?;
            while let Some(resolver) = server.accept().await? {
                let (site, connection) = (site.clone(), connection.clone());
                tokio::spawn(async move {
                    let (request, stream) = resolver.resolve_request().await?;
                    answer(request, stream, &site, &connection).await
                });
            }
            anyhow::Ok(())
        });
    }
}

async fn answer(
    request: Request<()>,
    mut stream: http3::ResponseStream,
    site: &Shared,
    connection: &noq::Connection,
) -> anyhow::Result<()> {
    let path = request.uri().path().to_owned();
    let Some(page) = site.lock().unwrap().pages.get(&path).cloned() else {
        stream.send_response(Response::builder().status(StatusCode::NOT_FOUND).body(())?).await?;
        return Ok(stream.finish().await?);
    };
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let head = request.method() == Method::HEAD;
    let fits = header(header::IF_RANGE).is_none_or(|tag| Some(tag) == page.etag.as_deref());
    let range = header(header::RANGE).and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
    let from: usize = range.filter(|_| page.ranges && fits && !head).unwrap_or(0);
    let size = page.body.len();
    let mut response = Response::builder().status(page.status);
    if from > 0 {
        let range = format!("bytes {from}-{}/{size}", size - 1);
        response = response.status(StatusCode::PARTIAL_CONTENT).header(header::CONTENT_RANGE, range);
    }
    if let Some(etag) = &page.etag {
        response = response.header(header::ETAG, etag);
    }
    if let Some(digest) =
        page.digest.filter(|_| head && header(header::HeaderName::from_static("want-digest")).is_some())
    {
        response = response.header("pcc-digest", format!("blake3={}", digest.to_hex()));
    }
    response = response.header(header::CONTENT_LENGTH, size - from);
    stream.send_response(response.body(())?).await?;
    if head {
        return Ok(stream.finish().await?);
    }
    let break_at = {
        let mut site = site.lock().unwrap();
        site.answered_from.push(from);
        site.break_at.take()
    };
    let body = page.body.slice(from..);
    let part = body.slice(..break_at.unwrap_or(body.len()).min(body.len()));
    for at in (0..part.len()).step_by(64 << 10) {
        stream.send_data(part.slice(at..part.len().min(at + (64 << 10)))).await?;
    }
    if break_at.is_some() {
        // What is on its way should arrive before the end comes.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let afterwards = site.lock().unwrap().afterwards.take();
        if let Some(page) = afterwards {
            site.lock().unwrap().pages.insert(path, page);
        }
        connection.close(7u32.into(), b"a test wants it");
        return Ok(());
    }
    Ok(stream.finish().await?)
}

/// A directory for the result.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("file")
    }

    fn read(&self) -> Vec<u8> {
        std::fs::read(self.file()).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> =
            self.0.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn data(size: usize) -> Vec<u8> {
    let mut data = vec![0; size];
    blake3::Hasher::new().finalize_xof().fill(&mut data);
    data
}

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
    let url = server.url("/a");
    {
        let transport = Arc::new(transport::config(&Algorithm::default(), &Windows::default()));
        let request = Fetch {
            trust: Trust::Pinned(url.pin.unwrap()),
            url,
            target: place.file(),
            transport,
            give_up: Duration::ZERO,
        };
        let error = fetch(request, &|_| {}).await.unwrap_err();
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_run_starts_anew_when_the_source_is_another() {
    let (server, place) = (Fake::new([("/a", Page::of(data(6 * MIB)))]), Place::new());
    server.site.lock().unwrap().break_at = Some(5 * MIB);
    let url = server.url("/a");
    let request = Fetch {
        trust: Trust::Pinned(url.pin.unwrap()),
        url,
        target: place.file(),
        transport: Arc::new(transport::config(&Algorithm::default(), &Windows::default())),
        give_up: Duration::ZERO,
    };
    assert!(fetch(request, &|_| {}).await.is_err());
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
    assert_eq!((tree.files, tree.bytes, tree.resumed_from, tree.failures.len()), (3, 8, 0, 0));
    assert_eq!(std::fs::read(place.file().join("a b")).unwrap(), b"hello");
    assert_eq!(std::fs::read(place.file().join("sub/e")).unwrap(), b"abc");
    assert_eq!(std::fs::read(place.file().join("sub/c")).unwrap(), b"");
    let again = server.tree("/d/", &place).await.unwrap();
    assert_eq!((again.files, again.bytes, again.resumed_from), (3, 8, 8));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_listing_writes_nothing_outside_and_the_rest_arrives() {
    let listing = r#"[{"name":"../evil","type":"file","size":1},{"name":"..","type":"directory"},
        {"name":"/tmp/evil","type":"file","size":1},{"name":"good","type":"file","size":4},
        {"name":"gone","type":"file","size":4},{"name":"pipe","type":"other"}]"#;
    let server = Fake::new([("/d/", Page::of(listing)), ("/d/good", Page::of("good")), ("/evil", Page::of("x"))]);
    let place = Place::new();
    let tree = server.tree("/d/", &place).await.unwrap();
    assert_eq!((tree.files, tree.failures.len()), (1, 5), "{:?}", tree.failures);
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

/// What to fetch, and how.
struct Fetch {
    /// The file.
    url: Url,
    /// Its name here.
    target: PathBuf,
    /// Congestion control, windows, time-outs.
    transport: Arc<TransportConfig>,
    /// Which certificates are good.
    trust: Trust,
    /// How long to go on without progress.
    give_up: Duration,
}

/// Fetches one file; `progress` hears how many bytes of it are here.
///
/// Errors: with the [`Failure`] that tells how the command ends.
async fn fetch(request: Fetch, progress: &(dyn Fn(u64) + Send + Sync)) -> anyhow::Result<Fetched> {
    /// Bytes that have arrived, passed on by the loop below: `progress` is borrowed, a watch is shared.
    #[derive(Default)]
    struct Count(AtomicU64);
    impl Watch for Count {
        fn started(&self, started: Started<'_>) {
            self.0.fetch_add(started.resumed_from, Ordering::Relaxed);
        }
        fn moved(&self, bytes: u64) {
            self.0.fetch_add(bytes, Ordering::Relaxed);
        }
    }
    const TOLD: Duration = Duration::from_millis(20);

    let count = Arc::new(Count::default());
    let dialer = transfer::dialer(request.trust, request.transport);
    let source = Source::new(dialer, request.url.peer.clone(), request.give_up, count.clone());
    let target = Target::File(request.target);
    let mut tick = tokio::time::interval(TOLD);
    let done = {
        let mut work = core::pin::pin!(transfer(&source, &request.url, &target));
        loop {
            tokio::select! {
                done = &mut work => break done,
                _ = tick.tick() => progress(count.0.load(Ordering::Relaxed)),
            }
        }
    };
    progress(count.0.load(Ordering::Relaxed));
    source.close().await;
    done
}

/// Where the file at `target` is while it is not complete.
fn part_of(target: &Path) -> PathBuf {
    names::part_and_journal(target).0
}
