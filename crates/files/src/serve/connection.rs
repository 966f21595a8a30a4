//! One connection: its requests, side by side, to its end.

use super::guests::Guest;
use super::metrics::Refusal;
use super::request::{Arrived, HEAD, handle, tell_refused};
use super::service::{Asker, HANDSHAKE, Service, told};
use super::stream::Stream;
use super::turns::Turns;
use bytes::Bytes;
use core::net::SocketAddr;
use core::time::Duration;
use h3::error::{Code, StreamError};
use h3::server::RequestResolver;
use http::{Method, StatusCode, Version};
use noq::{Connection, VarInt};
use pcc_quic::Sight;
use pcc_quic::http3::{self, Deliveries};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Requests that were accepted, whether it is their turn or not: each takes kilobytes. Further ones wait in their streams, which
/// take less, unless all these have turns.
const ACCEPTED: usize = 256;

/// Heads of requests that are read side by side: what has come of each is held, up to 64 KiB.
const HEADS_AT_A_TIME: usize = 4;

/// Data that was sent arrives in this time, or is not worth waiting for: a full send window at 2 Mbit/s.
const DELIVERY: Duration = Duration::from_secs(300);

/// Clients read in this time what has arrived. Those that leave when they have what they want end it sooner.
const FAREWELL: Duration = Duration::from_secs(5);

/// A client that is there takes the few bytes of a goodbye in this time, also behind what it has not read yet.
const GOODBYE: Duration = Duration::from_secs(10);

/// HTTP/3's code for a client that has no place (RFC 9114 §8.1: H3_EXCESSIVE_LOAD).
pub(super) const TOO_MANY: VarInt = VarInt::from_u32(0x107);

/// Said to a client for whom it is too late.
const STOPPED: &[u8] = b"the server was stopped";

/// Said to a client whose place another gets.
const OTHERS_WAIT: &[u8] = b"others wait for this place";

/// A connection that was made.
pub(super) struct Visit {
    pub(super) connection: Connection,
    pub(super) peer: SocketAddr,
    /// The findings about its path.
    pub(super) sight: Sight,
}

/// Serves one connection to its end.
pub(super) async fn serve(service: Arc<Service>, visit: Visit, guest: Guest, mut closing: watch::Receiver<bool>) {
    let Visit { connection, peer, sight } = visit;
    if !guest.arrive() {
        service.metrics.refuse(Refusal::Full);
        tracing::info!(%peer, "refused: too many connections");
        return connection.close(TOO_MANY, b"too many connections");
    }
    let _counted = service.metrics.watch(connection.clone());
    // Dropped, HTTP/3 would close the connection, and take along what has not arrived.
    let Some((mut http, mut deliveries)) = begin(&connection, peer, &guest, &mut closing).await else { return };
    let mut requests = Requests::new(service, Asker::new(connection.clone(), peer, sight));
    if !requests.accept_all(&mut http, &connection, &deliveries, &guest, &mut closing).await {
        return;
    }
    let rest = async {
        while requests.under_way.join_next().await.is_some() {}
        deliver(&connection, peer, &mut deliveries).await;
    };
    tokio::select! {
        () = rest => {}
        () = guest.must_leave() => connection.close(code(Code::H3_NO_ERROR), OTHERS_WAIT),
    }
}

/// Opens HTTP/3; `None` if the connection is closed instead.
async fn begin(
    connection: &Connection,
    peer: SocketAddr,
    guest: &Guest,
    closing: &mut watch::Receiver<bool>,
) -> Option<(http3::Server, Deliveries)> {
    // It waits for the client's leave to open streams, which may never come.
    let begun = tokio::select! {
        begun = timeout(HANDSHAKE, http3::server_with_deliveries(connection.clone())) => begun,
        () = guest.must_leave() => {
            connection.close(code(Code::H3_NO_ERROR), OTHERS_WAIT);
            return None;
        }
        () = told(closing) => {
            connection.close(code(Code::H3_NO_ERROR), STOPPED);
            return None;
        }
    };
    match begun {
        Ok(Ok(http)) => return Some(http),
        Ok(Err(error)) => tracing::debug!(%peer, %error, "no HTTP/3"),
        Err(_) => {
            tracing::debug!(%peer, "it lets nobody open the streams of HTTP/3");
            connection.close(code(Code::H3_STREAM_CREATION_ERROR), b"no leave to open the streams of HTTP/3");
        }
    }
    None
}

/// A request of which nothing was read.
type Accepted = RequestResolver<http3::Connection, Bytes>;

/// The requests of one connection.
struct Requests {
    service: Arc<Service>,
    asker: Arc<Asker>,
    peer: SocketAddr,
    turns: Arc<Turns>,
    heads: Arc<Semaphore>,
    under_way: JoinSet<()>,
}

impl Requests {
    fn new(service: Arc<Service>, asker: Asker) -> Self {
        Self {
            service,
            peer: asker.address,
            asker: Arc::new(asker),
            turns: Arc::new(Turns::new()),
            heads: Arc::new(Semaphore::new(HEADS_AT_A_TIME)),
            under_way: JoinSet::new(),
        }
    }

    /// Accepts requests until the client has no more of them or this server leaves. Whether anything is still to be
    /// answered or delivered.
    async fn accept_all(
        &mut self,
        http: &mut http3::Server,
        connection: &Connection,
        deliveries: &Deliveries,
        guest: &Guest,
        closing: &mut watch::Receiver<bool>,
    ) -> bool {
        let (turns, mut leaving) = (self.turns.clone(), false);
        loop {
            tokio::select! {
                accepted = http.accept(), if self.under_way.len() < ACCEPTED + turns.extra() => {
                    let Some(request) = self.more(accepted) else { return true };
                    guest.works();
                    self.take(request);
                }
                Some(_) = self.under_way.join_next() => if self.under_way.is_empty() {
                    guest.rests();
                },
                () = turns.are_starved(connection) => turns.extend(),
                () = guest.must_leave() => {
                    tracing::info!(peer = %self.peer, "closed: others want its place");
                    connection.close(code(Code::H3_NO_ERROR), OTHERS_WAIT);
                    return false;
                }
                () = told(closing), if !leaving => {
                    leaving = true;
                    let is_told = say_goodbye(http, connection, self.peer).await;
                    if !is_told || self.under_way.is_empty() && deliveries.are_complete() {
                        return false;
                    }
                }
            }
            if leaving && self.under_way.is_empty() {
                return true;
            }
        }
    }

    /// One more request; `None` if the client has no more of them.
    fn more<E: core::fmt::Display>(&self, accepted: Result<Option<Accepted>, E>) -> Option<Accepted> {
        accepted.unwrap_or_else(|error| {
            tracing::debug!(peer = %self.peer, %error, "the connection ended");
            None
        })
    }

    /// Reads a request when it is its turn, and answers it.
    fn take(&mut self, request: Accepted) {
        let (service, asker, peer) = (self.service.clone(), self.asker.clone(), self.peer);
        let (turns, heads) = (self.turns.clone(), self.heads.clone());
        let arrived = Arrived(Instant::now());
        self.under_way.spawn(async move {
            let turn = turns.turn().await;
            let read = async {
                // Never closed, so there is always a permit to come.
                let _reading = heads.acquire().await;
                timeout(HEAD, request.resolve_request()).await
            };
            match turn.rest(read).await {
                Ok(Ok((mut request, stream))) => {
                    request.extensions_mut().insert(arrived);
                    // A tunnel lasts as long as its programs want: files do not wait for it.
                    let turn = Some(turn).filter(|_| *request.method() != Method::CONNECT);
                    handle(&service, &asker, request, Stream::Quic(stream, turn)).await;
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
}

/// Tells the client that this server leaves; closes the connection if that is no use, and answers false.
async fn say_goodbye(http: &mut http3::Server, connection: &Connection, peer: SocketAddr) -> bool {
    match timeout(GOODBYE, http.shutdown(0)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%peer, %error, "could not say goodbye"),
        Err(_) => {
            tracing::info!(%peer, "closed: it takes no goodbye");
            connection.close(code(Code::H3_NO_ERROR), STOPPED);
            return false;
        }
    }
    true
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
