//! Which server certificates a client accepts, and what to say of the others.

use super::Fingerprint;
use anyhow::Context;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Whom a client believes.
#[derive(Clone, Debug)]
pub(crate) enum Trust {
    /// The holder of this certificate, whatever name it bears.
    Pinned(Fingerprint),
    /// The authorities in this PEM file.
    Authorities(PathBuf),
    /// The authorities this computer trusts.
    System,
    /// Whoever answers: for what holds no secrets and is believed by nobody.
    Anyone,
}

/// Why a server's certificate was refused, if it was.
#[derive(Debug, Default)]
pub(crate) struct Refusal(OnceLock<(Fingerprint, Error)>);

impl Refusal {
    /// The certificate that was shown, and what is wrong with it.
    pub(crate) fn reason(&self) -> Option<&(Fingerprint, Error)> {
        self.0.get()
    }
}

impl Trust {
    pub(super) fn verifier(
        &self,
        provider: Arc<CryptoProvider>,
    ) -> anyhow::Result<(Arc<dyn ServerCertVerifier>, Arc<Refusal>)> {
        let algorithms = provider.signature_verification_algorithms;
        let accepts = match self {
            Self::Pinned(fingerprint) => Accepts::Only(*fingerprint),
            Self::Authorities(file) => {
                let read = || -> anyhow::Result<_> {
                    let mut roots = RootCertStore::empty();
                    for certificate in CertificateDer::pem_file_iter(file)? {
                        roots.add(certificate?)?;
                    }
                    Ok(WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()?)
                };
                Accepts::Vouched(
                    read()
                        .with_context(|| format!("could not read certificate authorities from {}", file.display()))?,
                )
            }
            Self::Anyone => Accepts::All,
            Self::System => Accepts::Vouched(Arc::new(
                rustls_platform_verifier::Verifier::new(provider)
                    .context("could not find the certificate authorities of this computer; pass --ca FILE")?,
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
        };
        verdict.inspect_err(|error| {
            // A second refusal adds nothing to the first.
            let _ = self.refusal.0.set((found, error.clone()));
        })
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
