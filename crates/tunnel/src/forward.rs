//! `-L [ADDR:]PORT:HOST:PORT`, as ssh has it.

use crate::target::Target;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::str::FromStr;

/// A local port and the target behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where its connections lead.
    pub target: Target,
}

/// Splits at the colons outside brackets.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0i32;
    text.split(|c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ':' && depth == 0
    })
    .collect()
}

/// A local address from `PORT` or `ADDR:PORT`; this computer alone without an address.
fn local(parts: &[&str]) -> Option<SocketAddr> {
    let (address, port) = match parts {
        [port] => (IpAddr::V4(Ipv4Addr::LOCALHOST), port),
        ["*" | "0.0.0.0", port] => (IpAddr::V4(Ipv4Addr::UNSPECIFIED), port),
        ["localhost", port] => (IpAddr::V4(Ipv4Addr::LOCALHOST), port),
        [address, port] => {
            let inside = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(address);
            (inside.parse().ok()?, port)
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, port.parse().ok()?))
}

/// A local address as `-D` has it.
///
/// Errors: what is wrong, with an example.
pub fn local_port(text: &str) -> Result<SocketAddr, String> {
    let wrong =
        || format!("`{}` is no local port; write it like 1080 or 127.0.0.1:1080", pcc_net::escape_for_terminal(text));
    local(&parts(text)).ok_or_else(wrong)
}

impl FromStr for Forward {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let text = pcc_net::escape_for_terminal(text);
            format!(
                "`{text}` is no forward; write it like 2222:host:22, 127.0.0.1:2222:host:22 or 8080:[2001:db8::1]:80"
            )
        };
        let parts = parts(text);
        let (here, there) = parts.split_at_checked(parts.len().saturating_sub(2)).ok_or_else(wrong)?;
        let listen = local(here).ok_or_else(wrong)?;
        let target = there.join(":").parse().map_err(|_| wrong())?;
        Ok(Self { listen, target })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwards_are_written_as_ssh_has_them() {
        for (text, listen, target) in [
            ("2222:host:22", "127.0.0.1:2222", "host:22"),
            ("0.0.0.0:2222:host:22", "0.0.0.0:2222", "host:22"),
            ("*:2222:host:22", "0.0.0.0:2222", "host:22"),
            ("[::1]:0:[2001:db8::1]:80", "[::1]:0", "[2001:db8::1]:80"),
        ] {
            let forward: Forward = text.parse().unwrap();
            assert_eq!((forward.listen.to_string(), forward.target.to_string()), (listen.into(), target.into()));
        }
        for wrong in ["", "22", "host:22", "1:2:3:4:5", "x:host:22", "2222:host:0", "2222::1:22", "2222:[::1:22"] {
            let error = wrong.parse::<Forward>().unwrap_err();
            assert!(error.contains(&format!("`{wrong}`")) && error.contains("2222:host:22"), "{error}");
        }
    }
}
