//! Where figures are served, as people write it: on this computer only, unless an address is named.

use std::net::{Ipv4Addr, SocketAddr};

pub(super) fn parse(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse()
        .map_err(|_| format!("`{text}` is no address with a port; write it like 9443, 10.0.0.5:9443 or [::1]:9443"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_one_of_this_computer() {
        assert_eq!(parse("9443"), Ok("127.0.0.1:9443".parse().unwrap()));
        assert_eq!(parse("[::]:9443"), Ok("[::]:9443".parse().unwrap()));
        assert!(parse("10.0.0.5").unwrap_err().contains("`10.0.0.5`"));
    }
}
