//! Takes the body of an upload, and completes the file.

use super::condition::Condition;
use super::part::{Keep, Part};
use super::partial::{self, FinishError, Partial};
use super::refused::Refused;
use super::slots::Claim;
use super::transient_upload::TransientUpload;
use super::{SUPERSEDED, Uploads, blocking, offset_fields, refuse, refuse_disk, whole_fields};
use crate::attributes::Attributes;
use crate::choice::Backup;
use crate::coding::{Decoder, Frame, Garbled};
use crate::serve::answer::{self, Outcome};
use crate::serve::broken::Broken;
use crate::serve::path::SafePath;
use crate::serve::root::{Found, Opened};
use crate::serve::service::Service;
use crate::serve::stream::Stream;
use crate::sink::Sink;
use crate::version::Version;
use blake3::Hash;
use bytes::{Buf, Bytes};
use core::ops::Range;
use h3::error::{Code, StreamError};
use http::StatusCode;
use std::io;

/// Why receiving a body ended before all of it had come.
enum End {
    /// It has another length than `Content-Length` announced.
    Malformed,
    /// It is no row of frames as it says, or more of them than were announced.
    Garbled,
    /// The file that it copies from is another one now.
    OtherBase,
    /// Another request for the same upload took over.
    Superseded,
    /// The client went, or the network.
    Broken(StreamError),
    /// The disk refused.
    Disk(io::Error),
}

pub(super) async fn receive(
    service: &Service,
    uploads: &Uploads,
    path: SafePath,
    part: Part,
    condition: Condition,
    claim: Claim<'_>,
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    let number = claim.number();
    let transient = match part.keep {
        Keep::WhileTheClientIsThere(patience) => {
            let (root, slots, path) = (service.root.clone(), uploads.slots.clone(), path.clone());
            Some(TransientUpload { root, slots, path, id: part.id.clone(), patience })
        }
        Keep::Always | Keep::Never => None,
    };
    let received = take(service, uploads, path, part, condition, claim, stream).await;
    if let Some(transient) = transient {
        tokio::spawn(transient.forget(number));
    }
    received
}

async fn take(
    service: &Service,
    uploads: &Uploads,
    path: SafePath,
    part: Part,
    condition: Condition,
    claim: Claim<'_>,
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    let base = match &part.base {
        None => None,
        Some(tag) => match base(service, &path, tag).await {
            Some(base) => Some(base),
            None => return refuse(stream, Refused::Base).await,
        },
    };
    let mut turn = claim.turn().await;

    let opened = open(service, uploads, &path, &part).await;
    let mut partial = match opened {
        Ok(partial) if partial.size() == part.offset => partial.sparsely(part.sparse),
        Ok(partial) => {
            let builder = offset_fields(StatusCode::CONFLICT, partial.size());
            return answer::refuse_with(stream, builder, "the upload continues at Upload-Offset").await;
        }
        Err(error) => return refuse_disk(stream, &error).await,
    };
    partial.adopt(turn.take());

    // Copies are short and what they copy is long: nobody gets more written than was announced.
    let left = part.length.unwrap_or(0).saturating_sub(part.offset);
    let mut sink = Sink::new(partial);
    let frames = part.is_coded.then(|| Frames { decoder: Decoder::default(), base, left });
    let mut end = body(stream, frames, &mut sink, &claim).await;
    let (partial, flushed) = sink.close().await;
    if end.is_ok() {
        end = flushed.map_err(End::Disk);
    }
    let Some(partial) = partial else {
        return refuse_disk(stream, &io::Error::other("a thread died")).await;
    };
    let received = partial.size() - part.offset;
    let done = match end {
        Ok(()) if part.complete => complete(uploads, path, &part, condition, partial, stream).await,
        Ok(()) => {
            let size = partial.size();
            *turn = partial.hasher();
            let status = answer::send_head(stream, offset_fields(StatusCode::NO_CONTENT, size)).await?;
            answer::finish(stream).await?;
            Ok(Outcome { status, bytes: 0, cut: None })
        }
        Err(end) => {
            *turn = settle(&part, partial, end.leaves_nothing(part.keep));
            refuse_end(end, received, stream).await
        }
    };
    done.map(|outcome| Outcome { bytes: received, ..outcome })
}

impl End {
    /// Whether nobody can go on with what arrived before it.
    fn leaves_nothing(&self, keep: Keep) -> bool {
        match (self, keep) {
            (Self::Disk(_), _) => keep != Keep::Always,
            (Self::Broken(error), Keep::WhileTheClientIsThere(_)) => has_left(error),
            _ => keep == Keep::Never,
        }
    }
}

/// Answers a request whose body did not come as it should.
async fn refuse_end(end: End, received: u64, stream: &mut Stream) -> Result<Outcome, Broken> {
    match end {
        End::Malformed => {
            let why = format!("{received} bytes arrived, which is not what Content-Length announced");
            answer::refuse(stream, StatusCode::BAD_REQUEST, &why).await
        }
        End::Garbled => answer::refuse(stream, StatusCode::BAD_REQUEST, &Garbled.to_string()).await,
        End::OtherBase => refuse(stream, Refused::Base).await,
        End::Superseded => answer::refuse(stream, StatusCode::CONFLICT, SUPERSEDED).await,
        End::Disk(error) => refuse_disk(stream, &error).await,
        End::Broken(error) => Err(error.into()),
    }
}

/// Keeps what arrived, with its hash for the next request, or discards it.
fn settle(part: &Part, partial: Partial, is_useless: bool) -> Option<blake3::Hasher> {
    if is_useless {
        tracing::debug!(id = part.id, "nobody can go on with this upload: removed");
        partial.discard();
        return None;
    }
    partial.hasher()
}

/// Whether the client ended it, and not the network.
fn has_left(error: &StreamError) -> bool {
    match error {
        StreamError::RemoteTerminate { code, .. } => *code == Code::H3_REQUEST_CANCELLED,
        error => error.is_h3_no_error(),
    }
}

/// The partial file to write to: a new one for a body that starts at zero where there is none.
async fn open(service: &Service, uploads: &Uploads, path: &SafePath, part: &Part) -> io::Result<Partial> {
    let (root, path, id) = (service.root.clone(), path.clone(), part.id.clone());
    // Nobody knows how much of a file is holes.
    let (length, attributes, sweep) =
        (part.length.filter(|_| !part.sparse), part.attributes.clone(), uploads.is_sweep_due(path.parent()));
    let unfinished = uploads.unfinished.clone();
    blocking(move || {
        if let Some(partial) = Partial::find(&root, &path, &id)? {
            // This run may keep what the one before did not.
            partial.protect(&attributes);
            return Ok(partial);
        }
        unfinished.begin(&root, partial::hidden(&path, &id)?)?;
        let partial = Partial::create(&root, &path, &id, length, attributes)?;
        if sweep {
            match partial.sweep() {
                Ok(names) => unfinished.found(names.into_iter().map(|name| path.parent().join(name))),
                Err(error) => tracing::debug!(%error, "old unfinished uploads stay"),
            }
        }
        Ok(partial)
    })
    .await
}

/// Takes the body as long as the connection lives, which its idle time-out ends: the client's own input may be idle for
/// hours, and a network that carries a few bytes a minute still carries them.
async fn body(
    stream: &mut Stream,
    mut frames: Option<Frames>,
    sink: &mut Sink<Partial>,
    claim: &Claim<'_>,
) -> Result<(), End> {
    let superseded = claim.superseded();
    tokio::pin!(superseded);
    loop {
        let piece = tokio::select! {
            piece = stream.recv_data() => piece,
            () = &mut superseded => return Err(End::Superseded),
        };
        match piece {
            Ok(Some(mut piece)) => match &mut frames {
                Some(frames) => {
                    frames.decoder.push(&piece.copy_to_bytes(piece.remaining()));
                    // A few bytes may be many copies: another request waits for one of them at most.
                    loop {
                        let unfolded = tokio::select! {
                            biased;
                            () = &mut superseded => return Err(End::Superseded),
                            piece = frames.next() => piece?,
                        };
                        let Some(piece) = unfolded else { break };
                        sink.push(piece).await.map_err(End::Disk)?;
                    }
                }
                None => sink.push(piece).await.map_err(End::Disk)?,
            },
            Ok(None) if frames.as_ref().is_some_and(|frames| frames.decoder.is_within()) => return Err(End::Garbled),
            Ok(None) => return Ok(()),
            Err(StreamError::StreamError { code, .. }) if code == Code::H3_MESSAGE_ERROR => return Err(End::Malformed),
            Err(error) => return Err(End::Broken(error)),
        }
    }
}

/// The file under that name, if it has this tag.
async fn base(service: &Service, path: &SafePath, tag: &str) -> Option<Opened> {
    let (root, path) = (service.root.clone(), path.clone());
    match blocking(move || root.find(&path)).await {
        Ok(Found::File(opened)) if opened.version.is_some_and(|version| version.etag() == tag) => Some(opened),
        _ => None,
    }
}

/// A body that is a row of frames.
struct Frames {
    decoder: Decoder,
    /// The file that they may copy from.
    base: Option<Opened>,
    /// Bytes of the file that may still come by way of copies, and of what stands between them.
    left: u64,
}

impl Frames {
    /// The bytes that the next frame is, if all of it is here.
    async fn next(&mut self) -> Result<Option<Bytes>, End> {
        let Some(frame) = self.decoder.frame().map_err(|_| End::Garbled)? else { return Ok(None) };
        let piece = match (frame, &self.base) {
            (Frame::Bytes(piece), _) => piece,
            (Frame::Copy(range), Some(base)) if range.end - range.start <= self.left => {
                let base = base.clone();
                blocking(move || copied(&base, range)).await.map_err(End::Disk)?.ok_or(End::OtherBase)?
            }
            (Frame::Copy(_), _) => return Err(End::Garbled),
        };
        self.left = self.left.saturating_sub(piece.len() as u64);
        Ok(Some(piece))
    }
}

/// This range of the file; `None` if it is another one now, or ends before. Blocks.
fn copied(base: &Opened, range: Range<u64>) -> io::Result<Option<Bytes>> {
    let (mut piece, wanted) = (Vec::new(), (range.end - range.start) as usize);
    base.read(range.start, &mut piece, wanted)?;
    let is_right = piece.len() == wanted && Some(Version::of(&base.file)?) == base.version;
    Ok(is_right.then(|| piece.into()))
}

/// Gives the file its name, if all of it is there and right.
async fn complete(
    uploads: &Uploads,
    path: SafePath,
    part: &Part,
    condition: Condition,
    partial: Partial,
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    let size = partial.size();
    if let Some(length) = part.length
        && length != size
    {
        if part.keep == Keep::Never {
            partial.discard();
        }
        let why = format!("{size} bytes arrived of the {length} that were announced");
        return answer::refuse_with(stream, offset_fields(StatusCode::CONFLICT, size), &why).await;
    }
    let (digest, attributes, keep, backup) = (part.digest, part.attributes.clone(), part.keep, part.backup.clone());
    let finished = tokio::task::spawn_blocking(move || {
        let finished = name(&partial, digest, attributes, &condition, backup.as_ref());
        if keep == Keep::Never && matches!(finished, Err(FinishError::Disk(_))) {
            partial.discard();
        }
        finished
    });
    let finished = finished.await.unwrap_or_else(|error| Err(FinishError::Disk(error.into())));
    match finished {
        Ok(Named { digest, version, is_new }) => {
            uploads.finished.remember(path, part.id.clone(), version, digest);
            let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
            answer::send(stream, whole_fields(status, size, &digest), Bytes::new(), false).await
        }
        Err(FinishError::Disk(error)) => refuse_disk(stream, &error).await,
        Err(damaged) => {
            tracing::warn!("{damaged}");
            answer::refuse(stream, StatusCode::UNPROCESSABLE_ENTITY, &damaged.to_string()).await
        }
    }
}

/// A file that has its name.
struct Named {
    digest: Hash,
    version: Version,
    /// Whether the name was free.
    is_new: bool,
}

/// Blocks.
fn name(
    partial: &Partial,
    expected: Option<Hash>,
    attributes: Attributes,
    condition: &Condition,
    backup: Option<&Backup>,
) -> Result<Named, FinishError> {
    let digest = partial.prove(expected, &attributes)?;
    let is_new = condition.change(|| partial.take_name(backup))?;
    Ok(Named { digest, version: partial.keep_name()?, is_new })
}
