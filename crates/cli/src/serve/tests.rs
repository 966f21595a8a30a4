//! A whole server, in this process, and clients that do what they like.

mod memory;

use super::guests::Guests;
use super::log::{Lines, Log};
use super::{Options, Privacy, Server, Token, start};
use crate::dial::{Dialed, Dialer, Family, TIMEOUT};
use crate::tls::{Identity, Trust};
use crate::url::Peer;
use bytes::{Buf, Bytes};
use core::time::Duration;
use h3::error::{Code, StreamError};
use http::{HeaderMap, Request, StatusCode};
use noq::{Connection, Endpoint, EndpointConfig, TransportConfig};
use pcc::units::Rate;
use pcc_quic::http3::{self, RequestStream, Requests};
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, PccConfig};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Far longer than anything here takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const TOKEN: &str = "correct-horse";
const WANTS_DIGEST: [(&str, &str); 1] = [("want-repr-digest", "blake3=10")];

/// A server of the directory `served` below `dir`.
struct Bench {
    dir: tempfile::TempDir,
    server: Server,
    trust: Trust,
    log: mpsc::UnboundedReceiver<String>,
}

/// A client's connection.
struct Client {
    requests: Requests,
    connection: Connection,
    _endpoint: Endpoint,
}

/// An answer, to its end.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
    trailers: HeaderMap,
}

/// Hands each line on.
struct Lined(mpsc::UnboundedSender<String>);

impl Write for Lined {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let _ = self.0.send(String::from_utf8_lossy(text).into_owned());
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Bench {
    fn new() -> Self {
        Self::with(Guests::new(256, 64), Privacy::Public, &Algorithm::default())
    }

    /// Sends no faster than that.
    fn limited(rate: Rate) -> Self {
        let Algorithm::Pcc(PccConfig { mut core, .. }) = Algorithm::default() else { panic!("the default is PCC") };
        core.max_rate = Some(rate);
        Self::with(Guests::new(256, 64), Privacy::Public, &Algorithm::Pcc(core.into()))
    }

    fn with(guests: Guests, privacy: Privacy, algorithm: &Algorithm) -> Self {
        let algorithm = algorithm.clone();
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("served")).unwrap();
        std::fs::write(dir.path().join("secret"), "secret").unwrap();
        let identity = Identity::generate().unwrap();
        let trust = Trust::Pinned(identity.fingerprint());
        let (lines, log) = mpsc::unbounded_channel();
        let server = start(Options {
            root: dir.path().join("served"),
            listen: "127.0.0.1:0".parse().unwrap(),
            identity,
            privacy,
            token: Some(Token::new(TOKEN)),
            transport: Arc::new(move |_, windows| transport::config(&algorithm, windows)),
            guests,
            log: Log::to(io::LineWriter::new(Lined(lines)), Lines::Json).0,
        })
        .unwrap();
        Self { dir, server, trust, log }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("served").join(name)
    }

    /// A file of which no two stretches are alike.
    fn write(&self, name: &str, size: usize) -> Vec<u8> {
        let mut data = vec![0; size];
        blake3::Hasher::new().finalize_xof().fill(&mut data);
        std::fs::write(self.path(name), &data).unwrap();
        data
    }

    /// Connects, if there is a place.
    async fn enter(&self, windows: Windows) -> Option<Dialed> {
        self.enter_with(transport::config(&Algorithm::default(), &windows)).await
    }

    async fn enter_with(&self, transport: TransportConfig) -> Option<Dialed> {
        let dialer = Dialer {
            alpn: &[http3::ALPN],
            trust: self.trust.clone(),
            transport: Arc::new(transport),
            endpoint: EndpointConfig::default(),
            timeout: TIMEOUT,
            family: Family::Any,
        };
        let peer = Peer { host: "127.0.0.1".to_owned(), port: self.server.address.port() };
        dialer.dial(&peer).await.ok()
    }

    async fn client_with(&self, windows: Windows) -> Client {
        let Dialed { endpoint, connection, .. } = self.enter(windows).await.expect("a place");
        let (driver, requests) = http3::client(connection.clone()).await.unwrap();
        tokio::spawn(driver);
        Client { requests, connection, _endpoint: endpoint }
    }

    async fn client(&self) -> Client {
        self.client_with(Windows::default()).await
    }

    /// A client that the server has answered; it tries until there is a place.
    async fn client_with_place(&self) -> Client {
        loop {
            let Some(Dialed { endpoint, connection, .. }) = self.enter(Windows::default()).await else { continue };
            let Ok((driver, requests)) = http3::client(connection.clone()).await else { continue };
            tokio::spawn(driver);
            let mut client = Client { requests, connection, _endpoint: endpoint };
            if client.ask("GET", "/file", &[]).await.is_ok() {
                return client;
            }
        }
    }

    /// A client that takes no more than a megabyte ahead of its reader.
    async fn slow_client(&self) -> Client {
        self.client_with(Windows { rate: Rate::from_mbit(1.0), rtt: Duration::ZERO }).await
    }

    /// The next request that is done.
    async fn logged(&mut self) -> serde_json::Value {
        let mut text = String::new();
        while !text.ends_with('\n') {
            text += &timeout(PATIENCE, self.log.recv()).await.expect("a line").expect("the server runs");
        }
        serde_json::from_str(&text).unwrap()
    }
}

impl Client {
    async fn begin(&mut self, method: &str, path: &str, fields: &[(&str, &str)]) -> Result<RequestStream, StreamError> {
        let mut request = Request::builder().method(method).uri(format!("https://localhost{path}"));
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let mut stream = self.requests.send_request(request.body(()).unwrap()).await?;
        match stream.finish().await {
            Ok(()) | Err(StreamError::RemoteTerminate { .. }) => Ok(stream), // an answer may come before the end
            Err(error) => Err(error),
        }
    }

    async fn ask(&mut self, method: &str, path: &str, fields: &[(&str, &str)]) -> Result<Answer, StreamError> {
        let mut stream = self.begin(method, path, fields).await?;
        timeout(PATIENCE, read(&mut stream)).await.expect("an answer")
    }
}

async fn read(stream: &mut RequestStream) -> Result<Answer, StreamError> {
    let (head, ()) = stream.recv_response().await?.into_parts();
    let mut body = Vec::new();
    while let Some(part) = stream.recv_data().await? {
        body.extend_from_slice(&Bytes::from_owner(take(part)));
    }
    let trailers = stream.recv_trailers().await?.unwrap_or_default();
    Ok(Answer { status: head.status, headers: head.headers, body, trailers })
}

fn take(mut part: impl Buf) -> Bytes {
    part.copy_to_bytes(part.remaining())
}

fn digest_field(data: &[u8]) -> String {
    crate::wire::digest_field(&blake3::hash(data))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_digest_of_what_was_sent_follows_the_file() {
    let bench = Bench::new();
    let data = bench.write("file", 3_000_000);
    let mut client = bench.client().await;
    let plain = client.ask("GET", "/file", &[]).await.unwrap();
    assert!(plain.body == data && plain.trailers.is_empty());
    std::fs::write(bench.path("file"), &data).unwrap(); // another version, whose digest is not known yet
    let verified = client.ask("GET", "/file", &WANTS_DIGEST).await.unwrap();
    assert!(verified.body == data && !verified.headers.contains_key("repr-digest"));
    assert_eq!(verified.trailers["repr-digest"], digest_field(&data));
    // By now it is known, and stands in front.
    let part = client.ask("GET", "/file", &[("range", "bytes=5-9"), WANTS_DIGEST[0]]).await.unwrap();
    assert_eq!((part.status, &*part.body), (StatusCode::PARTIAL_CONTENT, &data[5..10]));
    assert_eq!(part.headers["repr-digest"], digest_field(&data));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_name_for_a_file_does_not_end_its_download_and_another_content_does() {
    let bench = Bench::new();
    let data = bench.write("file", 12_000_000);
    for (what, is_whole) in [("linked", true), ("longer", true), ("rewritten", false)] {
        let mut client = bench.slow_client().await;
        let mut stream = client.begin("GET", "/file", &WANTS_DIGEST).await.unwrap();
        let begun = timeout(PATIENCE, async {
            stream.recv_response().await?;
            stream.recv_data().await.map(|part| take(part.unwrap()))
        });
        let mut body = begun.await.unwrap().unwrap().to_vec();
        match what {
            "linked" => std::fs::hard_link(bench.path("file"), bench.path("link")).unwrap(),
            _ => {
                use std::io::Seek;
                let mut file = std::fs::File::options().write(true).open(bench.path("file")).unwrap();
                let end = if what == "longer" { io::SeekFrom::End(0) } else { io::SeekFrom::End(-5) };
                file.seek(end).unwrap();
                file.write_all(b"other").unwrap();
            }
        }
        let rest = timeout(PATIENCE, async {
            while let Some(part) = stream.recv_data().await? {
                body.extend_from_slice(&take(part));
            }
            stream.recv_trailers().await
        });
        match rest.await.expect("an end") {
            Ok(trailers) => {
                assert!(is_whole && body == data, "{what}: {} bytes", body.len());
                assert_eq!(trailers.unwrap()["repr-digest"], digest_field(&data), "{what}");
            }
            Err(error) => assert!(!is_whole && body.len() < data.len(), "{what}: {error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_left_leaves_its_place_whatever_it_asked_for() {
    let bench = Bench::with(Guests::new(1, 1), Privacy::Public, &Algorithm::default());
    bench.write("file", 10);
    std::fs::File::create(bench.path("endless")).unwrap().set_len(1 << 40).unwrap();
    let (bearer, size) = (format!("Bearer {TOKEN}"), (1u64 << 40).to_string());
    let about_an_upload = [("authorization", bearer.as_str()), ("upload-length", size.as_str())];
    for (path, fields) in [("/endless", &WANTS_DIGEST[..]), ("/endless?upload=1", &about_an_upload)] {
        let mut first = timeout(PATIENCE, bench.client_with_place()).await.expect("a free place");
        let mut asked = first.begin("HEAD", path, fields).await.unwrap();
        assert!(timeout(Duration::from_millis(300), asked.recv_response()).await.is_err(), "{path} takes long");
        first.connection.close(0u32.into(), b"");
    }
    timeout(PATIENCE, bench.client_with_place()).await.expect("the place is free");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ends_lets_what_it_sent_arrive() {
    let mut bench = Bench::limited(Rate::from_mbit(16.0));
    let data = bench.write("file", 4_000_000);
    let mut client = bench.client().await;
    let mut stream = client.begin("GET", "/file", &[]).await.unwrap();
    // For the server the request is done as soon as the last of it is in its buffers.
    assert_eq!(bench.logged().await["bytes"], 4_000_000);
    let Bench { mut server, dir: _dir, .. } = bench;
    let ended = tokio::spawn(async move { server.finish().await });
    let answer = timeout(PATIENCE, read(&mut stream)).await.expect("an end").expect("all of it");
    assert!(answer.body == data);
    client.connection.close(0u32.into(), b"");
    timeout(PATIENCE, ended).await.expect("the server ends").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_allows_no_streams_does_not_keep_the_server_from_ending() {
    let bench = Bench::new();
    let mut transport = transport::config(&Algorithm::default(), &Windows::default());
    transport.max_concurrent_uni_streams(0u32.into());
    let dialed = bench.enter_with(transport).await.expect("a place");
    let Bench { mut server, dir: _dir, .. } = bench;
    timeout(PATIENCE, server.finish()).await.expect("the server ends");
    timeout(PATIENCE, dialed.connection.closed()).await.expect("and says so");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transfer_that_is_cut_off_is_told_as_far_as_it_went() {
    let mut bench = Bench::new();
    bench.write("file", 100_000_000);
    let mut client = bench.slow_client().await;
    let mut stream = client.begin("GET", "/file", &[]).await.unwrap();
    timeout(PATIENCE, stream.recv_response()).await.unwrap().unwrap();
    stream.stop_sending(Code::H3_REQUEST_CANCELLED);
    let line = bench.logged().await;
    assert_eq!((&line["status"], &line["path"]), (&200.into(), &"/file".into()), "{line}");
    let bytes = line["bytes"].as_u64().unwrap();
    assert!(bytes < 100_000_000 && line["error"].is_string(), "{line}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directories_are_listed_in_the_form_that_was_asked_for() {
    let bench = Bench::new();
    bench.write("a", 5);
    let mut client = bench.client().await;
    for media_type in ["application/vnd.pcc.listing+json", "application/json"] {
        let answer = client.ask("GET", "/", &[("accept", media_type)]).await.unwrap();
        assert_eq!(answer.headers["content-type"], media_type);
        let listing: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((&listing["entries"][0]["size"], &listing["omitted"]), (&5.into(), &0.into()), "{listing}");
    }
    let page = client.ask("GET", "/", &[("accept", "text/html")]).await.unwrap();
    assert!(page.headers["content-type"] == "text/html; charset=utf-8" && page.body.starts_with(b"<!doctype html>"));
    let head = client.ask("HEAD", "/", &[]).await.unwrap();
    assert!(head.status == StatusCode::OK && head.body.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_directory_is_there_only_for_who_knows_its_address() {
    let mut bench = Bench::with(Guests::new(9, 9), Privacy::below("guess-me"), &Algorithm::default());
    bench.write("file", 5);
    let mut client = bench.client().await;
    let bearer = format!("Bearer {TOKEN}");
    for (method, path, status) in [
        ("GET", "/guess-me/file", 200),
        ("GET", "/guess-me/", 200),
        ("GET", "/file", 404),
        ("GET", "/", 404),
        ("HEAD", "/guess-me2/file", 404),
        ("PUT", "/new", 404),
        ("PUT", "/guess-me/new", 201),
    ] {
        let answer = client.ask(method, path, &[("authorization", &bearer)]).await.unwrap();
        assert_eq!(answer.status.as_u16(), status, "{method} {path}");
        let line = bench.logged().await.to_string();
        assert!(!line.contains("guess-me"), "{line}");
    }
    assert!(bench.path("new").exists());
}

/// Paths that lead nowhere, upwards, outside, or to what is hidden.
const HOSTILE: &[&str] = &[
    "/../secret",
    "/%2e%2e/secret",
    "/%2E%2e/secret",
    "/..%2fsecret",
    "/%2e%2e%2fsecret",
    "/..%5csecret",
    "/....//secret",
    "//secret",
    "///../secret",
    "/./../secret",
    "/inside/../../secret",
    "/inside/%2e%2e/%2e%2e/secret",
    "/%252e%252e/secret",
    "/%c0%ae%c0%ae/secret",
    "/%u002e%u002e/secret",
    "/out/secret",
    "/out",
    "/up/secret",
    "/secret%00",
    "/file%00.txt",
    "/file/",
    "/file/x",
    "/%ff",
    "/%",
    "/%4",
    "/.pcc-upload-x",
    "/.PCC-UPLOAD-x",
    "/inside/.pcc-upload-x",
    "/proc/self/environ",
    "/dev/null",
    "/missing",
    "/?upload=../x",
    "/new?upload=%2e%2e",
    "/%0d%0aset-cookie:x",
    "/%e2%80%ae",
    "/;/../secret",
    "/~root",
    "/$HOME",
];

const METHODS: &[&str] = &["GET", "HEAD", "PUT", "PATCH", "POST", "DELETE", "OPTIONS", "TRACE", "MKCOL", "X"];

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_path_and_no_method_leads_outside_or_writes() {
    let bench = Bench::new();
    bench.write("file", 10);
    std::fs::create_dir(bench.path("inside")).unwrap();
    std::os::unix::fs::symlink(bench.dir.path().join("secret"), bench.path("out")).unwrap();
    std::os::unix::fs::symlink("..", bench.path("up")).unwrap();
    std::fs::write(bench.path(".pcc-upload-x"), "hidden").unwrap();
    let names = |dir: &Path| {
        let mut names: Vec<_> = dir.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = [names(bench.dir.path()), names(&bench.path(""))];
    let mut client = bench.client().await;
    let long = format!("/{}", "a/".repeat(4000));
    let mut waiting = tokio::task::JoinSet::new();
    for path in HOSTILE.iter().copied().chain([&*long]) {
        for method in METHODS {
            // Without the token, which is refused late; so the requests run side by side.
            let uri = format!("https://localhost{path}");
            let Ok(request) = Request::builder().method(*method).uri(uri).body(()) else { continue };
            let mut requests = client.requests.clone();
            let what = format!("{method} {path}");
            waiting.spawn(async move {
                let mut stream = requests.send_request(request).await.unwrap();
                let _ = stream.finish().await;
                (what, timeout(PATIENCE, read(&mut stream)).await.expect("an answer"))
            });
        }
    }
    while let Some(done) = waiting.join_next().await {
        let (what, answer) = done.unwrap();
        let answer = answer.unwrap_or_else(|error| panic!("{what}: {error}"));
        // `/..` and its like may be shortened by the client's own library.
        assert!(!answer.body.windows(6).any(|text| text == b"secret" || text == b"hidden"), "{what}: {answer:?}");
        let is_refused = answer.status.is_client_error() || answer.status.is_redirection();
        assert!(is_refused || what.ends_with(" /") || what.contains("/?"), "{what}: {answer:?}");
    }
    assert_eq!(before, [names(bench.dir.path()), names(&bench.path(""))], "nothing was written");
    assert_eq!(client.ask("GET", "/file", &[]).await.unwrap().body.len(), 10, "and the server serves");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_but_the_token_allows_an_upload() {
    let bench = Bench::new();
    let client = bench.client().await;
    let mut waiting = tokio::task::JoinSet::new();
    let basic = format!("Basic {TOKEN}");
    let (longer, shorter, quoted) =
        (format!("Bearer {TOKEN}x"), format!("Bearer {}", &TOKEN[1..]), format!("Bearer \"{TOKEN}\""));
    let (twice, upper) = (format!("Bearer {TOKEN} {TOKEN}"), format!("Bearer {}", TOKEN.to_uppercase()));
    for wrong in ["", "Bearer", "Bearer ", TOKEN, &basic, &longer, &shorter, &quoted, &twice, &upper, "Bearer \u{1}"] {
        for (method, path) in [("PUT", "/new"), ("PATCH", "/new?upload=1"), ("HEAD", "/new?upload=1"), ("PUT", "/dir/")]
        {
            let uri = format!("https://localhost{path}");
            let request = Request::builder().method(method).uri(uri).header("authorization", wrong).body(());
            let Ok(request) = request else { continue };
            let (mut requests, what) = (client.requests.clone(), format!("{method} {wrong:?}"));
            waiting.spawn(async move {
                let mut stream = requests.send_request(request).await.unwrap();
                let _ = stream.finish().await;
                (what, timeout(PATIENCE, read(&mut stream)).await.expect("an answer").unwrap().status)
            });
        }
    }
    while let Some(done) = waiting.join_next().await {
        let (what, status) = done.unwrap();
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{what}");
    }
    assert_eq!(bench.path("").read_dir().unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_an_upload_that_cannot_get_its_name_nothing_is_left() {
    let bench = Bench::new();
    let mut client = bench.client().await;
    let request = Request::put("https://localhost/name").header("authorization", format!("Bearer {TOKEN}"));
    let mut stream = client.requests.send_request(request.body(()).unwrap()).await.unwrap();
    stream.send_data(Bytes::from_static(b"hello")).await.unwrap();
    let begun = timeout(PATIENCE, async {
        while bench.path("").read_dir().unwrap().count() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    begun.await.expect("the upload begins");
    std::fs::create_dir(bench.path("name")).unwrap();
    stream.finish().await.unwrap();
    let answer = timeout(PATIENCE, read(&mut stream)).await.expect("an answer").unwrap();
    assert!(!answer.status.is_success(), "{answer:?}");
    let names = bench.path("").read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["name"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_range_is_asked_for_the_answer_is_right() {
    let bench = Bench::new();
    let data = bench.write("file", 1000);
    let mut client = bench.client().await;
    for (range, expected) in [
        ("bytes=0-0", Some(0..1)),
        ("bytes=999-", Some(999..1000)),
        ("bytes=-1", Some(999..1000)),
        ("bytes=-18446744073709551616", Some(0..1000)),
        ("bytes=0-18446744073709551615", Some(0..1000)),
        ("bytes=18446744073709551615-", None),
        ("bytes=1000-", None),
        ("bytes=-0", None),
    ] {
        let answer = client.ask("GET", "/file", &[("range", range)]).await.unwrap();
        match expected {
            Some(part) => {
                assert_eq!(answer.status, StatusCode::PARTIAL_CONTENT, "{range}");
                assert_eq!(answer.body, &data[part.clone()], "{range}");
                let says = format!("bytes {}-{}/1000", part.start, part.end - 1);
                assert_eq!(answer.headers["content-range"], *says);
            }
            None => assert_eq!(answer.status, StatusCode::RANGE_NOT_SATISFIABLE, "{range}"),
        }
    }
    for ignored in
        ["bytes=5-1", "bytes=--1", "bytes=a-b", "bytes=0-1,5-6", "bytes 0-1", "bytes=", "", "0-1", "bytes=- 1 -"]
    {
        let answer = client.ask("GET", "/file", &[("range", ignored)]).await.unwrap();
        assert!(answer.status == StatusCode::OK && answer.body == data, "{ignored}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_requests_end_at_the_most_their_own_connection() {
    let bench = Bench::new();
    bench.write("file", 10);
    let headers = |block: &[u8]| [&[0x01, block.len() as u8], block].concat();
    for (what, bytes) in [
        ("nothing", vec![]),
        ("half a frame", vec![0x01]),
        ("a frame without its content", vec![0x01, 0x20, 0x00]),
        ("data first", vec![0x00, 0x01, 0xff]),
        ("settings on a request", vec![0x04, 0x00]),
        ("a frame of HTTP/2", vec![0x02, 0x00]),
        ("an unknown frame only", vec![0x21, 0x03, 1, 2, 3]),
        ("no fields", headers(&[0x00, 0x00])),
        ("a reference to a table that is not there", headers(&[0x05, 0x00, 0x80])),
        ("an index beyond the static table", headers(&[0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f])),
        ("a string longer than the frame", headers(&[0x00, 0x00, 0x51, 0x7f, 0x20])),
        ("a method without a path", headers(&[0x00, 0x00, 0xd1])),
        ("noise", (0..200u8).map(|byte| byte.wrapping_mul(37)).collect()),
    ] {
        let dialed = bench.enter(Windows::default()).await.expect("a place");
        let (mut send, mut recv) = dialed.connection.open_bi().await.unwrap();
        let _ = send.write_all(&bytes).await;
        let _ = send.finish();
        // Whatever it says: a reset, an answer, the end of the connection.
        let answered = timeout(PATIENCE, recv.read_to_end(10_000)).await;
        assert!(answered.is_ok(), "{what} has no end");
    }
    assert_eq!(bench.client().await.ask("GET", "/file", &[]).await.unwrap().body.len(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_are_taken_back_at_once_cost_nothing_that_lasts() {
    let bench = Bench::new();
    bench.write("file", 1_000_000);
    let mut client = bench.client().await;
    for round in 0..1000 {
        let begun = timeout(PATIENCE, client.begin("GET", "/file", &[])).await.expect("a stream");
        let mut stream = begun.unwrap_or_else(|error| panic!("{round}: {error}"));
        stream.stop_sending(Code::H3_REQUEST_CANCELLED);
    }
    assert_eq!(client.ask("GET", "/file", &[]).await.unwrap().body.len(), 1_000_000);
}
