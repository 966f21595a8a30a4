//! Why a certificate, a key, or what a client trusts can't be used.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// Why TLS can't begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file can't be read.
    #[error("could not read {what} {}", file.display())]
    Read {
        /// Its purpose.
        what: &'static str,
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The new identity can't be written.
    #[error("could not keep the certificate in {}", file.display())]
    Keep {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file holds no key, or no certificate.
    #[error("in {}", file.display())]
    Unusable {
        /// The file.
        file: PathBuf,
        /// Its fault.
        source: IdentityError,
    },
    /// A certificate and a key that can't be used together.
    #[error("the certificate in {} and the key in {} cannot be used", certificate.display(), key.display())]
    Pair {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's.
        key: PathBuf,
        /// The fault.
        source: IdentityError,
    },
    /// The identity that this user's servers share is damaged.
    #[error(
        "the server's identity in {} is damaged: put a copy of it back, or remove it, and the next start makes another, \
         with which the URLs that this server printed before are no longer valid",
        file.display()
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Its fault.
        source: IdentityError,
    },
    /// A new certificate can't be used.
    #[error("could not make a certificate")]
    Make(#[source] Box<dyn Error + Send + Sync>),
    /// The file with a client's authorities can't be used.
    #[error("could not read certificate authorities from {}", file.display())]
    Authorities {
        /// The file.
        file: PathBuf,
        /// Its fault.
        source: Box<dyn Error + Send + Sync>,
    },
    /// This computer has no authorities.
    #[error("could not find the certificate authorities of this computer")]
    NoAuthorities(#[source] rustls::Error),
    /// The cryptography refuses.
    #[error(transparent)]
    Rustls(#[from] rustls::Error),
    /// The cryptography lacks what QUIC begins with.
    #[error(transparent)]
    Quic(#[from] noq::crypto::rustls::NoInitialCipherSuite),
}

/// The fault of a certificate or a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// There is no key.
    #[error("no private key in PEM form")]
    NoKey(#[source] rustls_pki_types::pem::Error),
    /// It is no PEM.
    #[error("not PEM")]
    NotPem(#[source] rustls_pki_types::pem::Error),
    /// There is no certificate.
    #[error("no certificate in PEM form")]
    NoCertificate,
    /// They don't belong together.
    #[error("the key is not that of the certificate")]
    OtherKey,
    /// The certificate can't be read.
    #[error("the certificate is damaged")]
    DamagedCertificate,
    /// The key can't be read.
    #[error("the key is damaged, or of a kind that TLS does not use")]
    DamagedKey,
}
