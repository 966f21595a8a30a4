//! The receiving half of a stream.

use super::error;
use super::frames::{Frames, TooLarge};
use bytes::Bytes;
use core::{fmt, mem};
use h3::error::Code;
use h3::quic::{self, StreamErrorIncoming, StreamId};
use noq::WeakConnectionHandle;
use std::pin::pin;
use std::task::{Context, Poll, ready};

/// Packets' worth of data read at a time: each read locks the connection, which its driver needs for the next packets.
///
/// They go on in one piece. Packet by packet `h3` and the application would do their work 32 times as often. An application
/// that copies would wait for each copy at the next atomic operation, by which it gives the packet back.
const AT_ONCE: usize = 32;

/// The stream from which `h3` reads.
pub struct RecvStream {
    stream: noq::RecvStream,
    frames: Frames,
    /// The beginning of a frame whose end is missing. `h3` would keep it in pieces, each of which holds a whole packet.
    begun: Vec<u8>,
    connection: WeakConnectionHandle,
}

impl RecvStream {
    pub(super) fn new(stream: noq::RecvStream, frames: Frames, connection: WeakConnectionHandle) -> Self {
        Self { stream, frames, begun: Vec::new(), connection }
    }

    /// The data for `h3` once `bytes` have come, unless they announce more than may be held.
    fn pass(&mut self, bytes: Bytes) -> Result<Option<Bytes>, StreamErrorIncoming> {
        match self.frames.pass(&bytes) {
            Ok(0) if self.begun.is_empty() => Ok(Some(bytes)),
            Ok(missing) => {
                self.hold(&bytes, missing);
                Ok((missing == 0).then(|| mem::take(&mut self.begun).into()))
            }
            Err(too_large) => Err(self.refuse(&too_large)),
        }
    }

    /// Appends to the frame that has begun, of which so many bytes are missing then.
    fn hold(&mut self, bytes: &[u8], missing: usize) {
        if self.begun.capacity() - self.begun.len() < bytes.len() {
            // Twice as much, but never more than the frame has.
            self.begun.reserve_exact(bytes.len() + missing.min(self.begun.len()));
        }
        self.begun.extend_from_slice(bytes);
    }

    fn refuse(&mut self, too_large: &TooLarge) -> StreamErrorIncoming {
        let reason = too_large.to_string();
        // `h3` would close with its own internal error: the first reason is the one that the peer hears.
        if let Some(connection) = self.connection.upgrade() {
            connection.close(error::code(Code::H3_EXCESSIVE_LOAD.value()), reason.as_bytes());
        }
        error::fatal(&reason)
    }
}

impl quic::RecvStream for RecvStream {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        loop {
            let mut chunks = [const { Bytes::new() }; AT_ONCE];
            // Made anew for each poll: the future holds nothing but the stream, which is where the waker is registered.
            let count = ready!(pin!(self.stream.read_many_chunks(&mut chunks)).poll(cx)).map_err(error::read)?;
            let Some(bytes) = count.map(|count| joined(&mut chunks[..count])) else {
                // The end. A frame without its own is for `h3` to refuse.
                let begun = mem::take(&mut self.begun);
                return Poll::Ready(Ok((!begun.is_empty()).then(|| begun.into())));
            };
            if let Some(bytes) = self.pass(bytes)? {
                return Poll::Ready(Ok(Some(bytes)));
            }
        }
    }

    fn stop_sending(&mut self, error_code: u64) {
        // Already stopped or ended is as good.
        let _ = self.stream.stop(error::code(error_code));
    }

    fn recv_id(&self) -> StreamId {
        id(self.stream.id())
    }
}

impl fmt::Debug for RecvStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecvStream").field("id", &self.stream.id()).finish_non_exhaustive()
    }
}

/// All of them in one piece; one alone is not copied.
fn joined(chunks: &mut [Bytes]) -> Bytes {
    match chunks {
        [one] => mem::take(one),
        many => many.concat().into(),
    }
}

/// The same number in `h3`'s type.
pub(super) fn id(id: noq::StreamId) -> StreamId {
    StreamId::try_from(u64::from(id)).expect("QUIC's stream numbers are below 2^62 by their encoding")
}
