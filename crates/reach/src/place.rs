//! Where a sender is looked for.

use core::fmt;
use core::str::FromStr;
use iroh::{RelayConfig, RelayMap, RelayUrl, TransportAddr};
use iroh_relay::RelayQuicConfig;
use std::net::SocketAddr;
use url::Host;

/// A place where a sender can be found.
#[derive(Clone, PartialEq, Eq)]
pub enum Place {
    /// At its own address.
    Address(SocketAddr),
    /// At a relay.
    Relay(Relay),
}

/// A relay, written as `relay.example.org`, `relay.example.org:3340` or as a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay(RelayUrl);

/// Why a text names no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is neither an address with a port, like 192.0.2.7:4433, nor a relay, like relay.example.org or https://192.0.2.9:3340"
)]
pub struct PlaceError(String);

/// Characters of a place: a name of the DNS has 253 at most.
const LONGEST: usize = 300;

/// The UDP port at which iroh's relays tell a computer its public address, beside HTTPS at 443.
const USUAL_UDP_PORT: u16 = 7842;

impl Relay {
    /// The UDP port at which it tells a computer its public address: the number of its TCP port, or iroh's own beside 443.
    pub(crate) fn udp_port(tcp: u16) -> u16 {
        if tcp == 443 { USUAL_UDP_PORT } else { tcp }
    }

    /// This relay and no other.
    pub(crate) fn map(&self) -> RelayMap {
        let tcp = self.0.port_or_known_default().unwrap_or(443);
        let config = RelayConfig::new(self.0.clone(), Some(RelayQuicConfig::new(Self::udp_port(tcp))));
        let map = RelayMap::empty();
        map.insert(self.0.clone(), config.into());
        map
    }
}

impl FromStr for Relay {
    type Err = PlaceError;

    fn from_str(written: &str) -> Result<Self, PlaceError> {
        let error = || PlaceError(pcc_net::escape_for_terminal(written).chars().take(LONGEST).collect());
        let text = if written.contains("://") { written.to_owned() } else { format!("https://{written}") };
        let url: RelayUrl = text.parse().map_err(|_| error())?;
        let is_plain = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        let is_web = matches!(url.scheme(), "https" | "http") && url.username().is_empty() && url.password().is_none();
        let host = url.host_str().unwrap_or_default();
        let is_named = !host.is_empty() && host.len() <= LONGEST && !host.contains(',');
        if is_plain && is_web && is_named { Ok(Self(url)) } else { Err(error()) }
    }
}

impl fmt::Display for Relay {
    /// As short as it can be written, so that no relay looks like a computer's address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.as_str().trim_end_matches('/');
        let short = text.strip_prefix("https://").filter(|_| matches!(self.0.host(), Some(Host::Domain(_))));
        f.write_str(short.unwrap_or(text))
    }
}

impl From<&Place> for TransportAddr {
    fn from(place: &Place) -> Self {
        match place {
            Place::Address(address) => Self::Ip(*address),
            Place::Relay(relay) => Self::Relay(relay.0.clone()),
        }
    }
}

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(written: &str) -> Result<Self, PlaceError> {
        match written.parse() {
            Ok(address) => Ok(Self::Address(address)),
            Err(_) => written.parse().map(Self::Relay),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Relay(relay) => relay.fmt(f),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_is_written_as_short_as_it_can_be() {
        for (written, short, udp) in [
            ("relay.example.org", "relay.example.org", 7842),
            ("https://relay.example.org/", "relay.example.org", 7842),
            ("192.0.2.9:3340", "https://192.0.2.9:3340", 3340),
            ("[2001:db8::9]", "https://[2001:db8::9]", 7842),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080", 8080),
        ] {
            let relay: Relay = written.parse().unwrap();
            assert_eq!(relay.to_string(), short);
            assert_eq!(short.parse(), Ok(relay.clone()));
            let config = relay.map().get(&relay.0).unwrap();
            assert_eq!(config.quic.as_ref().map(|quic| quic.port), Some(udp), "{written}");
        }
    }

    #[test]
    fn a_url_with_anything_else_in_it_is_no_relay() {
        for wrong in ["", "https://", "ftp://x", "https://x/path", "https://x?y", "https://me:secret@x", "a b", "x#y"] {
            assert!(wrong.parse::<Relay>().is_err(), "{wrong}");
        }
    }
}
