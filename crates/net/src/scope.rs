//! Link-local IPv6 addresses, which every network has anew, and the interface that tells which one is meant (RFC 4007 §11).
//! And by which addresses others reach this computer.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::net::{ToSocketAddrs, UdpSocket};

/// Why a text is not the address of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// It may be a name.
    #[error("is no IP address")]
    NoAddress,
    /// It is link-local, and no interface is named.
    #[error("has a link-local address without the interface that leads there")]
    NoInterface,
    /// An interface is named that is not needed, or cannot be.
    #[error("has an interface, which only link-local addresses need, or one of no possible name")]
    Interface,
}

/// How the right form looks.
pub const EXAMPLE: &str = "fe80::1%eth0, in a URL [fe80::1%eth0], with the interface of this computer";

/// An IP address in the form that systems read: `fe80::1%eth0`. In URLs it may be written `fe80::1%25eth0` (RFC 6874).
pub fn address(written: &str) -> Result<String, Wrong> {
    let (address, interface) = written.split_once('%').map_or((written, None), |(address, interface)| {
        (address, Some(interface.strip_prefix("25").filter(|name| !name.is_empty()).unwrap_or(interface)))
    });
    let ip: IpAddr = address.parse().map_err(|_| Wrong::NoAddress)?;
    match interface {
        None if is_link_local(ip) => Err(Wrong::NoInterface),
        None => Ok(address.to_owned()),
        Some(name) if is_link_local(ip) && is_possible(name) => Ok(format!("{address}%{name}")),
        Some(_) => Err(Wrong::Interface),
    }
}

/// The address without its interface: what a host on the other side knows it by.
pub fn without_interface(host: &str) -> &str {
    host.split_once('%').map_or(host, |(address, _)| address)
}

/// The socket address of `[fe80::1%eth0]:4433`, `[fe80::1%eth0]` or `fe80::1%eth0`, with the system's number for the interface.
///
/// Errors: it is not of this form, or there is no such interface.
pub fn socket(written: &str, default_port: u16) -> Option<SocketAddr> {
    let (host, port) = match written.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, default_port),
        Some((host, port)) => (host, port.strip_prefix(':')?.parse().ok()?),
        None => (written, default_port),
    };
    let host = address(host).ok()?;
    (host.as_str(), port).to_socket_addrs().ok()?.next()
}

/// An address of this computer to bind to, for a command line.
pub fn local(written: &str) -> Result<SocketAddr, String> {
    let problem = match address(written) {
        Ok(_) => return socket(written, 0).ok_or_else(|| "there is no such interface here".to_owned()),
        Err(problem) => problem,
    };
    Err(format!("it {problem}; write it like 10.0.0.5, ::1 or {EXAMPLE}"))
}

/// Whether the address says nothing without an interface, and has none.
pub fn lacks_interface(address: SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(v6) if v6.scope_id() == 0 && is_link_local(address.ip()))
}

/// How another computer has to write this address: it has an interface of its own that leads here.
pub fn seen_from_elsewhere(ip: IpAddr) -> String {
    if is_link_local(ip) { format!("{ip}%INTERFACE") } else { ip.to_string() }
}

/// Addresses by which other computers are likely to reach a socket that listens at `ip`: none is known if it listens at all
/// addresses and no route leads away from here.
pub fn reached_at(ip: IpAddr) -> Vec<IpAddr> {
    let families: &[&str] = match ip {
        ip if !ip.is_unspecified() => return vec![ip],
        IpAddr::V6(_) => &["0.0.0.0:0", "[::]:0"],
        IpAddr::V4(_) => &["0.0.0.0:0"],
    };
    families.iter().filter_map(|any| outward(any)).collect()
}

/// The address that this computer uses towards the world. Connecting a UDP socket sends nothing.
fn outward(any: &str) -> Option<IpAddr> {
    let socket = UdpSocket::bind(any).ok()?;
    // Addresses reserved for documentation: never anybody's.
    let anybody = if socket.local_addr().ok()?.is_ipv4() { "192.0.2.1:9" } else { "[2001:db8::1]:9" };
    socket.connect(anybody).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_unspecified() && !ip.is_loopback()).then_some(ip)
}

pub(crate) fn is_link_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if Ipv6Addr::is_unicast_link_local(&ip))
}

/// Names and numbers of interfaces have no blanks, and nothing that has a meaning in URLs.
fn is_possible(interface: &str) -> bool {
    !interface.is_empty() && interface.chars().all(|c| c.is_ascii_graphic() && !"/%[]?#@\\".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_interface_that_it_needs() {
        for (written, read) in [
            ("fe80::1%eth0", Ok("fe80::1%eth0")),
            ("fe80::1%25eth0", Ok("fe80::1%eth0")),
            ("fe80::1%2", Ok("fe80::1%2")),
            ("fe80::1%252", Ok("fe80::1%2")),
            ("fe80::1%25", Ok("fe80::1%25")),
            ("febf::1%br-lan.7", Ok("febf::1%br-lan.7")),
            ("::1", Ok("::1")),
            ("10.0.0.5", Ok("10.0.0.5")),
            ("fe80::1", Err(Wrong::NoInterface)),
            ("fe80::1%", Err(Wrong::Interface)),
            ("fe80::1%a b", Err(Wrong::Interface)),
            ("fe80::1%a%b", Err(Wrong::Interface)),
            ("::1%lo", Err(Wrong::Interface)),
            ("10.0.0.5%lo", Err(Wrong::Interface)),
            ("host", Err(Wrong::NoAddress)),
            ("host%lo", Err(Wrong::NoAddress)),
        ] {
            assert_eq!(address(written).as_deref(), read.as_ref().map(|read| *read), "{written}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_interface_is_found_by_name_and_number() {
        let numbered = SocketAddr::V6(std::net::SocketAddrV6::new("fe80::1".parse().unwrap(), 5, 0, 1));
        for written in ["[fe80::1%lo]:5", "[fe80::1%25lo]:5", "[fe80::1%1]:5"] {
            assert_eq!(socket(written, 7), Some(numbered), "{written}");
        }
        assert_eq!(socket("fe80::1%lo", 5), Some(numbered));
        for wrong in ["[fe80::1%none]:5", "[fe80::1%lo]5", "[fe80::1%lo]:x", "fe80::1", "localhost"] {
            assert_eq!(socket(wrong, 5), None, "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_bound_is_told_with_an_example() {
        for wrong in ["fe80::1", "::1%lo", "host", "fe80::1%no such"] {
            let error = local(wrong).unwrap_err();
            assert!(error.contains(EXAMPLE), "{error}");
        }
        assert_eq!(local("::1"), Ok("[::1]:0".parse().unwrap()));
    }
}
