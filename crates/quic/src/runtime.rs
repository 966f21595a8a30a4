//! The runtime that paces exactly.

use crate::pace::{self, PollScope, Timer};
use noq::{AsyncTimer, AsyncUdpSocket, Runtime, TokioRuntime};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

/// noq's Tokio runtime with exact pacing: connections that PCC controls send each packet at its time.
///
/// Timers and connections with other congestion controllers work exactly as under [`TokioRuntime`]. Linux wakes
/// connections within microseconds; other systems within a millisecond, and the rate is kept all the same; Windows may
/// take 16 ms, which is not measured. Sockets are as under Tokio but for what they cost on Linux: a paced sender is not
/// woken because a packet has left.
#[derive(Debug)]
pub struct PacedRuntime {
    tokio: TokioRuntime,
    timer: Arc<Timer>,
}

impl PacedRuntime {
    /// A runtime for [`noq::Endpoint::new`]; any number of endpoints may share it. To be called where they will live,
    /// inside a Tokio runtime with I/O and time enabled.
    ///
    /// Errors: not inside a Tokio runtime; the system has no descriptor left for the timer.
    #[expect(clippy::new_ret_no_self, reason = "noq takes nothing else")]
    pub fn new() -> io::Result<Arc<dyn Runtime>> {
        Ok(Arc::new(Self { tokio: TokioRuntime, timer: Arc::new(Timer::start()?) }))
    }
}

impl Runtime for PacedRuntime {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        self.tokio.new_timer(at)
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.tokio.spawn(Box::pin(PollScope::new(future, Arc::clone(&self.timer))));
    }

    #[cfg(target_os = "linux")]
    fn wrap_udp_socket(&self, socket: std::net::UdpSocket) -> io::Result<Box<dyn AsyncUdpSocket>> {
        Ok(Box::new(crate::udp::Socket::new(socket)?))
    }

    #[cfg(not(target_os = "linux"))]
    fn wrap_udp_socket(&self, socket: std::net::UdpSocket) -> io::Result<Box<dyn AsyncUdpSocket>> {
        self.tokio.wrap_udp_socket(socket)
    }

    fn now(&self) -> Instant {
        pace::instant(pace::now())
    }
}
