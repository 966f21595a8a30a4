//! A server's certificate and key: given, or made once and kept.

use super::{Fingerprint, IdentityError, TlsError, provider, validity};
use crate::escape_for_terminal::with_causes;
use crate::user_dirs::{self, HOME};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// A certificate chain, the server's own certificate first, and its key.
pub struct Identity {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
    /// Whether clients can only know it by its fingerprint.
    pub self_signed: bool,
}

impl Identity {
    /// A new one, for `localhost` and this host's name.
    pub fn generate() -> Result<Self, TlsError> {
        Self::from_pem(&new_pem()?, true).map_err(|error| TlsError::Make(error.into()))
    }

    /// From PEM files. A warning says what clients will find wrong with the certificate's dates.
    ///
    /// Errors: a file cannot be read, or holds nothing of the kind; the key is not the certificate's.
    pub fn load(certificate: &Path, key_file: &Path) -> Result<Self, TlsError> {
        let (chain, secret) = (read("the certificate", certificate)?, read("the key", key_file)?);
        let in_file = |file: &Path| {
            let file = file.to_owned();
            move |source| TlsError::Unusable { file, source }
        };
        let chain = certificates(&chain).map_err(in_file(certificate))?;
        let key = key(&secret).map_err(in_file(key_file))?;
        let identity = Self { chain, key, self_signed: false };
        identity.check().map_err(|source| {
            let (certificate, key) = (certificate.to_owned(), key_file.to_owned());
            TlsError::Pair { certificate, key, source }
        })?;
        if let Some(problem) = validity::problem(&identity.chain, UnixTime::now()) {
            tracing::warn!(
                "a certificate in {} {problem}: clients will refuse it; renew it, and check this computer's clock",
                certificate.display()
            );
        }
        Ok(identity)
    }

    /// The one this user's servers share, made at the first use, so that a URL stays valid over restarts. It is kept in
    /// `$XDG_STATE_HOME/pcc` or `~/.local/state/pcc`, on Windows in `%LOCALAPPDATA%\pcc`, readable by its owner only; where
    /// that cannot be, it is made anew and a warning says so.
    ///
    /// Errors: what is kept is damaged. It is never replaced: URLs that others have name its certificate.
    pub fn persistent() -> Result<Self, TlsError> {
        let Some(file) = user_dirs::state().map(|dir| dir.join("identity.pem")) else {
            tracing::warn!("neither XDG_STATE_HOME nor {HOME} is set: the fingerprint changes with each start");
            return Self::generate();
        };
        match kept(&file) {
            Ok(pem) => Self::from_kept(&pem, &file),
            Err(error) => {
                tracing::warn!("{}: the fingerprint changes with each start", with_causes(&error));
                Self::generate()
            }
        }
    }

    fn from_kept(pem: &[u8], file: &Path) -> Result<Self, TlsError> {
        let identity = Self::from_pem(pem, true).and_then(|identity| identity.check().map(|()| identity));
        identity.map_err(|source| TlsError::Damaged { file: file.to_owned(), source })
    }

    /// Errors: the certificate is none, or the key is another's.
    fn check(&self) -> Result<(), IdentityError> {
        CertifiedKey::from_der(self.chain.clone(), self.key.clone_key(), &provider()).map(drop).map_err(|error| {
            match error {
                rustls::Error::InconsistentKeys(_) => IdentityError::OtherKey,
                rustls::Error::InvalidCertificate(_) => IdentityError::DamagedCertificate,
                _ => IdentityError::DamagedKey,
            }
        })
    }

    fn from_pem(pem: &[u8], self_signed: bool) -> Result<Self, IdentityError> {
        Ok(Self { key: key(pem)?, chain: certificates(pem)?, self_signed })
    }

    /// The fingerprint by which clients know it.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.chain.first().map_or(&[], |certificate| certificate))
    }

    /// A secret for stateless resets (RFC 9000 §10.3) that stays the same over restarts: clients of the server that was
    /// killed hear from the one that took its place that their connection is gone, and need not wait for a time-out.
    pub fn reset_key(&self) -> [u8; 32] {
        blake3::derive_key("pcc 2026 stateless reset key", self.key.secret_der())
    }

    /// A part of the address that nobody can guess, and that stays the same over restarts.
    pub fn private_name(&self) -> String {
        let secret = blake3::derive_key("pcc 2026 private address", self.key.secret_der());
        secret[..16].iter().map(|byte| format!("{byte:02x}")).collect() // as hard to guess as a token
    }

    /// The key of this server's connection identifiers, which is no secret. It stays the same for the same reason: a
    /// server that does not recognise its identifiers sends no reset.
    pub fn cid_key(&self) -> u64 {
        let key = blake3::derive_key("pcc 2026 connection identifiers", self.key.secret_der());
        let [a, b, c, d, e, f, g, h, ..] = key;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

impl core::fmt::Debug for Identity {
    /// Never the key.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Identity").field(&self.fingerprint()).finish()
    }
}

fn read(what: &'static str, file: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(file).map_err(|source| TlsError::Read { what, file: file.to_owned(), source })
}

fn key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, IdentityError> {
    PrivateKeyDer::from_pem_slice(pem).map_err(IdentityError::NoKey)
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(IdentityError::NotPem)?;
    if chain.is_empty() { Err(IdentityError::NoCertificate) } else { Ok(chain) }
}

/// A new certificate and its key, in one text.
fn new_pem() -> Result<Vec<u8>, TlsError> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    names.extend(std::fs::read_to_string("/proc/sys/kernel/hostname").map(|name| name.trim().to_owned()).ok());
    let made = rcgen::generate_simple_self_signed(names).map_err(|error| TlsError::Make(error.into()))?;
    Ok((made.cert.pem() + &made.signing_key.serialize_pem()).into_bytes())
}

/// Writes `pem` to `file` unless another server was quicker, and answers what the file holds then.
fn keep(file: &Path, pem: Vec<u8>) -> Result<Vec<u8>, TlsError> {
    let dir = file.parent().unwrap_or(Path::new("."));
    let written = || {
        std::fs::create_dir_all(dir)?;
        let mut temporary = tempfile::NamedTempFile::new_in(dir)?; // mode 0600
        temporary.write_all(&pem)?;
        temporary.as_file().sync_all()?;
        match temporary.persist_noclobber(file) {
            Ok(_) => Ok(pem),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => std::fs::read(file),
            Err(error) => Err(error.error),
        }
    };
    written().map_err(|source| TlsError::Keep { file: file.to_owned(), source })
}

/// The content of `file`, which is made if it is not there.
fn kept(file: &Path) -> Result<Vec<u8>, TlsError> {
    match read("the server's identity", file) {
        Err(TlsError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => keep(file, new_pem()?),
        read => read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept_in(file: &Path) -> Result<Identity, TlsError> {
        Identity::from_kept(&kept(file)?, file)
    }

    #[test]
    fn the_kept_identity_is_the_same_at_the_next_start() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("state/pcc/identity.pem");
        let first = kept_in(&file).unwrap();
        let second = kept_in(&file).unwrap();
        assert_eq!(first.fingerprint(), second.fingerprint());
        assert_eq!(first.reset_key(), second.reset_key());
        assert_eq!(first.cid_key(), second.cid_key());
        assert_ne!(first.fingerprint(), Identity::generate().unwrap().fingerprint());
    }

    #[cfg(unix)]
    #[test]
    fn the_key_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("identity.pem");
        kept_in(&file).unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_damaged_identity_is_reported_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("identity.pem");
        let text = |pem: Vec<u8>| String::from_utf8(pem).unwrap();
        let (one, other) = (text(new_pem().unwrap()), text(new_pem().unwrap()));
        let key_at = |pem: &str| pem.find("-----BEGIN PRIVATE KEY").unwrap();
        let (certificate, key) = (&one[..key_at(&one)], &one[key_at(&one)..]);
        let bent = certificate.replacen("-----\nMII", "-----\nMIJ", 1);
        assert_ne!(bent, certificate);
        for (pem, why) in [
            ("not PEM".to_owned(), "no private key"),
            (String::new(), "no private key"),
            (certificate.to_owned(), "no private key"),
            (key.to_owned(), "no certificate"),
            (certificate.to_owned() + &other[key_at(&other)..], "the key is not that of the certificate"),
            (bent + key, "the certificate is damaged"),
        ] {
            std::fs::write(&file, &pem).unwrap();
            let error = with_causes(&kept_in(&file).unwrap_err());
            assert!(error.contains("identity.pem is damaged: put a copy") && error.contains(why), "{error}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), pem);
        }
    }

    #[test]
    fn a_pair_of_pem_files_is_loaded() {
        let dir = tempfile::tempdir().unwrap();
        let (certificate, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
        let made = rcgen::generate_simple_self_signed(vec!["example".to_owned()]).unwrap();
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let loaded = Identity::load(&certificate, &key).unwrap();
        assert_eq!(loaded.fingerprint(), Fingerprint::of(made.cert.der()));
        assert!(!loaded.self_signed);
        let swapped = with_causes(&Identity::load(&key, &certificate).unwrap_err());
        assert!(swapped.contains("no certificate") && swapped.contains("key.pem"), "{swapped}");
        std::fs::write(&key, rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap();
        let strange = with_causes(&Identity::load(&certificate, &key).unwrap_err());
        assert!(strange.contains("cert.pem and the key in") && strange.contains("not that of"), "{strange}");
    }
}
