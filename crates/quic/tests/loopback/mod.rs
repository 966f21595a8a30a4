//! Two endpoints on 127.0.0.1 that trust each other.
#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod notes;
pub(crate) mod relay;

use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::{ClientConfig, Connection, Endpoint, Runtime, ServerConfig, TokioRuntime, TransportConfig};
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, PacedRuntime, http3, socket};
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Far longer than anything here takes, also on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What all endpoints of a test show, and all trust.
static CERTIFIED: LazyLock<rcgen::CertifiedKey<rcgen::KeyPair>> =
    LazyLock::new(|| rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate"));

/// Who decides when packets leave.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Paced {
    ByUs,
    ByNoq,
}

impl Paced {
    pub(crate) fn runtime(self) -> Arc<dyn Runtime> {
        match self {
            Self::ByUs => PacedRuntime::new().expect("a timer"),
            Self::ByNoq => Arc::new(TokioRuntime),
        }
    }
}

/// A connected pair: what `client` sends is sent by the algorithm under test, and so is what `server` sends.
pub(crate) struct Pair {
    pub(crate) client: Connection,
    pub(crate) server: Connection,
    pub(crate) endpoints: [Endpoint; 2],
}

/// An endpoint that can both connect and accept, with `algorithm` for whatever it sends.
pub(crate) fn endpoint(algorithm: &Algorithm, runtime: Arc<dyn Runtime>) -> Endpoint {
    endpoint_with(algorithm, &Windows::default(), runtime)
}

/// The same with other windows.
pub(crate) fn endpoint_with(algorithm: &Algorithm, windows: &Windows, runtime: Arc<dyn Runtime>) -> Endpoint {
    endpoint_of(transport::config(algorithm, windows), runtime)
}

/// The same with this transport.
pub(crate) fn endpoint_of(transport: TransportConfig, runtime: Arc<dyn Runtime>) -> Endpoint {
    let (server, client) = configured(transport);
    let bound = socket::bind("127.0.0.1:0".parse().expect("an address")).expect("a socket");
    let endpoint = Endpoint::new(Default::default(), Some(server), bound.socket, runtime).expect("an endpoint");
    endpoint.set_default_client_config(client);
    endpoint
}

/// Both ends with this transport; they trust each other.
pub(crate) fn configured(transport: TransportConfig) -> (ServerConfig, ClientConfig) {
    configured_with(transport, 1)
}

/// The same with a chain of so many certificates, which are some 400 bytes each.
pub(crate) fn configured_with(transport: TransportConfig, certificates: usize) -> (ServerConfig, ClientConfig) {
    let certificate = CERTIFIED.cert.der().clone();
    let key = rustls_pki_types::PrivatePkcs8KeyDer::from(CERTIFIED.signing_key.serialize_der()).into();
    let mut trusted = rustls::RootCertStore::empty();
    trusted.add(certificate.clone()).expect("a certificate");

    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default(); // a build of all crates has two
    let mut server_tls = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate; certificates], key)
        .expect("the key fits the certificate");
    server_tls.alpn_protocols = vec![http3::ALPN.to_vec()];
    let mut client_tls = rustls::ClientConfig::builder().with_root_certificates(trusted).with_no_client_auth();
    client_tls.alpn_protocols = vec![http3::ALPN.to_vec()];

    let transport = Arc::new(transport);
    let mut server = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(server_tls).expect("TLS 1.3")));
    server.transport_config(Arc::clone(&transport));
    let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(client_tls).expect("TLS 1.3")));
    client.transport_config(transport);
    (server, client)
}

/// Connects `from` to `to`.
pub(crate) async fn connect(from: &Endpoint, to: &Endpoint) -> (Connection, Connection) {
    connect_to(from, to, to.local_addr().expect("bound")).await
}

/// Connects `from` to `to`, which is reached at `address`.
pub(crate) async fn connect_to(from: &Endpoint, to: &Endpoint, address: SocketAddr) -> (Connection, Connection) {
    let connecting = from.connect(address, "localhost").expect("a valid name");
    let accepting = async { to.accept().await.expect("open").await };
    let (client, server) = tokio::join!(connecting, accepting);
    (client.expect("connected"), server.expect("accepted"))
}

pub(crate) async fn pair(algorithm: &Algorithm, paced: Paced) -> Pair {
    let runtime = paced.runtime();
    let endpoints = [endpoint(algorithm, Arc::clone(&runtime)), endpoint(algorithm, runtime)];
    let (client, server) = connect(&endpoints[0], &endpoints[1]).await;
    Pair { client, server, endpoints }
}

/// Bytes that tell where they belong.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index * 31 + (index >> 8) * 7) as u8).collect()
}
