//! Takes the body of an upload, and completes the file.

use super::{FinishError, Part, Partial, Superseded, Uploads, blocking, crowded, offset_fields, refuse_disk};
use crate::serve::answer::{self, Broken, Outcome, response};
use crate::serve::body::STALL;
use crate::serve::path::SafePath;
use crate::serve::server::Service;
use crate::sink::Sink;
use crate::wire;
use bytes::Bytes;
use http::StatusCode;
use pcc_quic::http3::ResponseStream;
use std::io;

/// How receiving a body ended.
enum End {
    /// All of it came.
    Complete,
    /// Another request for the same upload took over.
    Superseded,
    /// The client went, or the network.
    Broken(Broken),
    /// The disk refused.
    Disk(io::Error),
}

pub(super) async fn receive(
    service: &Service,
    uploads: &Uploads,
    path: SafePath,
    part: Part,
    stream: &mut ResponseStream,
) -> Result<Outcome, Broken> {
    let Some(slot) = uploads.slot(&path, &part.id) else { return crowded(stream).await };
    let mut superseded = slot.supersede();
    let mut turn = slot.turn.lock().await;

    let opened = open(service, uploads, &path, &part).await;
    let mut partial = match opened {
        Ok(partial) if partial.size() == part.offset => partial,
        Ok(partial) => {
            let builder = offset_fields(StatusCode::CONFLICT, partial.size());
            return answer::refuse_with(stream, builder, "the upload continues at Upload-Offset").await;
        }
        Err(error) => return refuse_disk(stream, &error).await,
    };
    partial.adopt(turn.take());

    let mut sink = Sink::new(partial);
    let mut end = body(stream, &mut sink, &mut superseded).await;
    let (partial, flushed) = sink.close().await;
    if let (Err(error), End::Complete) = (flushed, &end) {
        end = End::Disk(error);
    }
    let Some(partial) = partial else {
        return refuse_disk(stream, &io::Error::other("a thread died")).await;
    };
    *turn = partial.hasher();
    let received = partial.size() - part.offset;
    let done = match end {
        End::Complete if part.complete => complete(&part, partial, stream).await,
        End::Complete => {
            let status = answer::send_head(stream, offset_fields(StatusCode::NO_CONTENT, partial.size())).await?;
            stream.finish().await?;
            Ok(Outcome { status, bytes: 0 })
        }
        unfinished => {
            if !part.resumable {
                partial.discard();
            }
            match unfinished {
                End::Disk(error) => refuse_disk(stream, &error).await,
                End::Broken(broken) => Err(broken),
                _ => answer::refuse(stream, StatusCode::CONFLICT, "another request continues this upload").await,
            }
        }
    };
    if part.complete || !part.resumable {
        drop(turn);
        uploads.forget(&path, &part.id);
    }
    done.map(|outcome| Outcome { bytes: received, ..outcome })
}

/// The partial file to write to: a new one for a body that starts at zero where there is none.
async fn open(service: &Service, uploads: &Uploads, path: &SafePath, part: &Part) -> io::Result<Partial> {
    let (root, path, id) = (service.root.clone(), path.clone(), part.id.clone());
    let (length, sweep) = (part.length, uploads.is_sweep_due(path.parent()));
    blocking(move || {
        if let Some(partial) = Partial::find(&root, &path, &id)? {
            return Ok(partial);
        }
        let partial = Partial::create(&root, &path, &id, length)?;
        if sweep && let Err(error) = partial.sweep() {
            tracing::debug!(%error, "old unfinished uploads stay");
        }
        Ok(partial)
    })
    .await
}

async fn body(stream: &mut ResponseStream, sink: &mut Sink<Partial>, superseded: &mut Superseded) -> End {
    loop {
        let piece = tokio::select! {
            piece = tokio::time::timeout(STALL, stream.recv_data()) => piece,
            () = superseded.wait() => return End::Superseded,
        };
        match piece {
            Ok(Ok(Some(piece))) => {
                if let Err(error) = sink.push(piece).await {
                    return End::Disk(error);
                }
            }
            Ok(Ok(None)) => return End::Complete,
            Ok(Err(error)) => return End::Broken(error.into()),
            Err(_) => return End::Broken(Broken::Stalled(STALL)),
        }
    }
}

/// Gives the file its name, if all of it is there and right.
async fn complete(part: &Part, partial: Partial, stream: &mut ResponseStream) -> Result<Outcome, Broken> {
    let size = partial.size();
    if let Some(length) = part.length
        && length != size
    {
        if !part.resumable {
            partial.discard();
        }
        let why = format!("{size} bytes arrived of the {length} that were announced");
        return answer::refuse_with(stream, offset_fields(StatusCode::CONFLICT, size), &why).await;
    }
    let digest = part.digest;
    let finished = tokio::task::spawn_blocking(move || partial.finish(digest)).await;
    let finished = finished.unwrap_or_else(|error| Err(FinishError::Disk(error.into())));
    match finished {
        Ok(digest) => {
            let builder = response(StatusCode::CREATED)
                .header(wire::UPLOAD_OFFSET, size)
                .header(wire::UPLOAD_COMPLETE, "?1")
                .header(wire::REPR_DIGEST, wire::digest_field(&digest));
            answer::send(stream, builder, Bytes::new(), false).await
        }
        Err(FinishError::Disk(error)) => refuse_disk(stream, &error).await,
        Err(damaged) => {
            tracing::warn!("{damaged}");
            answer::refuse(stream, StatusCode::UNPROCESSABLE_ENTITY, &damaged.to_string()).await
        }
    }
}
