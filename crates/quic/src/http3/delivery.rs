//! Whether the peer has what was sent to it.
//!
//! A finished stream has its last byte in this side's stack, which may hold megabytes of it for seconds. A connection
//! that is closed then throws them away.

use noq::Stopped;
use tokio::sync::watch;

/// Counts finished streams that the peer has not acknowledged to the end.
#[derive(Clone, Debug)]
pub(super) struct Undelivered {
    streams: watch::Sender<usize>,
}

impl Default for Undelivered {
    fn default() -> Self {
        Self { streams: watch::Sender::new(0) }
    }
}

impl Undelivered {
    /// Counts a stream until the peer has all of it, or wants no more, or is gone.
    pub(super) fn note(self, delivered: Stopped) {
        self.streams.send_modify(|streams| *streams += 1);
        tokio::spawn(async move {
            // Each of the ways it can end is one.
            let _ = delivered.await;
            self.streams.send_modify(|streams| *streams -= 1);
        });
    }

    pub(super) fn deliveries(&self) -> Deliveries {
        Deliveries { undelivered: self.streams.subscribe() }
    }
}

/// Tells when the answers of a server's connection have arrived.
#[derive(Clone, Debug)]
pub struct Deliveries {
    undelivered: watch::Receiver<usize>,
}

impl Deliveries {
    /// Whether the peer has acknowledged every stream that was finished so far.
    pub fn are_complete(&self) -> bool {
        *self.undelivered.borrow() == 0
    }

    /// Ends when the peer has acknowledged every stream that was finished so far, or the connection is lost.
    ///
    /// The peer's application may still have to read acknowledged data, which is lost if the connection is closed
    /// before. So the closing is left to the client, for a while.
    pub async fn complete(&mut self) {
        // Nobody left who could finish a stream is fine.
        let _ = self.undelivered.wait_for(|streams| *streams == 0).await;
    }
}
