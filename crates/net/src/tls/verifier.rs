//! Which server certificates a client accepts, and what to say of the others.

use super::refusal::Refusal;
use super::{Fingerprint, IdentityError, TlsError};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whom a client believes.
#[derive(Clone, Debug)]
pub enum Trust {
    /// The holder of this certificate, whatever name it bears.
    Pinned(Fingerprint),
    /// The certificates in this PEM file: servers that show one of them, or one that an authority among them signed.
    Authorities(PathBuf),
    /// The authorities this computer trusts.
    System,
    /// Any peer that answers: for words that hold no secrets and are believed by nobody.
    Anyone,
}

impl Trust {
    /// The certificate that a URL names; without one, these authorities, or those that this computer trusts.
    pub fn of(pin: Option<Fingerprint>, authorities: Option<&Path>) -> Self {
        let authorities = || authorities.map_or(Self::System, |file| Self::Authorities(file.to_owned()));
        pin.map_or_else(authorities, Self::Pinned)
    }

    pub(super) fn verifier(
        &self,
        provider: Arc<CryptoProvider>,
    ) -> Result<(Arc<dyn ServerCertVerifier>, Arc<Refusal>), TlsError> {
        let algorithms = provider.signature_verification_algorithms;
        let accepts = match self {
            Self::Pinned(fingerprint) => Accepts::Only(*fingerprint),
            Self::Authorities(file) => {
                let read = || -> Result<_, Box<dyn std::error::Error + Send + Sync>> {
                    let listed = CertificateDer::pem_file_iter(file)?.collect::<Result<Vec<_>, _>>()?;
                    if listed.is_empty() {
                        return Err(IdentityError::NoCertificate.into());
                    }
                    let mut roots = RootCertStore::empty();
                    for certificate in &listed {
                        roots.add(certificate.clone())?;
                    }
                    let authorities = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
                    Ok(Accepts::Listed { listed, authorities })
                };
                read().map_err(|source| TlsError::Authorities { file: file.clone(), source })?
            }
            Self::Anyone => Accepts::All,
            Self::System => Accepts::Vouched(Arc::new(
                rustls_platform_verifier::Verifier::new(provider).map_err(TlsError::NoAuthorities)?,
            )),
        };
        let refusal = Arc::new(Refusal::default());
        Ok((Arc::new(Verifier { accepts, algorithms, refusal: refusal.clone() }), refusal))
    }
}

/// Which certificates are good.
#[derive(Debug)]
enum Accepts {
    /// The one with this fingerprint, whatever it says of itself.
    Only(Fingerprint),
    /// Those that an authority vouches for, as this verifier finds.
    Vouched(Arc<dyn ServerCertVerifier>),
    /// These, and those that one of them vouches for.
    Listed { listed: Vec<CertificateDer<'static>>, authorities: Arc<WebPkiServerVerifier> },
    /// Every one.
    All,
}

/// Judges a server's certificate, and keeps the reason of a refusal, which the handshake's error reduces to an alert
/// number. That the server holds the certificate's key is proved in the same way for every certificate.
#[derive(Debug)]
struct Verifier {
    accepts: Accepts,
    algorithms: WebPkiSupportedAlgorithms,
    refusal: Arc<Refusal>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let found = Fingerprint::of(end_entity);
        let verdict = match &self.accepts {
            Accepts::All => Ok(ServerCertVerified::assertion()),
            Accepts::Only(fingerprint) if found == *fingerprint => Ok(ServerCertVerified::assertion()),
            Accepts::Only(_) => Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)),
            Accepts::Vouched(by) => by.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now),
            Accepts::Listed { listed, authorities } => authorities
                .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
                .or_else(|error| match is_of_wrong_kind(&error) && listed.contains(&end_entity.clone().into_owned()) {
                    true => is_for(end_entity, server_name),
                    false => Err(error),
                }),
        };
        verdict.inspect_err(|error| self.refusal.is(found, error))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Whether it is the kind of certificate that is wrong: an authority's own, as `openssl req -x509` makes them (CA:TRUE).
/// Its dates were right then, since they are looked at first. rustls has no word of its own for this error.
fn is_of_wrong_kind(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::Other(_)))
}

/// Whether a certificate that is trusted as it is names this server.
fn is_for(certificate: &CertificateDer<'_>, server_name: &ServerName<'_>) -> Result<ServerCertVerified, Error> {
    verify_server_name(&ParsedCertificate::try_from(certificate)?, server_name)?;
    Ok(ServerCertVerified::assertion())
}
