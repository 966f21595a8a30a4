//! One file, from the question how much of it is there to its final name. `docs/http.md` has the protocol.

use super::content::{Changed, Content, Pieces};
use super::delta::{Base, Differences, Part};
use super::exchange::{self, Exchange, OtherVersion};
use super::features;
use super::progress::Progress;
use super::target::Target;
use crate::attributes::Attributes;
use crate::blocking::off_thread;
use crate::client::source::{Session, Source};
use crate::client::trouble::{Refused, Trouble};
use crate::client::watch::Started;
use crate::coding::{self, Coder, DELTA, ZSTD};
use crate::failure::{Failure, failure_of};
use crate::moved::Moved;
use crate::permissions::Permissions;
use crate::wire;
use anyhow::{Context, anyhow};
use blake3::{Hash, Hasher};
use bytes::Bytes;
use core::time::Duration;
use futures_util::FutureExt;
use http::header::{ETAG, HeaderMap};
use http::uri::PathAndQuery;
use http::{Method, Response, StatusCode, request};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Handed to the connection at a time: with less than this a minute a server is slow, not dead.
const PART: usize = 32 << 10;

/// A file of this size goes with its digest in one request: it is read twice, which costs less than a round trip.
const SMALL: u64 = 64 << 10;

/// A whole file is sent this often to a server that does not keep it: the first time may be an accident.
const MOST_FRUITLESS: u8 = 2;

/// How often a wait for input is told.
const TELL: Duration = Duration::from_millis(100);

/// The state of the upload at the server.
enum There {
    Nothing,
    /// The bytes of an upload that is not finished.
    Part(u64),
    /// A file of the right size with this digest, and these attributes as far as they are known.
    Whole(Hash, Attributes),
}

/// Uploads it, over as many connections as it takes.
///
/// Errors: with the [`Failure`] that tells how the command ends.
pub(super) async fn upload(source: &Source, content: Content, target: &Target) -> anyhow::Result<Moved> {
    let begun = Instant::now();
    let mut one = One::new(source, content, target);
    one.is_coded = source.keeps().compress && features::has(source, target, "zstd").await?;
    loop {
        let session = source.session().await?;
        match one.attempt(&session).await {
            Ok((bytes, digest)) => {
                one.progress.patience.done();
                let seconds = begun.elapsed().as_secs_f64();
                let resumed_from = one.resumed_from.unwrap_or(0) + one.progress.copied();
                return Ok(Moved { bytes, digest, verified: true, seconds, resumed_from });
            }
            Err(Trouble::Final(error)) if error.is::<Changed>() => {
                if let Err(Trouble::Passing(why) | Trouble::Final(why)) = one.withdraw(&session).await {
                    tracing::debug!("what is there of a file that changed stays a while: {why:#}");
                }
                return Err(error);
            }
            // Whatever is wrong with the old file, the new one can be sent.
            Err(Trouble::Final(error)) if one.base.is_some() && is_of_copies(&error) => {
                tracing::debug!("the file is sent whole: {error:#}");
                one.base = None;
                one.is_whole = true;
            }
            Err(trouble) => one.progress.patience.pause(trouble).await?,
        }
    }
}

fn is_of_copies(error: &anyhow::Error) -> bool {
    error.is::<OtherVersion>() || failure_of(error) == Failure::Integrity
}

/// Makes a directory there, and those above it. Answers whether it is new, so that nothing can be in it.
///
/// A new one is its owner's alone if its permissions come at the end. Windows has none that could come.
pub(super) async fn make_directory(source: &Source, target: &Target, is_top: bool) -> anyhow::Result<bool> {
    let request = target.request(Method::PUT, &target.directory()?);
    // The link that the user names is followed, and one below it is no directory.
    let request = if is_top { request } else { source.keeps().asks_for_links(request) };
    let mode = (cfg!(unix) && source.keeps().permissions).then_some(Permissions::OWNER_ALONE);
    let request = described(request, Attributes { mode, ..Attributes::default() }, false);
    Ok(exchange::ask(source, target, request, &[]).await? == StatusCode::CREATED)
}

/// Gives a directory there the time and the permissions of one here.
pub(super) async fn describe_directory(source: &Source, target: &Target, attributes: Attributes) -> anyhow::Result<()> {
    let request = target.request(Method::PATCH, &target.directory()?);
    let request = described(request, attributes, !source.keeps().numeric_ids);
    exchange::ask(source, target, request, &[]).await.map(drop)
}

pub(super) fn described(request: request::Builder, attributes: Attributes, with_names: bool) -> request::Builder {
    attributes.fields(with_names).fold(request, |request, (name, value)| request.header(name, value))
}

/// One upload.
pub(super) struct One<'a> {
    source: &'a Source,
    target: &'a Target,
    content: Content,
    /// Bytes that were there when the first answer came.
    resumed_from: Option<u64>,
    progress: Progress<'a>,
    /// How often the server took all that was sent and had something else.
    fruitless: u8,
    /// The server has nothing of it, for all that is known.
    is_new: bool,
    /// Whether it is compressed on the way.
    is_coded: bool,
    /// The file there whose bytes it may have.
    base: Option<Base>,
    /// Whether it has none of them.
    is_whole: bool,
}

impl<'a> One<'a> {
    pub(super) fn new(source: &'a Source, content: Content, target: &'a Target) -> Self {
        Self {
            source,
            target,
            content,
            resumed_from: None,
            progress: Progress::new(source),
            fruitless: 0,
            is_new: target.is_new,
            is_coded: false,
            base: None,
            is_whole: false,
        }
    }

    /// Goes on with it over this connection, to the end: its size and digest.
    pub(super) async fn attempt(&mut self, session: &Arc<Session>) -> Result<(u64, Hash), Trouble> {
        // An attempt that failed may have left something there.
        let there = if core::mem::take(&mut self.is_new) { There::Nothing } else { self.there(session).await? };
        let at = match there {
            There::Nothing => 0,
            There::Part(at) => at,
            There::Whole(digest, found) => match self.content.size() {
                Some(size) if self.digest().await? == digest => {
                    self.begin(size);
                    self.describe(session, found).await?;
                    return Ok((size, digest));
                }
                _ => 0,
            },
        };
        self.begin(at);
        if at == 0 && self.content.size().is_some_and(|size| size <= SMALL) {
            return self.at_once(session).await;
        }
        let (end, _) = self.data(session, at, None).await?;
        self.complete(session, end).await
    }

    /// Sends all of it and its digest, with which it gets its name.
    async fn at_once(&mut self, session: &Session) -> Result<(u64, Hash), Trouble> {
        let digest = self.digest().await?;
        let (end, answer) = self.data(session, 0, Some(digest)).await?;
        self.confirmed(answer.as_ref(), end, digest)
    }

    fn begin(&mut self, at: u64) {
        self.progress.goes_on_at(at);
        if self.resumed_from.is_none() {
            self.resumed_from = Some(at);
            let (url, file, size) = (self.target.url.short(), self.content.path(), self.content.size());
            self.source.watch().started(Started { url: &url, file, size, resumed_from: at });
            if self.content.path().is_none() {
                self.source.watch().transient();
            }
        }
    }

    /// BLAKE3 of what there is here. Reading it is no time in which the server could do anything.
    async fn digest(&mut self) -> anyhow::Result<Hash> {
        let begun = Instant::now();
        let digest = self.content.digest().await;
        self.progress.patience.excuse(begun.elapsed());
        digest
    }

    fn request(&self, method: Method) -> anyhow::Result<request::Builder> {
        let path = format!("{}?upload={}", self.target.url.encoded_path(), self.content.id());
        let url = self.target.url.with_path(PathAndQuery::try_from(path).context("the URL is too long")?);
        let builder = self.target.request(method, &url);
        Ok(match self.content.size() {
            Some(size) => builder.header(wire::UPLOAD_LENGTH, size),
            None => builder,
        })
    }

    /// The attributes of the file here that the file there gets.
    fn attributes(&self) -> Attributes {
        let keeps = self.source.keeps();
        keeps.of(self.content.attributes(keeps.extended()), false)
    }

    fn described(&self, request: request::Builder) -> request::Builder {
        described(request, self.attributes(), !self.source.keeps().numeric_ids)
    }

    /// Gives them to a file that has the right content, if it has others.
    async fn describe(&mut self, session: &Session, found: Attributes) -> Result<(), Trouble> {
        if self.attributes().agree_with(&found) {
            return Ok(());
        }
        let request = self.described(self.target.request(Method::PATCH, &self.target.url));
        let request = request.body(()).context("could not form the request")?;
        let patience = &mut self.progress.patience;
        Exchange::open(patience, session, self.target, request).await?.finish(patience).await.map(drop)
    }

    /// How much of it the server has.
    async fn there(&mut self, session: &Arc<Session>) -> Result<There, Trouble> {
        let mut request = self.request(Method::HEAD)?;
        let keeps = self.source.keeps();
        request = keeps.asks_for_links(keeps.asks(request));
        let request = request.body(()).context("could not form the request")?;
        let patience = &mut self.progress.patience;
        let exchange = Exchange::open(patience, session, self.target, request).await?;
        let response = exchange.find(patience).await?;
        self.consider(session, response.headers());
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(There::Nothing);
        }
        let complete = response.headers().get(wire::UPLOAD_COMPLETE).is_some_and(|value| value == "?1");
        let peer = &self.target.url.peer;
        let digest = wire::digest_of(response.headers()).with_context(|| format!("{peer} sent what is no digest"))?;
        if complete && let Some(digest) = digest {
            return Ok(There::Whole(digest, Attributes::told(response.headers(), self.source.keeps().extended())));
        }
        let offset = wire::number(response.headers(), wire::UPLOAD_OFFSET)
            .with_context(|| format!("{peer} is no server that takes uploads of ours"))?;
        match self.content.size() {
            Some(size) if offset > size => {
                Err(anyhow!("{peer} says that it has {offset} bytes of a file that has {size}").into())
            }
            _ => Ok(There::Part(offset)),
        }
    }

    /// Begins to look at the old file there, if the server tells of one.
    fn consider(&mut self, session: &Arc<Session>, told: &HeaderMap) {
        if self.base.as_ref().is_some_and(Base::is_given_up) {
            (self.base, self.is_whole) = (None, true);
        }
        let tag = told.get(ETAG).filter(|_| wire::tells_chunks(told)).and_then(|tag| tag.to_str().ok());
        let (Some(tag), Some(size)) = (tag, self.content.size()) else { return };
        let is_known = self.base.as_ref().is_some_and(|base| base.tag == tag && !base.has_failed());
        if !self.is_whole && !is_known && self.content.outlives_us() {
            self.base = Base::of(self.source, session, &self.target.url, tag.to_owned(), size);
        }
    }

    /// Has the server remove what it has of a file that is another one now: nobody could ever go on with it.
    async fn withdraw(&mut self, session: &Arc<Session>) -> Result<(), Trouble> {
        let There::Part(at) = self.there(session).await? else { return Ok(()) };
        let request = transient(self.part(at, false)?, Duration::ZERO);
        let request = request.body(()).context("could not form the request")?;
        let patience = &mut self.progress.patience;
        Exchange::open(patience, session, self.target, request).await?.finish(patience).await?;
        Ok(())
    }

    fn part(&self, at: u64, complete: bool) -> anyhow::Result<request::Builder> {
        let builder = self
            .request(Method::PATCH)?
            .header(http::header::CONTENT_TYPE, wire::PARTIAL_UPLOAD_TYPE)
            .header(wire::UPLOAD_OFFSET, at)
            .header(wire::UPLOAD_COMPLETE, if complete { "?1" } else { "?0" });
        let builder = self.described(builder);
        let builder = if self.source.keeps().sparse { builder.header(wire::UPLOAD_SPARSE, "?1") } else { builder };
        let builder = self.target.with_backup(builder);
        Ok(if self.content.outlives_us() { builder } else { transient(builder, self.source.give_up()) })
    }

    /// Sends the bytes from `at` to the end, of the whole file with its `digest` if that is given; returns where the end is,
    /// and the answer, if there was anything to send.
    async fn data(
        &mut self,
        session: &Session,
        at: u64,
        digest: Option<Hash>,
    ) -> Result<(u64, Option<Response<()>>), Trouble> {
        if self.content.size() == Some(at) && at > 0 {
            return Ok((at, None)); // all of it is there but its name
        }
        let for_input = self.content.path().is_none();
        let request = self.rest(at, digest.as_ref())?.body(()).context("could not form the request")?;
        let mut coder = self.is_coded.then(Coder::default);
        let mut differences = self.base.as_ref().filter(|_| digest.is_none()).map(Base::differences);
        let mut body = Body::from(at);
        let mut hasher = Hasher::new();
        let progress = &mut self.progress;
        let mut exchange = Exchange::open(&mut progress.patience, session, self.target, request).await?;
        let mut pieces = self.content.pieces(at);
        let (mut is_more, left_before) = (true, session.left());
        'all: while is_more {
            let read = next(&mut pieces, &mut exchange, session, progress, for_input).await?;
            is_more = read.is_some();
            let piece = read.unwrap_or_default();
            if digest.is_some() {
                hasher.update(&piece);
            }
            let parts = match (&mut differences, &self.base) {
                (differences @ Some(_), Some(base)) => {
                    let waiting = base.wait(|| {
                        let left = session.left() - left_before;
                        (left, body.written.saturating_sub(left))
                    });
                    progress.patience.wait(waiting.map(Ok)).await?;
                    cut(differences, piece, !is_more).await?
                }
                _ if piece.is_empty() => Vec::new(),
                _ => vec![Part::Bytes(piece)],
            };
            for part in parts {
                let (length, piece) = match part {
                    Part::Copy(range) => {
                        progress.copies(range.end - range.start);
                        (range.end - range.start, coding::copies(range).into())
                    }
                    Part::Bytes(piece) => (piece.len() as u64, coded(&mut coder, piece, differences.is_some()).await?),
                };
                if !body.send(length, piece, &mut exchange, session, progress).await? {
                    break 'all;
                }
            }
        }
        let sent = body.sent;
        if digest.is_some_and(|digest| self.content.size() == Some(sent) && digest != hasher.finalize()) {
            return Err(self.content.changed().into());
        }
        let finishing = exchange.finish(&mut progress.patience);
        let response = progress.heard.during(finishing, || session.acknowledgements()).await?;
        match wire::number(response.headers(), wire::UPLOAD_OFFSET) {
            Some(there) if there == sent => {
                progress.reaches(sent);
                Ok((sent, Some(response)))
            }
            there => Err(self.fruitless(sent, there)),
        }
    }

    /// The request that brings all from `at` on, of the whole file with its `digest` if that is given.
    fn rest(&self, at: u64, digest: Option<&Hash>) -> anyhow::Result<request::Builder> {
        let mut request = self.part(at, digest.is_some())?;
        if let Some(digest) = digest {
            request = request.header(wire::REPR_DIGEST, wire::digest_field(digest));
        }
        Ok(match &self.base {
            Some(base) if digest.is_none() => {
                request.header(wire::BODY_CODING, DELTA).header(wire::UPLOAD_BASE, &base.tag)
            }
            _ if self.is_coded => request.header(wire::BODY_CODING, ZSTD),
            _ => request,
        })
    }

    /// The server took everything up to `sent`, and says that it has something else: tried again once.
    fn fruitless(&mut self, sent: u64, there: Option<u64>) -> Trouble {
        self.fruitless += 1;
        let has = match there {
            Some(there) => format!("has {there}"),
            None => "does not say how many it has".to_owned(),
        };
        let url = self.target.url.short();
        let told = Refused::Told(format!("{url}: {sent} bytes were sent, and the server {has}"));
        if self.fruitless < MOST_FRUITLESS {
            return Trouble::Passing(told.into());
        }
        let advice = "the server takes uploads and does not keep them: is it `pcc serve --writable`?";
        Trouble::Final(anyhow::Error::new(told).context(advice))
    }

    /// Sends the digest, with which the file gets its name.
    async fn complete(&mut self, session: &Session, end: u64) -> Result<(u64, Hash), Trouble> {
        let digest = self.digest().await?;
        let request = self.part(end, true)?.header(wire::REPR_DIGEST, wire::digest_field(&digest));
        let request = request.body(()).context("could not form the request")?;
        let patience = &mut self.progress.patience;
        let response = Exchange::open(patience, session, self.target, request).await?.finish(patience).await?;
        self.confirmed(Some(&response), end, digest)
    }

    /// The file is there, with this digest, if the server says so.
    fn confirmed(&self, answer: Option<&Response<()>>, end: u64, digest: Hash) -> Result<(u64, Hash), Trouble> {
        if answer.map(|answer| wire::digest_of(answer.headers())) != Some(Ok(Some(digest))) {
            let url = self.target.url.short();
            return Err(anyhow!("{url}: the server did not confirm the BLAKE3 of the file")
                .context(Failure::Integrity)
                .into());
        }
        Ok((end, digest))
    }
}

/// The body of a request, as far as it was sent.
#[derive(Debug)]
struct Body {
    frames: Frames,
    /// Bytes of it.
    written: u64,
    /// The position in the file that they reach.
    sent: u64,
}

impl Body {
    /// Nothing yet, of a body that begins at this position of the file.
    fn from(position: u64) -> Self {
        Self { frames: Frames::from(position), written: 0, sent: position }
    }

    /// Sends the next `length` bytes of the file, as the `piece` that stands for them. Whether the server reads on.
    async fn send(
        &mut self,
        length: u64,
        mut piece: Bytes,
        exchange: &mut Exchange<'_>,
        session: &Session,
        progress: &mut Progress<'_>,
    ) -> Result<bool, Trouble> {
        self.sent += length;
        self.frames.add(self.written + piece.len() as u64, self.sent);
        while !piece.is_empty() {
            let part = piece.split_to(piece.len().min(PART));
            self.written += part.len() as u64;
            let sending = exchange.send(part, &mut progress.patience);
            if !progress.heard.during(sending, || session.acknowledgements()).await? {
                return Ok(false);
            }
            progress.reaches(self.frames.reached(self.written.saturating_sub(session.unacknowledged())));
        }
        Ok(true)
    }
}

/// Where the pieces of a file end in the body, which may be shorter.
#[derive(Debug)]
struct Frames {
    /// The end in the body, and that in the file.
    ends: VecDeque<(u64, u64)>,
    /// The last end that the body has reached.
    last: (u64, u64),
}

impl Frames {
    /// The frames of a body that begins at this position of the file.
    fn from(position: u64) -> Self {
        Self { ends: VecDeque::new(), last: (0, position) }
    }

    fn add(&mut self, in_body: u64, in_file: u64) {
        self.ends.push_back((in_body, in_file));
    }

    /// The position in the file that is reached with so much of the body: within a piece by its share.
    fn reached(&mut self, body: u64) -> u64 {
        while let Some(end) = self.ends.front().filter(|end| end.0 <= body) {
            self.last = *end;
            self.ends.pop_front();
        }
        let (before, at) = self.last;
        let Some((end, until)) = self.ends.front() else { return at };
        let share = body.saturating_sub(before) as f64 / (end - before).max(1) as f64;
        at + ((until - at) as f64 * share) as u64
    }
}

/// The same part of a file that is of no use once nobody has come back with more for so long.
fn transient(part: request::Builder, patience: Duration) -> request::Builder {
    part.header(wire::UPLOAD_KEEP, "?0").header(wire::UPLOAD_PATIENCE, patience.as_secs())
}

/// The next piece; `None` at the end, or when the server has answered already.
async fn next(
    pieces: &mut Pieces<'_>,
    exchange: &mut Exchange<'_>,
    session: &Session,
    progress: &mut Progress<'_>,
    for_input: bool,
) -> Result<Option<Bytes>, Trouble> {
    loop {
        let asked = Instant::now();
        let next = tokio::select! {
            biased;
            piece = pieces.next() => Some(piece.map(Some).map_err(Trouble::from)),
            answered = exchange.answered() => Some(answered.map(|()| None)),
            () = tokio::time::sleep(TELL) => None,
        };
        progress.waited(asked.elapsed(), for_input);
        progress.heard.look(session.acknowledgements());
        if let Some(next) = next {
            return next.map(|piece| piece.filter(|piece| !piece.is_empty()));
        }
    }
}

/// The parts of the file that are certain with this piece. Another thread cuts, since this one has the connection to serve.
async fn cut(differences: &mut Option<Differences>, piece: Bytes, is_end: bool) -> anyhow::Result<Vec<Part>> {
    let Some(mut its) = differences.take() else { return Ok(Vec::new()) };
    let cut = off_thread(move || {
        let parts = its.push(piece, is_end);
        Ok((its, parts))
    });
    let (its, parts) = cut.await?;
    *differences = Some(its);
    Ok(parts)
}

/// A piece as it is sent, `among_copies` perhaps.
async fn coded(coder: &mut Option<Coder>, piece: Bytes, among_copies: bool) -> anyhow::Result<Bytes> {
    let Some(mut its) = coder.take() else {
        return Ok(if among_copies { coding::plain(&piece).into() } else { piece });
    };
    let framed = off_thread(move || {
        let frame = its.frame(&piece);
        Ok((its, frame))
    });
    let (its, frame) = framed.await?;
    *coder = Some(its);
    Ok(frame.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_in_the_body_is_one_in_the_file() {
        let mut frames = Frames::from(1000);
        assert_eq!(frames.reached(0), 1000);
        frames.add(10, 2000);
        frames.add(110, 2100);
        for (body, file) in [(0, 1000), (5, 1500), (10, 2000), (60, 2050), (110, 2100), (200, 2100)] {
            assert_eq!(frames.reached(body), file, "{body}");
        }
    }
}
