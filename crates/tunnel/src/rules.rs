//! Which destinations a server connects to.
//!
//! An address is checked after its name was resolved, so a name that points elsewhere (DNS rebinding) opens nothing that no
//! rule allows. Addresses behind which a host or its cloud keeps what is for that host alone need a rule of their own.

use crate::target::{Host, Target};
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

/// `HOST:PORT`, where HOST is a name, `*.example.org`, an address, a network such as `10.0.0.0/8` or `[fd00::]/8`, or `*`,
/// and PORT a number or `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    hosts: Hosts,
    /// Any without.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    All,
    Name(String),
    /// All names that end in this, which begins with a dot.
    Below(String),
    Network {
        base: IpAddr,
        bits: u8,
    },
}

/// All rules of a server; no destination is allowed without any.
#[derive(Clone, Debug, Default)]
pub struct Rules(Vec<Rule>);

impl FromIterator<Rule> for Rules {
    fn from_iter<T: IntoIterator<Item = Rule>>(rules: T) -> Self {
        Self(rules.into_iter().collect())
    }
}

impl Rules {
    /// Whether a connection to that target can be allowed, as far as is known before its name is resolved.
    pub fn may_allow(&self, target: &Target) -> bool {
        match &target.host {
            Host::Address(address) => self.allow(target, *address),
            Host::Name(name) => self.for_port(target.port).any(|rule| match &rule.hosts {
                Hosts::Name(_) | Hosts::Below(_) => rule.names(name),
                Hosts::All | Hosts::Network { .. } => true,
            }),
        }
    }

    /// Whether that target may be connected to at `address`, which is its own or that of its name.
    pub fn allow(&self, target: &Target, address: IpAddr) -> bool {
        let address = meant(address);
        if address.is_unspecified() || address.is_multicast() || address == IpAddr::V4(Ipv4Addr::BROADCAST) {
            return false;
        }
        self.for_port(target.port).any(|rule| rule.allows(&target.host, address))
    }

    fn for_port(&self, port: u16) -> impl Iterator<Item = &Rule> {
        self.0.iter().filter(move |rule| rule.port.is_none_or(|of_rule| of_rule == port))
    }
}

impl Rule {
    fn names(&self, name: &str) -> bool {
        match &self.hosts {
            Hosts::Name(own) => own == name,
            Hosts::Below(end) => name.len() > end.len() && name.ends_with(end.as_str()),
            Hosts::All => true,
            Hosts::Network { .. } => false,
        }
    }

    fn allows(&self, host: &Host, address: IpAddr) -> bool {
        match &self.hosts {
            Hosts::Network { base, bits } => {
                contains(*base, *bits, address)
                    && OWN.iter().all(|own| !own.contains(address) || own.holds(*base, *bits))
            }
            Hosts::All => !is_own(address),
            Hosts::Name(_) | Hosts::Below(_) => {
                let Host::Name(name) = host else { return false };
                let is_explicit = name == "localhost" && address.is_loopback();
                self.names(name) && (!is_own(address) || is_explicit)
            }
        }
    }
}

/// The address that packets reach: IPv4 within IPv6, as it is or for a translator (RFC 6052), is IPv4.
fn meant(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if v6.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0] => {
            let [.., a, b, c, d] = v6.octets();
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        address => address,
    }
}

/// Addresses of a network.
struct Network {
    base: IpAddr,
    bits: u8,
}

impl Network {
    const fn v4(base: [u8; 4], bits: u8) -> Self {
        let [a, b, c, d] = base;
        Self { base: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), bits }
    }

    const fn v6(base: [u16; 8], bits: u8) -> Self {
        let [a, b, c, d, e, f, g, h] = base;
        Self { base: IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)), bits }
    }

    fn contains(&self, address: IpAddr) -> bool {
        contains(self.base, self.bits, address)
    }

    /// Whether all of that other network is in it.
    fn holds(&self, base: IpAddr, bits: u8) -> bool {
        bits >= self.bits && self.contains(base)
    }
}

/// Addresses that only a rule about them, or about a part of them, opens.
const OWN: [Network; 12] = [
    // Loopback and link-local. The metadata services of most clouds are at 169.254.169.254.
    Network::v4([127, 0, 0, 0], 8),
    Network::v4([169, 254, 0, 0], 16),
    Network::v6([0, 0, 0, 0, 0, 0, 0, 1], 128),
    Network::v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),
    // Other addresses of clouds' services for their hosts, some of which give away the host's credentials: Alibaba, Azure, Oracle.
    Network::v4([100, 100, 100, 200], 32),
    Network::v4([168, 63, 129, 16], 32),
    Network::v4([192, 0, 0, 192], 32),
    // Amazon, Google, Scaleway.
    Network::v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32),
    Network::v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128),
    Network::v6([0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42], 128),
    // IPv4 within IPv6 whose place there only the local translator knows (RFC 8215), or that a relay unpacks (RFC 3056).
    Network::v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48),
    Network::v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16),
];

fn is_own(address: IpAddr) -> bool {
    OWN.iter().any(|own| own.contains(address))
}

fn contains(base: IpAddr, bits: u8, address: IpAddr) -> bool {
    let differ = |a: u128, b: u128, width: u8| (a ^ b).checked_shr(u32::from(width - bits)).unwrap_or(0) == 0;
    match (base, address) {
        (IpAddr::V4(base), IpAddr::V4(address)) => differ(u32::from(base).into(), u32::from(address).into(), 32),
        (IpAddr::V6(base), IpAddr::V6(address)) => differ(base.into(), address.into(), 128),
        _ => false,
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{}` is no rule; write it like host:22, *.example.org:443, 10.0.0.0/8:*, [fd00::]/8:22 or *:443",
                pcc_net::escape_for_terminal(text)
            )
        };
        let (hosts, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = match port {
            "*" => None,
            port => Some(port.parse().ok().filter(|port| *port != 0).ok_or_else(wrong)?),
        };
        Ok(Self { hosts: Hosts::parse(hosts).ok_or_else(wrong)?, port })
    }
}

impl Hosts {
    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::All);
        }
        if let Some(end) = text.strip_prefix("*.") {
            let Host::Name(name) = Host::parse(end)? else { return None };
            return Some(Self::Below(format!(".{name}")));
        }
        let (host, bits) = text.split_once('/').map_or((text, None), |(host, bits)| (host, Some(bits)));
        let (inside, is_v6) = match host.strip_prefix('[') {
            Some(inside) => (inside.strip_suffix(']')?, true),
            None => (host, false),
        };
        match (inside.parse::<IpAddr>(), bits) {
            (Ok(base), bits) if base.is_ipv6() == is_v6 => {
                let width = if is_v6 { 128 } else { 32 };
                let bits = bits.map_or(Some(width), |bits| bits.parse().ok())?;
                (bits <= width).then_some(Self::Network { base, bits })
            }
            (Err(_), None) if !is_v6 => match Host::parse(host)? {
                Host::Name(name) => Some(Self::Name(name)),
                Host::Address(_) => None,
            },
            _ => None,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::All => f.write_str("*")?,
            Hosts::Name(name) => f.write_str(name)?,
            Hosts::Below(end) => write!(f, "*{end}")?,
            Hosts::Network { base: IpAddr::V4(base), bits } => write!(f, "{base}/{bits}")?,
            Hosts::Network { base: IpAddr::V6(base), bits } => write!(f, "[{base}]/{bits}")?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => f.write_str(":*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn allowed(rules: &str, target: &str, address: &str) -> bool {
        let rules: Rules = rules.split_whitespace().map(|rule| rule.parse::<Rule>().unwrap()).collect();
        let target: Target = target.parse().unwrap();
        let allowed = rules.allow(&target, address.parse().unwrap());
        assert!(!allowed || rules.may_allow(&target), "what is allowed is not refused before");
        allowed
    }

    #[test]
    fn nothing_is_allowed_without_rules() {
        assert!(!allowed("", "example.org:22", "192.0.2.1"));
        assert!(!Rules::default().may_allow(&"example.org:22".parse().unwrap()));
    }

    #[test]
    fn a_name_rule_opens_what_the_name_resolves_to() {
        assert!(allowed("db.example.org:22", "db.example.org:22", "192.0.2.1"));
        assert!(allowed("*.example.org:22", "a.b.example.org:22", "10.0.0.1"));
        assert!(!allowed("*.example.org:22", "example.org:22", "192.0.2.1"));
        assert!(!allowed("*.example.org:22", "evilexample.org:22", "192.0.2.1"));
        assert!(!allowed("db.example.org:22", "db.example.org:23", "192.0.2.1"));
        assert!(!allowed("db.example.org:22", "192.0.2.1:22", "192.0.2.1"), "the address is not the name");
    }

    #[test]
    fn an_address_rule_judges_the_resolved_address() {
        assert!(allowed("10.0.0.0/8:*", "any.name:80", "10.9.8.7"));
        assert!(!allowed("10.0.0.0/8:*", "any.name:80", "192.168.0.1"), "a name that was bound anew");
        assert!(allowed("[fd00::]/8:22", "[fd00::1]:22", "fd00::1"));
        assert!(allowed("10.0.0.0/8:*", "[::ffff:10.0.0.1]:80", "::ffff:10.0.0.1"));
    }

    #[test]
    fn loopback_and_link_local_must_be_named() {
        for own in ["127.0.0.1", "::1", "169.254.169.254", "fe80::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"] {
            for rules in ["*:*", "rebound.example.org:80", "*.example.org:*", "0.0.0.0/0:* [::]/0:*"] {
                assert!(!allowed(rules, "rebound.example.org:80", own), "{rules} {own}");
            }
        }
        assert!(allowed("127.0.0.1:22", "127.0.0.1:22", "127.0.0.1"));
        assert!(allowed("127.0.0.0/8:*", "any.name:22", "127.0.0.2"));
        assert!(allowed("localhost:22", "localhost:22", "::1"));
        assert!(!allowed("*.localhost:22", "a.localhost:22", "127.0.0.1"));
        assert!(allowed("[fe80::]/10:22", "any.name:22", "fe80::1"));
    }

    #[test]
    fn metadata_services_of_clouds_must_be_named() {
        let v4 = ["100.100.100.200", "168.63.129.16", "192.0.0.192", "169.254.169.254"];
        let mapped = v4.map(|address| format!("::ffff:{address}"));
        let translated = v4.map(|address| format!("64:ff9b::{address}"));
        let v6 = [
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",
            "fd00:42::42",
            "64:ff9b:1::a9fe:a9fe",
            "2002:a9fe:a9fe::",
        ];
        for own in v4.into_iter().chain(v6).chain(mapped.iter().chain(&translated).map(String::as_str)) {
            for rules in
                ["*:*", "a.example.org:80 *.example.org:80", "0.0.0.0/0:* [::]/0:* 100.64.0.0/10:* [fd00::]/8:*"]
            {
                assert!(!allowed(rules, "a.example.org:80", own), "{rules} {own}");
            }
        }
        assert!(allowed("100.100.100.200:80", "any.name:80", "64:ff9b::6464:64c8"));
        assert!(allowed("[fd00:ec2::254]:80", "[fd00:ec2::254]:80", "fd00:ec2::254"));
        assert!(allowed("[64:ff9b:1::]/96:80", "any.name:80", "64:ff9b:1::808:808"));
        assert!(allowed("100.64.0.0/10:*", "any.name:80", "100.100.100.201"));
        assert!(!allowed("[fd00:ec2::254]:80", "any.name:80", "fd00:ec2::253"));
    }

    #[test]
    fn unspecified_and_multicast_addresses_are_never_allowed() {
        for address in ["0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255"] {
            assert!(!allowed("*:* 0.0.0.0/0:* [::]/0:* any.name:*", "any.name:22", address), "{address}");
        }
    }

    #[test]
    fn what_is_no_rule_is_named_with_examples() {
        for wrong in
            ["", "host", "host:0", "10.0.0.0/33:*", "[::1]/129:1", "::1:22", "host/8:1", "a*b:1", "*.10.0.0.1:x"]
        {
            let error = wrong.parse::<Rule>().unwrap_err();
            assert!(error.contains(&format!("`{wrong}`")) && error.contains("10.0.0.0/8:*"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn an_address_is_in_its_own_network_only(base in any::<IpAddr>(), other in any::<IpAddr>(), bits in 0u8..=32) {
            prop_assert!(contains(base, bits, base));
            let width = if base.is_ipv4() { 32 } else { 128 };
            prop_assert_eq!(contains(base, width, other), base == other);
        }

        #[test]
        fn any_rule_is_read_as_it_is_written(text in "(\\*|[a-z]{1,5}|\\*\\.[a-z]{1,5}|10\\.0\\.0\\.[0-9]/[0-9])(:\\*|:[1-9])") {
            let rule: Rule = text.parse().unwrap();
            prop_assert_eq!(rule.to_string().parse(), Ok(rule));
        }
    }
}
