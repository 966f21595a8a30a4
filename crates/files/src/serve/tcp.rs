//! The same directory over TCP, for clients without HTTP/3: HTTP/1.1 and HTTP/2, read-only.
//!
//! The same code answers, within the same limits. A connection has its place among all guests, a request its share of all
//! requests.

use super::bounded::Bounded;
use super::broken::STALL;
use super::guests::{Admission, Guest, Guests, network};
use super::metrics::Refusal;
use super::reply;
use super::request::{self, HEAD};
use super::service::{Asker, HANDSHAKE, Service, told};
use super::stream::Stream;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use http::{HeaderValue, Request, StatusCode, Version, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// Bytes that a connection may hold of heads that are read, and by HTTP/1.1 of an answer that is not written yet.
const BUFFER: usize = 64 << 10;

/// Bytes of each answer by HTTP/2 that may wait for the client.
const UNSENT: usize = 16 << 10;

/// Requests at a time on a connection of HTTP/2.
const AT_A_TIME: u32 = 16;

/// An accept that fails for want of descriptors is not tried again before.
const PAUSE: Duration = Duration::from_millis(50);

/// The state of the accepting task.
pub(super) struct Host {
    pub(super) service: Arc<Service>,
    pub(super) guests: Arc<Guests>,
    pub(super) closing: watch::Receiver<bool>,
    pub(super) alive: mpsc::Sender<()>,
    pub(super) tls: Option<TlsAcceptor>,
    /// Where the same is to be had by HTTP/3 (RFC 7838), for clients who would trust it.
    pub(super) alternative: Option<HeaderValue>,
}

impl Host {
    pub(super) async fn accept(mut self, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = told(&mut self.closing) => return,
            };
            match accepted {
                Ok((connection, address)) => self.admit(connection, address),
                Err(error) => {
                    tracing::debug!(%error, "no connection");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn admit(&self, connection: TcpStream, address: SocketAddr) {
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        let Admission::Welcome(guest) = self.guests.enter(address.ip(), true) else {
            tracing::info!(%address, "refused: too many connections");
            return self.service.metrics.refuse(Refusal::Full);
        };
        // A client that takes nothing for so long has gone, whatever the last bytes wait in.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Err(error) = socket2::SockRef::from(&connection).set_tcp_user_timeout(Some(STALL)) {
            tracing::debug!(%address, %error, "no time-out");
        }
        let _ = connection.set_nodelay(true);
        let connection = Bounded::new(connection, self.service.sent.none(network(address.ip())));
        let visit = Visit {
            service: self.service.clone(),
            address,
            guest,
            closing: self.closing.clone(),
            alternative: self.alternative.clone(),
        };
        let (alive, tls) = (self.alive.clone(), self.tls.clone());
        tokio::spawn(async move {
            let _alive = alive;
            visit.service.metrics.accept_tcp();
            let Some(tls) = tls else { return visit.serve(connection, false).await };
            match timeout(HANDSHAKE, tls.accept(connection)).await {
                Ok(Ok(connection)) => {
                    let is_2 = connection.get_ref().1.alpn_protocol() == Some(b"h2");
                    visit.serve(connection, is_2).await;
                }
                Ok(Err(error)) => {
                    visit.service.metrics.refuse(Refusal::Handshake);
                    tracing::debug!(%address, %error, "no TLS");
                }
                Err(_) => {
                    visit.service.metrics.refuse(Refusal::Handshake);
                    tracing::debug!(%address, "the handshake took too long");
                }
            }
        });
    }
}

/// A connection.
struct Visit {
    service: Arc<Service>,
    address: SocketAddr,
    guest: Guest,
    closing: watch::Receiver<bool>,
    alternative: Option<HeaderValue>,
}

impl Visit {
    async fn serve(mut self, connection: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, is_2: bool) {
        let present = Arc::new(Present { guest: self.guest, requests: AtomicUsize::new(0) });
        let (service, address, alternative) = (self.service, self.address, self.alternative);
        let answers = service_fn(|request: Request<Incoming>| {
            let work = present.clone().work();
            let (reply, answer, gone) = reply::pair(service.metrics.clone());
            let (service, request) = (service.clone(), request.map(drop));
            tokio::spawn(async move {
                let _work = work;
                let asker = Asker::over_tcp(address, gone);
                request::handle(&service, &asker, request, Stream::Tcp(reply)).await;
            });
            let alternative = alternative.clone();
            async move {
                let mut answer = answer.await?;
                if let Some(alternative) = alternative {
                    answer.headers_mut().insert(header::ALT_SVC, alternative);
                }
                Ok::<_, reply::CutOff>(answer)
            }
        });
        let builder = bounded(is_2);
        let connection = builder.serve_connection(TokioIo::new(connection), answers);
        tokio::pin!(connection);
        let mut leaving = false;
        loop {
            tokio::select! {
                done = connection.as_mut() => {
                    if let Err(error) = done {
                        tracing::debug!(peer = %address, error, "the connection ended");
                        if let Some(status) = error.downcast_ref().and_then(answered) {
                            let (status, why) = (status.as_u16(), error.to_string());
                            request::tell_refused(&service, address, Version::HTTP_11, status, why);
                        }
                    }
                    return;
                }
                () = present.guest.must_leave() => return tracing::info!(peer = %address, "closed: others want its place"),
                () = told(&mut self.closing), if !leaving => {
                    leaving = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// A reader of requests by HTTP/2, or else by HTTP/1.1, within limits of time and memory.
fn bounded(is_2: bool) -> auto::Builder<TokioExecutor> {
    let builder = auto::Builder::new(TokioExecutor::new());
    // A client that says nothing would never be found out by its first bytes.
    let mut builder = if is_2 { builder.http2_only() } else { builder.http1_only() };
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(AT_A_TIME)
        .max_header_list_size(BUFFER as u32 / 2)
        .max_send_buf_size(UNSENT)
        .keep_alive_interval(STALL / 2)
        .keep_alive_timeout(STALL / 2);
    builder
}

/// How hyper itself answered what is no request.
fn answered(error: &hyper::Error) -> Option<StatusCode> {
    if error.is_parse_too_large() {
        // Which of the two it was is in the words only.
        let is_uri = error.to_string().contains("URI");
        return Some(if is_uri { StatusCode::URI_TOO_LONG } else { StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE });
    }
    (error.is_parse() && !error.is_parse_version_h2()).then_some(StatusCode::BAD_REQUEST)
}

/// A client, and how many requests of it are under way.
struct Present {
    guest: Guest,
    requests: AtomicUsize,
}

impl Present {
    fn work(self: Arc<Self>) -> Work {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.guest.works();
        Work(self)
    }
}

/// A request that is under way.
struct Work(Arc<Present>);

impl Drop for Work {
    fn drop(&mut self) {
        if self.0.requests.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.guest.rests();
        }
    }
}
