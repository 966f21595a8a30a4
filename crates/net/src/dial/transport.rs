//! How connections to a peer are configured.

use core::fmt;
use noq::TransportConfig;
use std::net::IpAddr;
use std::sync::Arc;

/// Congestion control, windows, time-outs, by the address of the peer.
#[derive(Clone)]
pub struct Transport(Arc<dyn Fn(IpAddr) -> Arc<TransportConfig> + Send + Sync>);

impl Transport {
    /// One that is made for each address.
    pub fn by_address(make: impl Fn(IpAddr) -> TransportConfig + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |address| Arc::new(make(address))))
    }

    /// The one for a peer at this address.
    pub fn to(&self, address: IpAddr) -> Arc<TransportConfig> {
        (self.0)(address)
    }
}

/// The same for every address.
impl From<Arc<TransportConfig>> for Transport {
    fn from(transport: Arc<TransportConfig>) -> Self {
        Self(Arc::new(move |_| transport.clone()))
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transport")
    }
}
