//! The largest UDP datagram of a test: what `-M` sets. QUIC has no segments to limit; its unit is the UDP payload.

use noq::{ConfigError, EndpointConfig, MtuDiscoveryConfig, TransportConfig};
use pcc::units::{Bytes, ParseQuantityError};
use std::str::FromStr;

/// Bytes of UDP payload, from 1200 to 65527.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargestDatagram(u16);

/// Every path of QUIC carries this much (RFC 9000 §14.1).
const SMALLEST: u16 = 1200;
/// No more fits an IPv6 packet (RFC 9000 §18.2).
const LARGEST: u16 = 65_527;

/// Segmentation offload hands so many datagrams to the system at a time, together at most the payload of one IPv4
/// packet. (noq does not look at the sum, and the system refuses what is above it.)
const OFFLOADED: usize = 10;
const MOST_OFFLOADED: usize = 65_507;

impl LargestDatagram {
    /// In bytes.
    pub const fn bytes(self) -> u16 {
        self.0
    }

    /// Has this end send none that is larger: path MTU discovery looks for exactly this size, and no further.
    pub fn limit(self, transport: &mut TransportConfig) {
        let mut discovery = MtuDiscoveryConfig::default();
        discovery.upper_bound(self.0).minimum_change(1);
        transport
            .mtu_discovery_config(Some(discovery))
            .enable_segmentation_offload(usize::from(self.0) * OFFLOADED <= MOST_OFFLOADED);
    }
}

/// An endpoint that tells the other end to send none above `largest`.
///
/// Errors: never, within the bounds.
pub fn endpoint(largest: Option<LargestDatagram>) -> Result<EndpointConfig, ConfigError> {
    let mut config = EndpointConfig::default();
    if let Some(LargestDatagram(bytes)) = largest {
        config.max_udp_payload_size(bytes)?;
    }
    Ok(config)
}

impl FromStr for LargestDatagram {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, Self::Err> {
        let bytes: Bytes = written.parse().map_err(|error: ParseQuantityError| error.to_string())?;
        let known = u16::try_from(bytes.get()).ok().filter(|bytes| (SMALLEST..=LARGEST).contains(bytes));
        known.map(Self).ok_or_else(|| format!("choose from {SMALLEST} (every path carries it) to {LARGEST} bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_quic_allows_is_taken_and_nothing_else() {
        for (written, bytes) in [("1200", Some(1200)), ("8952B", Some(8952)), ("65527", Some(65_527))]
            .into_iter()
            .chain(["1199", "65528", "1MB", "-1", "large"].map(|wrong| (wrong, None)))
        {
            assert_eq!(written.parse::<LargestDatagram>().ok().map(LargestDatagram::bytes), bytes, "{written}");
        }
        let told = "536".parse::<LargestDatagram>().unwrap_err();
        assert!(told.contains("1200") && told.contains("65527"), "{told}");
    }
}
