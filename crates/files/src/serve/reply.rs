//! An answer on its way from the code that makes it to hyper, which writes it: a piece at a time, when the client takes it.

use super::broken::Broken;
use super::metrics::Metrics;
use bytes::Bytes;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use http::{HeaderMap, Response};
use hyper::body::{Body, Frame};
use tokio::sync::{mpsc, oneshot, watch};

/// The maker of an answer's beginning, and then of its pieces.
pub(in crate::serve) struct Reply {
    head: Option<(oneshot::Sender<Response<Pieces>>, Pieces)>,
    /// `None` once it ended.
    pieces: Option<mpsc::Sender<Piece>>,
    metrics: Metrics,
}

enum Piece {
    Frame(Frame<Bytes>),
    /// There are no more.
    End,
}

/// The body that hyper writes. It ends in order, or with an error.
pub(super) struct Pieces {
    pieces: mpsc::Receiver<Piece>,
    /// Dropped together with the body.
    _taker: watch::Sender<()>,
}

/// There is no more of an answer that is not complete.
#[derive(Debug, thiserror::Error)]
#[error("the answer was cut off")]
pub(super) struct CutOff;

/// Where to put an answer, where it comes out, and what changes when nobody waits for it any more.
pub(super) fn pair(
    metrics: Metrics,
) -> (Reply, impl Future<Output = Result<Response<Pieces>, CutOff>>, watch::Receiver<()>) {
    let (send, answer) = oneshot::channel();
    let (pieces, waiting) = mpsc::channel(1);
    let (taker, gone) = watch::channel(());
    let body = Pieces { pieces: waiting, _taker: taker };
    let reply = Reply { head: Some((send, body)), pieces: Some(pieces), metrics };
    (reply, async { answer.await.map_err(|_| CutOff) }, gone)
}

impl Reply {
    pub(in crate::serve) fn begin(&mut self, head: Response<()>) -> Result<(), Broken> {
        let Some((send, body)) = self.head.take() else { return Err(Broken::Left) };
        send.send(head.map(|()| body)).map_err(|_| Broken::Left)
    }

    pub(in crate::serve) async fn data(&mut self, data: Bytes) -> Result<(), Broken> {
        let length = data.len() as u64;
        self.give(Piece::Frame(Frame::data(data))).await?;
        self.metrics.sent_over_tcp(length);
        Ok(())
    }

    pub(in crate::serve) async fn trailers(&mut self, trailers: HeaderMap) -> Result<(), Broken> {
        self.give(Piece::Frame(Frame::trailers(trailers))).await
    }

    pub(in crate::serve) async fn finish(&mut self) -> Result<(), Broken> {
        let ended = self.give(Piece::End).await;
        self.pieces = None;
        // An answer without a body, to HEAD for one, is whole with its head.
        match ended {
            Err(Broken::Left) => Ok(()),
            ended => ended,
        }
    }

    pub(in crate::serve) fn cut_off(&mut self) {
        self.pieces = None;
    }

    async fn give(&self, piece: Piece) -> Result<(), Broken> {
        let Some(pieces) = &self.pieces else { return Err(Broken::Left) };
        pieces.send(piece).await.map_err(|_| Broken::Left)
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        Poll::Ready(match ready!(self.pieces.poll_recv(cx)) {
            Some(Piece::Frame(frame)) => Some(Ok(frame)),
            Some(Piece::End) => None,
            None => Some(Err(CutOff)),
        })
    }
}
