//! As little as compiles of the things that parsers name besides each other. None of it reads anything.

pub mod permissions {
    pub struct Permissions;

    impl Permissions {
        pub(crate) const MASK: u32 = 0o777;
    }
}

/// The digest of a certificate that nobody has.
pub mod digest {
    pub static SHA256: () = ();

    pub fn digest((): &(), _: &[u8]) -> [u8; 32] {
        [0; 32]
    }
}

/// Random numbers, which no parser needs.
pub mod rand {
    pub fn fill(_: &mut [u8]) -> Result<(), crate::error::Unspecified> {
        Err(crate::error::Unspecified)
    }
}

pub mod error {
    #[derive(Debug)]
    pub struct Unspecified;
}

/// iroh's relays and keys, of which the addresses are URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayUrl(std::sync::Arc<url::Url>);

impl core::str::FromStr for RelayUrl {
    type Err = url::ParseError;

    fn from_str(written: &str) -> Result<Self, url::ParseError> {
        Ok(Self(std::sync::Arc::new(written.parse()?)))
    }
}

impl core::ops::Deref for RelayUrl {
    type Target = url::Url;

    fn deref(&self) -> &url::Url {
        &self.0
    }
}

pub struct RelayQuicConfig;

impl RelayQuicConfig {
    pub fn new(_: u16) -> Self {
        Self
    }
}

pub struct RelayConfig;

impl RelayConfig {
    pub fn new(_: RelayUrl, _: Option<RelayQuicConfig>) -> Self {
        Self
    }
}

pub struct RelayMap;

impl RelayMap {
    pub fn empty() -> Self {
        Self
    }

    pub fn insert(&self, _: RelayUrl, _: std::sync::Arc<RelayConfig>) {}
}

pub enum TransportAddr {
    Ip(core::net::SocketAddr),
    Relay(RelayUrl),
}

pub struct SecretKey;

impl SecretKey {
    pub fn from_bytes(_: &[u8; 32]) -> Self {
        Self
    }
}

/// A path as its sender saw it.
#[derive(Clone, Copy, Debug)]
pub struct PathFigures {
    pub loss: f64,
    pub base_rtt: core::time::Duration,
    pub rtt: core::time::Duration,
}

impl PathFigures {
    pub fn told(loss: f64, base_rtt: core::time::Duration, rtt: core::time::Duration) -> Self {
        Self { loss, base_rtt, rtt }
    }
}

/// How many bytes `pcc_quic::http3` lets a head have.
pub(crate) const MAX_HEADER_BYTES: u64 = 32 << 10;

/// The kind of a transfer's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    Error,
    Usage,
}

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Whether names of a far directory are patterns.
pub struct Names;

impl Names {
    pub fn is_pattern(name: &str) -> bool {
        name.contains(['*', '?', '['])
    }
}

pub mod far_error {
    use crate::greeting_error::GreetingError;
    use crate::ports::Ports;

    #[derive(Debug, thiserror::Error)]
    pub enum FarError {
        #[error("none")]
        NoRequest,
        #[error("other")]
        OtherVersion,
        #[error("no request")]
        NotARequest(#[source] serde_json::Error),
        #[error("no ports")]
        NoPorts(Ports),
        #[error(transparent)]
        Greeting(#[from] GreetingError),
    }

    impl FarError {
        pub(crate) fn failure(&self) -> crate::Failure {
            crate::Failure::Error
        }
    }
}

#[path = "../../../crates/files/src/choice"]
pub mod choice {
    pub mod pattern;

    #[derive(Debug)]
    pub struct Backup(String);

    impl Backup {
        pub fn new(suffix: &str) -> Result<Self, ()> {
            if crate::filename::is_possible(suffix) { Ok(Self(suffix.to_owned())) } else { Err(()) }
        }
    }
}

#[path = "../../../crates/files/src/attributes"]
pub mod attributes {
    mod written;

    pub(crate) use written::{mode, modified, seconds, whole_seconds};

    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Attributes {
        pub mode: Option<u32>,
        pub modified: Option<std::time::SystemTime>,
        pub owner: Option<u32>,
        pub group: Option<u32>,
        pub extended: crate::extended::Extended,
    }
}

#[path = "../../../crates/files/src/extended"]
pub mod extended {
    pub mod acls;
    pub mod xattrs;

    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Extended {
        pub xattrs: Option<xattrs::Xattrs>,
        pub acls: Option<acls::Acls>,
    }

    pub fn xattrs(text: &str) -> Option<xattrs::Xattrs> {
        xattrs::Xattrs::read(text)
    }

    pub fn acls(text: &str) -> Option<acls::Acls> {
        acls::Acls::read(text)
    }
}

#[path = "../../../crates/files/src/owners"]
pub mod owners {
    mod written;

    #[derive(Clone, Copy)]
    pub enum Kind {
        User,
        Group,
    }

    pub fn read(_: Kind, text: &str) -> Option<u32> {
        written::read(text).map(|(number, _)| number)
    }

    pub fn text(_: Kind, number: u32, _: bool) -> String {
        number.to_string()
    }

    pub fn may_give_away() -> bool {
        false
    }
}

#[path = "../../../crates/files/src/serve"]
pub mod serve {
    pub mod conditions;
    pub mod path;

    pub mod token {
        pub struct Token;

        impl Token {
            pub fn generate() -> Result<(Self, String), ()> {
                Ok((Self, "made".to_owned()))
            }
        }
    }

    pub mod upload {
        pub mod part;

        mod partial {
            pub(super) const KEPT: core::time::Duration = core::time::Duration::from_secs(24 * 3600);
        }

        mod refused {
            pub(crate) enum Refused {
                Encoded,
                Range,
            }
        }
    }
}

#[path = "../../../crates/files/src/client"]
pub mod client {
    pub mod content;
    pub mod listing {
        pub mod entries;
    }
    pub mod names;
    pub use listing::entries;

    pub mod request {
        pub struct Version {
            pub etag: Option<String>,
            pub size: Option<u64>,
        }
    }
}

#[path = "../../../crates/files/src/get"]
pub mod get {
    pub mod journal;

    mod nofollow {
        use std::fs::{File, OpenOptions};
        use std::io::{ErrorKind, Result};

        pub(super) enum Claimed {
            Ours(File),
            Others,
            Nothing,
        }

        pub(super) fn open_ours(_: &std::path::Path, _: &mut OpenOptions) -> Result<Claimed> {
            Ok(Claimed::Nothing)
        }

        pub(super) fn open(_: &std::path::Path, _: &mut OpenOptions) -> Result<File> {
            Err(ErrorKind::Unsupported.into())
        }
    }
}

#[path = "../../../crates/net/src/tls"]
pub mod tls {
    mod fingerprint;

    pub use fingerprint::{Fingerprint, ParseFingerprintError};
}

#[path = "../../../crates/tunnel/src/socks"]
pub mod socks {
    pub mod message;
}

pub mod conditions {
    pub use pcc_link::PACKET;
}

pub mod waiting {
    pub(crate) struct Told {
        pub(crate) flow: u32,
        pub(crate) size: pcc::units::Bytes,
        pub(crate) ecn: pcc_link::Ecn,
        pub(crate) marked: bool,
    }
}
