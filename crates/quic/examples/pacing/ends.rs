//! Both ends of the connections that are measured.

use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::{ClientConfig, Connection, Endpoint, Runtime, ServerConfig, TokioRuntime};
use pcc::units::Rate;
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, PacedRuntime, socket};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Who decides when packets leave.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pacer {
    Ours,
    Noq,
}

impl Pacer {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ours => "PacedRuntime",
            Self::Noq => "TokioRuntime",
        }
    }

    fn runtime(self) -> std::io::Result<Arc<dyn Runtime>> {
        match self {
            Self::Ours => PacedRuntime::new(),
            Self::Noq => Ok(Arc::new(TokioRuntime)),
        }
    }
}

/// An endpoint that takes connections, and the certificate to trust.
pub(crate) fn receiver() -> anyhow::Result<(Endpoint, rustls_pki_types::CertificateDer<'static>)> {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate = certified.cert.der().clone();
    let key = rustls_pki_types::PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()).into();
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default(); // a build of all crates has two
    let tls = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate.clone()], key)?;
    let mut server = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    server.transport_config(Arc::new(transport::config(&Algorithm::Cubic, &Windows::default())));
    let bound = socket::bind(([127, 0, 0, 1], 0).into())?;
    let endpoint = Endpoint::new(Default::default(), Some(server), bound.socket, Arc::new(TokioRuntime))?;
    Ok((endpoint, certificate))
}

/// Takes connections and throws away what they bring, for ever.
pub(crate) async fn discard(endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let connection = incoming.await?;
            let mut stream = connection.accept_uni().await?;
            while stream.read_chunk(usize::MAX).await?.is_some() {}
            anyhow::Ok(())
        });
    }
}

/// An endpoint that sends at `rate`.
pub(crate) fn sender(
    pacer: Pacer,
    rate: Rate,
    trusted: &rustls_pki_types::CertificateDer<'static>,
) -> anyhow::Result<Endpoint> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(trusted.clone())?;
    let tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    // A tenth of a second of data to write ahead: enough never to run dry.
    let windows = Windows { rate, rtt: Duration::from_millis(100) };
    client.transport_config(Arc::new(transport::config(&Algorithm::Fixed(rate), &windows)));
    let bound = socket::bind(([127, 0, 0, 1], 0).into())?;
    let endpoint = Endpoint::new(Default::default(), None, bound.socket, pacer.runtime()?)?;
    endpoint.set_default_client_config(client);
    Ok(endpoint)
}

pub(crate) async fn connect(endpoint: &Endpoint, to: SocketAddr) -> anyhow::Result<Connection> {
    Ok(endpoint.connect(to, "localhost")?.await?)
}

/// Writes for ever.
pub(crate) async fn flood(connection: &Connection) -> anyhow::Result<()> {
    let mut stream = connection.open_uni().await?;
    tokio::spawn(async move {
        let data = bytes::Bytes::from_static(&[0; 16_384]);
        while stream.write_chunk(data.clone()).await.is_ok() {}
    });
    Ok(())
}
