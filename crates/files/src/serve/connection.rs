//! One connection: its requests, side by side, to its end.

use super::answer::{self, Outcome};
use super::arrived::Arrived;
use super::broken::Broken;
use super::connect;
use super::files;
use super::guests::Guest;
use super::host;
use super::log::Served;
use super::metrics::Refusal;
use super::path::{SafePath, Unsafe};
use super::service::{Asker, HANDSHAKE, Service, told};
use super::stream::Stream;
use super::upload;
use crate::wire;
use core::net::SocketAddr;
use core::time::Duration;
use h3::error::{Code, StreamError};
use http::{HeaderMap, Method, Request, StatusCode, Uri, Version, header};
use noq::{Connection, VarInt};
use pcc_quic::http3::{self, Deliveries};
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Requests that are read and answered side by side: enough to fill the gaps between small files, and a bound for what
/// is held of their heads and read ahead of their bodies. Further ones wait unread.
const AT_A_TIME: usize = 16;

/// Requests that were accepted, whether it is their turn or not: each takes kilobytes. Further ones wait in their streams, which
/// take less.
const ACCEPTED: usize = 256;

/// Heads of requests that are read side by side: what has come of each is held, up to 64 KiB.
const HEADS_AT_A_TIME: usize = 4;

/// From a request's turn to the end of its head.
pub(super) const HEAD: Duration = Duration::from_secs(30);

/// Data that was sent arrives in this time, or is not worth waiting for: a full send window at 2 Mbit/s.
const DELIVERY: Duration = Duration::from_secs(300);

/// Clients read in this time what has arrived. Those that leave when they have what they want end it sooner.
const FAREWELL: Duration = Duration::from_secs(5);

/// A client that is there takes the few bytes of a goodbye in this time, also behind what it has not read yet.
const GOODBYE: Duration = Duration::from_secs(10);

/// Bytes of the path of a refused request, and of a client's name, that the log has room for.
const LOGGED: usize = 1000;

/// Said to a client for whom it is too late.
const STOPPED: &[u8] = b"the server was stopped";

/// Said to a client whose place another gets.
const OTHERS_WAIT: &[u8] = b"others wait for this place";

/// Methods of clients of HTTP/3, and of those over TCP.
const ALL: &str = "GET, HEAD, PUT, PATCH, DELETE, OPTIONS";
const READING: &str = "GET, HEAD";

/// Serves one connection to its end.
pub(super) async fn serve(
    service: Arc<Service>,
    connection: Connection,
    peer: SocketAddr,
    guest: Guest,
    mut closing: watch::Receiver<bool>,
) {
    if !guest.arrive() {
        service.metrics.refuse(Refusal::Full);
        tracing::info!(%peer, "refused: too many connections");
        return connection.close(code(Code::H3_EXCESSIVE_LOAD), b"too many connections");
    }
    let _counted = service.metrics.watch(connection.clone());
    // It waits for the client's leave to open streams, which may never come.
    let begun = tokio::select! {
        begun = timeout(HANDSHAKE, http3::server_with_deliveries(connection.clone())) => begun,
        () = guest.must_leave() => return connection.close(code(Code::H3_NO_ERROR), OTHERS_WAIT),
        () = told(&mut closing) => return connection.close(code(Code::H3_NO_ERROR), STOPPED),
    };
    let (mut http, mut deliveries) = match begun {
        Ok(Ok(http)) => http,
        Ok(Err(error)) => return tracing::debug!(%peer, %error, "no HTTP/3"),
        Err(_) => {
            tracing::debug!(%peer, "it lets nobody open the streams of HTTP/3");
            return connection.close(code(Code::H3_STREAM_CREATION_ERROR), b"no leave to open the streams of HTTP/3");
        }
    };
    let asker = Arc::new(Asker::new(connection.clone(), peer));
    let turns = Arc::new(Semaphore::new(AT_A_TIME));
    let heads = Arc::new(Semaphore::new(HEADS_AT_A_TIME));
    let mut requests = JoinSet::new();
    let mut leaving = false;
    loop {
        tokio::select! {
            accepted = http.accept(), if requests.len() < ACCEPTED => match accepted {
                Ok(Some(request)) => {
                    guest.works();
                    let (service, asker, turns, heads) = (service.clone(), asker.clone(), turns.clone(), heads.clone());
                    let arrived = Arrived(Instant::now());
                    requests.spawn(async move {
                        // Never closed, so there is always a permit to come.
                        let turn = turns.acquire().await;
                        let reading = heads.acquire().await;
                        let read = timeout(HEAD, request.resolve_request()).await;
                        drop(reading);
                        match read {
                            Ok(Ok((mut request, stream))) => {
                                request.extensions_mut().insert(arrived);
                                // A tunnel lasts as long as its programs want: files do not wait for it.
                                let _turn = turn.ok().filter(|_| *request.method() != Method::CONNECT);
                                handle(&service, &asker, request, Stream::Quic(stream)).await;
                            }
                            Ok(Err(error)) => {
                                tracing::debug!(%peer, %error, "no request");
                                if let Some(status) = refused(&error) {
                                    tell_refused(&service, peer, Version::HTTP_3, status, error.to_string());
                                }
                            }
                            Err(_) => tracing::debug!(%peer, "a request's head took too long"),
                        }
                    });
                }
                Ok(None) => break,
                Err(error) => {
                    tracing::debug!(%peer, %error, "the connection ended");
                    break;
                }
            },
            Some(_) = requests.join_next() => if requests.is_empty() {
                guest.rests();
            },
            () = guest.must_leave() => {
                tracing::info!(%peer, "closed: others want its place");
                return connection.close(code(Code::H3_NO_ERROR), OTHERS_WAIT);
            }
            () = told(&mut closing), if !leaving => {
                leaving = true;
                match timeout(GOODBYE, http.shutdown(0)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::debug!(%peer, %error, "could not say goodbye"),
                    Err(_) => {
                        tracing::info!(%peer, "closed: it takes no goodbye");
                        return connection.close(code(Code::H3_NO_ERROR), STOPPED);
                    }
                }
                if requests.is_empty() && deliveries.are_complete() {
                    return;
                }
            }
        }
        if leaving && requests.is_empty() {
            break;
        }
    }
    let rest = async {
        while requests.join_next().await.is_some() {}
        deliver(&connection, peer, &mut deliveries).await;
    };
    tokio::select! {
        () = rest => {}
        () = guest.must_leave() => connection.close(code(Code::H3_NO_ERROR), OTHERS_WAIT),
    }
}

/// Waits until the client has what was sent, or is gone: the connection, closed, would take it along.
async fn deliver(connection: &Connection, peer: SocketAddr, deliveries: &mut Deliveries) {
    let arrived = timeout(DELIVERY, async {
        deliveries.complete().await;
        let _ = timeout(FAREWELL, connection.closed()).await;
    });
    if arrived.await.is_err() {
        tracing::info!(%peer, "closed before everything had arrived");
    }
}

fn code(code: Code) -> VarInt {
    VarInt::from_u64(code.value()).unwrap_or(VarInt::MAX)
}

/// How h3 itself answered what is no request: with a status, or 0 for a reset. `None` if its client took it back.
fn refused(error: &StreamError) -> Option<u16> {
    match error {
        StreamError::HeaderTooBig { .. } => Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE.as_u16()),
        StreamError::StreamError { code, .. } if *code == Code::H3_MESSAGE_ERROR => Some(0),
        _ => None,
    }
}

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
    let lease = service.requests.lease(asker.network(), 1);
    if lease.is_none() {
        forget(&mut request);
    }
    if !service.same_user {
        OWNERS.into_iter().for_each(|field| drop(request.headers_mut().remove(field)));
    }
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
        None => {
            service.metrics.refuse(Refusal::Busy);
            let why = "too many requests from this network are under way: ask again later";
            answer::refuse_for_now(&mut stream, why).await
        }
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

/// Owners are for the user who runs the server.
const OWNERS: [http::HeaderName; 3] = [wire::WANT_FILE_OWNERS, wire::FILE_OWNER, wire::FILE_GROUP];

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
        (ALL, "this server only does GET, HEAD, PUT, PATCH, DELETE and OPTIONS")
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
    let Some(path) = path else { return answer::refuse(stream, StatusCode::NOT_FOUND, "no such file").await };
    let path = match SafePath::parse(path) {
        Ok(path) => path,
        Err(Unsafe::Hidden) if matches!(*request.method(), Method::PUT | Method::PATCH) => {
            let why = "names that begin with `.pcc-upload-` are those of unfinished uploads: choose another name";
            return answer::refuse(stream, StatusCode::NOT_FOUND, why).await;
        }
        Err(Unsafe::TooLong) => {
            return answer::refuse(stream, StatusCode::URI_TOO_LONG, &Unsafe::TooLong.to_string()).await;
        }
        Err(refused) => return answer::refuse(stream, StatusCode::NOT_FOUND, &refused.to_string()).await,
    };
    match *request.method() {
        Method::HEAD if !stream.reads_only() && upload::id(request).is_some() => {
            upload::answer(service, asker, request, path, stream).await
        }
        Method::GET | Method::HEAD => files::answer(service, asker, request, path, stream).await,
        _ => upload::answer(service, asker, request, path, stream).await,
    }
}

/// Whether content comes with a request that has no use for it, and might hide another request from a server on the way (RFC 9110
/// §9.3.1). Over TCP, hyper reads it to its end.
fn has_idle_content(request: &Request<()>) -> bool {
    let takes_none = matches!(*request.method(), Method::GET | Method::HEAD | Method::DELETE);
    takes_none && request.headers().get(header::CONTENT_LENGTH).is_some_and(|length| length != "0")
}
