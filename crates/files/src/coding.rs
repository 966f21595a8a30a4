//! Bodies that are compressed on the way, frame by frame: what is sent of a file does not depend on what was sent before, so a transfer goes
//! on anywhere in it.
//!
//! A frame is four bytes and what they announce: the length, and in the highest bit whether it is zstd or the bytes as they are. All of a frame
//! is [`MOST`] bytes of the file at most, so whatever a stranger sends costs no more memory than that. In a body of the coding [`DELTA`] the
//! second bit says that so many bytes of another file follow here, and eight more bytes where they are in it.

use bytes::{Buf, Bytes, BytesMut};
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::time::Instant;

/// Bytes of a file in a frame.
pub(crate) const MOST: usize = 512 << 10;

/// Name of the coding, in fields.
pub(crate) const ZSTD: &str = "zstd";

/// Name of the coding that has copies of another file's bytes, too.
pub(crate) const DELTA: &str = "delta";

const HEAD: usize = 4;
const PLACE: usize = 8;
const IS_ZSTD: u32 = 1 << 31;
const IS_COPY: u32 = 1 << 30;

/// zstd's fastest: 100 Mbit/s take 3 % of a processor.
const LEVEL: i32 = 1;

/// A piece that shrinks by less is not worth the work of its receiver.
const WORTH: f64 = 0.95;

/// Time after which it is judged whether compression is what the network waits for. The first pieces only fill buffers.
const LOOK: Duration = Duration::from_millis(200);

/// The share of its time that compression may take. With more the network would wait, and takes the pieces as they are.
const SHARE: f64 = 0.5;

/// How long they then go as they are, until it is tried again: the tries take a tenth of the time.
const REST: Duration = Duration::from_secs(2);

/// Pieces that go as they are after the first one that did not shrink; twice as many after each further one.
const MOST_SKIPPED: u32 = 32;

/// Compresses where it helps: not what does not shrink, and not where the network takes more than this can compress.
#[derive(Debug, Default)]
pub(crate) struct Coder {
    /// Pieces that go as they are from now on, since others did not shrink.
    skipped: u32,
    /// How many after the next one that does not shrink.
    skip: u32,
    /// Since when it is looked at, and the time that compression has taken since.
    look: Option<(Instant, Duration)>,
    /// Until then pieces go as they are, since the network is faster.
    rests_until: Option<Instant>,
}

impl Coder {
    /// The frame of the next piece. Blocks.
    pub(crate) fn frame(&mut self, piece: &[u8]) -> Vec<u8> {
        self.frame_in_turn(piece, Turn::take)
    }

    /// The same, compressed only if there is a turn for it.
    fn frame_in_turn<T>(&mut self, piece: &[u8], turn: impl FnOnce() -> Option<T>) -> Vec<u8> {
        let begun = Instant::now();
        if self.rests_until.is_some_and(|until| begun < until) {
            return plain(piece);
        }
        if self.skipped > 0 {
            self.skipped -= 1;
            return plain(piece);
        }
        // Few have it at a time: a context is a megabyte, and a processor.
        let Some(_turn) = turn() else { return plain(piece) };
        let compressed = zstd::bulk::compress(piece, LEVEL).ok();
        self.took(begun, Instant::now());
        let Some(compressed) = compressed.filter(|short| (short.len() as f64) < piece.len() as f64 * WORTH) else {
            self.skip = (self.skip * 2).clamp(1, MOST_SKIPPED);
            self.skipped = self.skip;
            return plain(piece);
        };
        self.skip = 0;
        framed(&compressed, IS_ZSTD)
    }

    /// A piece was compressed from `begun` to `done`.
    fn took(&mut self, begun: Instant, done: Instant) {
        let (since, busy) = self.look.unwrap_or((begun, Duration::ZERO));
        let (busy, time) = (busy + (done - begun), done - since);
        self.look = (time < LOOK).then_some((since, busy));
        if time >= LOOK && busy.as_secs_f64() > SHARE * time.as_secs_f64() {
            self.rests_until = Some(done + REST);
        }
    }
}

/// The frame of bytes as they are.
pub(crate) fn plain(piece: &[u8]) -> Vec<u8> {
    framed(piece, 0)
}

/// The frames of bytes that another file has, in this range.
pub(crate) fn copies(range: Range<u64>) -> Vec<u8> {
    let mut frames = Vec::new();
    let mut place = range.start;
    while place < range.end {
        let length = (range.end - place).min(MOST as u64);
        frames.extend_from_slice(&(length as u32 | IS_COPY).to_be_bytes());
        frames.extend_from_slice(&place.to_be_bytes());
        place += length;
    }
    frames
}

fn framed(content: &[u8], kind: u32) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX) | kind;
    [&length.to_be_bytes()[..], content].concat()
}

/// A share of the processors.
struct Turn;

static TURNS: AtomicUsize = AtomicUsize::new(0);

impl Turn {
    fn take() -> Option<Self> {
        let most = std::thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2));
        let taken = TURNS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| (taken < most).then(|| taken + 1));
        taken.is_ok().then(|| Self)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        TURNS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The frames are none.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("what arrived is no body that was compressed as agreed")]
pub(crate) struct Garbled;

/// All of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// These bytes.
    Bytes(Bytes),
    /// Those that the other file has there.
    Copy(Range<u64>),
}

/// Reads frames, however they are cut on the way.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    arrived: BytesMut,
}

impl Decoder {
    /// Takes what arrived.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.arrived.extend_from_slice(bytes);
    }

    /// The next piece of the file, if all of its frame is here.
    ///
    /// Errors: a frame is none, or holds more than it may; it is a copy.
    pub(crate) fn piece(&mut self) -> Result<Option<Bytes>, Garbled> {
        match self.frame()? {
            None => Ok(None),
            Some(Frame::Bytes(piece)) => Ok(Some(piece)),
            Some(Frame::Copy(_)) => Err(Garbled),
        }
    }

    /// The next frame, if all of it is here.
    ///
    /// Errors: it is none, or holds more than it may.
    pub(crate) fn frame(&mut self) -> Result<Option<Frame>, Garbled> {
        let Some(head) = self.arrived.first_chunk::<HEAD>() else { return Ok(None) };
        let head = u32::from_be_bytes(*head);
        let is_copy = head & IS_COPY != 0;
        let length = (head & !IS_ZSTD & !IS_COPY) as usize;
        // A compressed piece is shorter than the piece.
        if length == 0 || length > MOST || is_copy && head & IS_ZSTD != 0 {
            return Err(Garbled);
        }
        if is_copy {
            let Some(place) = self.arrived.get(HEAD..).and_then(|rest| rest.first_chunk::<PLACE>()) else {
                return Ok(None);
            };
            let begin = u64::from_be_bytes(*place);
            let end = begin.checked_add(length as u64).ok_or(Garbled)?;
            self.arrived.advance(HEAD + PLACE);
            return Ok(Some(Frame::Copy(begin..end)));
        }
        if self.arrived.len() < HEAD + length {
            return Ok(None);
        }
        self.arrived.advance(HEAD);
        let content = self.arrived.split_to(length).freeze();
        if head & IS_ZSTD == 0 {
            return Ok(Some(Frame::Bytes(content)));
        }
        let piece = zstd::bulk::decompress(&content, MOST).map_err(|_| Garbled)?;
        if piece.is_empty() { Err(Garbled) } else { Ok(Some(Frame::Bytes(piece.into()))) }
    }

    /// Whether a frame is incomplete.
    pub(crate) fn is_within(&self) -> bool {
        !self.arrived.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(frames: &[u8], cut: usize) -> Result<Vec<u8>, Garbled> {
        let (mut decoder, mut found) = (Decoder::default(), Vec::new());
        for bytes in frames.chunks(cut) {
            decoder.push(bytes);
            while let Some(piece) = decoder.piece()? {
                found.extend_from_slice(&piece);
            }
        }
        if decoder.is_within() { Err(Garbled) } else { Ok(found) }
    }

    proptest! {
        #[test]
        fn any_pieces_arrive_as_they_were(
            pieces in prop::collection::vec((any::<u8>(), 1..40_000usize, any::<bool>()), 1..6),
            cut in 1..50_000usize,
        ) {
            let (mut coder, mut frames, mut all) = (Coder::default(), Vec::new(), Vec::new());
            for (seed, length, is_noise) in pieces {
                let noise = |at: usize| (at as u32 ^ u32::from(seed)).wrapping_mul(0x9e37_79b9).to_le_bytes()[3];
                let piece: Vec<u8> = (0..length).map(|at| if is_noise { noise(at) } else { seed }).collect();
                frames.extend(coder.frame(&piece));
                all.extend(piece);
            }
            prop_assert!(decoded(&frames, cut) == Ok(all));
        }

        #[test]
        fn any_bytes_are_frames_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 1..50usize) {
            if let Some(first) = bytes.get_mut(..2) {
                first.copy_from_slice(&[if cut % 2 == 0 { 0x80 } else { 0 }, 0]);
            }
            let _ = decoded(&bytes, cut);
        }
    }

    proptest! {
        #[test]
        fn copies_are_read_as_they_were_written(begin in 0..u64::MAX / 2, length in 1..3 * MOST as u64, cut in 1..50usize) {
            let (mut decoder, mut at) = (Decoder::default(), begin);
            for bytes in copies(begin..begin + length).chunks(cut) {
                decoder.push(bytes);
                while let Some(Frame::Copy(range)) = decoder.frame().unwrap() {
                    prop_assert_eq!(range.start, at);
                    at = range.end;
                }
            }
            prop_assert!(!decoder.is_within());
            prop_assert_eq!(at, begin + length);
            decoder.push(&copies(begin..begin + length));
            prop_assert!(decoder.piece() == Err(Garbled), "no such coding was agreed on");
        }
    }

    #[test]
    fn a_frame_that_unfolds_to_more_than_a_piece_is_refused() {
        let most = zstd::bulk::compress(&vec![0; MOST], LEVEL).unwrap();
        let bomb = zstd::bulk::compress(&vec![0; 64 << 20], LEVEL).unwrap();
        assert!(bomb.len() < 10_000);
        assert_eq!(decoded(&framed(&most, IS_ZSTD), 1000).unwrap().len(), MOST);
        assert_eq!(decoded(&framed(&bomb, IS_ZSTD), 1000), Err(Garbled));
        for wrong in
            [&[0, 0, 0, 0][..], &[0xff; 4], &[0x00, 0x08, 0x00, 0x01], b"\x80\x00\x00\x03abc", b"\x00\x00\x00\x09abc"]
        {
            assert_eq!(decoded(wrong, 2), Err(Garbled), "{wrong:?}");
        }
    }

    #[test]
    fn what_does_not_shrink_is_tried_ever_more_rarely() {
        let noise: Vec<u8> =
            (0..20_000u32).flat_map(|at| blake3::hash(&at.to_le_bytes()).as_bytes()[..8].to_vec()).collect();
        let (mut coder, mut tries) = (Coder::default(), 0);
        for _ in 0..500 {
            let turn = || {
                tries += 1;
                Some(())
            };
            assert_eq!(coder.frame_in_turn(&noise, turn).len(), noise.len() + HEAD);
        }
        assert!((1..25).contains(&tries), "{tries}");
    }

    #[test]
    fn a_network_that_takes_more_than_is_compressed_gets_it_plain() {
        let (begin, piece) = (Instant::now(), Duration::from_millis(10));
        for (pause, rests) in [(Duration::ZERO, true), (piece / 2, true), (piece * 2, false), (LOOK, false)] {
            let (mut coder, mut now) = (Coder::default(), begin);
            while now - begin < 3 * LOOK && coder.rests_until.is_none() {
                coder.took(now, now + piece);
                now += piece + pause;
            }
            assert_eq!(coder.rests_until.is_some(), rests, "{pause:?}");
            assert!(now - begin >= LOOK, "buffers take the first pieces at once");
        }
        let mut coder = Coder { rests_until: Some(Instant::now() + REST), ..Coder::default() };
        assert_eq!(coder.frame(&[0; 1000]).len(), 1000 + HEAD);
    }
}
