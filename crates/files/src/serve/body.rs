//! Sends a body piece by piece; of one that moves the next piece is made while the network takes the last.

use super::broken::{Broken, STALL};
use super::budget::{Budget, Lease};
use super::stream::Stream;
use bytes::Bytes;
use core::net::IpAddr;
use core::time::Duration;
use std::time::Instant;
use tokio::task::JoinHandle;

/// Handed to the connection at a time. As soon as its send window is full, which is kept as small as the path allows,
/// each is taken when as much was acknowledged: 4.4 kbit/s will do.
const PART: usize = 32 << 10;

/// A piece of a body that moves: a trip to another thread costs as much as hashing or sending some 20 KB.
pub(super) const LARGE: usize = 512 << 10;

/// The memory that all bodies may hold beyond a small piece each: a fifth of the server's. Unit: bytes.
pub(super) const MOST_AHEAD: u64 = 96 << 20;

/// A client that takes each [`PART`] in this time takes what is read ahead for it, too: 1 Mbit/s.
const QUICK: Duration = Duration::from_millis(250);

/// The source of a body.
pub(super) trait Pieces: Send + 'static {
    /// Puts the next piece of about `size` bytes into `buffer` in place of what it holds, or nothing at the end. Blocks.
    ///
    /// Errors: what was announced can't be sent.
    fn next(&mut self, buffer: &mut Vec<u8>, size: usize) -> Result<(), Broken>;
}

/// How much of a body is in memory: a large piece and the next one, where there is room for them and the client takes
/// them, or else one small piece.
#[derive(Debug)]
pub(super) struct Ahead<'a> {
    budget: &'a Budget,
    network: IpAddr,
    lease: Option<Lease>,
}

impl<'a> Ahead<'a> {
    /// For a client of that network, who has not taken anything yet.
    pub(super) fn new(budget: &'a Budget, network: IpAddr) -> Self {
        Self { budget, network, lease: None }
    }

    fn size(&self) -> usize {
        if self.lease.is_some() { LARGE } else { PART }
    }

    /// Room for so much more, if there is any.
    pub(super) fn room(&self, bytes: u64) -> Option<Lease> {
        self.budget.lease(self.network, bytes)
    }

    /// A piece of so many bytes was taken in that time.
    fn took(&mut self, length: usize, time: Duration) {
        let held = self.lease.take();
        if time < QUICK.mul_f64(length as f64 / PART as f64) {
            self.lease = held.or_else(|| self.room(2 * LARGE as u64));
        }
    }
}

/// How far a body got.
#[derive(Debug)]
pub(super) struct Sent<P> {
    pub(super) bytes: u64,
    /// The source, if all of it was sent, or else why it was not.
    pub(super) outcome: Result<P, Broken>,
}

/// Sends everything but the end of the stream. A body that cannot be completed is cut off, so that nobody takes it for all.
pub(super) async fn send<P: Pieces>(stream: &mut Stream, pieces: P, ahead: Ahead<'_>) -> Sent<P> {
    let mut bytes = 0;
    let outcome = pump(stream, pieces, ahead, &mut bytes).await;
    if outcome.is_err() {
        stream.cut_off();
    }
    Sent { bytes, outcome }
}

async fn pump<P: Pieces>(stream: &mut Stream, pieces: P, mut ahead: Ahead<'_>, bytes: &mut u64) -> Result<P, Broken> {
    let (mut pieces, mut piece) = made(make(pieces, PART)).await?;
    while !piece.is_empty() {
        let (begun, length) = (Instant::now(), piece.len());
        // Each piece is new: what was given is in the connection's hands until the client has it.
        (pieces, piece) = if ahead.lease.is_some() {
            let next = make(pieces, ahead.size());
            give(stream, piece, bytes).await?;
            made(next).await?
        } else {
            give(stream, piece, bytes).await?;
            made(make(pieces, ahead.size())).await?
        };
        ahead.took(length, begun.elapsed());
    }
    Ok(pieces)
}

/// Sends a last piece behind what was sent, once it is there; cut off, too, if that cannot be.
pub(super) async fn send_last<P>(
    stream: &mut Stream,
    sent: &mut Sent<P>,
    piece: impl Future<Output = Result<Bytes, Broken>>,
) -> Result<(), Broken> {
    let given = match piece.await {
        Ok(piece) => give(stream, piece, &mut sent.bytes).await,
        Err(broken) => Err(broken),
    };
    if given.is_err() {
        stream.cut_off();
    }
    given
}

/// Hands a piece to the connection.
pub(super) async fn give(stream: &mut Stream, mut piece: Bytes, bytes: &mut u64) -> Result<(), Broken> {
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

/// A piece that is being made, and what is left.
type Making<P> = JoinHandle<(P, Result<Bytes, Broken>)>;

/// Begins to make the next piece.
fn make<P: Pieces>(mut pieces: P, size: usize) -> Making<P> {
    tokio::task::spawn_blocking(move || {
        let mut buffer = Vec::new();
        let made = pieces.next(&mut buffer, size);
        (pieces, made.map(|()| buffer.into()))
    })
}

async fn made<P>(making: Making<P>) -> Result<(P, Bytes), Broken> {
    let (pieces, piece) = making.await.map_err(|error| Broken::Read(error.into()))?;
    Ok((pieces, piece?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: IpAddr = IpAddr::V4(core::net::Ipv4Addr::LOCALHOST);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_body_that_moves_is_read_ahead_and_one_that_stops_is_not() {
        let budget = Budget::new(MOST_AHEAD);
        let mut ahead = Ahead::new(&budget, NETWORK);
        assert_eq!(ahead.size(), PART, "nothing was taken yet");
        ahead.took(PART, SECOND / 5);
        assert_eq!(ahead.size(), LARGE);
        ahead.took(LARGE, 3 * SECOND);
        assert_eq!(ahead.size(), LARGE, "1.4 Mbit/s");
        ahead.took(LARGE, 5 * SECOND);
        assert_eq!(ahead.size(), PART, "0.8 Mbit/s");
        assert!(budget.lease(NETWORK, MOST_AHEAD / 2).is_some(), "all was given back");
    }

    #[test]
    fn without_room_a_body_goes_in_small_pieces() {
        let budget = Budget::new(4 * LARGE as u64);
        let mut bodies = [(); 2].map(|()| Ahead::new(&budget, NETWORK));
        bodies.iter_mut().for_each(|body| body.took(PART, Duration::ZERO));
        assert_eq!(bodies.map(|body| body.size()), [LARGE, PART]);
    }
}
