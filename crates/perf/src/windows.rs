//! Flow-control windows of a test.

use noq::{Connection, PathId, TransportConfig, VarInt};
use pcc::units::Bytes;
use pcc_quic::{Algorithm, transport};
use std::time::Duration;

/// The flow-control windows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Windows(
    /// The requested size.
    pub Option<Bytes>,
);

impl Windows {
    /// The window in bytes: what was asked for, or enough for a path of 1 Gbit/s and 200 ms.
    pub fn bytes(self) -> u64 {
        self.0.unwrap_or_else(|| transport::Windows::default().bytes()).get()
    }

    /// A transport with these windows that sends with `algorithm`.
    pub fn transport(self, algorithm: &Algorithm) -> TransportConfig {
        let mut config = transport::config(algorithm, &transport::Windows::default());
        let window = VarInt::from_u64(self.bytes()).unwrap_or(VarInt::MAX);
        // A stream grows into half of what the connection may receive.
        let connection = VarInt::from_u64(self.bytes().saturating_mul(2)).unwrap_or(VarInt::MAX);
        config.stream_receive_window(window).receive_window(connection).send_window(self.bytes());
        config
    }
}

/// The send buffer may always be as large.
const SEND_FLOOR: u64 = 1 << 20;

/// Fits the send buffer to the congestion window, up to `largest` bytes. As kernels do: two windows are enough to keep
/// sending, and more would only have to be drained at the end.
pub fn fit_send_window(connection: &Connection, cwnd: u64, largest: u64) {
    connection.set_send_window(cwnd.saturating_mul(2).clamp(SEND_FLOOR, largest.max(SEND_FLOOR)));
}

/// How often that is done.
pub const FITTING_INTERVAL: Duration = Duration::from_millis(20);

/// Keeps fitting it, for a server; never ends.
pub async fn keep_fitting<T>(connection: Connection, largest: u64) -> T {
    loop {
        let cwnd = connection.path_stats(PathId::ZERO).map_or(0, |path| path.cwnd);
        fit_send_window(&connection, cwnd, largest);
        tokio::time::sleep(FITTING_INTERVAL).await;
    }
}
