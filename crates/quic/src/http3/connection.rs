//! Opening and accepting streams.

use super::delivery::{Deliveries, Undelivered};
use super::error;
use super::frames::Frames;
use super::{BidiStream, RecvStream, SendStream};
use bytes::Buf;
use core::fmt;
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming};
use noq::ConnectionError;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

type Bidi = (noq::SendStream, noq::RecvStream);

type Answer<T> = Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send + Sync>>;

/// An answer that noq gives through a future and `h3` asks for by polling: the future is kept between polls, because
/// dropping it would give up its place among the waiting.
struct Asked<T> {
    under_way: Option<Answer<T>>,
}

impl<T> Asked<T> {
    const fn nothing() -> Self {
        Self { under_way: None }
    }

    fn poll<F>(&mut self, cx: &mut Context<'_>, ask: impl FnOnce() -> F) -> Poll<Result<T, ConnectionError>>
    where
        F: Future<Output = Result<T, ConnectionError>> + Send + Sync + 'static,
    {
        let answer = ready!(self.under_way.get_or_insert_with(|| Box::pin(ask())).as_mut().poll(cx));
        self.under_way = None;
        Poll::Ready(answer)
    }
}

/// Opens streams of a connection.
pub struct OpenStreams {
    connection: noq::Connection,
    bidi: Asked<Bidi>,
    send: Asked<noq::SendStream>,
}

impl OpenStreams {
    fn new(connection: noq::Connection) -> Self {
        Self { connection, bidi: Asked::nothing(), send: Asked::nothing() }
    }
}

impl Clone for OpenStreams {
    /// Another opener of the same connection; it does not wait for the streams that this one waits for.
    fn clone(&self) -> Self {
        Self::new(self.connection.clone())
    }
}

impl<B: Buf> quic::OpenStreams<B> for OpenStreams {
    type BidiStream = BidiStream;
    type SendStream = SendStream;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<BidiStream, StreamErrorIncoming>> {
        let connection = &self.connection;
        let opened = ready!(self.bidi.poll(cx, || {
            let connection = connection.clone();
            async move { connection.open_bi().await }
        }));
        let opened = opened.map(|streams| BidiStream::new(streams, connection.weak_handle()));
        Poll::Ready(opened.map_err(error::lost))
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<SendStream, StreamErrorIncoming>> {
        let connection = &self.connection;
        let opened = ready!(self.send.poll(cx, || {
            let connection = connection.clone();
            async move { connection.open_uni().await }
        }));
        Poll::Ready(opened.map(SendStream::new).map_err(error::lost))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection.close(error::code(code.value()), reason);
    }
}

impl fmt::Debug for OpenStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenStreams").field("connection", &self.connection.stable_id()).finish()
    }
}

/// A noq connection as `h3` sees it.
pub struct Connection {
    open: OpenStreams,
    bidi: Asked<Bidi>,
    recv: Asked<noq::RecvStream>,
    undelivered: Undelivered,
}

impl Connection {
    /// Lends `connection` to `h3`; clones of it stay usable, for statistics and for closing.
    pub fn new(connection: noq::Connection) -> Self {
        let (bidi, recv) = (Asked::nothing(), Asked::nothing());
        Self { open: OpenStreams::new(connection), bidi, recv, undelivered: Undelivered::default() }
    }

    /// Tells when the peer has all that is sent in answer to its requests.
    pub fn deliveries(&self) -> Deliveries {
        self.undelivered.deliveries()
    }
}

impl<B: Buf> quic::Connection<B> for Connection {
    type RecvStream = RecvStream;
    type OpenStreams = OpenStreams;

    fn poll_accept_recv(&mut self, cx: &mut Context<'_>) -> Poll<Result<RecvStream, ConnectionErrorIncoming>> {
        let connection = &self.open.connection;
        let accepted = ready!(self.recv.poll(cx, || {
            let connection = connection.clone();
            async move { connection.accept_uni().await }
        }));
        let accepted = accepted.map(|stream| RecvStream::new(stream, Frames::of_one_way(), connection.weak_handle()));
        Poll::Ready(accepted.map_err(error::connection))
    }

    fn poll_accept_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<BidiStream, ConnectionErrorIncoming>> {
        let connection = &self.open.connection;
        let accepted = ready!(self.bidi.poll(cx, || {
            let connection = connection.clone();
            async move { connection.accept_bi().await }
        }));
        let accepted = accepted.map(|streams| BidiStream::new(streams, connection.weak_handle()));
        Poll::Ready(accepted.map(|stream| stream.noted(self.undelivered.clone())).map_err(error::connection))
    }

    fn opener(&self) -> OpenStreams {
        self.open.clone()
    }
}

impl<B: Buf> quic::OpenStreams<B> for Connection {
    type BidiStream = BidiStream;
    type SendStream = SendStream;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<BidiStream, StreamErrorIncoming>> {
        quic::OpenStreams::<B>::poll_open_bidi(&mut self.open, cx)
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<SendStream, StreamErrorIncoming>> {
        quic::OpenStreams::<B>::poll_open_send(&mut self.open, cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        <OpenStreams as quic::OpenStreams<B>>::close(&mut self.open, code, reason);
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connection").field(&self.open).finish()
    }
}
