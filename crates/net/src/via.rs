//! Interfaces of this host that a connection is to use, as people name them.

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use core::str::FromStr;
use pcc_quic::transport::MOST_PATHS;
use std::collections::BTreeMap;
use std::io;

/// An interface of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface(String);

/// Why a name cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoInterface {
    /// There is none.
    #[error("this computer has no interface `{name}`; with an address it has {}", listed(others))]
    Unknown {
        /// As it was written.
        name: String,
        /// Those that could be used.
        others: Vec<String>,
    },
    /// Nothing can be sent from there.
    #[error("`{name}` has no address: is it connected to its network? These have one: {}", listed(others))]
    NoAddress {
        /// As it was written.
        name: String,
        /// Those that could be used.
        others: Vec<String>,
    },
    /// The system does not say which there are, or cannot send by one.
    #[error("could not look for `{name}`: {reason}")]
    System {
        /// As it was written.
        name: String,
        /// The system's answer.
        reason: String,
    },
}

/// Why several cannot be used together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTogether {
    /// It brings nothing.
    #[error("`{0}` is named twice: name each interface once")]
    Twice(Interface),
    /// A server has no more paths for a connection.
    #[error("{0} interfaces are too many: name {MOST_PATHS} at most")]
    TooMany(usize),
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Finds it among this host's.
impl FromStr for Interface {
    type Err = NoInterface;

    fn from_str(name: &str) -> Result<Self, NoInterface> {
        let found =
            interfaces().map_err(|error| NoInterface::System { name: name.to_owned(), reason: error.to_string() })?;
        Self::among(&found, name)
    }
}

impl Interface {
    fn among(found: &BTreeMap<String, Vec<IpAddr>>, name: &str) -> Result<Self, NoInterface> {
        let name = name.to_owned();
        let others = || found.iter().filter(|(_, ips)| !ips.is_empty()).map(|(name, _)| name.clone()).collect();
        match found.get(&name) {
            None => Err(NoInterface::Unknown { name, others: others() }),
            Some(addresses) if addresses.is_empty() => Err(NoInterface::NoAddress { name, others: others() }),
            Some(_) => Ok(Self(name)),
        }
    }

    /// The name that the system has for it.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// Errors: the same one twice, or more than a connection may have paths.
pub fn check(interfaces: &[Interface]) -> Result<(), NotTogether> {
    for (place, interface) in interfaces.iter().enumerate() {
        if interfaces[..place].contains(interface) {
            return Err(NotTogether::Twice(interface.clone()));
        }
    }
    let count = interfaces.len();
    if count > MOST_PATHS.into() { Err(NotTogether::TooMany(count)) } else { Ok(()) }
}

/// The numbers of those interfaces, counted from 0, that have an address by which `remote` can be reached now.
///
/// Errors: the system does not say.
pub fn usable(interfaces: &[Interface], remote: SocketAddr) -> io::Result<Vec<u8>> {
    let found = self::interfaces()?;
    let reaches = |interface: &Interface| {
        found.get(interface.name()).is_some_and(|ips| ips.iter().any(|ip| ip.is_ipv6() == remote.is_ipv6()))
    };
    Ok((0..).zip(interfaces).filter(|(_, interface)| reaches(interface)).map(|(number, _)| number).collect())
}

/// The interfaces that are up, with the addresses that reach beyond their own link.
#[cfg(target_os = "linux")]
fn interfaces() -> io::Result<BTreeMap<String, Vec<IpAddr>>> {
    let mut found: BTreeMap<String, Vec<IpAddr>> = BTreeMap::new();
    for one in nix::ifaddrs::getifaddrs()? {
        let addresses = found.entry(one.interface_name).or_default();
        let Some(address) = one.address else { continue };
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
        let v6 = address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip()));
        addresses.extend(v4.or(v6).filter(|ip| !crate::scope::is_link_local(*ip)));
    }
    Ok(found)
}

#[cfg(not(target_os = "linux"))]
fn interfaces() -> io::Result<BTreeMap<String, Vec<IpAddr>>> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "only Linux sends by an interface of one's choice"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found() -> BTreeMap<String, Vec<IpAddr>> {
        let with = |name: &str, ips: &[&str]| (name.to_owned(), ips.iter().map(|ip| ip.parse().unwrap()).collect());
        BTreeMap::from([with("wlan0", &["192.0.2.7"]), with("wwan0", &["2001:db8::7"]), with("eth0", &[])])
    }

    #[test]
    fn an_interface_that_cannot_be_used_is_told_with_those_that_can() {
        let told = |name| Interface::among(&found(), name).unwrap_err().to_string();
        for (name, problem) in [("wlan9", "no interface `wlan9`"), ("eth0", "`eth0` has no address")] {
            assert!(told(name).contains(problem) && told(name).contains("wlan0, wwan0"), "{}", told(name));
        }
        assert_eq!(Interface::among(&found(), "wlan0").map(|it| it.to_string()), Ok("wlan0".to_owned()));
    }

    #[test]
    fn interfaces_are_named_once_and_are_four_at_most() {
        let named = |names: &str| names.split(' ').map(|name| Interface(name.to_owned())).collect::<Vec<_>>();
        assert_eq!(check(&named("a b c d")), Ok(()));
        assert_eq!(check(&named("a b a")), Err(NotTogether::Twice(Interface("a".to_owned()))));
        assert_eq!(check(&named("a b c d e")), Err(NotTogether::TooMany(5)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn loopback_is_an_interface_for_its_own_version_of_ip() {
        let lo: Interface = "lo".parse().unwrap();
        assert_eq!(usable(std::slice::from_ref(&lo), ([127, 0, 0, 1], 1).into()).unwrap(), [0]);
        assert!("no-such-interface".parse::<Interface>().unwrap_err().to_string().contains("lo"));
    }
}
