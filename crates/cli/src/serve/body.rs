//! Sends a body piece by piece, making the next one while the network takes the last.

use super::answer::Broken;
use bytes::{Bytes, BytesMut};
use core::time::Duration;
use h3::error::Code;
use pcc_quic::http3::ResponseStream;
use tokio::task::JoinHandle;

/// A client that takes not even a [`PART`] in so long has gone or means harm. Longer than the longest black-out that a
/// connection survives.
pub(super) const STALL: Duration = Duration::from_secs(60);

/// Handed to the connection at a time. As soon as its send window is full, which is kept as small as the path allows,
/// each is taken when as much was acknowledged: 4.4 kbit/s will do.
const PART: usize = 32 << 10;

/// What a body is made of.
pub(super) trait Pieces: Send + 'static {
    /// Puts the next piece into the empty `buffer`, or nothing at the end. Blocks.
    ///
    /// Errors: what was announced can't be sent.
    fn next(&mut self, buffer: &mut BytesMut) -> Result<(), Broken>;
}

/// How far a body got.
#[derive(Debug)]
pub(super) struct Sent<P> {
    pub(super) bytes: u64,
    /// What it was made of, if all of it was sent, or else why not.
    pub(super) outcome: Result<P, Broken>,
}

/// Sends everything but the end of the stream. What can't be completed is cut off, so that nobody takes it for all.
pub(super) async fn send<P: Pieces>(stream: &mut ResponseStream, pieces: P) -> Sent<P> {
    let mut bytes = 0;
    let outcome = pump(stream, pieces, &mut bytes).await;
    if outcome.is_err() {
        stream.stop_stream(Code::H3_INTERNAL_ERROR);
    }
    Sent { bytes, outcome }
}

async fn pump<P: Pieces>(stream: &mut ResponseStream, pieces: P, bytes: &mut u64) -> Result<P, Broken> {
    let mut ahead = make(pieces, BytesMut::new());
    // What was sent is filled again: new memory would have to be cleared, by the kernel and once more by us.
    let mut spare = BytesMut::new();
    loop {
        let (pieces, piece) = ahead.await.map_err(|error| Broken::Read(error.into()))?;
        let piece = piece?;
        if piece.is_empty() {
            return Ok(pieces);
        }
        ahead = make(pieces, spare);
        give(stream, piece.clone(), bytes).await?;
        spare = piece.try_into_mut().unwrap_or_default();
    }
}

/// Sends a last piece behind what was sent, once it is there; cut off, too, if that cannot be.
pub(super) async fn send_last<P>(
    stream: &mut ResponseStream,
    sent: &mut Sent<P>,
    piece: impl Future<Output = Result<Bytes, Broken>>,
) -> Result<(), Broken> {
    let given = match piece.await {
        Ok(piece) => give(stream, piece, &mut sent.bytes).await,
        Err(broken) => Err(broken),
    };
    if given.is_err() {
        stream.stop_stream(Code::H3_INTERNAL_ERROR);
    }
    given
}

/// Hands a piece to the connection.
async fn give(stream: &mut ResponseStream, mut piece: Bytes, bytes: &mut u64) -> Result<(), Broken> {
    while !piece.is_empty() {
        let part = piece.split_to(piece.len().min(PART));
        let length = part.len() as u64;
        match tokio::time::timeout(STALL, stream.send_data(part)).await {
            Ok(sent) => sent?,
            Err(_) => return Err(Broken::Stalled(STALL)),
        }
        *bytes += length;
    }
    Ok(())
}

/// Begins to make the next piece.
fn make<P: Pieces>(mut pieces: P, mut buffer: BytesMut) -> JoinHandle<(P, Result<Bytes, Broken>)> {
    tokio::task::spawn_blocking(move || {
        buffer.clear();
        let made = pieces.next(&mut buffer);
        (pieces, made.map(|()| buffer.freeze()))
    })
}
