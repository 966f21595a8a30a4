//! Where a server and something on it are found.

use crate::alias::Alias;
use crate::scope::{self, Wrong};
use crate::tls::{Fingerprint, ParseFingerprintError};
use core::fmt;
use core::str::FromStr;
use http::uri::{Authority, PathAndQuery, Scheme};
use std::sync::Arc;

/// The name or address of a host, and a UDP port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// A DNS name or an IP address, the latter without brackets; a link-local one with its interface.
    pub host: String,
    /// UDP port.
    pub port: u16,
}

impl Peer {
    /// From `host`, `host:port`, `1.2.3.4:5`, `[::1]:5` or `::1`.
    ///
    /// Errors: what is wrong, with an example.
    pub fn parse(written: &str, default_port: u16) -> Result<Self, ParseUrlError> {
        let error = |problem| ParseUrlError::new(written, problem, "host:4433");
        match scope::address(written) {
            Ok(host) => Ok(Self { host, port: default_port }),
            Err(Wrong::NoAddress) => Self::of(written, default_port).map_err(error),
            Err(wrong) => Err(error(wrong.into())),
        }
    }

    fn of(written: &str, default_port: u16) -> Result<Self, Problem> {
        // An interface is no part of an authority (RFC 9844 §6).
        let in_brackets = written.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(inside, _)| inside);
        let plain = in_brackets
            .map_or(written.to_owned(), |inside| written.replacen(inside, scope::without_interface(inside), 1));
        let authority: Authority = plain.parse().map_err(|_| Problem::Other("has no valid host and port"))?;
        if authority.as_str().contains('@') {
            return Err(USER);
        }
        let host = match in_brackets {
            Some(inside) if inside.contains(':') => scope::address(inside).map_err(|wrong| match wrong {
                Wrong::NoAddress => BRACKETS,
                wrong => wrong.into(),
            })?,
            None if !authority.host().contains(['[', ']']) => authority.host().to_owned(),
            _ => return Err(BRACKETS),
        };
        if host.is_empty() {
            return Err(Problem::Other("names no host"));
        }
        let after_host = &authority.as_str()[authority.host().len()..];
        let port = match (after_host, authority.port_u16()) {
            ("", _) => default_port,
            (_, Some(port)) if port != 0 => port,
            _ => return Err(Problem::Other("has no valid port (1 to 65535)")),
        };
        Ok(Self { host, port })
    }

    /// The host's name there, and in its certificate.
    pub fn name(&self) -> &str {
        scope::without_interface(&self.host)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            // The 25 of an interface's own name would be read as the percent sign's (RFC 6874).
            write!(f, "[{}]:{}", self.host.replacen("%25", "%2525", 1), self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// `https://host:port/path?query#sha256=…`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Whom to ask.
    pub peer: Peer,
    /// The requested path, percent-encoded as it goes over the wire.
    pub path: PathAndQuery,
    /// The server's certificate, if the URL names it.
    pub pin: Option<Fingerprint>,
    /// How people know the place, where that is not by its URL.
    pub alias: Option<Arc<Alias>>,
}

/// The port of `https` (RFC 9110 §4.2.2).
const HTTPS_PORT: u16 = 443;

impl Url {
    /// The same server, another path.
    pub fn with_path(&self, path: PathAndQuery) -> Self {
        Self { path, ..self.clone() }
    }

    /// The path without the query, percent-encoded.
    pub fn encoded_path(&self) -> &str {
        self.path.path()
    }

    /// The URI of a request; the fragment stays with the client (RFC 9110 §4.2.5).
    pub fn to_uri(&self) -> http::Uri {
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(Scheme::HTTPS);
        let peer = Peer { host: self.peer.name().to_owned(), port: self.peer.port };
        parts.authority = peer.to_string().parse().ok(); // always does: it was taken from one
        parts.path_and_query = Some(self.path.clone());
        http::Uri::from_parts(parts).unwrap_or_default()
    }

    /// For messages: by the alias, or else without the fragment, which only distracts.
    pub fn short(&self) -> String {
        self.by_alias().unwrap_or_else(|| format!("https://{}{}", self.peer, self.path))
    }

    /// The name of the place, different from any other, without query and fragment, which may hold secrets.
    pub fn place(&self) -> String {
        self.by_alias().unwrap_or_else(|| format!("https://{}{}", self.peer, self.encoded_path()))
    }

    fn by_alias(&self) -> Option<String> {
        let alias = self.alias.as_ref()?;
        let below = self.encoded_path().strip_prefix(&alias.path)?;
        Some(alias.written.clone() + &crate::percent::decode(below).unwrap_or_else(|| below.to_owned()))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())?;
        self.pin.map_or(Ok(()), |pin| write!(f, "#{pin}"))
    }
}

/// The text is not a URL that we can use.
#[derive(Debug, thiserror::Error)]
#[error("`{written}` {problem}; write it like {example}")]
pub struct ParseUrlError {
    written: String,
    problem: Problem,
    example: &'static str,
}

/// Why a text is no [`Url`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// The part in front of `#`.
    #[error(transparent)]
    Url(#[from] ParseUrlError),
    /// The part behind it.
    #[error(transparent)]
    Fingerprint(#[from] ParseFingerprintError),
}

/// The fault of a text.
#[derive(Clone, Copy, Debug, thiserror::Error)]
enum Problem {
    #[error(transparent)]
    Address(#[from] Wrong),
    #[error("{0}")]
    Other(&'static str),
}

const USER: Problem =
    Problem::Other("holds a user name or a password, which nobody asks for: leave out what is in front of the @");
const BRACKETS: Problem = Problem::Other("has brackets, which are for an IPv6 address");

impl ParseUrlError {
    fn new(written: &str, problem: Problem, example: &'static str) -> Self {
        let example = if matches!(problem, Problem::Address(_)) { scope::EXAMPLE } else { example };
        Self { written: without_user(written), problem, example }
    }
}

/// Without what stands in front of an @ in the place of the host: it may be a secret.
fn without_user(written: &str) -> String {
    let (scheme, rest) = written.split_once("://").map_or(("", written), |(scheme, rest)| (scheme, rest));
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    match authority.rfind('@') {
        Some(at) if scheme.is_empty() => format!("…{}", &rest[at..]),
        Some(at) => format!("{scheme}://…{}", &rest[at..]),
        None => written.to_owned(),
    }
}

const URL_EXAMPLE: &str = "https://host:4433/path#sha256=… (the part from # on as `pcc serve` prints it)";

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(written: &str) -> Result<Self, UrlError> {
        let refused = |problem| ParseUrlError::new(written, problem, URL_EXAMPLE);
        let error = |problem| refused(Problem::Other(problem));
        let (address, fragment) = written.split_once('#').unzip();
        let address = address.unwrap_or(written);
        // A name that is appended to the URL of a directory, as `pcc serve` prints it, stands behind the fingerprint.
        let (pin, appended) = fragment.map_or((None, ""), |fragment| {
            fragment.split_once('/').map_or((Some(fragment), ""), |(pin, name)| (Some(pin), name))
        });
        let pin = pin.map(str::parse::<Fingerprint>).transpose()?;
        let rest = match address.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => rest,
            Some(_) => return Err(error("is not an https URL").into()),
            None => return Err(error("is not a URL").into()),
        };
        let split = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(split);
        if authority.contains('@') {
            return Err(refused(USER).into());
        }
        if !authority.starts_with('[') && authority.matches(':').count() > 1 {
            let problem = "has an IPv6 address without brackets";
            return Err(ParseUrlError::new(written, Problem::Other(problem), "https://[::1]:4433/path").into());
        }
        let peer = Peer::of(authority, HTTPS_PORT).map_err(refused)?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let path = match appended {
            "" => path,
            _ if path.contains('?') => return Err(error("has a name behind a query").into()),
            name => format!("{}/{}", path.trim_end_matches('/'), name.replace('#', "%23")),
        };
        // Characters that people type and the wire does not carry: blanks, umlauts.
        let encoded = crate::percent::encode_typed(&path);
        let path = encoded.parse().map_err(|_| error("has no valid path"))?;
        Ok(Self { peer, path, pin, alias: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alias::CopyName;
    use proptest::prelude::*;

    #[test]
    fn urls_are_taken_apart() {
        for (written, peer, path) in [
            ("https://host:4433/big.iso", "host:4433", "/big.iso"),
            ("https://host", "host:443", "/"),
            ("HTTPS://host/?a=b", "host:443", "/?a=b"),
            ("https://[::1]:4433/a%20b", "[::1]:4433", "/a%20b"),
            ("https://127.0.0.1:1/a b/ä", "127.0.0.1:1", "/a%20b/%C3%A4"),
        ] {
            let url: Url = written.parse().unwrap();
            assert_eq!((url.peer.to_string().as_str(), url.path.as_str()), (peer, path), "{written}");
            assert_eq!(url.to_uri().to_string(), format!("https://{peer}{path}"), "{written}");
        }
    }

    #[test]
    fn a_place_with_an_alias_is_told_by_that_alone() {
        let url: Url = "https://host:60001/0123456789abcdef/a%20b/c?x=1".parse().unwrap();
        let name = CopyName::Written("dir".into());
        let alias = Alias { path: "/0123456789abcdef/".into(), written: "me@host:dir/".into(), name };
        let url = Url { alias: Some(Arc::new(alias)), ..url };
        assert_eq!((url.short().as_str(), url.place().as_str()), ("me@host:dir/a b/c", "me@host:dir/a b/c"));
        assert_eq!(url.to_uri().to_string(), "https://host:60001/0123456789abcdef/a%20b/c?x=1");
        let elsewhere = url.with_path("/d?x=1".parse().unwrap());
        assert_eq!(
            (elsewhere.short().as_str(), elsewhere.place().as_str()),
            ("https://host:60001/d?x=1", "https://host:60001/d")
        );
    }

    #[test]
    fn the_fragment_is_the_fingerprint() {
        let text = format!("https://host:4433/a#{}", Fingerprint::of(b"abc"));
        let url: Url = text.parse().unwrap();
        assert_eq!(url.pin, Some(Fingerprint::of(b"abc")));
        assert_eq!(url.to_string(), text);
        assert_eq!(url.to_uri().to_string(), "https://host:4433/a");
        assert!("https://host:4433/a#top".parse::<Url>().unwrap_err().to_string().contains("`top`"));
    }

    #[test]
    fn a_name_behind_the_fingerprint_is_in_the_directory() {
        let pin = Fingerprint::of(b"abc");
        for (address, name, path) in [
            ("https://host:4433/", "/hello.txt", "/hello.txt"),
            ("https://host:4433", "/a/b c", "/a/b%20c"),
            ("https://host:4433/dir/", "/C#/", "/dir/C%23/"),
            ("https://host:4433/dir/", "/", "/dir/"),
        ] {
            let url: Url = format!("{address}#{pin}{name}").parse().unwrap();
            assert_eq!((url.path.as_str(), url.pin), (path, Some(pin)), "{address} {name}");
        }
        let query = format!("https://host:4433/?a=b#{pin}/hello.txt").parse::<Url>().unwrap_err().to_string();
        assert!(query.contains("behind a query"), "{query}");
    }

    #[test]
    fn what_is_no_url_is_refused_with_its_value_and_an_example() {
        for wrong in ["", "host/file", "http://host/", "https://", "https:///a", "https://h:0/", "https://h:99999/"] {
            let error = wrong.parse::<Url>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{wrong}`")) && error.contains("https://host:4433"), "{wrong}: {error}");
        }
    }

    #[test]
    fn an_ipv6_address_wants_its_brackets() {
        for wrong in ["https://::1:4433/a", "https://::1", "https://2001:db8::1/a"] {
            let error = wrong.parse::<Url>().unwrap_err().to_string();
            assert!(
                error.contains(wrong) && error.contains("brackets") && error.contains("https://[::1]:4433/"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_link_local_address_keeps_its_interface_to_itself() {
        for written in ["https://[fe80::1%eth0]:4433/a", "https://[fe80::1%25eth0]:4433/a"] {
            let url: Url = written.parse().unwrap();
            assert_eq!((url.peer.host.as_str(), url.peer.name(), url.peer.port), ("fe80::1%eth0", "fe80::1", 4433));
            assert_eq!(url.to_uri().to_string(), "https://[fe80::1]:4433/a");
            assert_eq!(url.to_string().parse::<Url>().unwrap(), url);
        }
        for written in ["https://[fe80::1%2525eth0]/", "https://[fe80::1%25]/"] {
            let url: Url = written.parse().unwrap();
            assert_eq!(url.to_string().parse::<Url>().unwrap(), url, "an interface whose name begins with 25");
        }
        for (written, host) in [("fe80::1%eth0", "fe80::1%eth0"), ("[fe80::1%252]:5", "fe80::1%2")] {
            assert_eq!(Peer::parse(written, 5).unwrap(), Peer { host: host.to_owned(), port: 5 });
        }
    }

    #[test]
    fn a_link_local_address_without_interface_is_refused() {
        for wrong in ["fe80::1", "[fe80::1]", "[fe80::1]:5", "[::1%lo]:5", "::1%lo", "[fe80::1%]:5", "[fe80::1%a%b]"] {
            let errors = [
                Peer::parse(wrong, 1).unwrap_err().to_string(),
                format!("https://[{}]/", wrong.trim_matches(['[', ']'])).parse::<Url>().unwrap_err().to_string(),
            ];
            assert!(errors[0].contains("interface") && errors[0].contains("fe80::1%eth0"), "{wrong}: {}", errors[0]);
            assert!(errors[1].contains(":5") || errors[1].contains("fe80::1%eth0"), "{wrong}: {}", errors[1]);
        }
    }

    #[test]
    fn brackets_hold_an_ipv6_address_and_nothing_else() {
        for wrong in ["[]", "=[]", "[::1]]", "[[::1]", "[host]", "[1.2.3.4]", "[::1", "::1]", "h[::1]"] {
            let refused = |error: &dyn fmt::Display| error.to_string().contains(wrong);
            assert!(Peer::parse(wrong, 1).is_err_and(|error| refused(&error)), "{wrong}");
            let url = format!("https://{wrong}/");
            assert!(url.parse::<Url>().is_err_and(|error| refused(&error)), "{url}");
        }
    }

    #[test]
    fn a_password_is_named_for_what_it_is_and_not_repeated() {
        for (wrong, shown) in [
            ("https://me:secret@host:4433/a", "`https://…@host:4433/a`"),
            ("https://secret@h/", "`https://…@h/`"),
            ("https://me:se:cr@et@h/a@b?c", "`https://…@h/a@b?c`"),
        ] {
            let error = wrong.parse::<Url>().unwrap_err().to_string();
            assert!(error.contains(shown) && error.contains("password") && !error.contains("brackets"), "{error}");
        }
        for wrong in ["http://me:secret@h/", "me:secret@h/a"] {
            let error = wrong.parse::<Url>().unwrap_err().to_string();
            assert!(!error.contains("secret") && error.contains("https://host:4433"), "{error}");
        }
        let error = Peer::parse("me:secret@h", 1).unwrap_err().to_string();
        assert!(!error.contains("secret") && error.contains("password"), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_is_a_url_or_an_error_that_names_it(text in "(https://)?[a-z0-9:/?#%@.\\[\\]ä= -]{0,40}") {
            match text.parse::<Url>() {
                // Written out it is the same again: what is shown can be used.
                Ok(url) => {
                    prop_assert_eq!(&url.to_string().parse::<Url>().unwrap(), &url);
                    prop_assert_eq!(url.to_uri().to_string(), url.short());
                }
                Err(error) => prop_assert!(error.to_string().contains('`'), "{}", error),
            }
        }
    }

    #[test]
    fn peers_are_read_with_and_without_a_port() {
        for (written, read) in [
            ("host", "host:4433"),
            ("host:5", "host:5"),
            ("10.0.0.1", "10.0.0.1:4433"),
            ("::1", "[::1]:4433"),
            ("[::1]:5", "[::1]:5"),
        ] {
            assert_eq!(Peer::parse(written, 4433).unwrap().to_string(), read, "{written}");
        }
        for wrong in ["", "a b", "host:x", "host:", "u@h"] {
            assert!(Peer::parse(wrong, 1).is_err(), "{wrong}");
        }
    }
}
