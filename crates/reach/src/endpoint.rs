//! An endpoint of iroh that contacts nobody whom the user did not name, with PCC on every path.

use crate::code::Code;
use crate::error::ReachError;
use crate::greeting::ALPN;
use crate::place::{Place, Relay};
use iroh::dns::DnsResolver;
use iroh::endpoint::{NetReportConfig, PortmapperConfig, QuicTransportConfig, VarInt, presets};
use iroh::{Endpoint, RelayMode, SecretKey};
use iroh_mdns_address_lookup::MdnsAddressLookup;
use iroh_relay::tls::CaTlsConfig;
use pcc_net::tls;
use pcc_quic::Algorithm;
use pcc_quic::transport::{self, Windows};
use std::io;
use std::sync::Arc;

/// The name under which senders announce themselves in the local network (multicast DNS), as `_pcc._udp.local`.
const SERVICE: &str = "pcc";

/// Which of the two computers this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Sender,
    Receiver,
}

/// Opens one for this side of a code.
///
/// iroh by itself would use relays and name servers of its makers, and name servers of others where the system's fail. All of
/// them are off: there are the relays that the code names, the system's name servers, and multicast in the local network.
///
/// Errors: the system gives no socket.
pub(crate) async fn open(code: &Code, side: Side, algorithm: &Algorithm) -> Result<Endpoint, ReachError> {
    let key = match side {
        Side::Sender => code.sender(),
        Side::Receiver => code.receiver(),
    };
    let relay = code.places().iter().find_map(|place| match place {
        Place::Relay(relay) => Some(relay),
        Place::Address(_) => None,
    });
    let endpoint = bind(key, relay, algorithm).await?;
    let lan = MdnsAddressLookup::builder().service_name(SERVICE).advertise(side == Side::Sender).build(endpoint.id());
    match lan {
        Ok(lan) => {
            if let Ok(look_ups) = endpoint.address_lookup() {
                look_ups.add(lan);
            }
        }
        Err(error) => tracing::debug!(%error, "no multicast here: nobody is found in the local network"),
    }
    Ok(endpoint)
}

pub(crate) async fn bind(key: SecretKey, relay: Option<&Relay>, algorithm: &Algorithm) -> Result<Endpoint, ReachError> {
    let relays = relay.map_or(RelayMode::Disabled, |relay| RelayMode::Custom(relay.map()));
    let mut probes = NetReportConfig::default();
    probes.captive_portal_check = false;
    let builder = Endpoint::builder(presets::Empty)
        .crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .secret_key(key)
        .alpns(vec![ALPN.to_vec()])
        .relay_mode(relays)
        .net_report_config(probes)
        .portmapper_config(PortmapperConfig::Disabled)
        .dns_resolver(DnsResolver::builder().with_system_defaults().disable_fallback().build())
        .ca_tls_config(any_relay())
        .transport_config(transport(algorithm));
    builder.bind().await.map_err(|error| ReachError::Local(format!("{error:#}")))
}

/// A relay needs no certificate that somebody vouches for: it is trusted with nothing. Both computers know each other by keys that
/// only the code's holders can make, and an impostor sees as much as the relay.
fn any_relay() -> CaTlsConfig {
    CaTlsConfig::custom_server_cert_verifier(Arc::new(|provider| {
        tls::any_certificate(provider).map_err(io::Error::other)
    }))
}

/// As [`transport::config`], in iroh's words. iroh has its own time-outs, by which it notices that a path is gone.
fn transport(algorithm: &Algorithm) -> QuicTransportConfig {
    let windows = Windows::default();
    let bytes = |bytes: u64| VarInt::from_u64(bytes).unwrap_or(VarInt::MAX);
    QuicTransportConfig::builder()
        .congestion_controller_factory(algorithm.factory())
        .stream_receive_window(bytes(windows.stream_bytes().get()))
        .receive_window(bytes(windows.connection_bytes().get()))
        .send_window(windows.bytes().get())
        .ack_frequency_config(matches!(algorithm, Algorithm::Pcc(_)).then(transport::ack_frequency))
        .build()
}
