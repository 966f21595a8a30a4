//! Sends a file whose size shows only at its end: without a length, and without a version, since its times tell nothing of what
//! it holds.

use super::answer::{self, Outcome, response};
use super::body::{self, Ahead, Pieces, Sent};
use super::broken::Broken;
use super::conditions::{Current, Plan, plan};
use super::files::{media_type, with_digest};
use super::path::SafePath;
use super::stream::Stream;
use crate::attributes::Attributes;
use crate::unmeasured::Unmeasured;
use crate::wire;
use blake3::Hasher;
use http::header::{self, HeaderValue};
use http::response::Builder;
use http::{Method, Request, StatusCode};
use std::io::Read;

pub(super) async fn send(
    file: Unmeasured,
    request: &Request<()>,
    path: &SafePath,
    ahead: Ahead<'_>,
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    let headers = request.headers();
    if plan(headers, Current { etag: None, modified: None, size: 0 }) == Plan::OtherVersion {
        let why = "the file has no versions";
        return answer::refuse(stream, StatusCode::PRECONDITION_FAILED, why).await;
    }
    let attributes = file.metadata().map(|found| Attributes::within(&found)).unwrap_or_default();
    let builder = answer::with_attributes(response(StatusCode::OK), headers, |_| attributes)
        .header(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))
        .header(header::CONTENT_TYPE, media_type(path.name().unwrap_or("")));
    let has_digest = stream.has_trailers() && wire::wants_digest(headers) && request.method() != Method::HEAD;
    let builder = if has_digest { builder.header(header::TRAILER, wire::REPR_DIGEST.as_str()) } else { builder };
    let status = answer::send_head(stream, builder).await?;
    if request.method() == Method::HEAD {
        answer::finish(stream).await?;
        return Ok(Outcome { status, bytes: 0, cut: None });
    }
    let Sent { bytes, outcome } = body::send(stream, ToItsEnd { file, hasher: Hasher::new() }, ahead).await;
    let outcome = match outcome {
        Ok(sent) if has_digest => {
            let trailers = with_digest(Builder::new(), Some(sent.hasher.finalize())).body(());
            let trailers = trailers.map(|trailers| trailers.into_parts().0.headers);
            answer::finish_with(stream, trailers.unwrap_or_default()).await
        }
        Ok(_) => answer::finish(stream).await,
        Err(cut) => Err(cut),
    };
    Ok(Outcome { status, bytes, cut: outcome.err() })
}

/// All bytes of it.
struct ToItsEnd {
    file: Unmeasured,
    hasher: Hasher,
}

impl Pieces for ToItsEnd {
    fn next(&mut self, buffer: &mut Vec<u8>, size: usize) -> Result<(), Broken> {
        buffer.clear();
        self.file.by_ref().take(size as u64).read_to_end(buffer).map_err(Broken::Read)?;
        self.hasher.update(buffer);
        Ok(())
    }
}
