//! Certificates: what a server shows of itself, and what a client demands of it.
//!
//! A server without a certificate from an authority makes its own and keeps it. It is identified by the
//! [`Fingerprint`], which travels in the fragment of the URL: `https://host:4433/#sha256=…`. A client with this
//! URL needs no authority.

mod error;
mod fingerprint;
mod identity;
mod refusal;
mod validity;
mod verifier;

pub use error::{IdentityError, TlsError};
pub use fingerprint::{Fingerprint, ParseFingerprintError};
pub use identity::Identity;
pub use refusal::Refusal;
pub use verifier::Trust;

use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// The cryptography that both sides use.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// TLS for a server that speaks `alpn`. No early data: a request in it could be replayed.
pub fn server(identity: &Identity, alpn: &[&[u8]]) -> Result<noq::crypto::rustls::QuicServerConfig, TlsError> {
    Ok(server_config(identity, alpn)?.try_into()?)
}

/// The same for a server over TCP.
pub fn server_over_tcp(identity: &Identity, alpn: &[&[u8]]) -> Result<TlsAcceptor, TlsError> {
    Ok(TlsAcceptor::from(Arc::new(server_config(identity, alpn)?)))
}

fn server_config(identity: &Identity, alpn: &[&[u8]]) -> Result<rustls::ServerConfig, TlsError> {
    let mut config = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(identity.chain.clone(), identity.key.clone_key())?;
    config.alpn_protocols = owned(alpn);
    Ok(config)
}

/// Accepts every certificate whose key its server holds: for a server that is trusted with nothing.
///
/// Errors: none with today's cryptography.
pub fn any_certificate(provider: Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
    Ok(Trust::Anyone.verifier(provider)?.0)
}

/// TLS for a client that speaks `alpn` and accepts what `trust` does. If the handshake fails because of the server's
/// certificate, [`Refusal`] holds the reason.
pub fn client(
    trust: &Trust,
    alpn: &[&[u8]],
) -> Result<(noq::crypto::rustls::QuicClientConfig, Arc<Refusal>), TlsError> {
    let (verifier, refusal) = trust.verifier(provider())?;
    let mut config = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous() // rustls's word for any verifier that is not its own; ours refuses whatever `trust` does not name
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = owned(alpn);
    Ok((config.try_into()?, refusal))
}

fn owned(alpn: &[&[u8]]) -> Vec<Vec<u8>> {
    alpn.iter().map(|name| name.to_vec()).collect()
}
