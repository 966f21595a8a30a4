//! Whether a server speaks HTTP/3, and what its connection tells of ECN.

use super::marks::{Marks, Watched};
use crate::tls::{self, Trust};
use crate::url::Peer;
use core::time::Duration;
use noq::{ClientConfig, Endpoint, EndpointConfig};
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, PacedRuntime, http3, socket};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use tokio::time::{sleep, timeout};

/// How long a handshake may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time between packets that look for ECN, and how long they do at least: then the far side has reported some.
const PING: Duration = Duration::from_millis(50);
const LOOK: Duration = Duration::from_secs(1);

/// The outcome of a connection.
#[derive(Debug)]
pub struct Outcome {
    /// The time of the handshake, or why there is no connection.
    pub handshake: Result<Duration, String>,
    /// The fault of the certificate, if a connection that ends here was made in spite of that.
    pub untrusted: Option<String>,
    /// Its marks (ECN).
    pub marks: Arc<Marks>,
}

/// Connects, looks, and says goodbye.
pub(super) async fn connect(peer: &Peer, address: SocketAddr, trust: &Trust) -> Outcome {
    let marks = Arc::new(Marks::default());
    let mut untrusted = None;
    let mut attempt = attempt(peer, address, trust, &marks).await;
    // Nothing is said on this connection, so one to somebody else does no harm. It tells what the path does.
    if let (Err(Failed::Untrusted(found, why)), false) = (&attempt, matches!(trust, Trust::Pinned(_))) {
        untrusted = Some(why.clone());
        attempt = self::attempt(peer, address, &Trust::Pinned(*found), &marks).await;
    }
    let handshake = attempt.map_err(|failed| match failed {
        Failed::Untrusted(_, why) => format!("the certificate is another than the URL names: {why}"),
        Failed::Other(why) => why,
    });
    Outcome { handshake, untrusted, marks }
}

enum Failed {
    /// The certificate that was shown, and what is wrong with it.
    Untrusted(tls::Fingerprint, String),
    Other(String),
}

async fn attempt(peer: &Peer, address: SocketAddr, trust: &Trust, marks: &Arc<Marks>) -> Result<Duration, Failed> {
    let other = |error: &dyn core::fmt::Display| Failed::Other(error.to_string());
    let (tls, refusal) = tls::client(trust, &[http3::ALPN]).map_err(|error| Failed::Other(format!("{error:#}")))?;
    let bound = socket::bind(super::probe::local(address)).map_err(|error| other(&error))?;
    let runtime = PacedRuntime::new().map_err(|error| other(&error))?;
    let runtime = Arc::new(Watched { inner: runtime, marks: marks.clone() });
    let endpoint =
        Endpoint::new(EndpointConfig::default(), None, bound.socket, runtime).map_err(|error| other(&error))?;
    let mut config = ClientConfig::new(Arc::new(tls));
    let mut transport = transport::config(&Algorithm::default(), &Windows::default());
    transport.keep_alive_interval(Some(PING));
    config.transport_config(Arc::new(transport));
    let begun = Instant::now();
    let connecting = endpoint.connect_with(config, address, peer.name()).map_err(|error| other(&error))?;
    let connection = match timeout(PATIENCE, connecting).await {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => {
            return Err(match refusal.reason() {
                Some((found, why)) => Failed::Untrusted(*found, why.clone()),
                None => other(&error),
            });
        }
        Err(_) => return Err(Failed::Other(format!("no handshake within {PATIENCE:?}"))),
    };
    let took = begun.elapsed();
    tokio::select! {
        _ = connection.closed() => {}
        () = sleep(LOOK + 3 * took) => {}
    }
    endpoint.close(noq::VarInt::from_u32(0x100), b""); // HTTP/3's code for "all went well" (RFC 9114 §8.1)
    let _ = timeout(took + PING, endpoint.wait_idle()).await;
    Ok(took)
}
