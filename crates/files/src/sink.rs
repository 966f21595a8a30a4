//! Takes what the network delivers in small pieces and writes it in large ones, on another thread.

use bytes::Buf;
use std::io::{self, Write};
use tokio::task::JoinHandle;

/// Written at once: large enough that the trip to the other thread does not count, small enough to stay in the cache
/// between copying, hashing and writing.
const BUFFER: usize = 512 << 10;

/// A writer that works while the next buffer fills.
#[derive(Debug)]
pub(crate) struct Sink<W> {
    filling: Vec<u8>,
    state: State<W>,
}

#[derive(Debug)]
enum State<W> {
    /// With the buffer to be used next.
    Idle(W, Vec<u8>),
    Busy(JoinHandle<(W, Vec<u8>, io::Result<()>)>),
    /// The writer failed or its thread died.
    Gone,
}

impl<W: Write + Send + 'static> Sink<W> {
    pub(crate) fn new(writer: W) -> Self {
        Self { filling: Vec::new(), state: State::Idle(writer, Vec::new()) }
    }

    /// Takes all of `piece`.
    ///
    /// Errors: an earlier piece could not be written.
    pub(crate) async fn push(&mut self, mut piece: impl Buf) -> io::Result<()> {
        while piece.has_remaining() {
            let chunk = piece.chunk();
            let taken = chunk.len().min(BUFFER - self.filling.len());
            self.filling.extend_from_slice(&chunk[..taken]);
            piece.advance(taken);
            if self.filling.len() == BUFFER {
                self.write().await?;
            }
        }
        Ok(())
    }

    /// Writes what was taken so far, and answers the writer; `None` if its thread died.
    pub(crate) async fn close(mut self) -> (Option<W>, io::Result<()>) {
        let written = if self.filling.is_empty() { Ok(()) } else { self.write().await };
        let settled = self.settle().await;
        let writer = match self.state {
            State::Idle(writer, _) => Some(writer),
            State::Busy(_) | State::Gone => None,
        };
        (writer, written.and(settled))
    }

    /// Hands the full buffer over, as soon as the one before it is written.
    async fn write(&mut self) -> io::Result<()> {
        self.settle().await?;
        let State::Idle(mut writer, mut empty) = core::mem::replace(&mut self.state, State::Gone) else {
            return Err(io::Error::other("an earlier write failed"));
        };
        if empty.capacity() == 0 && self.filling.len() == BUFFER {
            empty.reserve_exact(BUFFER);
        }
        let full = core::mem::replace(&mut self.filling, empty);
        self.state = State::Busy(tokio::task::spawn_blocking(move || {
            let written = writer.write_all(&full);
            let mut empty = full;
            empty.clear();
            (writer, empty, written)
        }));
        Ok(())
    }

    /// Waits until the writer is idle.
    async fn settle(&mut self) -> io::Result<()> {
        let State::Busy(job) = &mut self.state else { return Ok(()) };
        let (writer, empty, written) = match job.await {
            Ok(done) => done,
            Err(error) => {
                self.state = State::Gone;
                return Err(error.into());
            }
        };
        self.state = State::Idle(writer, empty);
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pieces_of_any_size_arrive_in_order() {
        let mut sink = Sink::new(Vec::new());
        let mut expected = Vec::new();
        for size in [0, 1, 1400, BUFFER - 1, BUFFER, BUFFER + 1, 3 * BUFFER, 7] {
            let piece: Vec<u8> = (0..size).map(|i| (i * 31 + size) as u8).collect();
            expected.extend_from_slice(&piece);
            sink.push(&piece[..]).await.unwrap();
        }
        let (written, result) = sink.close().await;
        result.unwrap();
        assert!(written.unwrap() == expected);
    }

    /// Takes so many bytes and fails then.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let taken = data.len().min(self.0);
            self.0 -= taken;
            Ok(taken)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_full_disk_is_reported_once_and_the_writer_comes_back() {
        let mut sink = Sink::new(Full(BUFFER + 10));
        let mut failed = None;
        for _ in 0..10 {
            if let Err(error) = sink.push(&vec![0; BUFFER][..]).await {
                failed = Some(error.kind());
                break;
            }
        }
        assert_eq!(failed, Some(io::ErrorKind::StorageFull));
        assert!(sink.close().await.0.is_some());

        let mut short = Sink::new(Full(3));
        short.push(&[0; 10][..]).await.unwrap();
        assert_eq!(short.close().await.1.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
