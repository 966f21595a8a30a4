//! One request and its answer, over a connection that is there.

use super::content;
use super::names::brief;
use super::patience::Patience;
use super::source::{Session, Source};
use super::trouble::{Refused, Trouble, text};
use crate::attributes::Attributes;
use crate::coding::{Decoder, Garbled, ZSTD};
use crate::extended::Kinds;
use crate::failure::Failure;
use crate::wire;
use anyhow::{Context, anyhow};
use bytes::{Buf, Bytes};
use core::time::Duration;
use h3::error::StreamError;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_RANGE, TRAILER};
use http::header::{CONTENT_TYPE, DATE, ETAG, IF_MATCH, IF_RANGE, LAST_MODIFIED, LOCATION, RANGE, RETRY_AFTER};
use http::{HeaderMap, Method, Request, Response, StatusCode, request};
use pcc_net::url::Url;
use pcc_quic::http3::{BidiStream, RecvStream, RequestStream, SendStream};
use std::time::SystemTime;

/// Interim answers (RFC 9110 §15.2) to one request: real servers send one or two.
const MOST_INTERIM: usize = 16;

/// A time of change is a validator once it is so long past: within its grain a file can change twice (RFC 9110 §8.8.2.2).
const GRAIN: Duration = Duration::from_secs(1);

/// The source is not what it was when the download began.
#[derive(Debug, thiserror::Error)]
#[error("source changed under way: {url} is another file now; {next}")]
pub(crate) struct Changed {
    /// The address that was asked for.
    pub(crate) url: String,
    /// The remedy that the user has.
    pub(crate) next: String,
}

/// The server answers the question for a part of a file with another one, or with none: it may have the whole.
#[derive(Debug, thiserror::Error)]
#[error("the server sent another part of {0} than was asked for, which no server should")]
pub(crate) struct OtherPart(String);

impl From<OtherPart> for Trouble {
    fn from(error: OtherPart) -> Self {
        Self::Final(error.into())
    }
}

/// The tag or time that tells one state of a file from another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    /// Strong entity tag (RFC 9110 §8.8.3).
    pub(crate) etag: Option<String>,
    /// Time of the last change, as the server writes it.
    pub(crate) modified: Option<String>,
    /// Whether that time is long enough ago that another change would have another time.
    pub(crate) settled: bool,
    /// Bytes of the whole file.
    pub(crate) size: Option<u64>,
    /// Its time of modification, and with `-a` its permissions, as far as the server tells them. They tell no states apart.
    pub(crate) attributes: Attributes,
}

impl Version {
    fn of(headers: &HeaderMap, size: Option<u64>, kinds: Kinds) -> Self {
        let etag = text(headers, &ETAG).filter(|tag| !tag.starts_with("W/"));
        let time = |name| -> Option<SystemTime> { httpdate::parse_http_date(text(headers, name)?).ok() };
        let told = Attributes::told(headers, kinds);
        let past = time(&DATE).zip(time(&LAST_MODIFIED)).and_then(|(now, then)| now.duration_since(then).ok());
        Self {
            etag: etag.map(str::to_owned),
            modified: text(headers, &LAST_MODIFIED).map(str::to_owned),
            settled: past.is_some_and(|past| past >= GRAIN),
            size,
            attributes: Attributes { modified: told.modified.or_else(|| time(&LAST_MODIFIED)), ..told },
        }
    }

    /// With which a server can be asked for the rest of this state and no other.
    fn validator(&self) -> Option<&str> {
        self.etag.as_deref().or_else(|| self.modified.as_deref().filter(|_| self.settled))
    }

    /// Whether a server can be asked for the rest of it.
    pub(crate) fn is_validated(&self) -> bool {
        self.validator().is_some()
    }

    /// Whether both can be the same state; what only one of them knows does not count.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        fn agree<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
            one.as_ref().zip(other.as_ref()).is_none_or(|(one, other)| one == other)
        }
        if self.etag.is_some() != other.etag.is_some() {
            return false;
        }
        let same_time = self.etag.is_some() || agree(&self.modified, &other.modified);
        agree(&self.etag, &other.etag) && agree(&self.size, &other.size) && same_time
    }
}

/// The answer to HEAD.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) version: Version,
    /// BLAKE3 of the whole file, from servers that know it.
    pub(crate) digest: Option<blake3::Hash>,
}

/// The beginning of a GET's answer; its body follows.
pub(crate) struct Answer<S = BidiStream> {
    pub(crate) version: Version,
    /// Offset in the file of the first byte that follows.
    pub(crate) from: u64,
    /// Whether the file's digest came with it, or follows.
    pub(crate) has_digest: bool,
    /// Whether the server tells chunks of the file.
    pub(crate) tells_chunks: bool,
    digest: Option<blake3::Hash>,
    body: h3::client::RequestStream<S, Bytes>,
    url: String,
    /// Where the body is compressed.
    decoder: Option<Decoder>,
}

/// The memory that listings may take, all together.
pub(crate) struct Room {
    /// Bytes that each may have.
    small: usize,
    /// Bytes that one may have, at a time.
    most: usize,
    turn: tokio::sync::Mutex<()>,
}

impl Room {
    pub(crate) const fn new(small: usize, most: usize) -> Self {
        Self { small, most, turn: tokio::sync::Mutex::const_new(()) }
    }
}

/// A listing as it came, and the turn that a large one has.
pub(crate) struct Text<'a> {
    pub(crate) text: Vec<u8>,
    /// The attributes that `-a` keeps of the directory.
    pub(crate) attributes: Attributes,
    _turn: Option<tokio::sync::MutexGuard<'a, ()>>,
}

/// Asks about a file; with `digest` also for its BLAKE3, which may take the server as long as reading it does.
pub(crate) async fn head(session: &Session, url: &Url, digest: bool) -> Result<Head, Trouble> {
    let mut request = about(session, url).method(Method::HEAD);
    if digest {
        request = with_digest(request);
    }
    let (response, _) = exchange(session, url, request).await?;
    let headers = response.headers();
    Ok(Head {
        version: Version::of(headers, length(headers, url)?, session.keeps().extended()),
        digest: digest_of(headers, &url.short())?,
    })
}

/// Asks about a file until the server answers, as [`head()`] does once.
pub(crate) async fn ask(source: &Source, url: &Url, digest: bool) -> anyhow::Result<Head> {
    let mut patience = Patience::of(source);
    loop {
        let session = source.session().await?;
        patience.ask();
        match patience.wait(head(&session, url, digest)).await {
            Ok(head) => {
                patience.done();
                return Ok(head);
            }
            Err(trouble) => patience.pause(trouble).await?,
        }
    }
}

/// Asks for a file from the byte `from` on, of the state `known` if that is given.
pub(crate) async fn get(session: &Session, url: &Url, from: u64, known: Option<&Version>) -> Result<Answer, Trouble> {
    let mut request = with_digest(about(session, url));
    if session.keeps().compress {
        request = request.header(wire::WANT_BODY_CODING, ZSTD);
    }
    if from > 0 {
        request = request.header(RANGE, format!("bytes={from}-"));
        if let Some(validator) = known.and_then(Version::validator) {
            request = request.header(IF_RANGE, validator);
        }
    }
    let (response, body) = exchange(session, url, request).await.map_err(|trouble| match trouble {
        Trouble::Final(error) if from > 0 && is_unsatisfiable(&error) => OtherPart(url.short()).into(),
        trouble => trouble,
    })?;
    let headers = response.headers();
    if let Some(encoding) = text(headers, &CONTENT_ENCODING).filter(|encoding| *encoding != "identity") {
        let (url, encoding) = (url.short(), brief(encoding));
        return Err(
            anyhow!("the server sends {url} as {encoding}, which was not asked for: fetch it with a browser").into()
        );
    }
    // Without a length nobody could tell how much a few bytes may unfold to.
    let (decoder, length) = match (wire::is_zstd(headers), wire::number(headers, wire::BODY_LENGTH)) {
        (Some(false), _) => (None, length(headers, url)?),
        (Some(true), Some(length)) if session.keeps().compress => (Some(Decoder::default()), Some(length)),
        _ => return Err(anyhow!("the server compresses {} in a way that was not asked for", url.short()).into()),
    };
    let (first, size) = if response.status() == StatusCode::PARTIAL_CONTENT {
        let range = text(headers, &CONTENT_RANGE).and_then(content::range);
        // One that begins earlier may be sent (RFC 9110 §15.3.7). A part that was not asked for may lack its end, and a
        // size that it does not tell.
        range.filter(|(first, _)| from > 0 && *first <= from).ok_or_else(|| OtherPart(url.short()))?
    } else {
        (0, length)
    };
    let digest = digest_of(headers, &url.short())?;
    let follows = text(headers, &TRAILER).is_some_and(|fields| fields.contains(wire::REPR_DIGEST.as_str()));
    let has_digest = digest.is_some() || follows;
    let (version, tells_chunks) = (Version::of(headers, size, session.keeps().extended()), wire::tells_chunks(headers));
    Ok(Answer { version, from: first, has_digest, tells_chunks, digest, body, url: url.short(), decoder })
}

/// Asks for the chunks of a file, of this mean length and of the state `known` if that is given.
pub(crate) async fn chunks(
    session: &Session,
    url: &Url,
    average: usize,
    known: Option<&Version>,
) -> Result<Answer, Trouble> {
    let mut request = with_digest(about(session, url)).header(wire::WANT_CHUNKS, average);
    if let Some(etag) = known.and_then(|known| known.etag.as_deref()) {
        request = request.header(IF_MATCH, etag);
    }
    let (response, body) = exchange(session, url, request).await?;
    let headers = response.headers();
    let size = wire::number(headers, wire::BODY_LENGTH);
    let are_told = text(headers, &CONTENT_TYPE) == Some(wire::CHUNKS_TYPE)
        && wire::number(headers, wire::FILE_CHUNKS) == Some(average as u64)
        && size.is_some();
    if !are_told {
        return Err(anyhow!("the server tells no chunks of {}", url.short()).into());
    }
    let (version, url) = (Version::of(headers, size, session.keeps().extended()), url.short());
    Ok(Answer { version, from: 0, has_digest: true, tells_chunks: true, digest: None, body, url, decoder: None })
}

/// Begins to ask for parts of a file, of the state with this tag: where the ranges are written to, and what comes.
pub(crate) async fn ranges(
    session: &Session,
    url: &Url,
    etag: &str,
) -> Result<(h3::client::RequestStream<SendStream, Bytes>, Lacking), Trouble> {
    let mut request = plainly(url).method(Method::POST).header(CONTENT_TYPE, wire::RANGES_TYPE).header(IF_MATCH, etag);
    if session.keeps().compress {
        request = request.header(wire::WANT_BODY_CODING, ZSTD);
    }
    let request = request.body(()).context("could not form the request")?;
    let sent = session.requests().send_request(request).await;
    let (asking, coming) = sent.map_err(|error| trouble(session, &url.short(), error))?.split();
    Ok((asking, Lacking::Asked(Box::new((coming, url.clone())))))
}

/// The parts of a file that were asked for.
pub(crate) enum Lacking {
    /// There is no answer yet.
    Asked(Box<(h3::client::RequestStream<RecvStream, Bytes>, Url)>),
    Answered(Box<Answer<RecvStream>>),
    /// The answer was none.
    Refused,
}

impl Lacking {
    /// The next bytes; `None` behind the last ones. May be dropped while it waits, and called again.
    pub(crate) async fn next(&mut self, session: &Session) -> Result<Option<Bytes>, Trouble> {
        if let Self::Asked(asked) = self {
            let (stream, url) = &mut **asked;
            let response = answered(session, url, stream).await?;
            let (headers, compress) = (response.headers(), session.keeps().compress);
            let decoder = match wire::is_zstd(headers) {
                Some(false) => None,
                Some(true) if compress => Some(Decoder::default()),
                _ => {
                    return Err(anyhow!("the server compresses {} in a way that was not asked for", url.short()).into());
                }
            };
            let version = Version::of(headers, None, Kinds::default());
            let Self::Asked(asked) = core::mem::replace(self, Self::Refused) else { return Ok(None) };
            let (body, url) = (asked.0, asked.1.short());
            *self = Self::Answered(Box::new(Answer {
                version,
                from: 0,
                has_digest: false,
                tells_chunks: true,
                digest: None,
                body,
                url,
                decoder,
            }));
        }
        match self {
            Self::Answered(answer) => answer.next(session).await,
            Self::Asked(_) | Self::Refused => Ok(None),
        }
    }
}

/// The entries of a directory, as JSON.
pub(crate) async fn listing<'room>(
    session: &Session,
    url: &Url,
    patience: &mut Patience<'_>,
    room: &'room Room,
) -> Result<Text<'room>, Trouble> {
    patience.ask();
    let request = session.keeps().asks_of_listing(plainly(url)).header(ACCEPT, "application/json");
    let (response, body) = patience.wait(exchange(session, url, request)).await?;
    let (version, url_text) = (Version::of(response.headers(), None, session.keeps().extended()), url.short());
    let mut answer = Answer {
        version,
        from: 0,
        has_digest: false,
        tells_chunks: false,
        digest: None,
        body,
        url: url_text,
        decoder: None,
    };
    let mut text = Vec::new();
    let mut turn = None;
    while let Some(part) = patience.wait(answer.next(session)).await? {
        text.extend_from_slice(&part);
        // It begins anew when the connection is lost.
        patience.repeated(part.len() as u64);
        if text.len() > room.most {
            return Err(anyhow!("the listing of {} is larger than {} bytes", url.short(), room.most).into());
        }
        if text.len() > room.small && turn.is_none() {
            let waiting = tokio::time::Instant::now();
            turn = Some(room.turn.lock().await);
            patience.excuse(waiting.elapsed());
        }
    }
    Ok(Text { text, attributes: answer.version.attributes, _turn: turn })
}

/// A request about `url`.
fn about(session: &Session, url: &Url) -> request::Builder {
    session.keeps().asks(plainly(url))
}

/// Ranges and digests are about the file as it is.
fn plainly(url: &Url) -> request::Builder {
    Request::builder().uri(url.to_uri()).header(ACCEPT_ENCODING, "identity")
}

impl<S: h3::quic::RecvStream> Answer<S> {
    /// The next bytes of the body; `None` at its end. May be dropped while it waits, and called again.
    pub(crate) async fn next(&mut self, session: &Session) -> Result<Option<Bytes>, Trouble> {
        loop {
            if let Some(decoder) = &mut self.decoder
                && let Some(piece) = decoder.piece().map_err(|garbled| self.garbled(garbled))?
            {
                return Ok(Some(piece));
            }
            let part = self.body.recv_data().await.map_err(|error| trouble(session, &self.url, error))?;
            let part = part.map(|mut part| part.copy_to_bytes(part.remaining()));
            match (&mut self.decoder, part) {
                (Some(decoder), Some(part)) => decoder.push(&part),
                (Some(decoder), None) if decoder.is_within() => return Err(self.garbled(Garbled)),
                (_, part) => return Ok(part),
            }
        }
    }

    fn garbled(&self, garbled: Garbled) -> Trouble {
        Trouble::Final(anyhow!("{}: {garbled}", self.url).context(Failure::Integrity))
    }

    /// After the end of the body: the digest of the whole file that came in front of it or behind.
    ///
    /// Errors: what came is none.
    pub(crate) async fn digest(&mut self) -> Result<Option<blake3::Hash>, Trouble> {
        if self.digest.is_none()
            && self.has_digest
            // Without it the file is asked about once more.
            && let Ok(Some(trailers)) = self.body.recv_trailers().await
        {
            self.digest = digest_of(&trailers, &self.url)?;
        }
        Ok(self.digest)
    }
}

fn with_digest(request: request::Builder) -> request::Builder {
    request.header(wire::WANT_REPR_DIGEST, "blake3=10")
}

async fn exchange(
    session: &Session,
    url: &Url,
    request: request::Builder,
) -> Result<(Response<()>, RequestStream), Trouble> {
    let request = request.body(()).context("could not form the request")?;
    let sent = session.requests().send_request(request).await;
    let mut stream = sent.map_err(|error| trouble(session, &url.short(), error))?;
    // A server that answers before it has read the end stops the stream (RFC 9114 §4.1): the answer counts, and if the
    // connection was lost, waiting for it says so.
    let _ = stream.finish().await;
    let response = answered(session, url, &mut stream).await?;
    Ok((response, stream))
}

/// The answer that counts, if it is a good one.
async fn answered<S: h3::quic::RecvStream>(
    session: &Session,
    url: &Url,
    stream: &mut h3::client::RequestStream<S, Bytes>,
) -> Result<Response<()>, Trouble> {
    let trouble = |error| trouble(session, &url.short(), error);
    let mut response = stream.recv_response().await.map_err(trouble)?;
    for interim in 0.. {
        if !response.status().is_informational() {
            break;
        }
        if interim == MOST_INTERIM {
            return Err(anyhow!("the server does not come to its answer for {}", url.short()).into());
        }
        response = stream.recv_response().await.map_err(trouble)?;
    }
    match refusal(url, &response) {
        None => Ok(response),
        Some(refused) if passes(response.status()) => Err(Trouble::Passing(refused.into())),
        Some(refused) => Err(Trouble::Final(refused.into())),
    }
}

fn refusal(url: &Url, response: &Response<()>) -> Option<Refused> {
    let (url, status) = (url.short(), response.status());
    Some(match status {
        StatusCode::OK | StatusCode::PARTIAL_CONTENT => return None,
        StatusCode::NOT_FOUND | StatusCode::GONE => Refused::Missing { url, status },
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Refused::Forbidden { url, status },
        _ if status.is_redirection() => {
            let to = text(response.headers(), &LOCATION).unwrap_or("an unknown place");
            Refused::Moved { url, to: brief(to) }
        }
        _ if passes(status) && response.headers().contains_key(RETRY_AFTER) => {
            Refused::for_now(format!("the server answered {status} for {url}"), response.headers())
        }
        _ => Refused::Other { url, status },
    })
}

/// Answers that say "not now" (RFC 9110 §15).
fn passes(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::REQUEST_TIMEOUT
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::INTERNAL_SERVER_ERROR
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// A stream that ended badly: the connection may be gone, the server may be leaving; both pass.
fn trouble(session: &Session, url: &str, error: StreamError) -> Trouble {
    match error {
        StreamError::HeaderTooBig { actual_size, .. } => {
            Trouble::Final(anyhow!("the server's answer for {url} has {actual_size} bytes of header, too many"))
        }
        _ if session.ended_it() => {
            session.retire();
            let text = "is none that HTTP/3 allows, or has too many bytes of header";
            Trouble::Final(Refused::Told(format!("the server's answer for {url} {text}: {error}")).into())
        }
        StreamError::ConnectionError { .. } | StreamError::RemoteClosing { .. } | StreamError::Undefined { .. } => {
            session.retire();
            Trouble::Passing(session.explain(&error))
        }
        error => Trouble::Passing(anyhow!("the server broke off the answer for {url}: {error}")),
    }
}

/// The length that the server names, if it does.
///
/// Errors: it names none that could be.
fn length(headers: &HeaderMap, url: &Url) -> anyhow::Result<Option<u64>> {
    content::length(headers)
        .map_err(|wrong| anyhow!("the server gives {} the impossible length `{}`", url.short(), brief(wrong)))
}

/// The BLAKE3 digest of the whole file.
///
/// Errors: one is named, and is none. The same damage may extend to the file.
fn digest_of(headers: &HeaderMap, url: &str) -> anyhow::Result<Option<blake3::Hash>> {
    let malformed = || format!("the server gives {url} a malformed BLAKE3 digest, so nobody can verify what it sends");
    wire::digest_of(headers).with_context(malformed)
}

/// Whether the server said that it has no such part.
fn is_unsatisfiable(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Refused::Other { status: StatusCode::RANGE_NOT_SATISFIABLE, .. }))
}

#[cfg(test)]
mod tests;
