//! The messages of SOCKS5, read from a client's bytes.

use crate::target::{Host, Target};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(crate) const VERSION: u8 = 5;
pub(crate) const NO_AUTHENTICATION: u8 = 0;
pub(crate) const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;

/// Bytes of the longest request: a name of 255.
pub(crate) const LONGEST_REQUEST: usize = 4 + 1 + 255 + 2;

/// The reply's second byte (RFC 1928 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The connection is there.
    Succeeded = 0,
    /// Anything without a number of its own.
    Failure = 1,
    /// The server's rules do not allow it.
    NotAllowed = 2,
    /// The name has no address, or nobody answers there.
    HostUnreachable = 4,
    /// The target refused.
    Refused = 5,
    /// Only CONNECT is known here.
    CommandNotSupported = 7,
    /// Neither a name nor an address.
    AddressNotSupported = 8,
}

/// Whether a greeting, VER NMETHODS METHODS, offers to do without authentication; `None` if its end is missing.
///
/// Errors: it is none of SOCKS5.
pub(crate) fn greeting(bytes: &[u8]) -> Result<Option<bool>, Reply> {
    match bytes {
        [] | [VERSION] => Ok(None),
        [VERSION, number, methods @ ..] => {
            Ok(methods.get(..usize::from(*number)).map(|methods| methods.contains(&NO_AUTHENTICATION)))
        }
        _ => Err(Reply::Failure),
    }
}

/// The target of a request, VER CMD RSV ATYP ADDRESS PORT; `None` if its end is missing.
///
/// Errors: what to reply.
pub(crate) fn request(bytes: &[u8]) -> Result<Option<Target>, Reply> {
    let [version, command, _, kind, rest @ ..] = bytes else { return Ok(None) };
    if *version != VERSION {
        return Err(Reply::Failure);
    }
    let length = match (kind, rest) {
        (1, _) => 4,
        (4, _) => 16,
        (3, [length, ..]) => 1 + usize::from(*length),
        (3, []) => return Ok(None),
        _ => return Err(Reply::AddressNotSupported),
    };
    let Some(([port @ .., _, _], [.., high, low])) = rest.get(..length + 2).map(|whole| (whole, whole)) else {
        return Ok(None);
    };
    if *command != CONNECT {
        return Err(Reply::CommandNotSupported);
    }
    let host = host(*kind, port).ok_or(Reply::AddressNotSupported)?;
    match u16::from_be_bytes([*high, *low]) {
        0 => Err(Reply::Failure),
        port => Ok(Some(Target { host, port })),
    }
}

fn host(kind: u8, bytes: &[u8]) -> Option<Host> {
    match kind {
        1 => <[u8; 4]>::try_from(bytes).ok().map(|bytes| Host::Address(Ipv4Addr::from(bytes).into())),
        4 => <[u8; 16]>::try_from(bytes)
            .ok()
            .map(|bytes| Host::Address(IpAddr::from(Ipv6Addr::from(bytes)).to_canonical())),
        _ => core::str::from_utf8(bytes.get(1..)?).ok().and_then(Host::parse),
    }
}

/// Bytes of a reply. The address at which the far side is bound is told to nobody.
pub const fn reply(reply: Reply) -> [u8; 10] {
    [VERSION, reply as u8, 0, 1, 0, 0, 0, 0, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(target: &Target) -> Vec<u8> {
        let mut bytes = vec![VERSION, CONNECT, 0];
        match &target.host {
            Host::Address(IpAddr::V4(v4)) => bytes.extend([1].into_iter().chain(v4.octets())),
            Host::Address(IpAddr::V6(v6)) => bytes.extend([4].into_iter().chain(v6.octets())),
            Host::Name(name) => bytes.extend([3, name.len() as u8].into_iter().chain(name.bytes())),
        }
        bytes.extend(target.port.to_be_bytes());
        bytes
    }

    proptest! {
        #[test]
        fn every_request_is_read_and_no_part_of_it(ip in any::<IpAddr>(), name in "[a-z]{1,60}(\\.[a-z]{1,60}){0,3}", port in 1u16..) {
            for host in [Host::Address(ip.to_canonical()), Host::Name(name)] {
                let target = Target { host, port };
                let bytes = written(&target);
                prop_assert!(bytes.len() <= LONGEST_REQUEST);
                for short in 0..bytes.len() {
                    prop_assert_eq!(request(&bytes[..short]), Ok(None));
                }
                prop_assert_eq!(request(&bytes), Ok(Some(target)));
            }
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = (greeting(&bytes), request(&bytes));
            let with_head: Vec<u8> = [VERSION, CONNECT, 0].into_iter().chain(bytes).collect();
            if let Ok(Some(target)) = request(&with_head) {
                prop_assert_eq!(target.to_string().parse(), Ok(target));
            }
        }

        #[test]
        fn a_greeting_is_whole_with_all_its_methods(methods in prop::collection::vec(any::<u8>(), 0..=255)) {
            let bytes: Vec<u8> = [VERSION, methods.len() as u8].into_iter().chain(methods.iter().copied()).collect();
            prop_assert_eq!(greeting(&bytes), Ok(Some(methods.contains(&0))));
            prop_assert_eq!(greeting(&bytes[..bytes.len() - 1]).is_ok_and(|whole| whole.is_none()), bytes.len() > 2 || methods.is_empty());
        }
    }

    #[test]
    fn other_commands_and_versions_have_their_reply() {
        assert_eq!(request(&[5, 2, 0, 1, 1, 2, 3, 4, 0, 80]), Err(Reply::CommandNotSupported));
        assert_eq!(request(&[5, 1, 0, 9]), Err(Reply::AddressNotSupported));
        assert_eq!(request(&[5, 1, 0, 3, 3, b'a', b'\n', b'b', 0, 80]), Err(Reply::AddressNotSupported));
        assert_eq!(request(&[4, 1, 0, 80]), Err(Reply::Failure));
        assert_eq!(greeting(&[4]), Err(Reply::Failure));
    }
}
