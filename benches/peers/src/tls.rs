//! What noq and quinn are given of rustls.

use anyhow::{Context, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

const PROTOCOL: &[u8] = b"peers";

pub(crate) fn server(certificate: &str, key: &str) -> Result<rustls::ServerConfig> {
    let chain = vec![CertificateDer::from_pem_file(certificate).with_context(|| certificate.to_owned())?];
    let key = PrivateKeyDer::from_pem_file(key).with_context(|| key.to_owned())?;
    let mut config = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(config)
}

pub(crate) fn client(certificate: &str) -> Result<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate).with_context(|| certificate.to_owned())?)?;
    let mut config = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(config)
}
