//! One file, from the question how much of it is there to its final name. `docs/http.md` has the protocol.

use super::content::Content;
use crate::blocking::off_thread;
use crate::exit::Failure;
use crate::get::request::Trouble;
use crate::get::source::{Session, Source};
use crate::get::watch::Started;
use crate::url::Url;
use crate::wire;
use anyhow::{Context, anyhow};
use bytes::{Buf, Bytes};
use http::header::AUTHORIZATION;
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, request};
use pcc_quic::http3::RequestStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::mpsc;

/// Pieces read ahead of the network.
const AHEAD: usize = 8;

/// Of a refusal's text so much is shown.
const LONGEST_REASON: usize = 400;

/// Where a file goes, and with what right.
pub(super) struct Target {
    pub(super) url: Url,
    pub(super) token: String,
}

/// A file that is there.
pub(super) struct Uploaded {
    pub(super) bytes: u64,
    /// BLAKE3, which the server found too.
    pub(super) digest: blake3::Hash,
    pub(super) seconds: f64,
    /// Bytes that were there before.
    pub(super) resumed_from: u64,
}

type Shared = Arc<Mutex<Content>>;

/// Uploads it, over as many connections as it takes.
///
/// Errors: with the [`Failure`] that tells how the command ends.
pub(super) async fn upload(source: &Source, content: Content, target: &Target) -> anyhow::Result<Uploaded> {
    let begun = Instant::now();
    let (id, size) = (content.id().to_owned(), content.size());
    let path = content.path().map(ToOwned::to_owned);
    let content: Shared = Arc::new(Mutex::new(content));
    let one = One { source, target, id, size, content };
    let mut resumed_from = None;
    loop {
        let session = source.session().await?;
        let outcome = async {
            let at = one.offset(&session).await?;
            if resumed_from.is_none() {
                resumed_from = Some(at);
                let url = target.url.short();
                source.watch().started(Started { url: &url, file: path.as_deref(), size, resumed_from: at });
            }
            one.rest(&session, at).await
        };
        match outcome.await {
            Ok((bytes, digest)) => {
                let (seconds, resumed_from) = (begun.elapsed().as_secs_f64(), resumed_from.unwrap_or(0));
                return Ok(Uploaded { bytes, digest, seconds, resumed_from });
            }
            Err(trouble) => source.pause(trouble).await?,
        }
    }
}

/// Makes a directory there, and those above it.
pub(super) async fn make_directory(source: &Source, target: &Target) -> anyhow::Result<()> {
    let path = format!("{}/", target.url.encoded_path().trim_end_matches('/'));
    let url = target.url.with_path(PathAndQuery::try_from(path)?);
    loop {
        let session = source.session().await?;
        let request = target.request(Method::PUT, &url).body(()).context("could not form the request")?;
        let outcome = async {
            let mut stream = open(&session, request).await?;
            let _ = stream.finish().await; // as below: the answer counts
            expect_success(answer(&session, &mut stream).await?, &mut stream, &url).await.map(drop)
        };
        match outcome.await {
            Ok(()) => {
                source.progressed();
                return Ok(());
            }
            Err(trouble) => source.pause(trouble).await?,
        }
    }
}

impl Target {
    fn request(&self, method: Method, url: &Url) -> request::Builder {
        Request::builder().method(method).uri(url.to_uri()).header(AUTHORIZATION, format!("Bearer {}", self.token))
    }
}

/// One upload.
struct One<'a> {
    source: &'a Source,
    target: &'a Target,
    id: String,
    size: Option<u64>,
    content: Shared,
}

impl One<'_> {
    fn url(&self) -> anyhow::Result<Url> {
        let path = format!("{}?upload={}", self.target.url.encoded_path(), self.id);
        Ok(self.target.url.with_path(PathAndQuery::try_from(path).context("the URL is too long")?))
    }

    /// How much of it the server has.
    async fn offset(&self, session: &Session) -> Result<u64, Trouble> {
        let request = self.target.request(Method::HEAD, &self.url()?).body(()).context("could not form the request")?;
        let mut stream = open(session, request).await?;
        let _ = stream.finish().await; // as below: the answer counts
        let response = answer(session, &mut stream).await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(0);
        }
        let response = expect_success(response, &mut stream, &self.target.url).await?;
        let offset = wire::number(response.headers(), wire::UPLOAD_OFFSET);
        Ok(offset.with_context(|| format!("{} is no server that takes uploads of ours", self.target.url.peer))?)
    }

    /// Sends what is missing from `at` on, then the digest, with which the file gets its name.
    async fn rest(&self, session: &Session, at: u64) -> Result<(u64, blake3::Hash), Trouble> {
        let end = self.data(session, at).await?;
        let content = self.content.clone();
        let digest = off_thread(move || locked(&content).digest()).await?;
        let request = self.part(end, true)?.header(wire::REPR_DIGEST, wire::digest_field(&digest));
        let mut stream = open(session, request.body(()).context("could not form the request")?).await?;
        let _ = stream.finish().await; // as below: the answer counts
        let response = expect_success(answer(session, &mut stream).await?, &mut stream, &self.target.url).await?;
        if wire::digest_of(response.headers()) != Some(digest) {
            let url = self.target.url.short();
            return Err(anyhow!("{url}: the server did not confirm the BLAKE3 of the file")
                .context(Failure::Integrity)
                .into());
        }
        Ok((end, digest))
    }

    fn part(&self, at: u64, complete: bool) -> anyhow::Result<request::Builder> {
        let builder = self
            .target
            .request(Method::PATCH, &self.url()?)
            .header(http::header::CONTENT_TYPE, wire::PARTIAL_UPLOAD_TYPE)
            .header(wire::UPLOAD_OFFSET, at)
            .header(wire::UPLOAD_COMPLETE, if complete { "?1" } else { "?0" });
        Ok(match self.size {
            Some(size) => builder.header(wire::UPLOAD_LENGTH, size),
            None => builder,
        })
    }

    /// Sends the bytes from `at` to the end; returns where that is.
    async fn data(&self, session: &Session, at: u64) -> Result<u64, Trouble> {
        if self.size == Some(at) && at > 0 {
            return Ok(at); // all of it is there but its name
        }
        let request = self.part(at, false)?.body(()).context("could not form the request")?;
        let mut stream = open(session, request).await?;
        let mut pieces = self.read_from(at);
        let mut sent = at;
        while let Some(piece) = pieces.recv().await {
            let piece = piece?;
            let length = piece.len() as u64;
            if stream.send_data(piece).await.is_err() {
                break; // the answer tells why, or the lost connection does
            }
            sent += length;
            self.source.progressed();
            self.source.watch().moved(length);
        }
        // A stream that the server stopped cannot be finished; its answer says why it stopped.
        let _ = stream.finish().await;
        let response = answer(session, &mut stream).await?;
        let response = expect_success(response, &mut stream, &self.target.url).await?;
        match wire::number(response.headers(), wire::UPLOAD_OFFSET) {
            Some(there) if there == sent => Ok(sent),
            there => Err(Trouble::Passing(anyhow!("{sent} bytes were sent, and the server has {there:?}"))),
        }
    }

    /// Pieces from `at` on, read on another thread a little ahead of the network.
    fn read_from(&self, mut at: u64) -> mpsc::Receiver<anyhow::Result<Bytes>> {
        let (pieces, receiver) = mpsc::channel(AHEAD);
        let content = self.content.clone();
        tokio::task::spawn_blocking(move || {
            loop {
                let piece = locked(&content).read(at);
                match piece {
                    Ok(piece) if piece.is_empty() => return,
                    Ok(piece) => {
                        at += piece.len() as u64;
                        if pieces.blocking_send(Ok(piece)).is_err() {
                            return;
                        }
                    }
                    Err(error) => {
                        let _ = pieces.blocking_send(Err(error)); // nobody waits for it any more: then it is no error
                        return;
                    }
                }
            }
        });
        receiver
    }
}

fn locked(content: &Shared) -> std::sync::MutexGuard<'_, Content> {
    content.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn open(session: &Session, request: Request<()>) -> Result<RequestStream, Trouble> {
    match session.requests().send_request(request).await {
        Ok(stream) => Ok(stream),
        Err(error) => {
            session.retire();
            Err(Trouble::Passing(session.explain(&error)))
        }
    }
}

async fn answer(session: &Session, stream: &mut RequestStream) -> Result<Response<()>, Trouble> {
    stream.recv_response().await.map_err(|error| {
        session.retire();
        Trouble::Passing(session.explain(&error))
    })
}

/// Turns a refusal into words.
async fn expect_success(
    response: Response<()>,
    stream: &mut RequestStream,
    url: &Url,
) -> Result<Response<()>, Trouble> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let mut reason = Vec::new();
    while reason.len() < LONGEST_REASON
        && let Ok(Some(piece)) = stream.recv_data().await
    {
        reason.extend_from_slice(piece.chunk());
    }
    reason.truncate(LONGEST_REASON);
    let reason = String::from_utf8_lossy(&reason).trim().replace(|c: char| c.is_control(), " ");
    let url = url.short();
    let error = match status {
        StatusCode::UNAUTHORIZED => anyhow!("{url}: wrong token; the server prints the right one when it starts"),
        StatusCode::UNPROCESSABLE_ENTITY => {
            anyhow!("{url} arrived damaged: {reason}; run the command again").context(Failure::Integrity)
        }
        StatusCode::CONFLICT => return Err(Trouble::Passing(anyhow!("{url}: {reason}"))),
        StatusCode::SERVICE_UNAVAILABLE => {
            return Err(Trouble::Passing(anyhow!("{url}: the server is busy: {reason}")));
        }
        _ => anyhow!("the server refused {url} ({status}): {reason}"),
    };
    Err(Trouble::Final(error))
}
