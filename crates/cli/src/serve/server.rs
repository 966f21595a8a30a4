//! Accepts connections and their requests, within limits.

use super::answer::{self, Broken, Outcome};
use super::digest::Digests;
use super::files;
use super::guests::Guests;
use super::path::SafePath;
use super::root::Root;
use super::upload::{self, Token, Uploads};
use crate::tls::{self, Fingerprint, Identity};
use anyhow::Context;
use core::time::Duration;
use http::{Method, Request, StatusCode, header};
use noq::{Connection, Endpoint, EndpointConfig, Incoming, ServerConfig, TransportConfig};
use noq_proto::HashedConnectionIdGenerator;
use pcc_quic::http3::{self, ResponseStream};
use pcc_quic::transport::{Windows, tune_send_window};
use pcc_quic::{PacedRuntime, socket};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;

/// Makes the transport of a connection from that address. The windows are what the server can afford for it.
pub(crate) type Transport = Arc<dyn Fn(SocketAddr, &Windows) -> TransportConfig + Send + Sync>;

/// Everything a server is told.
pub(crate) struct Options {
    /// The directory to serve.
    pub(crate) root: PathBuf,
    /// Where to listen; port 0 for any.
    pub(crate) listen: SocketAddr,
    /// What to show of itself.
    pub(crate) identity: Identity,
    /// Who may upload; nobody without.
    pub(crate) token: Option<Token>,
    /// How to send.
    pub(crate) transport: Transport,
    /// How many connections at a time, and of them how many from one address.
    pub(crate) guests: Guests,
    /// Who is told of requests that are done.
    pub(crate) log: Option<mpsc::UnboundedSender<Served>>,
}

/// A request that is done, for the log.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Served {
    pub(crate) peer: SocketAddr,
    pub(crate) method: String,
    /// As it was sent, percent-encoded.
    pub(crate) path: String,
    /// The response's status; 0 without a complete one.
    pub(crate) status: u16,
    /// Of the body, sent or received.
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    /// Why there was no complete response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// A running server. Dropping it ends it at once.
#[derive(Debug)]
pub(crate) struct Server {
    endpoint: Endpoint,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// What to know it by.
    pub(crate) fingerprint: Fingerprint,
    /// What the user should be told of this host, once.
    pub(crate) warning: Option<String>,
    closing: watch::Sender<bool>,
    /// Ends when the last connection does.
    connections: mpsc::Receiver<()>,
}

/// What every request needs.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) root: Root,
    pub(super) digests: Digests,
    pub(super) uploads: Option<Uploads>,
    log: Option<mpsc::UnboundedSender<Served>>,
}

/// Bodies that a connection may send or receive side by side: enough to fill the gaps between small files, and a bound
/// for what is read ahead.
const BODIES: usize = 16;

/// Bytes of requests, all together and each, that a client may send unread where it can upload nothing.
const REQUESTS_WINDOW: u32 = 1 << 20;
const REQUEST_WINDOW: u32 = 128 << 10;

/// A handshake that takes longer has failed; the client's patience is the same.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// From the opening of a stream to the end of the request's head.
const HEAD: Duration = Duration::from_secs(30);

/// Starts a server.
///
/// Errors: the directory cannot be opened, the address is taken, the certificate is unusable.
pub(crate) fn start(options: Options) -> anyhow::Result<Server> {
    let service = Arc::new(Service {
        root: Root::open(&options.root)?,
        digests: Digests::default(),
        uploads: options.token.map(Uploads::new),
        log: options.log,
    });
    let bound = socket::bind(options.listen).with_context(|| {
        format!("could not listen on UDP {}; choose another with --listen ADDRESS:PORT", options.listen)
    })?;
    let config = ServerConfig::with_crypto(Arc::new(tls::server(&options.identity, &[http3::ALPN])?));
    let reset_key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &options.identity.reset_key());
    let mut endpoint_config = EndpointConfig::new(Arc::new(reset_key));
    // A server answers only to connection identifiers that it could have given: also those of the server before it.
    let cid_key = options.identity.cid_key();
    endpoint_config.cid_generator(Arc::new(move || Box::new(HashedConnectionIdGenerator::from_key(cid_key))));
    let endpoint = Endpoint::new(endpoint_config, Some(config.clone()), bound.socket, PacedRuntime::new()?)?;
    let (closing, closed) = watch::channel(false);
    let (alive, connections) = mpsc::channel(1);
    let server = Server {
        address: endpoint.local_addr()?,
        fingerprint: options.identity.fingerprint(),
        warning: bound.warning,
        closing,
        connections,
        endpoint: endpoint.clone(),
    };
    let host = Host {
        service,
        config,
        transport: options.transport,
        guests: Arc::new(options.guests),
        closing: closed,
        alive,
    };
    tokio::spawn(host.accept(endpoint));
    Ok(server)
}

impl Server {
    /// Takes no new connections or requests and waits for those under way.
    pub(crate) async fn finish(&mut self) {
        // Nobody left to tell is fine.
        let _ = self.closing.send(true);
        while self.connections.recv().await.is_some() {}
        self.endpoint.close(0u32.into(), b"the server was stopped");
        self.endpoint.wait_idle().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.endpoint.close(0u32.into(), b"the server was stopped");
    }
}

/// What the accepting task holds.
struct Host {
    service: Arc<Service>,
    config: ServerConfig,
    transport: Transport,
    guests: Arc<Guests>,
    closing: watch::Receiver<bool>,
    alive: mpsc::Sender<()>,
}

impl Host {
    async fn accept(mut self, endpoint: Endpoint) {
        loop {
            let incoming = tokio::select! {
                incoming = endpoint.accept() => incoming,
                () = told(&mut self.closing) => return,
            };
            let Some(incoming) = incoming else { return };
            self.admit(incoming);
        }
    }

    fn admit(&self, incoming: Incoming) {
        let address = incoming.remote_address();
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        // A half-full house lets in only who can show that the address is theirs (RFC 9000 §8.1.2).
        if self.guests.is_crowded() && !incoming.remote_address_validated() {
            if let Err(error) = incoming.retry() {
                error.into_incoming().refuse();
            }
            return;
        }
        let Some(guest) = self.guests.enter(address.ip()) else {
            tracing::info!(%address, "refused: too many connections");
            incoming.refuse();
            return;
        };
        let mut config = self.config.clone();
        let windows = guest.windows();
        let mut transport = (self.transport)(address, &windows);
        if self.service.uploads.is_none() {
            // Requests are small; nobody needs to hold what a stranger sends.
            transport.receive_window(REQUESTS_WINDOW.into()).stream_receive_window(REQUEST_WINDOW.into());
        }
        config.transport_config(Arc::new(transport));
        let connecting = match incoming.accept_with(Arc::new(config)) {
            Ok(connecting) => connecting,
            Err(error) => {
                tracing::debug!(%address, %error, "no connection");
                return;
            }
        };
        let (service, closing, alive) = (self.service.clone(), self.closing.clone(), self.alive.clone());
        tokio::spawn(async move {
            let (_alive, _guest) = (alive, guest);
            match tokio::time::timeout(HANDSHAKE, connecting).await {
                Ok(Ok(connection)) => {
                    tokio::spawn(tune_send_window(connection.weak_handle(), windows));
                    serve(service, connection, address, closing).await;
                }
                Ok(Err(error)) => tracing::debug!(%address, %error, "no connection"),
                Err(_) => tracing::debug!(%address, "the handshake took too long"),
            }
        });
    }
}

/// Ends when the server is to end, or is dropped.
async fn told(closing: &mut watch::Receiver<bool>) {
    let _ = closing.wait_for(|closing| *closing).await;
}

/// Serves one connection to its end.
async fn serve(service: Arc<Service>, connection: Connection, peer: SocketAddr, mut closing: watch::Receiver<bool>) {
    let mut http = match http3::server(connection).await {
        Ok(http) => http,
        Err(error) => return tracing::debug!(%peer, %error, "no HTTP/3"),
    };
    let bodies = Arc::new(Semaphore::new(BODIES));
    let mut requests = JoinSet::new();
    let mut leaving = false;
    loop {
        tokio::select! {
            accepted = http.accept() => match accepted {
                Ok(Some(request)) => {
                    let (service, bodies) = (service.clone(), bodies.clone());
                    requests.spawn(async move {
                        match tokio::time::timeout(HEAD, request.resolve_request()).await {
                            Ok(Ok((request, stream))) => handle(&service, peer, &bodies, request, stream).await,
                            Ok(Err(error)) => tracing::debug!(%peer, %error, "no request"),
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
            Some(_) = requests.join_next() => {}
            () = told(&mut closing), if !leaving => {
                leaving = true;
                if let Err(error) = http.shutdown(0).await {
                    tracing::debug!(%peer, %error, "could not say goodbye");
                }
            }
        }
        if leaving && requests.is_empty() {
            break;
        }
    }
    while requests.join_next().await.is_some() {}
}

async fn handle(
    service: &Service,
    peer: SocketAddr,
    bodies: &Semaphore,
    request: Request<()>,
    mut stream: ResponseStream,
) {
    let started = Instant::now();
    // Never closed, so there is always a permit to come.
    let _turn = bodies.acquire().await;
    let outcome = answer(service, &request, &mut stream).await;
    let seconds = started.elapsed().as_secs_f64();
    let (status, bytes, error) = match &outcome {
        Ok(outcome) => (outcome.status.as_u16(), outcome.bytes, None),
        Err(error) => (0, 0, Some(error.to_string())),
    };
    let (method, path) = (request.method(), request.uri().path());
    tracing::info!(%peer, %method, path, status, bytes, seconds, error);
    if let Some(log) = &service.log {
        let served = Served { peer, method: method.to_string(), path: path.to_owned(), status, bytes, seconds, error };
        // Nobody reads any more: the process is about to end.
        let _ = log.send(served);
    }
}

async fn answer(service: &Service, request: &Request<()>, stream: &mut ResponseStream) -> Result<Outcome, Broken> {
    let path = match SafePath::parse(request.uri().path()) {
        Ok(path) => path,
        Err(refused) => return answer::refuse(stream, StatusCode::NOT_FOUND, &refused.to_string()).await,
    };
    match *request.method() {
        Method::HEAD if upload::id(request).is_some() => upload::answer(service, request, path, stream).await,
        Method::GET | Method::HEAD => files::answer(service, request, path, stream).await,
        Method::PUT | Method::PATCH => upload::answer(service, request, path, stream).await,
        _ => {
            let builder =
                answer::response(StatusCode::METHOD_NOT_ALLOWED).header(header::ALLOW, "GET, HEAD, PUT, PATCH");
            answer::refuse_with(stream, builder, "this server only does GET, HEAD, PUT and PATCH").await
        }
    }
}
