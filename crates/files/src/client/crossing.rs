//! The path of a transfer as it was, for a line at its end.

use super::source::{Session, Source};
use crate::figures;
use core::time::Duration;
use http::{Method, Request, StatusCode};
use pcc::units::{Bytes, Rate};
use pcc_quic::PathFigures;

/// Asking the server costs a round trip, which is a twentieth of a transfer at most.
const ROUND_TRIPS: u32 = 20;

/// A server that is slower to answer is not waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// The path of a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Crossing {
    /// As the sender of the data saw it.
    pub figures: PathFigures,
    /// How fast packets with data crossed it in the mean, headers included.
    pub rate: Rate,
}

impl Crossing {
    /// Figures and a mean rate.
    pub const fn of(figures: PathFigures, rate: Rate) -> Self {
        Self { figures, rate }
    }
}

impl Source {
    /// The path of the present connection. `None` if little crossed it, if it has several paths, or if the server tells nothing.
    pub async fn crossing(&self) -> Option<Crossing> {
        let session = self.session_that_is_up().await?;
        let (sent, received, time) = session.crossed();
        let bytes = Bytes::new(sent.max(received));
        let figures = if sent > received { session.sight().figures() } else { self.told(&session, time).await };
        Some(Crossing { figures: figures?, rate: Rate::from_bytes_per_sec(bytes.get() as f64 / time.as_secs_f64()) })
    }

    /// The figures of the server, which sent the data.
    async fn told(&self, session: &Session, time: Duration) -> Option<PathFigures> {
        let rtt = session.rtt();
        if time < rtt * ROUND_TRIPS {
            return None;
        }
        let request = Request::builder().method(Method::OPTIONS).uri(self.uri());
        let request = request.header(figures::WANT_PATH_FIGURES, "?1").body(()).ok()?;
        let answer = async {
            let mut stream = session.requests().send_request(request).await.ok()?;
            stream.finish().await.ok()?;
            let head = stream.recv_response().await.ok()?;
            (head.status() == StatusCode::NO_CONTENT).then(|| figures::of(head.headers()))?
        };
        tokio::time::timeout(PATIENCE, answer).await.ok()?
    }
}
