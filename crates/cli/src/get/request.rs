//! One request and its answer, over a connection that is there.

use super::source::Session;
use crate::url::Url;
use anyhow::{Context, anyhow};
use bytes::{Buf, Bytes};
use h3::error::StreamError;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_RANGE, ETAG, IF_RANGE, LAST_MODIFIED, LOCATION, RANGE};
use http::{HeaderMap, HeaderName, Method, Request, Response, StatusCode};
use pcc_quic::http3::RequestStream;

const PCC_DIGEST: HeaderName = HeaderName::from_static("pcc-digest");
const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");

/// Why a request was not answered as hoped.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The same request may succeed later.
    Passing(anyhow::Error),
    /// It never will.
    Final(anyhow::Error),
}

impl From<anyhow::Error> for Trouble {
    fn from(error: anyhow::Error) -> Self {
        Self::Final(error)
    }
}

/// The server's answer that there is nothing to have: trouble with one file, not with the connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// 404 and 410.
    #[error("{url} does not exist on the server: check the name ({status})")]
    Missing { url: String, status: StatusCode },
    /// 401 and 403.
    #[error("the server does not allow reading {url} ({status}): ask whoever runs it")]
    Forbidden { url: String, status: StatusCode },
    /// 3xx, which we do not follow: the certificate was pinned for this server.
    #[error("{url} has moved to {to}: ask for that")]
    Moved { url: String, to: String },
    /// Any other.
    #[error("the server answered {status} for {url}")]
    Other { url: String, status: StatusCode },
}

/// The source is not what it was when the download began.
#[derive(Debug, thiserror::Error)]
#[error("source changed under way: {url} is another file now; run the command again, it starts anew")]
pub(crate) struct Changed {
    /// What was asked for.
    pub(crate) url: String,
}

/// What tells one state of a file from another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    /// Strong entity tag (RFC 9110 §8.8.3).
    pub(crate) etag: Option<String>,
    /// Time of the last change, as the server writes it.
    pub(crate) modified: Option<String>,
    /// Bytes of the whole file.
    pub(crate) size: Option<u64>,
}

impl Version {
    fn of(headers: &HeaderMap, size: Option<u64>) -> Self {
        let etag = text(headers, &ETAG).filter(|tag| !tag.starts_with("W/"));
        Self { etag: etag.map(str::to_owned), modified: text(headers, &LAST_MODIFIED).map(str::to_owned), size }
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

/// What HEAD tells.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) version: Version,
    /// BLAKE3 of the whole file, from servers that know it.
    pub(crate) digest: Option<blake3::Hash>,
}

/// The beginning of a GET's answer; its body follows.
pub(crate) struct Answer {
    pub(crate) version: Version,
    /// Offset in the file of the first byte that follows.
    pub(crate) from: u64,
    body: RequestStream,
    url: String,
}

/// Asks about a file; with `digest` also for its BLAKE3, which may take the server as long as reading it does.
pub(crate) async fn head(session: &Session, url: &Url, digest: bool) -> Result<Head, Trouble> {
    let mut request = Request::builder().method(Method::HEAD).uri(url.to_uri());
    if digest {
        request = request.header("want-repr-digest", "blake3=10").header("want-digest", "blake3");
    }
    let (response, _) = ask(session, url, request.body(()).context("could not form the request")?).await?;
    let headers = response.headers();
    let size = number(headers, &CONTENT_LENGTH);
    Ok(Head { version: Version::of(headers, size), digest: digest_of(headers) })
}

/// Asks for a file from the byte `from` on, of the state `known` if that is given.
pub(crate) async fn get(session: &Session, url: &Url, from: u64, known: Option<&Version>) -> Result<Answer, Trouble> {
    let mut request = Request::builder().uri(url.to_uri());
    if from > 0 {
        request = request.header(RANGE, format!("bytes={from}-"));
        if let Some(etag) = known.and_then(|version| version.etag.as_ref()) {
            request = request.header(IF_RANGE, etag);
        }
    }
    let (response, body) = ask(session, url, request.body(()).context("could not form the request")?).await?;
    let headers = response.headers();
    let (first, size) = if response.status() == StatusCode::PARTIAL_CONTENT {
        let range = text(headers, &CONTENT_RANGE).and_then(content_range);
        range.filter(|(first, _)| *first == from).with_context(|| {
            format!("the server sent another part of {} than was asked for, which no server should", url.short())
        })?
    } else {
        (0, number(headers, &CONTENT_LENGTH))
    };
    Ok(Answer { version: Version::of(headers, size), from: first, body, url: url.short() })
}

/// The entries of a directory, as JSON of at most `most` bytes.
pub(crate) async fn listing(session: &Session, url: &Url, most: usize) -> Result<Vec<u8>, Trouble> {
    let request = Request::builder().uri(url.to_uri()).header(ACCEPT, "application/json");
    let (_, body) = ask(session, url, request.body(()).context("could not form the request")?).await?;
    let mut answer = Answer { version: Version::default(), from: 0, body, url: url.short() };
    let mut text = Vec::new();
    while let Some(part) = answer.next(session).await? {
        text.extend_from_slice(&part);
        if text.len() > most {
            return Err(anyhow!("the listing of {} is larger than {most} bytes", url.short()).into());
        }
    }
    Ok(text)
}

impl Answer {
    /// The next bytes of the body; `None` at its end. May be dropped while it waits, and called again.
    pub(crate) async fn next(&mut self, session: &Session) -> Result<Option<Bytes>, Trouble> {
        let part = self.body.recv_data().await.map_err(|error| trouble(session, &self.url, error))?;
        Ok(part.map(|mut part| part.copy_to_bytes(part.remaining())))
    }
}

async fn ask(session: &Session, url: &Url, request: Request<()>) -> Result<(Response<()>, RequestStream), Trouble> {
    let trouble = |error| trouble(session, &url.short(), error);
    let mut stream = session.requests().send_request(request).await.map_err(trouble)?;
    // A server that answers before it has read the end stops the stream (RFC 9114 §4.1): the answer counts, and if the
    // connection was lost, waiting for it says so.
    let _ = stream.finish().await;
    let response = stream.recv_response().await.map_err(trouble)?;
    match refusal(url, &response) {
        None => Ok((response, stream)),
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
            Refused::Moved { url, to: super::names::shown(to) }
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
        StreamError::ConnectionError { .. } | StreamError::RemoteClosing { .. } | StreamError::Undefined { .. } => {
            session.retire();
            Trouble::Passing(session.explain(&error))
        }
        error => Trouble::Passing(anyhow!("the server broke off the answer for {url}: {error}")),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn number(headers: &HeaderMap, name: &HeaderName) -> Option<u64> {
    text(headers, name)?.trim().parse().ok()
}

/// First byte and size of the whole, from `bytes 5-9/10` or `bytes 5-9/*` (RFC 9110 §14.4).
fn content_range(written: &str) -> Option<(u64, Option<u64>)> {
    let (range, size) = written.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    let size = if size == "*" { None } else { Some(size.parse().ok()?) };
    (first <= last && size.is_none_or(|size| last < size)).then_some((first, size))
}

/// The BLAKE3 digest of the whole file: RFC 9530's `repr-digest: blake3=:<base64>:`, whose registry does not have the
/// algorithm, or `pcc-digest: blake3=<hexadecimal>`.
fn digest_of(headers: &HeaderMap) -> Option<blake3::Hash> {
    let hexadecimal = || blake3::Hash::from_hex(text(headers, &PCC_DIGEST)?.trim().strip_prefix("blake3=")?).ok();
    let base64 = || {
        let mut fields = text(headers, &REPR_DIGEST)?.split(',');
        let bytes = fields.find_map(|field| from_base64(field.trim().strip_prefix("blake3=:")?.strip_suffix(':')?))?;
        Some(blake3::Hash::from_bytes(bytes))
    };
    base64().or_else(hexadecimal)
}

/// 32 bytes from their 44 characters (RFC 4648 §4).
fn from_base64(written: &str) -> Option<[u8; 32]> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = written.strip_suffix('=').filter(|digits| digits.len() == 43)?;
    let (mut bits, mut held, mut bytes) = (0, 0u32, Vec::with_capacity(32));
    for digit in digits.bytes() {
        let value = u32::try_from(ALPHABET.iter().position(|letter| *letter == digit)?).ok()?;
        held = (held << 6 | value) & 0xfff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
    }
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn ranges_are_read_and_impossible_ones_refused() {
        assert_eq!(content_range("bytes 5-9/10"), Some((5, Some(10))));
        assert_eq!(content_range("bytes 0-0/*"), Some((0, None)));
        for wrong in ["", "bytes 5-9", "bytes */10", "bytes 9-5/10", "bytes 5-10/10", "items 5-9/10", "bytes -5-9/10"] {
            assert_eq!(content_range(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_digest_is_read_in_both_forms_and_anything_else_is_none() {
        let headers = |name, value: &str| HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())]);
        let digest = blake3::hash(b"abc");
        let hexadecimal = format!("blake3={}", digest.to_hex());
        assert_eq!(digest_of(&headers(PCC_DIGEST, &hexadecimal)), Some(digest));
        let base64 = "blake3=:ZDezrDhGUTP/tjt1JzqNtUjFWEZdedsD/TWcbNW9nYU=:";
        assert_eq!(digest_of(&headers(REPR_DIGEST, base64)), Some(digest));
        assert_eq!(digest_of(&headers(REPR_DIGEST, &format!("sha-256=:AAAA:, {base64}"))), Some(digest));
        for wrong in ["", "blake3=", "blake3=abc", "sha256=00", "blake3=:AAAA:", "blake3=:::"] {
            assert_eq!(digest_of(&headers(PCC_DIGEST, wrong)), None, "{wrong}");
            assert_eq!(digest_of(&headers(REPR_DIGEST, wrong)), None, "{wrong}");
        }
    }

    #[test]
    fn base64_is_that_of_others() {
        // python3 -c 'import base64; print(base64.b64encode(bytes(range(224, 256))).decode())'
        let written = "4OHi4+Tl5ufo6err7O3u7/Dx8vP09fb3+Pn6+/z9/v8=";
        let bytes: Vec<u8> = (224..=255).collect();
        assert_eq!(from_base64(written).unwrap().as_slice(), bytes);
    }

    #[test]
    fn versions_fit_only_if_nothing_known_differs() {
        let version = |etag: Option<&str>, modified: Option<&str>, size| Version {
            etag: etag.map(str::to_owned),
            modified: modified.map(str::to_owned),
            size,
        };
        let known = version(Some("\"1\""), Some("Mon"), Some(5));
        assert!(known.fits(&version(Some("\"1\""), Some("Tue"), Some(5))), "the tag decides over the time");
        assert!(known.fits(&version(Some("\"1\""), None, None)));
        assert!(!known.fits(&version(Some("\"2\""), Some("Mon"), Some(5))));
        assert!(!known.fits(&version(Some("\"1\""), Some("Mon"), Some(6))));
        assert!(!known.fits(&version(None, Some("Mon"), Some(5))), "a tag that vanished");
        assert!(!version(None, Some("Mon"), Some(5)).fits(&version(None, Some("Tue"), Some(5))));
    }

    #[test]
    fn a_weak_tag_is_none() {
        let headers = HeaderMap::from_iter([(ETAG, HeaderValue::from_static("W/\"1\""))]);
        assert_eq!(Version::of(&headers, None).etag, None);
    }
}
