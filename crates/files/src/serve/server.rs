//! Accepts connections and their requests, within limits.

use super::body;
use super::budget::{self, Budget};
use super::connect::Tunnels;
use super::connection::{self, Visit};
use super::descriptors;
use super::digest::Digests;
use super::guests::{Admission, Guests, network};
use super::log::Log;
use super::look_ups::LookUps;
use super::metrics::{Metrics, Refusal};
use super::privacy::Privacy;
use super::root::Root;
use super::service::{HANDSHAKE, REQUESTS_WINDOW, Service, told};
use super::start_error::StartError;
use super::tcp;
use super::token::Token;
use super::upload::uploads::Uploads;
use http::HeaderValue;
use noq::{Endpoint, EndpointConfig, Incoming, ServerConfig, TransportConfig};
use noq_proto::HashedConnectionIdGenerator;
use noq_proto::crypto::{CryptoError, HmacKey};
use pcc::units::Bytes;
use pcc_net::tls::{self, Fingerprint, Identity};
use pcc_quic::http3;
use pcc_quic::transport::{self, UNSHARED_SEND_WINDOW, Windows, allow_paths, share_send_window};
use pcc_quic::{Algorithm, PacedRuntime, Sight, socket};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

/// Makes the transport of a connection from that address. The windows are what the server can afford for it.
pub type Transport = Arc<dyn Fn(SocketAddr, &Windows) -> TransportConfig + Send + Sync>;

/// A second way in, over TCP.
#[derive(Clone, Copy, Debug)]
pub struct Http {
    /// Where to listen.
    pub listen: SocketAddr,
    /// With TLS, by the same certificate; in the clear otherwise.
    pub tls: bool,
}

/// Everything a server is told.
pub struct Options {
    /// The directory to serve.
    pub root: PathBuf,
    /// Where to listen; port 0 for any.
    pub listen: SocketAddr,
    /// The same for clients of HTTP/1.1 and 2, read-only.
    pub http: Option<Http>,
    /// The key and the certificate that the server shows.
    pub identity: Identity,
    /// The readers.
    pub privacy: Privacy,
    /// The token that uploads need; without one nobody may upload.
    pub token: Option<Token>,
    /// Whether those who may upload may delete, too.
    pub may_delete: bool,
    /// Whether all clients act for the user who runs the server. They hear who owns files and where links lead that lead out of the directory,
    /// make such links, and give files to others as far as this user may.
    pub same_user: bool,
    /// The clients that may have tunnels; nobody without.
    pub tunnels: Option<Tunnels>,
    /// How to send.
    pub transport: Transport,
    /// How many connections at a time, and of them how many from one address.
    pub guests: Guests,
    /// The listener for requests that are done.
    pub log: Log,
    /// The counters.
    pub metrics: Metrics,
}

impl Options {
    /// Everybody may read, and nobody may upload or delete; PCC sends; 256 connections at a time, of them 64 from one address; nobody is told
    /// of requests.
    pub fn new(root: impl Into<PathBuf>, listen: SocketAddr, identity: Identity) -> Self {
        let transport = |_: SocketAddr, windows: &Windows| {
            let mut transport = transport::config(&Algorithm::default(), windows);
            allow_paths(&mut transport);
            transport
        };
        Self {
            root: root.into(),
            listen,
            http: None,
            identity,
            privacy: Privacy::Public,
            token: None,
            may_delete: false,
            same_user: false,
            tunnels: None,
            transport: Arc::new(transport),
            guests: Guests::new(CONNECTIONS, CONNECTIONS_OF_ONE),
            log: Log::default(),
            metrics: Metrics::default(),
        }
    }
}

/// Connections at a time, and of them from one address, unless something else is asked for.
const CONNECTIONS: usize = 256;
const CONNECTIONS_OF_ONE: usize = 64;

/// A running server. Dropping it ends it at once.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    /// Where it listens.
    pub address: SocketAddr,
    /// Where it listens for clients over TCP.
    pub tcp: Option<SocketAddr>,
    /// The fingerprint to know it by.
    pub fingerprint: Fingerprint,
    /// Advice on this host that the user should have once.
    pub warning: Option<String>,
    closing: watch::Sender<bool>,
    /// Ends when the last connection does.
    connections: mpsc::Receiver<()>,
    /// Tasks that accept connections.
    accepting: usize,
}

/// Bytes of each request that a client may send unread where nobody can upload.
const REQUEST_WINDOW: u32 = 128 << 10;

/// Starts a server.
///
/// Errors: the directory cannot be opened, the address is taken, the certificate is unusable.
pub fn start(options: Options) -> Result<Server, StartError> {
    let service = Arc::new(Service {
        root: Root::open(&options.root)?,
        privacy: options.privacy,
        digests: Digests::default(),
        requests: Budget::new(descriptors::requests(options.tunnels.is_some())),
        ahead: Budget::new(body::MOST_AHEAD),
        sent: Budget::new(budget::MOST_SENT),
        unwritten: Budget::new(budget::MOST_UNWRITTEN),
        uploads: options.token.map(|token| Uploads::new(token, options.may_delete)),
        tunnels: options.tunnels,
        look_ups: LookUps::default(),
        log: options.log,
        metrics: options.metrics,
        same_user: options.same_user,
    });
    let address = options.listen;
    let bound = socket::bind(address).map_err(|source| StartError::Listen { address, source })?;
    let config = ServerConfig::with_crypto(Arc::new(tls::server(&options.identity, &[http3::ALPN])?));
    let endpoint = Endpoint::new(keyed(&options.identity), Some(config.clone()), bound.socket, PacedRuntime::new()?)?;
    let (closing, closed) = watch::channel(false);
    let (alive, connections) = mpsc::channel(1);
    let (address, guests) = (endpoint.local_addr()?, Arc::new(options.guests));
    let tcp = options.http.map(|http| http.bind()).transpose()?;
    let server = Server {
        address,
        tcp: tcp.as_ref().map(TcpListener::local_addr).transpose()?,
        accepting: 1 + usize::from(tcp.is_some()),
        fingerprint: options.identity.fingerprint(),
        warning: bound.warning,
        closing,
        connections,
        endpoint: endpoint.clone(),
    };
    if let Some((http, listener)) = options.http.zip(tcp) {
        let host = tcp::Host {
            service: service.clone(),
            guests: guests.clone(),
            closing: closed.clone(),
            alive: alive.clone(),
            tls: http.tls.then(|| tls::server_over_tcp(&options.identity, &[b"h2", b"http/1.1"])).transpose()?,
            alternative: http.alternative(address),
        };
        tokio::spawn(host.accept(listener));
    }
    let host = Host { service, config, transport: options.transport, guests, closing: closed, alive };
    tokio::spawn(host.accept(endpoint));
    Ok(server)
}

/// A server answers only to connection identifiers that it could have given: also those of the server before it.
fn keyed(identity: &Identity) -> EndpointConfig {
    let mut config = EndpointConfig::new(Arc::new(ResetKey(identity.reset_key())));
    let cid_key = identity.cid_key();
    config.cid_generator(Arc::new(move || Box::new(HashedConnectionIdGenerator::from_key(cid_key))));
    config
}

/// Makes the tokens of stateless resets. noq-proto has such a key of its own, of whichever cryptography the program is built with.
struct ResetKey([u8; blake3::KEY_LEN]);

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], out: &mut [u8]) {
        out.copy_from_slice(blake3::keyed_hash(&self.0, data).as_bytes());
    }

    fn signature_len(&self) -> usize {
        blake3::OUT_LEN
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        // Such hashes are compared in constant time.
        let is_right = blake3::Hash::from_slice(signature).is_ok_and(|hash| hash == blake3::keyed_hash(&self.0, data));
        is_right.then_some(()).ok_or(CryptoError)
    }
}

impl Http {
    fn bind(self) -> Result<TcpListener, StartError> {
        let bound = std::net::TcpListener::bind(self.listen)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .and_then(TcpListener::from_std);
        bound.map_err(|source| StartError::ListenTcp { address: self.listen, source })
    }

    /// Where the same is to be had by HTTP/3 (RFC 7838), for clients who trust the certificate.
    fn alternative(self, quic: SocketAddr) -> Option<HeaderValue> {
        let value = format!("h3=\":{}\"; ma=86400", quic.port());
        HeaderValue::from_str(&value).ok().filter(|_| self.tls)
    }
}

impl Server {
    /// Whether anybody is connected.
    pub fn is_in_use(&self) -> bool {
        // The tasks that accept connections count too.
        self.connections.sender_strong_count() > self.accepting
    }

    /// Takes no new connections or requests and waits for those under way.
    pub async fn finish(&mut self) {
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

/// The state of the accepting task.
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
                () = told(&mut self.closing) => break,
            };
            let Some(incoming) = incoming else { return };
            self.admit(incoming);
        }
        let metrics = self.service.metrics.clone();
        // The server ends with its last connection, which this is none of.
        drop(self);
        while let Some(incoming) = endpoint.accept().await {
            metrics.refuse(Refusal::Stopping);
            incoming.refuse();
        }
    }

    /// How data goes to and from a client.
    fn config_for(&self, address: SocketAddr, windows: &Windows) -> ServerConfig {
        let mut config = self.config.clone();
        let mut transport = (self.transport)(address, windows);
        // Requests are small; nobody needs to hold what a stranger sends.
        transport.receive_window(REQUESTS_WINDOW.into()).send_window(UNSHARED_SEND_WINDOW);
        if self.service.uploads.is_none() && self.service.tunnels.is_none() {
            transport.stream_receive_window(REQUEST_WINDOW.into());
        }
        config.transport_config(Arc::new(transport));
        config
    }

    fn admit(&self, incoming: Incoming) {
        let address = incoming.remote_address();
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        let guest = match self.guests.enter(address.ip(), incoming.remote_address_validated()) {
            Admission::Welcome(guest) => guest,
            Admission::Unproven => {
                if let Err(error) = incoming.retry() {
                    error.into_incoming().refuse();
                }
                return;
            }
            Admission::Full => {
                tracing::info!(%address, "refused: too many connections");
                self.service.metrics.refuse(Refusal::Full);
                return incoming.refuse();
            }
        };
        let windows = Windows::default();
        let connecting = match incoming.accept_with(Arc::new(self.config_for(address, &windows))) {
            Ok(connecting) => connecting,
            Err(error) => {
                tracing::debug!(%address, %error, "no connection");
                return;
            }
        };
        let (service, closing, alive) = (self.service.clone(), self.closing.clone(), self.alive.clone());
        tokio::spawn(async move {
            let _alive = alive;
            match tokio::time::timeout(HANDSHAKE, connecting).await {
                Ok(Ok(connection)) => {
                    let mut sent = service.sent.none(network(address.ip()));
                    let grant = move |wanted: Bytes| Bytes::new(sent.grow_to(wanted.get()));
                    let sight = Sight::default();
                    tokio::spawn(share_send_window(connection.weak_handle(), windows, sight.clone(), grant));
                    connection::serve(service, Visit { connection, peer: address, sight }, guest, closing).await;
                }
                Ok(Err(error)) => {
                    service.metrics.refuse(Refusal::Handshake);
                    tracing::debug!(%address, %error, "no connection");
                }
                Err(_) => {
                    service.metrics.refuse(Refusal::Handshake);
                    tracing::debug!(%address, "the handshake took too long");
                }
            }
        });
    }
}
