//! On which UDP port a server for one transfer listens.

use serde::{Deserialize, Serialize};
use std::net::{SocketAddr, UdpSocket};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// UDP ports, from which one that is free is taken.
///
/// The default is mosh's range: whoever lets mosh through a firewall has opened it already, for the same purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Ports {
    first: u16,
    last: u16,
}

impl Default for Ports {
    fn default() -> Self {
        Self { first: 60000, last: 61000 }
    }
}

impl core::fmt::Display for Ports {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.first == self.last { write!(f, "{}", self.first) } else { write!(f, "{}-{}", self.first, self.last) }
    }
}

impl FromStr for Ports {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once(['-', ':']).unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(Self { first, last }),
            _ => Err(format!("`{text}` is no range of ports; write it like 60000-61000, or 4433 for one port")),
        }
    }
}

impl Ports {
    /// As firewalls are told of it.
    pub fn for_firewall(self) -> String {
        self.to_string().replace('-', ":")
    }

    /// Whether a message of the other side holds ports at all.
    pub const fn are_possible(self) -> bool {
        0 < self.first && self.first <= self.last
    }

    /// A free one of them, looked for from the one at `place` on, so that two transfers that begin at once seldom meet.
    /// `address` is the one to listen on, whatever its port.
    pub fn free(self, address: SocketAddr, place: u16) -> Option<u16> {
        let all: RangeInclusive<u16> = self.first..=self.last;
        let number = usize::from(self.last - self.first) + 1;
        all.clone()
            .chain(all)
            .skip(usize::from(place) % number)
            .take(number)
            .find(|port| UdpSocket::bind(SocketAddr::new(address.ip(), *port)).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read_and_written() {
        for (text, first, last) in [("60000-61000", 60000, 61000), ("4433", 4433, 4433), ("1:65535", 1, 65535)] {
            let ports: Ports = text.parse().unwrap();
            assert_eq!(ports, Ports { first, last }, "{text}");
            assert_eq!(ports.to_string().parse(), Ok(ports));
        }
        for wrong in ["", "0", "-", "5-4", "1-65536", "a", "1-2-3", "0-5"] {
            assert!(wrong.parse::<Ports>().unwrap_err().contains("60000-61000"), "{wrong}");
        }
    }

    #[test]
    fn a_port_in_use_is_passed_over() {
        let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (address, port) = (taken.local_addr().unwrap(), taken.local_addr().unwrap().port());
        assert_eq!(Ports { first: port, last: port }.free(address, 7), None);
        let next = Ports { first: port, last: port.saturating_add(50).max(port) };
        assert!(next.free(address, 0).is_none_or(|found| found != port && (port..=port + 50).contains(&found)));
        drop(taken);
        assert_eq!(Ports { first: port, last: port }.free(address, 7), Some(port));
    }
}
