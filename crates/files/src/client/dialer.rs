//! How a client connects: what it speaks, and how it notices a server that is gone.

use core::time::Duration;
use noq::{EndpointConfig, TransportConfig};
use pcc::units::Rate;
use pcc_net::dial::{self, Dialer, Family, Transport};
use pcc_net::tls::Trust;
use pcc_quic::http3;
use pcc_quic::transport::Windows;

/// How often to ask whether a silent server is still there. A server that was killed and started again says at the
/// first question that it does not know us.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// Silence, in spite of the questions, after which a new connection is tried.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Has a connection notice a server that is gone, and keeps it where nothing is sent.
pub fn keep_alive(transport: &mut TransportConfig) {
    let idle = noq::IdleTimeout::from(noq::VarInt::from_u32(IDLE_TIMEOUT.as_millis() as u32));
    transport.keep_alive_interval(Some(KEEP_ALIVE)).max_idle_timeout(Some(idle));
}

/// Has a connection outlive silence of this length, on paths that are dead for minutes. It is for what cannot go on over another
/// connection. Both ends must do it.
pub fn bear_silence(transport: &mut TransportConfig, silence: Duration) {
    transport.max_idle_timeout(noq::IdleTimeout::try_from(silence).ok());
}

/// Connects as downloads do.
pub fn dialer(trust: Trust, transport: impl Into<Transport>) -> Dialer {
    Dialer {
        alpn: &[http3::ALPN],
        trust,
        transport: transport.into(),
        endpoint: EndpointConfig::default(),
        timeout: dial::TIMEOUT,
        family: Family::Any,
        via: Vec::new(),
    }
}

/// Windows of a transfer that the user limits: with the usual ones a server would send tens of megabytes ahead, as fast
/// as it can. These hold a second of the limit (2.5 times the 0.4 s), so they suffice for round trips of nearly as long.
pub fn windows_within(limit: Option<Rate>) -> Windows {
    let usual = Windows::default();
    let limited = limit.map(|rate| Windows { rate, rtt: Duration::from_millis(400) });
    limited.filter(|limited| limited.bytes() < usual.bytes()).unwrap_or(usual)
}
