//! Whether a request over TCP names its host as it must: another server on the way may take the other of two names.

use http::uri::Authority;
use http::{HeaderValue, Request, Version, header};

/// Whether it is named once, and in a form that names have (RFC 9112 §3.2, RFC 9113 §8.3.1).
pub(super) fn is_named(request: &Request<()>) -> bool {
    let mut named = request.headers().get_all(header::HOST).iter();
    match (named.next(), named.next()) {
        (_, Some(_)) => false,
        (Some(host), None) if request.version() == Version::HTTP_2 => {
            request.uri().authority().is_none_or(|authority| host == authority.as_str())
        }
        (Some(host), None) => is_host(host),
        (None, None) => request.version() != Version::HTTP_11,
    }
}

/// A host and perhaps a port; nothing is said of a URI that has no host.
fn is_host(value: &HeaderValue) -> bool {
    let is_authority = |text: &str| !text.contains('@') && text.parse::<Authority>().is_ok();
    value.to_str().is_ok_and(|text| text.is_empty() || is_authority(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_named_once() {
        for (version, uri, hosts, expected) in [
            (Version::HTTP_11, "/", &["example.org"][..], true),
            (Version::HTTP_11, "/", &["[::1]:8080"], true),
            (Version::HTTP_11, "/", &[""], true),
            (Version::HTTP_11, "/", &[], false),
            (Version::HTTP_11, "http://a/", &[], false),
            (Version::HTTP_11, "/", &["a", "a"], false),
            (Version::HTTP_11, "/", &["a b/../"], false),
            (Version::HTTP_11, "/", &["a/b"], false),
            (Version::HTTP_11, "/", &["me@a"], false),
            (Version::HTTP_11, "/", &["a, b"], false),
            (Version::HTTP_10, "/", &[], true),
            (Version::HTTP_10, "/", &["a b"], false),
            (Version::HTTP_2, "https://a/", &[], true),
            (Version::HTTP_2, "https://a/", &["a"], true),
            (Version::HTTP_2, "https://a/", &["b"], false),
        ] {
            let request = Request::builder().version(version).uri(uri);
            let request = hosts.iter().fold(request, |request, host| request.header(header::HOST, *host));
            assert_eq!(is_named(&request.body(()).unwrap()), expected, "{version:?} {uri} {hosts:?}");
        }
    }
}
