//! Flow-control windows of a test.

use noq::{TransportConfig, VarInt};
use pcc::units::Bytes;
use pcc_quic::{Algorithm, transport};

/// How much may be under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Windows(pub(super) Option<Bytes>);

impl Windows {
    /// The window in bytes: what was asked for, or enough for a path of 1 Gbit/s and 200 ms.
    pub(super) fn bytes(self) -> u64 {
        self.0.unwrap_or_else(|| transport::Windows::default().bytes()).get()
    }

    /// A transport with these windows that sends with `algorithm`.
    pub(super) fn transport(self, algorithm: &Algorithm) -> TransportConfig {
        let mut config = transport::config(algorithm, &transport::Windows::default());
        let window = VarInt::from_u64(self.bytes()).unwrap_or(VarInt::MAX);
        config.stream_receive_window(window).receive_window(window).send_window(self.bytes());
        config
    }
}
