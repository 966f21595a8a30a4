//! One request: who may ask, for what, and what is told of the answer.

use super::answer::{self, Outcome};
use super::broken::Broken;
use super::budget::Lease;
use super::connect;
use super::files;
use super::host;
use super::log::Served;
use super::metrics::Refusal;
use super::path::{SafePath, Unsafe};
use super::service::{Asker, Service};
use super::stream::Stream;
use super::upload;
use crate::figures;
use crate::wire;
use core::net::SocketAddr;
use core::time::Duration;
use http::{HeaderMap, Method, Request, StatusCode, Uri, Version, header};
use std::time::{Instant, SystemTime};

/// From a request's turn to the end of its head.
pub(super) const HEAD: Duration = Duration::from_secs(30);

/// Bytes of the path of a refused request, and of a client's name, that the log has room for.
const LOGGED: usize = 1000;

/// Methods of clients of HTTP/3, and of those over TCP.
const ALL: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
const READING: &str = "GET, HEAD";

/// When a request came, before it waited for its turn; an extension of the request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived(pub(super) Instant);

/// Tells of a request that was refused before anything was known of it.
pub(super) fn tell_refused(service: &Service, peer: SocketAddr, version: Version, status: u16, error: String) {
    service.metrics.answered(status);
    service.log.tell(|| Served {
        peer,
        at: SystemTime::now(),
        method: "-".to_owned(),
        path: "-".to_owned(),
        version,
        agent: None,
        status,
        bytes: 0,
        seconds: 0.0,
        error: Some(error),
    });
}

/// Answers a request, and tells of it.
pub(super) async fn handle(service: &Service, asker: &Asker, mut request: Request<()>, mut stream: Stream) {
    let (at, started) = (SystemTime::now(), Instant::now());
    let agent = agent(&request);
    let lease = admit(service, asker, &mut request);
    // The address of a private directory is in no log.
    let path = match request.uri().authority().filter(|_| *request.method() == Method::CONNECT) {
        Some(destination) => Some(destination.as_str()),
        None => service.privacy.open(request.uri().path()),
    };
    let outcome = match lease {
        Some(_lease) if *request.method() == Method::CONNECT && !stream.reads_only() => {
            connect::answer(service, asker, &request, stream).await
        }
        Some(_lease) => answer(service, asker, &request, path, &mut stream).await,
        None => refuse_for_now(service, &mut stream).await,
    };
    let seconds = started.elapsed().as_secs_f64();
    let version = request.version();
    let (status, bytes, error) = match &outcome {
        Ok(outcome) => (outcome.status.as_u16(), outcome.bytes, outcome.cut.as_ref().map(ToString::to_string)),
        Err(error) => (0, 0, Some(error.to_string())),
    };
    let (peer, method, path) = (asker.address, request.method(), path.unwrap_or("(not below the private address)"));
    tracing::info!(%peer, %method, path, status, bytes, seconds, error);
    service.metrics.answered(status);
    service.log.tell(|| Served {
        peer,
        at,
        method: method.to_string(),
        path: path.to_owned(),
        version,
        agent,
        status,
        bytes,
        seconds,
        error,
    });
}

/// Its place among the requests of its network, if there is one. The server forgets what is of no use to it.
fn admit(service: &Service, asker: &Asker, request: &mut Request<()>) -> Option<Lease> {
    let lease = service.requests.lease(asker.network(), 1);
    if lease.is_none() {
        forget(request);
    }
    if !service.same_user {
        OWNERS.into_iter().for_each(|field| drop(request.headers_mut().remove(field)));
    }
    lease
}

async fn refuse_for_now(service: &Service, stream: &mut Stream) -> Result<Outcome, Broken> {
    service.metrics.refuse(Refusal::Busy);
    answer::refuse_for_now(stream, "too many requests from this network are under way: ask again later").await
}

/// Owners and extended attributes are for the user who runs the server.
const OWNERS: [http::HeaderName; 7] = [
    wire::WANT_FILE_OWNERS,
    wire::FILE_OWNER,
    wire::FILE_GROUP,
    wire::WANT_FILE_XATTRS,
    wire::WANT_FILE_ACLS,
    wire::FILE_XATTRS,
    wire::FILE_ACLS,
];

/// The client's name for itself, as far as the log has room for it.
fn agent(request: &Request<()>) -> Option<String> {
    let field = request.headers().get(header::USER_AGENT)?.as_bytes();
    Some(String::from_utf8_lossy(&field[..field.len().min(LOGGED)]).into_owned())
}

/// Keeps of a request that will be refused only what the log needs: its client may never take the refusal.
fn forget(request: &mut Request<()>) {
    *request.headers_mut() = HeaderMap::new();
    if request.uri().path().len().max(request.uri().authority().map_or(0, |named| named.as_str().len())) > LOGGED {
        *request.uri_mut() = Uri::from_static("/a-path-of-more-than-1000-bytes");
    }
}

async fn answer(
    service: &Service,
    asker: &Asker,
    request: &Request<()>,
    path: Option<&str>,
    stream: &mut Stream,
) -> Result<Outcome, Broken> {
    let (allowed, why) = if stream.reads_only() {
        (READING, "over TCP this server only does GET and HEAD: upload with `pcc put`")
    } else {
        (ALL, "this server only does GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS")
    };
    if stream.reads_only() && !host::is_named(request) {
        let why = "a request names its host once, in one field Host";
        return answer::refuse(stream, StatusCode::BAD_REQUEST, why).await;
    }
    if allowed.split(", ").all(|method| request.method() != method) {
        let builder = answer::response(StatusCode::METHOD_NOT_ALLOWED).header(header::ALLOW, allowed);
        return answer::refuse_with(stream, builder, why).await;
    }
    if !stream.reads_only() && has_idle_content(request) {
        let why = format!("{} takes no content: leave it and content-length out", request.method());
        return answer::refuse(stream, StatusCode::BAD_REQUEST, &why).await;
    }
    if request.method() == Method::OPTIONS && figures::are_wanted(request.headers()) {
        return tell_of_path(asker, stream).await;
    }
    let path = match meant(request, path) {
        Ok(path) => path,
        Err((status, why)) => return answer::refuse(stream, status, &why).await,
    };
    match *request.method() {
        Method::HEAD if !stream.reads_only() && upload::id(request).is_some() => {
            upload::answer(service, asker, request, path, stream).await
        }
        Method::GET | Method::HEAD | Method::POST => files::answer(service, asker, request, path, stream).await,
        _ => upload::answer(service, asker, request, path, stream).await,
    }
}

/// Tells a client what this side has seen of the way to it. That is no secret, and of no file.
async fn tell_of_path(asker: &Asker, stream: &mut Stream) -> Result<Outcome, Broken> {
    let builder = answer::response(StatusCode::NO_CONTENT);
    let builder = match asker.path() {
        Some(path) => builder.header(figures::PATH_FIGURES, figures::written(&path)),
        None => builder,
    };
    answer::send(stream, builder, bytes::Bytes::new(), true).await
}

/// The path that a request means; or the status that it gets for it, and why.
fn meant(request: &Request<()>, path: Option<&str>) -> Result<SafePath, (StatusCode, String)> {
    let path = path.ok_or_else(|| (StatusCode::NOT_FOUND, "no such file".to_owned()))?;
    SafePath::parse(path).map_err(|refused| match refused {
        Unsafe::Hidden if matches!(*request.method(), Method::PUT | Method::PATCH) => {
            let why = "names that begin with `.pcc-upload-` are those of unfinished uploads: choose another name";
            (StatusCode::NOT_FOUND, why.to_owned())
        }
        Unsafe::TooLong => (StatusCode::URI_TOO_LONG, refused.to_string()),
        _ => (StatusCode::NOT_FOUND, refused.to_string()),
    })
}

/// Whether content comes with a request that has no use for it, and might hide another request from a server on the way (RFC 9110
/// §9.3.1). Over TCP, hyper reads it to its end.
fn has_idle_content(request: &Request<()>) -> bool {
    let takes_none = matches!(*request.method(), Method::GET | Method::HEAD | Method::DELETE);
    takes_none && request.headers().get(header::CONTENT_LENGTH).is_some_and(|length| length != "0")
}
