//! Which server certificates a client accepts, and what to say of the others.

use super::Fingerprint;
use anyhow::Context;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
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
        let inner: Arc<dyn ServerCertVerifier> = match self {
            Self::Pinned(fingerprint) => Arc::new(Pin { fingerprint: *fingerprint, provider }),
            Self::Authorities(file) => {
                let read = || -> anyhow::Result<_> {
                    let mut roots = RootCertStore::empty();
                    for certificate in CertificateDer::pem_file_iter(file)? {
                        roots.add(certificate?)?;
                    }
                    Ok(WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()?)
                };
                read().with_context(|| format!("could not read certificate authorities from {}", file.display()))?
            }
            Self::System => Arc::new(
                rustls_platform_verifier::Verifier::new(provider)
                    .context("could not find the certificate authorities of this computer; pass --ca FILE")?,
            ),
        };
        let refusal = Arc::new(Refusal::default());
        Ok((Arc::new(Recorder { inner, refusal: refusal.clone() }), refusal))
    }
}

/// Accepts one certificate only.
#[derive(Debug)]
struct Pin {
    fingerprint: Fingerprint,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pin {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if Fingerprint::of(end_entity) == self.fingerprint {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Keeps the reason of a refusal, which the handshake's error reduces to an alert number.
#[derive(Debug)]
struct Recorder {
    inner: Arc<dyn ServerCertVerifier>,
    refusal: Arc<Refusal>,
}

impl ServerCertVerifier for Recorder {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now).inspect_err(|error| {
            // A second refusal adds nothing to the first.
            let _ = self.refusal.0.set((Fingerprint::of(end_entity), error.clone()));
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }

    fn root_hint_subjects(&self) -> Option<&[rustls::DistinguishedName]> {
        self.inner.root_hint_subjects()
    }
}
