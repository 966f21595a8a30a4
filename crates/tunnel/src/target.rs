//! A host and a port.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr};
use core::str::FromStr;

/// Where a tunnel leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The host's name or address.
    pub host: Host,
    /// TCP port, not 0.
    pub port: u16,
}

/// A name that the server resolves, or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// In small letters, without a dot at the end.
    Name(String),
    /// An IPv4 address is never written as an IPv6 one.
    Address(IpAddr),
}

/// The longest name of DNS (RFC 1035 §2.3.4).
const LONGEST_NAME: usize = 253;

impl Host {
    /// From a name or an address without brackets; `None` for what is neither.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Some(Self::Address(address.to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        // Without its dot `10.0.0.1.` would be an address.
        let is_name = name.parse::<IpAddr>().is_err() && name.len() <= LONGEST_NAME && name.split('.').all(is_label);
        is_name.then_some(Self::Name(name))
    }
}

impl FromStr for Target {
    type Err = String;

    /// From `host:22`, `10.0.0.5:22` or `[::1]:22`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{}` is no destination; write it like host:22, 10.0.0.5:22 or [::1]:22",
                pcc_net::escape_for_terminal(text)
            )
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let host = match host.strip_prefix('[') {
            Some(inside) => {
                let inside = inside.strip_suffix(']').ok_or_else(wrong)?;
                Host::Address(IpAddr::V6(inside.parse::<Ipv6Addr>().map_err(|_| wrong())?).to_canonical())
            }
            None => Host::parse(host).filter(|host| !matches!(host, Host::Address(IpAddr::V6(_)))).ok_or_else(wrong)?,
        };
        let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(wrong)?;
        Ok(Self { host, port })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => write!(f, "{name}:{}", self.port),
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}:{}", self.port),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_target_is_read_as_it_is_written(ip in any::<IpAddr>(), port in 1u16..) {
            let target = Target { host: Host::Address(ip.to_canonical()), port };
            prop_assert_eq!(target.to_string().parse(), Ok(target));
        }

        #[test]
        fn any_text_is_a_target_or_is_refused(text in "\\PC{0,40}") {
            if let Ok(target) = text.parse::<Target>() {
                prop_assert_eq!(target.to_string().parse(), Ok(target));
            }
        }
    }

    #[test]
    fn names_are_in_small_letters_without_the_last_dot() {
        assert_eq!("DB.Example.org.:5432".parse::<Target>().unwrap().to_string(), "db.example.org:5432");
        assert_eq!("[::ffff:10.0.0.1]:1".parse::<Target>().unwrap().to_string(), "10.0.0.1:1");
        for wrong in [
            "",
            "host",
            "host:0",
            "host:70000",
            "::1:22",
            "a b:1",
            "a\r\nb:1",
            "me@host:1",
            "[host]:1",
            "a..b:1",
            "10.0.0.1.:1",
        ] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
    }
}
