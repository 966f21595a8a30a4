//! A server that does whatever a test wants, and what tests ask of it.

use super::super::store::Target;
use super::super::transfer::transfer;
use super::super::tree::fetch_tree;
use crate::choice::Choice;
use crate::client::names;
use crate::client::source::Source;
use crate::client::watch::{Missing, Watch};
use crate::moved::Moved;
use crate::tally::Tally;
use crate::wire;
use bytes::Bytes;
use core::time::Duration;
use http::{Method, Request, Response, StatusCode, header};
use noq::{Endpoint, EndpointConfig, ServerConfig};
use pcc_net::tls::{self, Identity, Trust};
use pcc_net::url::Url;
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, PacedRuntime, http3, socket};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const PATIENCE: Duration = Duration::from_secs(60);
pub(super) const MIB: usize = 1 << 20;

/// The content under a path.
#[derive(Clone)]
pub(super) struct Page {
    pub(super) body: Bytes,
    pub(super) etag: Option<String>,
    /// The digest of the body that HEAD tells.
    pub(super) digest: Option<blake3::Hash>,
    pub(super) ranges: bool,
    pub(super) status: StatusCode,
    /// Header fields besides, which replace those of the same name.
    pub(super) fields: Vec<(&'static str, &'static str)>,
    /// Answers before the answer.
    pub(super) interim: usize,
    pub(super) manner: Manner,
    pub(super) odd: Odd,
}

/// How a part that was asked for is answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Odd {
    No,
    /// With a part that begins so many bytes earlier.
    Earlier(usize),
    /// With the whole as a part, without saying which.
    Unnamed,
    /// 416.
    Unsatisfiable,
    /// With another tag than HEAD has, each time.
    OtherTag,
}

/// How a body is sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Manner {
    Whole,
    /// Sends this number of bytes, and then nothing for ever.
    Stalls(usize),
    /// A byte each time.
    Drips(Duration),
    /// Sends this number of bytes and then resets the stream, every time.
    Breaks(usize),
}

impl Page {
    pub(super) fn of(body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let digest = blake3::hash(&body);
        Self {
            body,
            etag: Some(format!("\"{digest}\"")),
            digest: Some(digest),
            ranges: true,
            status: StatusCode::OK,
            fields: Vec::new(),
            interim: 0,
            manner: Manner::Whole,
            odd: Odd::No,
        }
    }
}

/// The server's behaviour, and its record.
#[derive(Default)]
pub(super) struct Site {
    pages: HashMap<String, Page>,
    /// Break the connection off after so many bytes of body, once.
    pub(super) break_at: Option<usize>,
    /// The page that takes the place of the one that was broken off.
    pub(super) afterwards: Option<Page>,
    /// First byte of each GET's answer.
    answered_from: Vec<usize>,
}

type Shared = Arc<Mutex<Site>>;

/// Hears which entries are missing, and how many each time.
#[derive(Default)]
pub(super) struct Lacking(Mutex<Vec<(PathBuf, u64)>>);

impl Watch for Lacking {
    fn moved(&self, _bytes: u64) {}

    fn missing(&self, missing: Missing<'_>) {
        self.0.lock().unwrap().push((missing.file.to_owned(), missing.entries));
    }
}

pub(super) struct Fake {
    pub(super) site: Shared,
    lacking: Arc<Lacking>,
    url: String,
    _endpoint: Endpoint,
}

impl Fake {
    pub(super) fn new(pages: impl IntoIterator<Item = (&'static str, Page)>) -> Self {
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
        Self { site, lacking: Arc::default(), url, _endpoint: endpoint }
    }

    pub(super) fn url(&self, path: &str) -> Url {
        self.url.replace("{}", path).parse().unwrap()
    }

    pub(super) fn set(&self, path: &str, page: Page) {
        self.site.lock().unwrap().pages.insert(path.to_owned(), page);
    }

    /// The names that were missing, in their order.
    pub(super) fn lacking(&self) -> Vec<(PathBuf, u64)> {
        let mut lacking = self.lacking.0.lock().unwrap().clone();
        lacking.sort();
        lacking
    }

    pub(super) fn answered_from(&self) -> Vec<usize> {
        self.site.lock().unwrap().answered_from.clone()
    }

    pub(super) async fn fetch(&self, path: &str, place: &Place) -> anyhow::Result<Moved> {
        self.fetch_within(Duration::from_secs(30), path, place).await
    }

    pub(super) async fn fetch_within(&self, give_up: Duration, path: &str, place: &Place) -> anyhow::Result<Moved> {
        let url = self.url(path);
        let (source, target) = (self.source_within(give_up, &url), Target::File(place.file()));
        let fetched = tokio::time::timeout(PATIENCE, transfer(&source, &url, &target)).await.unwrap();
        source.close().await;
        fetched
    }

    pub(super) fn source(&self, url: &Url) -> Source {
        self.source_within(Duration::from_secs(30), url)
    }

    fn source_within(&self, give_up: Duration, url: &Url) -> Source {
        let transport = Arc::new(transport::config(&Algorithm::default(), &Windows::default()));
        let dialer = crate::client::dialer::dialer(Trust::Pinned(url.pin.unwrap()), transport);
        Source::new(dialer, url.peer.clone(), give_up, self.lacking.clone())
    }

    pub(super) async fn tree(&self, path: &str, place: &Place) -> anyhow::Result<Tally> {
        self.tree_within(Duration::from_secs(30), path, place).await
    }

    pub(super) async fn tree_within(&self, give_up: Duration, path: &str, place: &Place) -> anyhow::Result<Tally> {
        let url = self.url(path);
        let source = self.source_within(give_up, &url);
        self.chosen(&source, &url, place, &Choice::default()).await
    }

    /// The choice among its entries.
    pub(super) async fn choose(&self, path: &str, place: &Place, choice: &Choice) -> anyhow::Result<Tally> {
        let url = self.url(path);
        self.chosen(&self.source(&url), &url, place, choice).await
    }

    /// The same, with these things kept.
    pub(super) async fn keep(&self, path: &str, place: &Place, keeps: crate::Keeps) -> anyhow::Result<Tally> {
        self.keep_within(Duration::from_secs(30), path, place, keeps).await
    }

    pub(super) async fn keep_within(
        &self,
        give_up: Duration,
        path: &str,
        place: &Place,
        keeps: crate::Keeps,
    ) -> anyhow::Result<Tally> {
        let url = self.url(path);
        let source = self.source_within(give_up, &url).keeping(keeps);
        self.chosen(&source, &url, place, &Choice::default()).await
    }

    /// The choice among its entries, with these things kept.
    pub(super) async fn choose_keeping(
        &self,
        path: &str,
        place: &Place,
        choice: &Choice,
        keeps: crate::Keeps,
    ) -> anyhow::Result<Tally> {
        let url = self.url(path);
        self.chosen(&self.source(&url).keeping(keeps), &url, place, choice).await
    }

    async fn chosen(&self, source: &Source, url: &Url, place: &Place, choice: &Choice) -> anyhow::Result<Tally> {
        tokio::time::timeout(PATIENCE, fetch_tree(source, url, &place.file(), choice, &|_| {})).await.unwrap()
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
    let kind = match request.headers().contains_key(wire::WANT_CHUNKS) {
        true => "?chunks",
        false if request.method() == Method::POST => "?ranges",
        false => "",
    };
    let found = |site: &Site| site.pages.get(&format!("{path}{kind}")).or(site.pages.get(&path)).cloned();
    let found = found(&site.lock().unwrap());
    let Some(page) = found else {
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
    let from = match page.odd {
        Odd::Earlier(bytes) => from.saturating_sub(bytes),
        Odd::Unsatisfiable if from > 0 => {
            stream.send_response(Response::builder().status(StatusCode::RANGE_NOT_SATISFIABLE).body(())?).await?;
            return Ok(stream.finish().await?);
        }
        Odd::Unnamed if from > 0 => {
            response = response.status(StatusCode::PARTIAL_CONTENT);
            0
        }
        Odd::OtherTag if !head => 0,
        _ => from,
    };
    if from > 0 {
        let range = format!("bytes {from}-{}/{size}", size - 1);
        response = response.status(StatusCode::PARTIAL_CONTENT).header(header::CONTENT_RANGE, range);
    }
    if let Some(etag) = &page.etag {
        let other = page.odd == Odd::OtherTag && !head;
        response = response.header(header::ETAG, if other { "\"other\"" } else { etag });
    }
    if let Some(digest) = page.digest.filter(|_| head && wire::wants_digest(request.headers())) {
        response = response.header(wire::REPR_DIGEST, wire::digest_field(&digest));
    }
    let mut response = response.header(header::CONTENT_LENGTH, size - from).body(())?;
    for (name, value) in &page.fields {
        response.headers_mut().insert(*name, header::HeaderValue::from_static(value));
    }
    for _ in 0..page.interim {
        stream.send_response(Response::builder().status(103).body(())?).await?;
    }
    stream.send_response(response).await?;
    if head {
        return Ok(stream.finish().await?);
    }
    let break_at = {
        let mut site = site.lock().unwrap();
        site.answered_from.push(from);
        site.break_at.take()
    };
    let body = page.body.slice(from..);
    match page.manner {
        Manner::Whole => {}
        Manner::Stalls(after) => {
            stream.send_data(body.slice(..after)).await?;
            connection.closed().await;
            return Ok(());
        }
        Manner::Drips(pause) => {
            for at in 0..body.len() {
                stream.send_data(body.slice(at..=at)).await?;
                tokio::time::sleep(pause).await;
            }
            return Ok(stream.finish().await?);
        }
        Manner::Breaks(after) => {
            stream.send_data(body.slice(..after.min(body.len()))).await?;
            drained(connection).await;
            stream.stop_stream(h3::error::Code::H3_INTERNAL_ERROR);
            return Ok(());
        }
    }
    let part = body.slice(..break_at.unwrap_or(body.len()).min(body.len()));
    for at in (0..part.len()).step_by(64 << 10) {
        stream.send_data(part.slice(at..part.len().min(at + (64 << 10)))).await?;
    }
    if break_at.is_some() {
        drained(connection).await;
        let afterwards = site.lock().unwrap().afterwards.take();
        if let Some(page) = afterwards {
            site.lock().unwrap().pages.insert(path, page);
        }
        connection.close(7u32.into(), b"a test wants it");
        return Ok(());
    }
    Ok(stream.finish().await?)
}

/// Waits until nothing is sent any more: what is on its way should arrive before the end comes.
async fn drained(connection: &noq::Connection) {
    const QUIET: Duration = Duration::from_millis(250);
    let mut sent = None;
    while sent != Some(connection.stats().frame_tx.stream) {
        sent = Some(connection.stats().frame_tx.stream);
        tokio::time::sleep(QUIET).await;
    }
}

/// A directory for the result.
pub(super) struct Place(tempfile::TempDir);

impl Place {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn file(&self) -> PathBuf {
        self.0.path().join("file")
    }

    pub(super) fn read(&self) -> Vec<u8> {
        std::fs::read(self.file()).unwrap()
    }

    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> =
            self.0.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub(super) fn data(size: usize) -> Vec<u8> {
    let mut data = vec![0; size];
    blake3::Hasher::new().finalize_xof().fill(&mut data);
    data
}

/// Where the file at `target` is while it is not complete.
pub(super) fn part_of(target: &Path) -> PathBuf {
    names::part_and_journal(target).0
}
