//! The receiving half of a stream.

use super::error;
use bytes::Bytes;
use h3::quic::{self, StreamErrorIncoming, StreamId};
use std::pin::pin;
use std::task::{Context, Poll, ready};

/// What `h3` reads from.
#[derive(Debug)]
pub struct RecvStream {
    stream: noq::RecvStream,
}

impl RecvStream {
    pub(super) fn new(stream: noq::RecvStream) -> Self {
        Self { stream }
    }
}

impl quic::RecvStream for RecvStream {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        // Made anew for each poll: the future holds nothing but the stream, which is where the waker is registered.
        let chunk = ready!(pin!(self.stream.read_chunk(usize::MAX)).poll(cx));
        Poll::Ready(chunk.map_err(error::read))
    }

    fn stop_sending(&mut self, error_code: u64) {
        // Already stopped or ended is as good.
        let _ = self.stream.stop(error::code(error_code));
    }

    fn recv_id(&self) -> StreamId {
        id(self.stream.id())
    }
}

/// The same number in `h3`'s type.
pub(super) fn id(id: noq::StreamId) -> StreamId {
    StreamId::try_from(u64::from(id)).expect("QUIC's stream numbers are below 2^62 by their encoding")
}
