//! Whether the dates of a certificate are right, as clients will judge them.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::{CertificateError, Error, RootCertStore};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use std::time::UNIX_EPOCH;

/// The fault of the dates of the first certificate in this chain whose dates are wrong.
///
/// rustls looks at the dates before anything else, so it need not trust the certificate.
pub(super) fn problem(chain: &[CertificateDer<'_>], now: UnixTime) -> Option<String> {
    chain.iter().find_map(|certificate| {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone().into_owned()).ok()?;
        let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), super::provider()).build().ok()?;
        let name = ServerName::try_from("localhost").ok()?;
        match verifier.verify_server_cert(certificate, &[], &name, &[], now) {
            Err(Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => {
                Some(format!("has expired at {}", written(not_after)))
            }
            Err(Error::InvalidCertificate(CertificateError::NotValidYetContext { not_before, .. })) => {
                Some(format!("is not valid before {}", written(not_before)))
            }
            _ => None,
        }
    })
}

fn written(time: UnixTime) -> String {
    let time = UNIX_EPOCH.checked_add(core::time::Duration::from_secs(time.as_secs()));
    time.map_or("a time beyond the calendar".to_owned(), |time| humantime::format_rfc3339_seconds(time).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    /// One for a server, or an authority's, valid in 2020 only.
    fn certificate(is_ca: rcgen::IsCa) -> CertificateDer<'static> {
        let mut params = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        params.is_ca = is_ca;
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
        params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    #[test]
    fn dates_that_clients_will_refuse_are_named() {
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let authority = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        for kind in [rcgen::IsCa::NoCa, rcgen::IsCa::ExplicitNoCa, authority] {
            let chain = [certificate(kind)];
            assert_eq!(problem(&chain, at(1_590_000_000)), None, "in 2020");
            let early = problem(&chain, at(1_500_000_000)).unwrap();
            assert_eq!(early, "is not valid before 2020-01-01T00:00:00Z");
            let late = problem(&chain, at(1_700_000_000)).unwrap();
            assert_eq!(late, "has expired at 2021-01-01T00:00:00Z");
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_dates() {
        assert_eq!(problem(&[CertificateDer::from(vec![1, 2, 3])], UnixTime::now()), None);
        assert_eq!(problem(&[], UnixTime::now()), None);
    }
}
