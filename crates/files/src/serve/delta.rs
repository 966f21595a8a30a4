//! The chunks of a file, and the parts of it that a client lacks. `docs/http.md` has the protocol.

use super::answer::{self, Outcome, response};
use super::body::{self, Ahead};
use super::broken::{Broken, STALL};
use super::digest::SLICE;
use super::part::{Coded, Part};
use super::root::{Opened, Standing};
use super::service::{Asker, Service};
use super::stream::Stream;
use crate::coding::{self, Coder, ZSTD};
use crate::delta::{Chunk, Cuts, Ranges};
use crate::wire;
use blake3::Hash;
use bytes::{Buf, Bytes};
use core::ops::Range;
use http::response::Builder;
use http::{HeaderMap, StatusCode, header};
use tokio::time::timeout;

/// The chunks of a file, and its digest behind them. Between two slices it remembers a place in the file, and no bytes of it.
pub(super) async fn list(
    service: &Service,
    asker: &Asker,
    opened: &Opened,
    average: usize,
    builder: Builder,
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    let builder = builder
        .header(header::CONTENT_TYPE, wire::CHUNKS_TYPE)
        .header(wire::FILE_CHUNKS, average)
        .header(wire::BODY_LENGTH, opened.size)
        .header(header::TRAILER, wire::REPR_DIGEST.as_str());
    let status = answer::send_head(stream, builder).await?;
    let mut bytes = 0;
    let listed = tokio::select! {
        listed = tell(service, asker, opened, average, stream, &mut bytes) => listed,
        () = asker.gone() => Err(Broken::Left),
    };
    let cut = match listed {
        Ok(digest) => {
            if let Some((version, digest)) = opened.version.zip(digest) {
                service.digests.learn(version, digest);
            }
            let trailers = digest.map(|digest| (wire::REPR_DIGEST, wire::digest_field(&digest).parse()));
            let trailers = trailers.into_iter().filter_map(|(name, value)| Some((name, value.ok()?)));
            answer::finish_with(stream, HeaderMap::from_iter(trailers)).await.err()
        }
        Err(broken) => {
            stream.cut_off();
            Some(broken)
        }
    };
    Ok(Outcome { status, bytes, cut })
}

/// Sends the list, and counts its bytes. The digest of the file, unless another version may have come to its place.
async fn tell(
    service: &Service,
    asker: &Asker,
    opened: &Opened,
    average: usize,
    stream: &mut Stream,
    bytes: &mut u64,
) -> Result<Option<Hash>, Broken> {
    let (mut cuts, mut rested) = (Cuts::new(average, true), true);
    let mut queue = service.digests.queue(asker.network());
    loop {
        let turn = queue.place().await.turn().await;
        let read = opened.clone();
        let slice = tokio::task::spawn_blocking(move || {
            let slice = slice(&read, &mut cuts);
            drop(turn);
            slice.map(|slice| (cuts, slice))
        });
        let (next, Slice { list, is_more, is_same }) = slice.await.map_err(|error| Broken::Read(error.into()))??;
        cuts = next;
        rested &= is_same;
        body::give(stream, list, bytes).await?;
        if !is_more {
            return Ok(cuts.digest().filter(|_| rested));
        }
    }
}

/// A part of the list.
struct Slice {
    list: Bytes,
    is_more: bool,
    /// Whether the file has the version still that it had when it was opened.
    is_same: bool,
}

/// The next chunks. Blocks.
fn slice(opened: &Opened, cuts: &mut Cuts) -> Result<Slice, Broken> {
    let mut list = Vec::new();
    // A log may have grown.
    let read = |at, buffer: &mut Vec<u8>, wanted: usize| {
        let left = usize::try_from(opened.size.saturating_sub(at)).unwrap_or(usize::MAX);
        opened.append(at, buffer, wanted.min(left))
    };
    let is_more = cuts.go_on(SLICE, read, |content| Chunk::of(content).put(&mut list)).map_err(Broken::Read)?;
    let standing = opened.standing().map_err(Broken::Read)?;
    if standing == Standing::Changed || !is_more && cuts.at() != opened.size {
        return Err(Broken::Changed);
    }
    Ok(Slice { list: list.into(), is_more, is_same: standing == Standing::Same })
}

/// The ranges that the body of the request asks for, one behind the other, each as soon as it is asked for.
pub(super) async fn ranges(
    service: &Service,
    asker: &Asker,
    opened: &Opened,
    asked: &HeaderMap,
    builder: Builder,
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    let is_coded = wire::wants_zstd(asked);
    let builder = builder.header(header::CONTENT_TYPE, wire::RANGES_TYPE);
    let builder = if is_coded { builder.header(wire::BODY_CODING, ZSTD) } else { builder };
    let status = answer::send_head(stream, builder).await?;
    let (mut bytes, mut ranges, mut coder) = (0, Ranges::within(opened.size), is_coded.then(Coder::default));
    let cut = loop {
        let asked = match timeout(STALL, stream.recv_data()).await {
            Ok(Ok(Some(mut piece))) => piece.copy_to_bytes(piece.remaining()),
            Ok(Ok(None)) if ranges.is_within() => break Some(Broken::Read(crate::delta::Garbled.into())),
            Ok(Ok(None)) => break answer::finish(stream).await.err(),
            Ok(Err(error)) => break Some(error.into()),
            Err(_) => break Some(Broken::Stalled(STALL)),
        };
        ranges.push(&asked);
        let sent = loop {
            match ranges.next() {
                Ok(Some(range)) => match send(service, asker, opened, range, coder, stream, &mut bytes).await {
                    Ok(its) => coder = its,
                    Err(broken) => break Err(broken),
                },
                Ok(None) => break Ok(coder),
                Err(garbled) => break Err(Broken::Read(garbled.into())),
            }
        };
        match sent {
            Ok(its) => coder = its,
            Err(broken) => break Some(broken),
        }
    };
    if cut.is_some() {
        stream.cut_off();
        stream.is_heard();
    }
    Ok(Outcome { status, bytes, cut })
}

async fn send(
    service: &Service,
    asker: &Asker,
    opened: &Opened,
    range: Range<u64>,
    coder: Option<Coder>,
    stream: &mut Stream,
    bytes: &mut u64,
) -> Result<Option<Coder>, Broken> {
    let ahead = Ahead::new(&service.ahead, asker.network());
    let (is_coded, coded) = (coder.is_some(), Coded { part: Part::new(opened.clone(), range), coder });
    let mut sent = body::send(stream, coded, ahead).await;
    let held_back = sent.outcome.as_mut().ok().and_then(|coded| coded.part.held_back());
    let settled = match held_back {
        // The range is read again. Whether it fits the others, the digest of the whole tells the client.
        Some(look) => {
            let piece = async {
                let piece = look.finish(service.digests.queue(asker.network())).await?;
                Ok(if is_coded { coding::plain(&piece).into() } else { piece })
            };
            body::send_last(stream, &mut sent, piece).await
        }
        None => Ok(()),
    };
    *bytes += sent.bytes;
    settled.and(sent.outcome.map(|coded| coded.coder))
}

/// Says that this version is gone.
pub(super) async fn refuse_other(stream: &mut Stream) -> Result<Outcome, Broken> {
    let builder = response(StatusCode::PRECONDITION_FAILED);
    answer::refuse_with(stream, builder, "the file is another version than the one asked for").await
}
