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
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The stream to which `h3` writes: one frame at a time, its header and then its payload.
pub struct SendStream<B> {
    stream: noq::SendStream,
    frame: Option<WriteBuf<B>>,
    /// Where it is noted that the end of the stream is on its way, if anybody wants to know.
    undelivered: Option<Undelivered>,
}

impl<B> SendStream<B> {
    pub(super) fn new(stream: noq::SendStream) -> Self {
        Self { stream, frame: None, undelivered: None }
    }
}

impl<B: Buf> SendStream<B> {
    /// Writes some of `data`, and answers how much.
    fn poll_write<D: Buf>(&mut self, cx: &mut Context<'_>, data: &mut D) -> Poll<Result<usize, StreamErrorIncoming>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, data.chunk())).map_err(error::write)?;
        data.advance(written);
        Poll::Ready(Ok(written))
    }
}

impl<B: Buf> quic::SendStream<B> for SendStream<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(mut frame) = self.frame.take() {
            if !frame.has_remaining() {
                break;
            }
            match self.poll_write(cx, &mut frame) {
                // The rest of what the peer does not want is dropped: a frame behind it fails as this one did, and with it
                // this stream. To leave it would look like a frame that was not waited for, which ends the connection.
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(_)) => self.frame = Some(frame),
                Poll::Pending => {
                    self.frame = Some(frame);
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.frame.is_some() {
            return Err(error::fatal("a frame was sent before the one in front of it was written"));
        }
        self.frame = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(self.poll_ready(cx))?;
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

impl<B: Buf> quic::SendStreamUnframed<B> for SendStream<B> {
    fn poll_send<D: Buf>(&mut self, cx: &mut Context<'_>, data: &mut D) -> Poll<Result<usize, StreamErrorIncoming>> {
        if self.frame.is_some() {
            return Poll::Ready(Err(error::fatal("bytes were sent before the frame in front of them was written")));
        }
        self.poll_write(cx, data)
    }
}

impl<B> fmt::Debug for SendStream<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendStream").field("id", &self.stream.id()).field("writing", &self.frame.is_some()).finish()
    }
}

/// Both halves of a request's stream.
#[derive(Debug)]
pub struct BidiStream<B> {
    send: SendStream<B>,
    recv: RecvStream,
}

impl<B> BidiStream<B> {
    pub(super) fn new((send, recv): (noq::SendStream, noq::RecvStream), connection: WeakConnectionHandle) -> Self {
        Self { send: SendStream::new(send), recv: RecvStream::new(recv, Frames::of_request(), connection) }
    }

    /// Notes there when the end of what is sent is on its way.
    pub(super) fn noted(mut self, undelivered: Undelivered) -> Self {
        self.send.undelivered = Some(undelivered);
        self
    }
}

impl<B: Buf> quic::BidiStream<B> for BidiStream<B> {
    type SendStream = SendStream<B>;
    type RecvStream = RecvStream;

    fn split(self) -> (SendStream<B>, RecvStream) {
        (self.send, self.recv)
    }
}

impl<B: Buf> quic::SendStream<B> for BidiStream<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(cx)
    }

    fn reset(&mut self, reset_code: u64) {
        self.send.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

impl<B: Buf> quic::SendStreamUnframed<B> for BidiStream<B> {
    fn poll_send<D: Buf>(&mut self, cx: &mut Context<'_>, data: &mut D) -> Poll<Result<usize, StreamErrorIncoming>> {
        self.send.poll_send(cx, data)
    }
}

impl<B: Buf> quic::RecvStream for BidiStream<B> {
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
