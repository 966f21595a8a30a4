//! Both directions of a tunnel, between a TCP connection and a stream of HTTP/3.

use bytes::{Buf, Bytes, BytesMut};
use core::time::Duration;
use h3::error::{Code, StreamError};
use pcc_quic::http3::{RecvStream, SendStream};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::ReadHalf;

/// Bytes that a tunnel reads at a time from TCP, and holds until QUIC has taken them.
pub const CHUNK: usize = 64 << 10;

/// The half of a stream that sends.
pub(crate) trait Sending {
    async fn send(&mut self, bytes: Bytes) -> Result<(), StreamError>;
    async fn end(&mut self) -> Result<(), StreamError>;
    /// The TCP connection broke (RFC 9114 §4.4).
    fn abort(&mut self);
}

/// The half of a stream that receives.
pub(crate) trait Receiving {
    async fn next(&mut self) -> Result<Option<Bytes>, StreamError>;
    fn abort(&mut self);
}

macro_rules! halves {
    ($side:ident) => {
        impl Sending for h3::$side::RequestStream<SendStream, Bytes> {
            async fn send(&mut self, bytes: Bytes) -> Result<(), StreamError> {
                self.send_data(bytes).await
            }

            async fn end(&mut self) -> Result<(), StreamError> {
                self.finish().await
            }

            fn abort(&mut self) {
                self.stop_stream(Code::H3_CONNECT_ERROR);
            }
        }

        impl Receiving for h3::$side::RequestStream<RecvStream, Bytes> {
            async fn next(&mut self) -> Result<Option<Bytes>, StreamError> {
                let data = self.recv_data().await?;
                Ok(data.map(|mut data| data.copy_to_bytes(data.remaining())))
            }

            fn abort(&mut self) {
                self.stop_sending(Code::H3_CONNECT_ERROR);
            }
        }
    };
}
halves!(client);
halves!(server);

/// Why a tunnel ended before both sides had closed it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// The TCP connection, or standard input and output in its place.
    #[error("the TCP connection broke: {0}")]
    Local(#[from] io::Error),
    /// The other end of the tunnel, or the path to it.
    #[error("the tunnel broke: {}", words(.0))]
    Stream(#[from] StreamError),
    /// Nobody sends anything.
    #[error("no data for {0:?}")]
    Idle(Duration),
}

/// The same without the terms of libraries.
fn words(error: &StreamError) -> String {
    match error {
        StreamError::ConnectionError { .. } => "its connection between client and server is lost".to_owned(),
        StreamError::RemoteTerminate { code, .. } if *code == Code::H3_CONNECT_ERROR => {
            "the TCP connection at its other end broke".to_owned()
        }
        StreamError::RemoteTerminate { code, .. } => format!("its other end reset it ({code})"),
        other => other.to_string(),
    }
}

impl Broken {
    /// For those who know only I/O.
    pub(crate) fn into_io(self) -> io::Error {
        match self {
            Self::Local(error) => error,
            Self::Idle(_) => io::Error::new(io::ErrorKind::TimedOut, self),
            Self::Stream(_) => io::Error::new(io::ErrorKind::ConnectionAborted, self),
        }
    }
}

/// What went through a tunnel.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    sent: AtomicU64,
    received: AtomicU64,
}

impl Moved {
    pub(crate) fn bytes(&self) -> u64 {
        self.sent.load(Ordering::Relaxed) + self.received.load(Ordering::Relaxed)
    }
}

/// Carries bytes until both directions have ended. Each direction ends by itself: TCP's FIN is the stream's, and the reverse.
///
/// Errors: one side broke, or nothing came for `idle`; then both sides are reset, so that nobody takes a part for the whole.
pub(crate) async fn carry(
    tcp: &mut TcpStream,
    mut sending: impl Sending,
    mut receiving: impl Receiving,
    idle: Duration,
    moved: &Moved,
) -> Result<(), Broken> {
    reset_at_close(tcp, true);
    let (read, write) = tcp.split();
    let both = async { tokio::try_join!(out(read, &mut sending, moved), back(&mut receiving, write, moved)) };
    let ended = tokio::select! {
        ended = both => ended.map(drop),
        () = idled(moved, idle) => Err(Broken::Idle(idle)),
    };
    if ended.is_err() {
        sending.abort();
        receiving.abort();
    } else {
        reset_at_close(tcp, false);
    }
    ended
}

/// Whether the close of a connection, also by a task that is dropped, resets it: its program sees one that breaks, not one that
/// ends. A socket that cannot is closed as usual.
pub(crate) fn reset_at_close(tcp: &TcpStream, reset: bool) {
    let _ = socket2::SockRef::from(tcp).set_linger(reset.then_some(Duration::ZERO));
}

async fn out(mut tcp: ReadHalf<'_>, stream: &mut impl Sending, moved: &Moved) -> Result<(), Broken> {
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(CHUNK);
        let read = (&mut tcp).take(CHUNK as u64).read_buf(&mut buffer).await?;
        if read == 0 {
            return Ok(stream.end().await?);
        }
        stream.send(buffer.split().freeze()).await?;
        moved.sent.fetch_add(read as u64, Ordering::Relaxed);
    }
}

pub(crate) async fn back(
    stream: &mut impl Receiving,
    mut to: impl AsyncWrite + Unpin,
    moved: &Moved,
) -> Result<(), Broken> {
    while let Some(bytes) = stream.next().await? {
        to.write_all(&bytes).await?;
        // Standard output keeps what has no end of a line.
        to.flush().await?;
        moved.received.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    }
    match to.shutdown().await {
        // The peer has closed, and has all that it wanted.
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
        ended => Ok(ended?),
    }
}

/// Ends when nothing has moved for so long.
async fn idled(moved: &Moved, idle: Duration) {
    let mut seen = moved.bytes();
    loop {
        tokio::time::sleep(idle).await;
        let now = moved.bytes();
        if now == seen {
            return;
        }
        seen = now;
    }
}
