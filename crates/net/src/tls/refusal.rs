//! Why a server's certificate was refused, in words for a person.

use super::Fingerprint;
use rustls::{CertificateError, Error};
use std::sync::OnceLock;

/// Why a server's certificate was refused, if it was.
#[derive(Debug, Default)]
pub struct Refusal(OnceLock<(Fingerprint, String)>);

impl Refusal {
    /// The certificate that was shown, and what is wrong with it.
    pub fn reason(&self) -> Option<&(Fingerprint, String)> {
        self.0.get()
    }

    pub(super) fn is(&self, found: Fingerprint, error: &Error) {
        // A second refusal adds nothing to the first.
        let _ = self.0.set((found, in_words(error)));
    }
}

fn in_words(error: &Error) -> String {
    use CertificateError as E;
    let Error::InvalidCertificate(error) = error else { return error.to_string() };
    match error {
        E::UnknownIssuer => "no authority that is trusted here signed it".to_owned(),
        E::Expired | E::ExpiredContext { .. } => "it has expired".to_owned(),
        E::NotValidYet | E::NotValidYetContext { .. } => {
            "it is not valid yet, if this computer's clock is right".to_owned()
        }
        E::NotValidForName => "it does not name this server".to_owned(),
        E::NotValidForNameContext { expected, presented } => {
            let names: Vec<_> = presented.iter().map(|name| plain(name)).collect();
            let names = if names.is_empty() { "no host at all".to_owned() } else { names.join(", ") };
            format!("it does not name {} but {names}", expected.to_str())
        }
        E::Revoked => "its authority has revoked it".to_owned(),
        E::BadEncoding => "it is damaged".to_owned(),
        E::BadSignature => "the signature on it is wrong".to_owned(),
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => "it is not meant for servers".to_owned(),
        _ => "it is not of a kind that a server may show".to_owned(),
    }
}

/// rustls presents `DnsName("host")`.
fn plain(presented: &str) -> &str {
    presented.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(presented).trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn no_words_of_the_library_reach_the_user() {
        let expected = "a.example".try_into().unwrap();
        let presented = vec!["DnsName(\"b.example\")".to_owned(), "IpAddress(192.0.2.1)".to_owned()];
        for (error, words) in [
            (CertificateError::UnknownIssuer, "no authority that is trusted here signed it"),
            (
                CertificateError::NotValidForNameContext { expected, presented },
                "it does not name a.example but b.example, 192.0.2.1",
            ),
            (
                CertificateError::Other(rustls::OtherError(Arc::new(std::fmt::Error))),
                "it is not of a kind that a server may show",
            ),
        ] {
            assert_eq!(in_words(&Error::InvalidCertificate(error)), words);
        }
    }
}
