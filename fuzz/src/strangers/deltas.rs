//! Forms of a delta, as strangers send them, in parts of any length.

use crate::coding::{Decoder, Frame, MOST};
use crate::delta::{List, Ranges};

/// Parts of nine bytes, and one chunk of 5000 bytes.
pub(crate) const A_LIST: &[u8] = b"\x09\x88\x270123456789abcdef0123456789abcdef";

/// The first byte says how long the parts are.
fn parts(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (cut, rest) = bytes.split_first().unwrap_or((&1, &[]));
    rest.chunks(usize::from(*cut).max(1))
}

pub(crate) fn list(bytes: &[u8]) -> bool {
    let (mut list, mut is_read) = (List::default(), false);
    for part in parts(bytes) {
        list.push(part);
        loop {
            match list.next() {
                Ok(Some(chunk)) => {
                    assert!(chunk.length > 0);
                    is_read = true;
                }
                Ok(None) => break,
                Err(_) => return false,
            }
        }
    }
    is_read
}

/// The first eight bytes are the size of the file.
pub(crate) fn ranges(bytes: &[u8]) -> bool {
    let Some((size, bytes)) = bytes.split_first_chunk() else { return false };
    let size = u64::from_le_bytes(*size);
    let (mut ranges, mut last) = (Ranges::within(size), 0);
    for part in parts(bytes) {
        ranges.push(part);
        loop {
            match ranges.next() {
                Ok(Some(range)) => {
                    assert!(last <= range.start && range.start < range.end && range.end <= size);
                    last = range.end;
                }
                Ok(None) => break,
                Err(_) => return false,
            }
        }
    }
    last > 0
}

pub(crate) fn frames(bytes: &[u8]) -> bool {
    let mut decoder = Decoder::default();
    for part in parts(bytes) {
        decoder.push(part);
        loop {
            match decoder.frame() {
                Ok(Some(Frame::Bytes(piece))) => assert!((1..=MOST).contains(&piece.len())),
                Ok(Some(Frame::Copy(range))) => assert!(range.end - range.start <= MOST as u64),
                Ok(None) => break,
                Err(_) => return false,
            }
        }
    }
    true
}
