//! Where an answer goes: into a stream of HTTP/3, or to a client of HTTP/1.1 or 2 over TCP.

use super::broken::Broken;
use super::reply::Reply;
use super::turns::Turn;
use bytes::{Buf, Bytes};
use h3::error::{Code, StreamError};
use http::{HeaderMap, Response};
use pcc_quic::http3::ResponseStream;

/// Where an answer goes.
#[expect(clippy::large_enum_variant, reason = "there is one a request, and nearly all are the larger one")]
pub(super) enum Stream {
    /// With the request's turn; a tunnel has none.
    Quic(ResponseStream, Option<Turn>),
    Tcp(Reply),
}

impl Stream {
    pub(super) async fn send_response(&mut self, head: Response<()>) -> Result<(), Broken> {
        match self {
            Self::Quic(stream, turn) => Ok(rest(turn.as_ref(), stream.send_response(head)).await?),
            Self::Tcp(reply) => reply.begin(head),
        }
    }

    pub(super) async fn send_data(&mut self, data: Bytes) -> Result<(), Broken> {
        match self {
            Self::Quic(stream, turn) => Ok(rest(turn.as_ref(), stream.send_data(data)).await?),
            Self::Tcp(reply) => reply.data(data).await,
        }
    }

    pub(super) async fn send_trailers(&mut self, trailers: HeaderMap) -> Result<(), Broken> {
        match self {
            Self::Quic(stream, turn) => Ok(rest(turn.as_ref(), stream.send_trailers(trailers)).await?),
            Self::Tcp(reply) => reply.trailers(trailers).await,
        }
    }

    /// Whether trailers may follow a body whose length is announced.
    pub(super) const fn has_trailers(&self) -> bool {
        matches!(self, Self::Quic(..))
    }

    pub(super) async fn finish(&mut self) -> Result<(), Broken> {
        match self {
            Self::Quic(stream, turn) => Ok(rest(turn.as_ref(), stream.finish()).await?),
            Self::Tcp(reply) => reply.finish().await,
        }
    }

    /// Ends an answer that is not complete, so that nobody takes it for all.
    pub(super) fn cut_off(&mut self) {
        match self {
            Self::Quic(stream, _) => stream.stop_stream(Code::H3_INTERNAL_ERROR),
            Self::Tcp(reply) => reply.cut_off(),
        }
    }

    /// The rest of the request is not wanted, and nothing is wrong with the connection (RFC 9114 §4.1.1).
    pub(super) fn is_heard(&mut self) {
        if let Self::Quic(stream, _) = self {
            stream.stop_sending(Code::H3_NO_ERROR);
        }
    }

    /// The next piece of the request's body. Requests over TCP have none that anybody reads.
    pub(super) async fn recv_data(&mut self) -> Result<Option<impl Buf + use<>>, StreamError> {
        match self {
            Self::Quic(stream, turn) => rest(turn.as_ref(), stream.recv_data()).await,
            Self::Tcp(_) => Ok(None),
        }
    }

    /// Whether its client may write.
    pub(super) const fn reads_only(&self) -> bool {
        matches!(self, Self::Tcp(_))
    }
}

/// Does what waits for the client.
async fn rest<T>(turn: Option<&Turn>, work: impl Future<Output = T>) -> T {
    match turn {
        Some(turn) => turn.rest(work).await,
        None => work.await,
    }
}
