//! Responses: their fields, and how one is sent.

use super::broken::{Broken, STALL};
use super::stream::Stream;
use crate::attributes::Attributes;
use crate::extended::Kinds;
use crate::wire;
use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::response::Builder;
use http::{Response, StatusCode};
use std::io;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

/// The outcome of a request, for the log.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) status: StatusCode,
    /// Bytes of the body, sent or received.
    pub(super) bytes: u64,
    /// Why not all of it was sent.
    pub(super) cut: Option<Broken>,
}

/// A response that states what it is; the caller adds to it.
pub(super) fn response(status: StatusCode) -> Builder {
    Response::builder()
        .status(status)
        .header(header::SERVER, HeaderValue::from_static(concat!("pcc/", env!("CARGO_PKG_VERSION"))))
        .header(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"))
        // The address may be a secret, which is for no other site to hear.
        .header(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"))
}

/// Adds time and permissions, if the request asks for them.
pub(super) fn with_attributes(
    builder: Builder,
    asked: &HeaderMap,
    attributes: impl FnOnce(Kinds) -> Attributes,
) -> Builder {
    if !wire::wants_attributes(asked) {
        return builder;
    }
    let attributes = attributes(wanted(asked));
    let (owners, acls) = (wire::wants_owners(asked), wire::wants_acls(asked));
    let attributes = match owners {
        Some(_) => attributes,
        None => Attributes { owner: None, group: None, ..attributes },
    };
    let with_names = owners.or(acls).unwrap_or(false);
    attributes.fields(with_names).fold(builder, |builder, (name, value)| builder.header(name, value))
}

/// The extended attributes that a request asks for.
pub(super) fn wanted(asked: &HeaderMap) -> Kinds {
    Kinds { xattrs: wire::wants_xattrs(asked), acls: wire::wants_acls(asked).is_some() }
}

/// Sends head and body together. `head_only` leaves the body out, as the answer to HEAD does.
pub(super) async fn send(
    stream: &mut Stream,
    builder: Builder,
    body: Bytes,
    head_only: bool,
) -> Result<Outcome, Broken> {
    let builder = builder.header(header::CONTENT_LENGTH, body.len());
    let status = send_head(stream, builder).await?;
    let bytes = if head_only { 0 } else { body.len() as u64 };
    if bytes > 0 {
        let sent = timeout(STALL, stream.send_data(body)).await;
        in_time(stream, sent)?;
    }
    finish(stream).await?;
    Ok(Outcome { status, bytes, cut: None })
}

/// Sends the head only; the body follows.
pub(super) async fn send_head(stream: &mut Stream, builder: Builder) -> Result<StatusCode, Broken> {
    // A field with bytes that no field may have can only come from a name on the disk.
    let response = builder.body(()).unwrap_or_else(|error| {
        tracing::debug!(%error, "a response could not be put into words");
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    });
    let status = response.status();
    let sent = timeout(STALL, stream.send_response(response)).await;
    in_time(stream, sent)?;
    Ok(status)
}

/// Ends the stream, with `trailers` behind its body.
pub(super) async fn finish_with(stream: &mut Stream, trailers: HeaderMap) -> Result<(), Broken> {
    let sent = timeout(STALL, stream.send_trailers(trailers)).await;
    in_time(stream, sent)?;
    finish(stream).await
}

/// Ends the stream.
pub(super) async fn finish(stream: &mut Stream) -> Result<(), Broken> {
    let finished = timeout(STALL, stream.finish()).await;
    in_time(stream, finished)
}

/// Data that a client did not take in time is cut off: the client may never take it.
fn in_time(stream: &mut Stream, sent: Result<Result<(), Broken>, Elapsed>) -> Result<(), Broken> {
    match sent {
        Ok(sent) => sent,
        Err(_) => {
            stream.cut_off();
            Err(Broken::Stalled(STALL))
        }
    }
}

/// Says no, with a sentence for people.
pub(super) async fn refuse(stream: &mut Stream, status: StatusCode, why: &str) -> Result<Outcome, Broken> {
    refuse_with(stream, response(status), why).await
}

/// Says no, with further fields.
pub(super) async fn refuse_with(stream: &mut Stream, builder: Builder, why: &str) -> Result<Outcome, Broken> {
    stream.is_heard();
    let builder = builder.header(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    send(stream, builder, Bytes::from(format!("{why}\n")), false).await
}

/// When a client that was refused for now may ask again: a stalled request of another is cut off after twelve times of
/// this ([`STALL`]). Unit: s.
const ASK_AGAIN: u32 = 5;

/// Says that there is no room now, and when to ask again (RFC 9110 §10.2.3).
pub(super) async fn refuse_for_now(stream: &mut Stream, why: &str) -> Result<Outcome, Broken> {
    refuse_with(stream, response(StatusCode::SERVICE_UNAVAILABLE).header(header::RETRY_AFTER, ASK_AGAIN), why).await
}

/// How a failure of the file system is told to a client: without paths of this computer.
pub(super) fn status_of(error: &io::Error) -> (StatusCode, &'static str) {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::NotFound | Kind::NotADirectory | Kind::InvalidFilename => (StatusCode::NOT_FOUND, wire::NO_SUCH_FILE),
        Kind::PermissionDenied => (StatusCode::FORBIDDEN, "the server may not read or write that"),
        Kind::IsADirectory | Kind::DirectoryNotEmpty => (StatusCode::CONFLICT, "a directory of that name exists"),
        Kind::AlreadyExists => (StatusCode::CONFLICT, "a file is where a directory is needed"),
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => {
            (StatusCode::INSUFFICIENT_STORAGE, "the server's disk is full")
        }
        Kind::ReadOnlyFilesystem => (StatusCode::FORBIDDEN, "the server's file system is read-only"),
        _ if error.raw_os_error() == Some(LINK_LOOP) => (StatusCode::NOT_FOUND, wire::NO_SUCH_FILE),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "the server could not read or write that"),
    }
}

/// The code of a loop of symbolic links, which has no stable kind of its own.
#[cfg(unix)]
const LINK_LOOP: i32 = libc::ELOOP;
/// The number by which cap-std tells it.
#[cfg(windows)]
const LINK_LOOP: i32 = windows_sys::Win32::Foundation::ERROR_TOO_MANY_LINKS as i32;
