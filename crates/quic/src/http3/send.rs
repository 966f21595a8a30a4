//! The sending half of a stream, and both halves together.

use super::RecvStream;
use super::delivery::Undelivered;
use super::error;
use super::frames::Frames;
use super::recv::id;
use bytes::{Buf, Bytes};
use core::fmt;
use h3::quic::{self, StreamErrorIncoming, StreamId, WriteBuf};
use noq::WeakConnectionHandle;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

/// The stream to which `h3` writes: one frame at a time.
pub struct SendStream {
    stream: noq::SendStream,
    /// The rest of the frame: its header, and its payload, which noq keeps without a copy until it is acknowledged.
    frame: [Bytes; 2],
    /// Where it is noted that the end of the stream is on its way, if anybody wants to know.
    undelivered: Option<Undelivered>,
}

impl SendStream {
    pub(super) fn new(stream: noq::SendStream) -> Self {
        Self { stream, frame: Default::default(), undelivered: None }
    }

    fn is_writing(&self) -> bool {
        self.frame.iter().any(Buf::has_remaining)
    }

    /// Writes all that is left of the frame.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while self.is_writing() {
            // Made anew for each poll: the future holds nothing but the stream, which is where the waker is registered.
            let mut rest = &mut self.frame[..];
            let written = ready!(pin!(self.stream.write_many_chunks(&mut rest)).poll(cx));
            if let Err(error) = written {
                // The rest of what the peer does not want is dropped: a frame behind it fails as this one did, and with it
                // this stream. To leave it would look like a frame that was not waited for, which ends the connection.
                self.frame = Default::default();
                return Poll::Ready(Err(error::write(error)));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<B: Buf> quic::SendStream<B> for SendStream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.poll_frame(cx)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.is_writing() {
            return Err(error::fatal("a frame was sent before the one in front of it was written"));
        }
        let mut frame = data.into();
        let header = frame.copy_to_bytes(frame.chunk().len());
        // The patched h3 hands over what the application gave; as released it copies.
        self.frame = [header, frame.copy_to_bytes(frame.remaining())];
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(self.poll_frame(cx))?;
        self.stream.finish().map_err(|closed| StreamErrorIncoming::Unknown(Box::new(closed)))?;
        if let Some(undelivered) = self.undelivered.take() {
            undelivered.note(self.stream.stopped());
        }
        Poll::Ready(Ok(()))
    }

    fn reset(&mut self, reset_code: u64) {
        // Already reset or acknowledged to the end is as good.
        let _ = self.stream.reset(error::code(reset_code));
    }

    fn send_id(&self) -> StreamId {
        id(self.stream.id())
    }
}

impl<B: Buf> quic::SendStreamUnframed<B> for SendStream {
    fn poll_send<D: Buf>(&mut self, cx: &mut Context<'_>, data: &mut D) -> Poll<Result<usize, StreamErrorIncoming>> {
        if self.is_writing() {
            return Poll::Ready(Err(error::fatal("bytes were sent before the frame in front of them was written")));
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, data.chunk())).map_err(error::write)?;
        data.advance(written);
        Poll::Ready(Ok(written))
    }
}

impl fmt::Debug for SendStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendStream").field("id", &self.stream.id()).field("writing", &self.is_writing()).finish()
    }
}

/// Both halves of a request's stream.
#[derive(Debug)]
pub struct BidiStream {
    send: SendStream,
    recv: RecvStream,
}

impl BidiStream {
    pub(super) fn new((send, recv): (noq::SendStream, noq::RecvStream), connection: WeakConnectionHandle) -> Self {
        Self { send: SendStream::new(send), recv: RecvStream::new(recv, Frames::of_request(), connection) }
    }

    /// Notes there when the end of what is sent is on its way.
    pub(super) fn noted(mut self, undelivered: Undelivered) -> Self {
        self.send.undelivered = Some(undelivered);
        self
    }
}

impl<B: Buf> quic::BidiStream<B> for BidiStream {
    type SendStream = SendStream;
    type RecvStream = RecvStream;

    fn split(self) -> (SendStream, RecvStream) {
        (self.send, self.recv)
    }
}

impl<B: Buf> quic::SendStream<B> for BidiStream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_frame(cx)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        quic::SendStream::<B>::send_data(&mut self.send, data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        quic::SendStream::<B>::poll_finish(&mut self.send, cx)
    }

    fn reset(&mut self, reset_code: u64) {
        quic::SendStream::<B>::reset(&mut self.send, reset_code);
    }

    fn send_id(&self) -> StreamId {
        quic::SendStream::<B>::send_id(&self.send)
    }
}

impl<B: Buf> quic::SendStreamUnframed<B> for BidiStream {
    fn poll_send<D: Buf>(&mut self, cx: &mut Context<'_>, data: &mut D) -> Poll<Result<usize, StreamErrorIncoming>> {
        quic::SendStreamUnframed::<B>::poll_send(&mut self.send, cx, data)
    }
}

impl quic::RecvStream for BidiStream {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.recv.poll_data(cx)
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.recv.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.recv.recv_id()
    }
}
