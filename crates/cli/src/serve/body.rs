//! Sends a part of a file, reading ahead of the network.

use super::answer::Broken;
use super::root::Opened;
use bytes::{Bytes, BytesMut};
use core::ops::Range;
use core::time::Duration;
use h3::error::Code;
use pcc_quic::http3::ResponseStream;
use std::io;
use tokio::task::JoinHandle;

/// Read at once: a trip to another thread costs as much as hashing or sending some 20 KB.
const CHUNK: u64 = 512 << 10;

/// A client that takes not even a [`PART`] in so long has gone or means harm. Longer than the longest black-out that a
/// connection survives.
pub(super) const STALL: Duration = Duration::from_secs(60);

/// Handed to the connection at a time. As soon as its send window is full, which is kept as small as the path allows,
/// each is taken when as much was acknowledged: 4.4 kbit/s will do.
const PART: usize = 32 << 10;

/// Sends `range` of the file and ends the stream. If the file turns out to have changed, the stream is cut off instead,
/// so that nobody takes a mixture for the file.
pub(super) async fn send(stream: &mut ResponseStream, opened: &Opened, range: Range<u64>) -> Result<u64, Broken> {
    let sent = pump(stream, opened, range).await;
    match sent {
        Ok(bytes) => {
            stream.finish().await?;
            Ok(bytes)
        }
        Err(error) => {
            stream.stop_stream(Code::H3_INTERNAL_ERROR);
            Err(error)
        }
    }
}

async fn pump(stream: &mut ResponseStream, opened: &Opened, range: Range<u64>) -> Result<u64, Broken> {
    let mut position = range.start;
    // What was sent is read into again: new memory would have to be cleared, by the kernel and once more by us.
    let mut spare = BytesMut::new();
    let mut ahead = read(opened, position, range.end, BytesMut::new());
    while position < range.end {
        let chunk = ahead.await.map_err(|error| Broken::Read(error.into()))?.map_err(Broken::Read)?;
        if chunk.is_empty() || (opened.version.is_some() && !opened.is_unchanged()) {
            return Err(Broken::Changed);
        }
        position += chunk.len() as u64;
        ahead = read(opened, position, range.end, spare);
        let mut rest = chunk.clone();
        while !rest.is_empty() {
            let part = rest.split_to(rest.len().min(PART));
            match tokio::time::timeout(STALL, stream.send_data(part)).await {
                Ok(sent) => sent?,
                Err(_) => return Err(Broken::Stalled(STALL)),
            }
        }
        spare = chunk.try_into_mut().unwrap_or_default();
    }
    Ok(range.end - range.start)
}

/// Begins to read the chunk at `position` into `buffer`.
fn read(opened: &Opened, position: u64, end: u64, mut buffer: BytesMut) -> JoinHandle<io::Result<Bytes>> {
    let opened = opened.clone();
    tokio::task::spawn_blocking(move || {
        buffer.resize(end.saturating_sub(position).min(CHUNK) as usize, 0);
        let read = opened.read(position, &mut buffer)?;
        buffer.truncate(read);
        Ok(buffer.freeze())
    })
}
