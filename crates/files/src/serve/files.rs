//! Answers GET and HEAD.

use super::answer::{self, Outcome, response};
use super::body::{self, Ahead, Sent};
use super::broken::Broken;
use super::conditions::{Current, Plan, plan};
use super::delta;
use super::listing::{Form, Links, Listing, Place};
use super::part::{Coded, Part, SecondLook};
use super::path::SafePath;
use super::root::{Found, Opened, Root};
use super::service::Asker;
use super::service::Service;
use super::stream::Stream;
use super::unmeasured;
use crate::coding::{self, Coder, ZSTD};
use crate::delta::{LEAST, OFFERED_CHUNKS};
use crate::{symlink, wire};
use blake3::Hash;
use bytes::Bytes;
use core::ops::Range;
use http::header::{self, HeaderMap, HeaderValue};
use http::response::Builder;
use http::{Method, Request, StatusCode};
use pcc_net::percent;
use std::io;
use std::time::SystemTime;

/// Files whose digest comes with the first answer, because hashing them takes less than a round trip.
const QUICKLY_HASHED: u64 = 1 << 20;

/// How often a file is opened for its digest, if each time it changes before that is known.
const TRIES: usize = 3;

pub(super) async fn answer(
    service: &Service,
    asker: &Asker,
    request: &Request<()>,
    path: SafePath,
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    let head_only = request.method() == Method::HEAD;
    let is_post = request.method() == Method::POST;
    if is_post && request.headers().get(header::CONTENT_TYPE).is_none_or(|kind| kind != wire::RANGES_TYPE) {
        let why = "POST asks for ranges of a file, and its content has the type application/vnd.pcc.ranges";
        return answer::refuse(stream, StatusCode::UNSUPPORTED_MEDIA_TYPE, why).await;
    }
    if head_only
        && wire::wants_links(request.headers())
        && let Some(target) = link_at(&service.root, path.clone()).await
    {
        return tell_link(stream, &path, target, service.same_user).await;
    }
    match find(&service.root, path.clone()).await {
        Ok(found) if is_post && !matches!(found, Found::File(_)) => {
            answer::refuse(stream, StatusCode::NOT_FOUND, "no file that has ranges").await
        }
        Ok(Found::File(_) | Found::Unmeasured(_)) if path.directory => {
            answer::refuse(stream, StatusCode::NOT_FOUND, "not a directory").await
        }
        Ok(Found::File(opened)) => {
            let reply = Reply { service, asker, headers: request.headers(), path: &path, opened, head_only, is_post };
            reply.send(stream).await
        }
        Ok(Found::Unmeasured(file)) => {
            let ahead = Ahead::new(&service.ahead, asker.network());
            unmeasured::send(file, request, &path, ahead, stream).await
        }
        Ok(Found::Directory(_)) if !path.directory => redirect(stream, request).await,
        Ok(Found::Directory(dir)) => {
            let links = wanted_links(request.headers(), service.same_user);
            let place = Place::new(dir, service.root.clone(), path.to_path()).with_links(links);
            let ahead = Ahead::new(&service.ahead, asker.network());
            list(request.headers(), &path, place, ahead, stream, head_only).await
        }
        Ok(Found::Other) => answer::refuse(stream, StatusCode::FORBIDDEN, "neither a file nor a directory").await,
        Err(error) => {
            let (status, why) = answer::status_of(&error);
            tracing::debug!(%error, path = %path.to_path().display(), "not served");
            answer::refuse(stream, status, why).await
        }
    }
}

/// Tells the text of a link, but of one that leads out of what is served, and not to a program of the same user.
async fn tell_link(stream: &mut Stream, path: &SafePath, target: String, same_user: bool) -> Result<Outcome, Broken> {
    let stays = symlink::stays_inside(&path.to_path(), &target);
    let told = if same_user || stays { target } else { String::new() };
    let builder = response(StatusCode::OK).header(wire::FILE_LINK, percent::encode_segment(&told));
    answer::send(stream, builder, Bytes::new(), true).await
}

fn wanted_links(headers: &HeaderMap, same_user: bool) -> Links {
    Links {
        as_links: wire::wants_links(headers),
        names: wire::wants_names(headers),
        leading_out: same_user,
        owners: wire::wants_owners(headers),
    }
}

/// The text of the link that is there, if it is one.
async fn link_at(root: &Root, path: SafePath) -> Option<String> {
    let root = root.clone();
    let text = tokio::task::spawn_blocking(move || root.link_at(&path)).await;
    text.ok().flatten()
}

async fn find(root: &Root, path: SafePath) -> io::Result<Found> {
    let root = root.clone();
    tokio::task::spawn_blocking(move || root.find(&path)).await?
}

/// To the same path with a slash, so that relative links in the listing work.
async fn redirect(stream: &mut Stream, request: &Request<()>) -> Result<Outcome, Broken> {
    let location = format!("{}/", request.uri().path());
    let builder = response(StatusCode::PERMANENT_REDIRECT).header(header::LOCATION, location);
    answer::refuse_with(stream, builder, "a directory: its path ends with a slash").await
}

async fn list(
    headers: &HeaderMap,
    path: &SafePath,
    place: Place,
    ahead: Ahead<'_>,
    stream: &mut Stream,
    head_only: bool,
) -> Result<Outcome, Broken> {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or("");
    let form = Form::accepted(accept);
    let (title, attributes) = (path.shown(), place.attributes(answer::wanted(headers)));
    let Some(mut names) = ahead.room(form.most_memory()) else {
        return answer::refuse_for_now(stream, "too many pages are on their way: ask again later").await;
    };
    let opened = tokio::task::spawn_blocking(move || Listing::open(place, form, &title)).await;
    let listing = match opened.unwrap_or_else(|error| Err(error.into())) {
        Ok(listing) => listing,
        Err(error) => {
            let (status, why) = answer::status_of(&error);
            return answer::refuse(stream, status, why).await;
        }
    };
    names.shrink(listing.memory());
    let builder = response(StatusCode::OK)
        .header(header::CONTENT_TYPE, HeaderValue::from_static(form.media_type()))
        .header(header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'")
        .header(header::CACHE_CONTROL, "no-cache")
        .header(header::VARY, "accept");
    let builder = answer::with_attributes(builder, headers, |_| attributes);
    let status = answer::send_head(stream, builder).await?;
    if head_only {
        answer::finish(stream).await?;
        return Ok(Outcome { status, bytes: 0, cut: None });
    }
    let Sent { bytes, outcome } = body::send(stream, listing, ahead).await;
    let outcome = match outcome {
        Ok(_) => answer::finish(stream).await,
        Err(cut) => Err(cut),
    };
    Ok(Outcome { status, bytes, cut: outcome.err() })
}

/// The answer to a request for a file.
struct Reply<'a> {
    service: &'a Service,
    asker: &'a Asker,
    headers: &'a HeaderMap,
    path: &'a SafePath,
    opened: Opened,
    head_only: bool,
    /// Whether ranges are asked for in the body.
    is_post: bool,
}

impl Reply<'_> {
    /// Whether chunks of this file are worth telling, and nothing but it is told of.
    fn tells_chunks(&self, stream: &Stream) -> bool {
        self.opened.version.is_some() && self.opened.size >= LEAST && !stream.reads_only()
    }

    async fn send(mut self, stream: &mut Stream) -> Result<Outcome, Broken> {
        let digest = self.digest().await;
        let etag = self.opened.version.map(|version| version.etag());
        let modified = self.opened.version.map(|version| version.modified());
        let size = self.opened.size;
        let plan = plan(self.headers, Current { etag: etag.as_deref(), modified, size });
        // RFC 9110 §14.2: a range means something for GET only.
        let plan =
            if self.head_only && matches!(plan, Plan::Part(_) | Plan::Unsatisfiable) { Plan::Whole } else { plan };

        if self.tells_chunks(stream)
            && matches!(plan, Plan::Whole)
            && !self.head_only
            && let Some(told) = self.tell_difference(etag.as_deref(), stream).await
        {
            return told;
        }
        if self.is_post {
            return delta::refuse_other(stream).await;
        }

        let builder = |status| {
            let builder = self.describe(response(status), etag.as_deref());
            if self.tells_chunks(stream) { builder.header(wire::FILE_CHUNKS, OFFERED_CHUNKS) } else { builder }
        };
        let (builder, range) = match plan {
            Plan::Whole => (builder(StatusCode::OK), 0..size),
            Plan::Part(range) => {
                let content_range = format!("bytes {}-{}/{size}", range.start, range.end - 1);
                (builder(StatusCode::PARTIAL_CONTENT).header(header::CONTENT_RANGE, content_range), range)
            }
            Plan::NotModified => {
                let status = answer::send_head(stream, builder(StatusCode::NOT_MODIFIED)).await?;
                answer::finish(stream).await?;
                return Ok(Outcome { status, bytes: 0, cut: None });
            }
            Plan::OtherVersion => {
                let builder = builder(StatusCode::PRECONDITION_FAILED);
                return answer::refuse_with(stream, builder, "the file is another version than the one asked for")
                    .await;
            }
            Plan::Unsatisfiable => {
                let builder =
                    builder(StatusCode::RANGE_NOT_SATISFIABLE).header(header::CONTENT_RANGE, format!("bytes */{size}"));
                return answer::refuse_with(stream, builder, "the range lies behind the end of the file").await;
            }
        };
        let (builder, coder) = self.describe_body(builder, digest, &range, stream.has_trailers());
        let status = answer::send_head(stream, builder).await?;
        if self.head_only {
            answer::finish(stream).await?;
            return Ok(Outcome { status, bytes: 0, cut: None });
        }
        let (bytes, outcome) = self.send_body(stream, digest, range, coder).await;
        Ok(Outcome { status, bytes, cut: outcome.err() })
    }

    /// Sends chunks or ranges of the file, if these are asked for.
    async fn tell_difference(&self, etag: Option<&str>, stream: &mut Stream) -> Option<Result<Outcome, Broken>> {
        let Self { service, asker, headers, opened, .. } = self;
        let builder = self.describe(response(StatusCode::OK), etag);
        if self.is_post {
            return Some(delta::ranges(service, asker, opened, headers, builder, stream).await);
        }
        let average = wire::wanted_chunks(headers)?;
        Some(delta::list(service, asker, opened, average, builder, stream).await)
    }

    /// The fields that tell of the body, and its coder if it is compressed.
    fn describe_body(
        &self,
        builder: Builder,
        digest: Option<Hash>,
        range: &Range<u64>,
        has_trailers: bool,
    ) -> (Builder, Option<Coder>) {
        let is_whole = *range == (0..self.opened.size);
        let builder = match digest {
            None if is_whole && !self.head_only && has_trailers && wire::wants_digest(self.headers) => {
                builder.header(header::TRAILER, wire::REPR_DIGEST.as_str())
            }
            _ => with_digest(builder, digest),
        };
        let length = range.end - range.start;
        let coder = (length > 0 && !self.head_only && wire::wants_zstd(self.headers)).then(Coder::default);
        let builder = match coder {
            Some(_) => builder.header(wire::BODY_CODING, ZSTD).header(wire::BODY_LENGTH, length),
            None => builder.header(header::CONTENT_LENGTH, length),
        };
        (builder.header(header::CONTENT_TYPE, media_type(self.path.name().unwrap_or(""))), coder)
    }

    /// Sends this part of the file and ends the answer: the bytes that were sent, and what cut them short.
    async fn send_body(
        &self,
        stream: &mut Stream,
        digest: Option<Hash>,
        range: Range<u64>,
        coder: Option<Coder>,
    ) -> (u64, Result<(), Broken>) {
        let (is_whole, is_coded) = (range == (0..self.opened.size), coder.is_some());
        let ahead = Ahead::new(&self.service.ahead, self.asker.network());
        let coded = Coded { part: Part::new(self.opened.clone(), range), coder };
        let mut sent = body::send(stream, coded, ahead).await;
        let held_back =
            sent.outcome.as_mut().ok().and_then(|Coded { part, .. }| Some((part.held_back()?, part.digest())));
        let rested = held_back.is_none();
        let settled = match held_back {
            Some((look, sent_digest)) => {
                let known = digest.or_else(|| self.known());
                let piece = async {
                    let piece = self.finish(look, known, is_whole.then_some(sent_digest)).await?;
                    Ok(if is_coded { coding::plain(&piece).into() } else { piece })
                };
                body::send_last(stream, &mut sent, piece).await
            }
            None => Ok(()),
        };
        let outcome = match (sent.outcome, settled) {
            (Err(cut), _) | (_, Err(cut)) => Err(cut),
            (Ok(Coded { part, .. }), Ok(())) if is_whole => {
                if let Some(version) = self.opened.version.filter(|_| rested) {
                    self.service.digests.learn(version, part.digest());
                }
                self.end_whole(stream, digest, part.digest()).await
            }
            (Ok(_), Ok(())) => answer::finish(stream).await,
        };
        (sent.bytes, outcome)
    }

    /// The piece that was held back, if the client waits for it. `known` is the digest of the version that the answer
    /// names, `sent` that of what was sent, if it is all of the file.
    ///
    /// Errors: what was sent is not that version, or no version at all.
    async fn finish(&self, look: SecondLook, known: Option<Hash>, sent: Option<Hash>) -> Result<Bytes, Broken> {
        let queue = || self.service.digests.queue(self.asker.network());
        let finished = async {
            match (known, sent) {
                (Some(known), Some(sent)) if known == sent => Ok(look.spare()),
                (Some(_), Some(_)) => Err(Broken::Changed),
                // A part is put together with others of its version.
                (Some(known), None) => {
                    SecondLook::at_all(&self.opened, known).finish(queue()).await?;
                    look.finish(queue()).await
                }
                (None, None) if self.names_a_version() => Err(Broken::Changed),
                (None, _) => look.finish(queue()).await,
            }
        };
        tokio::select! {
            finished = finished => finished,
            () = self.asker.gone() => Err(Broken::Left),
        }
    }

    /// Whether the client wants this version and no other.
    fn names_a_version(&self) -> bool {
        self.headers.contains_key(header::IF_RANGE) || self.headers.contains_key(header::IF_MATCH)
    }

    /// The digest of the version that was opened, if it is known by now.
    fn known(&self) -> Option<Hash> {
        self.service.digests.known(&self.opened.version?)
    }

    /// Ends the answer that carried all of the file, with the digest of what was sent where it could not stand in front.
    async fn end_whole(&self, stream: &mut Stream, told: Option<Hash>, digest: Hash) -> Result<(), Broken> {
        if told.is_none() && stream.has_trailers() && wire::wants_digest(self.headers) {
            let trailers =
                with_digest(Builder::new(), Some(digest)).body(()).map(|trailers| trailers.into_parts().0.headers);
            return answer::finish_with(stream, trailers.unwrap_or_default()).await;
        }
        answer::finish(stream).await
    }

    /// The fields that tell the version.
    fn describe(&self, builder: Builder, etag: Option<&str>) -> Builder {
        let builder = answer::with_attributes(builder, self.headers, |wanted| self.opened.attributes(wanted));
        let builder = builder
            .header(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"))
            .header(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        let builder = match self.opened.version {
            // Never later than now (RFC 9110 §8.8.2.1).
            Some(version) => {
                let modified = version.modified().min(SystemTime::now());
                builder.header(header::LAST_MODIFIED, httpdate::fmt_http_date(modified))
            }
            None => builder,
        };
        match etag {
            Some(etag) => builder.header(header::ETAG, etag),
            None => builder,
        }
    }

    /// The digest, where it is wanted: at once if it is known or quickly computed, and after reading all of the file
    /// only for HEAD, so that the first byte of a large file does not wait for the last. A file that changed meanwhile is
    /// opened anew; what changes each time has neither digest nor version.
    async fn digest(&mut self) -> Option<Hash> {
        if !wire::wants_digest(self.headers) {
            return None;
        }
        for _ in 0..TRIES {
            let known = self.known();
            if known.is_some() || !(self.head_only || self.opened.size <= QUICKLY_HASHED) {
                return known;
            }
            let computed = tokio::select! {
                digest = self.service.digests.of(&self.opened, self.asker.network()) => digest,
                () = self.asker.gone() => return None, // nobody waits for it any more
            };
            match computed {
                Ok(None) => {}
                Ok(digest) => return digest,
                Err(error) => {
                    tracing::warn!(%error, path = %self.path.to_path().display(), "could not compute a digest");
                    return None;
                }
            }
            match find(&self.service.root, self.path.clone()).await {
                Ok(Found::File(opened)) => self.opened = opened,
                _ => break,
            }
        }
        self.opened.version = None;
        None
    }
}

pub(super) fn with_digest(builder: Builder, digest: Option<Hash>) -> Builder {
    match digest {
        Some(digest) => builder.header(wire::REPR_DIGEST, wire::digest_field(&digest)),
        None => builder,
    }
}

/// The media type by the name's ending: the few that browsers show themselves.
pub(super) fn media_type(name: &str) -> HeaderValue {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    HeaderValue::from_static(match ending.as_str() {
        "html" | "htm" => "text/html; charset=utf-8",
        "txt" | "md" | "log" | "toml" | "csv" => "text/plain; charset=utf-8",
        "css" => "text/css",
        "js" => "text/javascript",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        "mp4" => "video/mp4",
        "mp3" => "audio/mpeg",
        _ => "application/octet-stream",
    })
}
