//! Where to listen, as people write it.

use crate::scope::{self, Wrong};
use std::net::{SocketAddr, SocketAddrV4, ToSocketAddrs, UdpSocket};
use std::str::FromStr;

/// The port without any.
const PORT: u16 = 4433;

/// Where to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// On all addresses, at this port.
    Everywhere(u16),
    /// There only.
    At(SocketAddr),
}

impl Default for Listen {
    fn default() -> Self {
        Self::Everywhere(PORT)
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(port) = text.strip_prefix(':').unwrap_or(text).parse() {
            return Ok(Self::Everywhere(port));
        }
        if let Some(address) = scope::socket(text, PORT) {
            return Ok(Self::At(address));
        }
        if let Ok(address) = text.parse::<SocketAddrV4>() {
            return Ok(Self::At(address.into()));
        }
        let bare = text.strip_prefix('[').and_then(|text| text.split_once(']')).map_or(text, |(inside, _)| inside);
        if scope::address(bare) == Err(Wrong::NoInterface) {
            return Err(format!("`{text}` {}; write it like {}", Wrong::NoInterface, scope::EXAMPLE));
        }
        let with_port = if text.contains(':') { text.to_owned() } else { format!("{text}:{PORT}") };
        // Resolvers take a number for an old way to write an address.
        let is_name = with_port.contains(|c: char| c.is_ascii_alphabetic());
        let found = if is_name { with_port.to_socket_addrs().ok() } else { None }.and_then(|mut found| found.next());
        found.map(Self::At).ok_or_else(|| {
            format!(
                "`{text}` is no address of this computer; write it like 4460, 10.0.0.5, 10.0.0.5:4460 or [::1]:4460"
            )
        })
    }
}

impl Listen {
    /// The address to bind: of both versions of IP, or of IPv4 where the system has no other.
    pub fn address(self) -> SocketAddr {
        match self {
            Self::At(address) => address,
            Self::Everywhere(port) if UdpSocket::bind("[::]:0").is_ok() => ([0; 8], port).into(),
            Self::Everywhere(port) => ([0; 4], port).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::IpAddr;

    proptest! {
        #[test]
        fn any_address_is_understood_as_it_is_written(ip in any::<IpAddr>(), port in any::<u16>()) {
            prop_assume!(!scope::lacks_interface(SocketAddr::new(ip, port)));
            prop_assert_eq!(SocketAddr::new(ip, port).to_string().parse(), Ok(Listen::At(SocketAddr::new(ip, port))));
            prop_assert_eq!(ip.to_string().parse(), Ok(Listen::At(SocketAddr::new(ip, PORT))));
        }

        // Without letters: those would be asked of a name server.
        #[test]
        fn any_other_text_is_named(text in "[0-9.:\\[\\]%/ -]{0,20}") {
            if let Err(error) = text.parse::<Listen>() {
                let named = error.contains(&format!("`{text}`"));
                prop_assert!(named, "{}", error);
            }
        }
    }

    #[test]
    fn ports_addresses_and_both_are_understood() {
        for (text, listen) in [
            ("4460", Listen::Everywhere(4460)),
            (":4460", Listen::Everywhere(4460)),
            ("0", Listen::Everywhere(0)),
            ("10.0.0.5", Listen::At(([10, 0, 0, 5], PORT).into())),
            ("10.0.0.5:443", Listen::At(([10, 0, 0, 5], 443).into())),
            ("::1", Listen::At(([0, 0, 0, 0, 0, 0, 0, 1], PORT).into())),
            ("[::1]", Listen::At(([0, 0, 0, 0, 0, 0, 0, 1], PORT).into())),
            ("[::]:443", Listen::At(([0; 8], 443).into())),
        ] {
            assert_eq!(text.parse(), Ok(listen), "{text}");
        }
        let Ok(Listen::At(local)) = "localhost:4460".parse() else { panic!("localhost is an address") };
        assert!(local.ip().is_loopback() && local.port() == 4460);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_link_local_address_has_its_interface() {
        let local = |port| SocketAddr::V6(std::net::SocketAddrV6::new("fe80::1".parse().unwrap(), port, 0, 1));
        for (text, port) in
            [("fe80::1%lo", PORT), ("[fe80::1%lo]", PORT), ("[fe80::1%25lo]:443", 443), ("[fe80::1%1]:443", 443)]
        {
            assert_eq!(text.parse(), Ok(Listen::At(local(port))), "{text}");
        }
        for text in ["fe80::1", "[fe80::1]", "[fe80::1]:443"] {
            let error = text.parse::<Listen>().unwrap_err();
            assert!(error.contains(&format!("`{text}`")) && error.contains(scope::EXAMPLE), "{error}");
        }
    }

    #[test]
    fn what_is_no_address_is_named_with_examples() {
        for text in ["", "99999", ":x", "no such host:1", "10.0.0.5:99999"] {
            let error = text.parse::<Listen>().unwrap_err();
            assert!(error.contains(&format!("`{text}`")) && error.contains("10.0.0.5:4460"), "{error}");
        }
    }
}
