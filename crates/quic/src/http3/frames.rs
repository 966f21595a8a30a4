//! Where the frames of a stream begin, and which are too large to be held.
//!
//! `h3` keeps a frame until all of it is there, whatever length its header declares, and a frame that it does not know
//! even to throw it away: a peer that declares 2^40 bytes could make it keep them all. So the bytes are looked at on
//! their way to it, and a stream with such a frame goes no further (RFC 9114 §10.5). Smaller ones are put together first. Only DATA is handed on as it comes,
//! so it may have any length.

use super::MAX_HEADER_BYTES;

/// Bytes of a frame other than DATA. Encoded, a field section takes no more than it counts, so whatever
/// [`MAX_HEADER_BYTES`] allows fits; what fits and is not allowed gets `h3`'s answer, 431.
const LARGEST: u64 = 2 * MAX_HEADER_BYTES;

/// RFC 9114 §7.2.1.
const DATA: u64 = 0x00;
/// The one-way streams that consist of frames (RFC 9114 §6.2.1).
const CONTROL: u64 = 0x00;

/// A frame that is not waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of type {kind:#x} declares {length} bytes; {LARGEST} are the most")]
pub(crate) struct TooLarge {
    kind: u64,
    length: u64,
}

/// Follows a stream from its first byte.
#[derive(Debug)]
pub(crate) struct Frames {
    at: At,
}

#[derive(Clone, Copy, Debug)]
enum At {
    /// In front of, or in, the number that tells what a one-way stream is for.
    StreamType(Number),
    FrameType(Number),
    Length {
        kind: u64,
        length: Number,
    },
    Payload {
        kind: u64,
        left: u64,
    },
    /// `h3` does not read frames here.
    Opaque,
}

impl Frames {
    /// At the beginning of a stream of a request and its response.
    pub(crate) const fn of_request() -> Self {
        Self { at: At::FrameType(Number::NONE) }
    }

    /// At the beginning of a stream in one direction.
    pub(crate) const fn of_one_way() -> Self {
        Self { at: At::StreamType(Number::NONE) }
    }

    /// Goes on over the next bytes, and answers how many are missing of a frame that is of use only as a whole, as far as its
    /// length is known.
    ///
    /// Errors: they are the header of a frame that would be held and is too large for that.
    pub(crate) fn pass(&mut self, mut bytes: &[u8]) -> Result<usize, TooLarge> {
        while !bytes.is_empty() {
            self.at = match self.at {
                At::StreamType(mut number) => match number.read(&mut bytes) {
                    Some(CONTROL) => At::FrameType(Number::NONE),
                    Some(_) => At::Opaque,
                    None => At::StreamType(number),
                },
                At::FrameType(mut number) => match number.read(&mut bytes) {
                    Some(kind) => At::Length { kind, length: Number::NONE },
                    None => At::FrameType(number),
                },
                At::Length { kind, mut length } => match length.read(&mut bytes) {
                    Some(length) if kind != DATA && length > LARGEST => return Err(TooLarge { kind, length }),
                    Some(0) => At::FrameType(Number::NONE),
                    Some(left) => At::Payload { kind, left },
                    None => At::Length { kind, length },
                },
                At::Payload { kind, left } => {
                    let here = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    bytes = &bytes[here..];
                    match left - here as u64 {
                        0 => At::FrameType(Number::NONE),
                        left => At::Payload { kind, left },
                    }
                }
                At::Opaque => return Ok(0),
            };
        }
        Ok(self.missing())
    }

    fn missing(&self) -> usize {
        match self.at {
            At::Payload { kind, left } if kind != DATA => usize::try_from(left).unwrap_or(usize::MAX),
            _ => 0,
        }
    }
}

/// A number in QUIC's encoding (RFC 9000 §16), whose bytes may come one by one.
#[derive(Clone, Copy, Debug)]
struct Number {
    value: u64,
    /// Bytes that are missing; `None` in front of the first, which tells.
    missing: Option<u8>,
}

impl Number {
    const NONE: Self = Self { value: 0, missing: None };

    /// Takes bytes until the number is complete.
    fn read(&mut self, bytes: &mut &[u8]) -> Option<u64> {
        while let Some((&byte, rest)) = bytes.split_first() {
            *bytes = rest;
            let missing = match self.missing {
                None => {
                    self.value = u64::from(byte & 0x3f);
                    (1 << (byte >> 6)) - 1
                }
                Some(missing) => {
                    self.value = self.value << 8 | u64::from(byte);
                    missing - 1
                }
            };
            if missing == 0 {
                return Some(self.value);
            }
            self.missing = Some(missing);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADERS: u64 = 0x01;
    const SETTINGS: u64 = 0x04;
    /// Reserved to exercise that unknown frames are ignored (RFC 9114 §7.2.8).
    const UNKNOWN: u64 = 0x21;

    fn number(value: u64) -> Vec<u8> {
        match value {
            0..0x40 => vec![value as u8],
            0x40..0x4000 => (value as u16 | 0x4000).to_be_bytes().to_vec(),
            0x4000..0x4000_0000 => (value as u32 | 0x8000_0000).to_be_bytes().to_vec(),
            _ => (value | 0xc000_0000_0000_0000).to_be_bytes().to_vec(),
        }
    }

    fn header(kind: u64, length: u64) -> Vec<u8> {
        [number(kind), number(length)].concat()
    }

    fn frame(kind: u64, length: usize) -> Vec<u8> {
        [header(kind, length as u64), vec![0xff; length]].concat()
    }

    /// The result of `bytes`, handed over in pieces of that size.
    fn passed(mut frames: Frames, bytes: &[u8], piece: usize) -> Result<(), TooLarge> {
        bytes.chunks(piece).try_for_each(|piece| frames.pass(piece).map(|_| ()))
    }

    #[test]
    fn frames_of_any_kind_pass_wherever_they_are_cut() {
        let most = LARGEST as usize;
        let request = [frame(UNKNOWN, 5), frame(HEADERS, 300), frame(DATA, 3 * most), frame(HEADERS, most)].concat();
        let control = [number(CONTROL), frame(SETTINGS, 20), frame(UNKNOWN, 0), frame(0x07, 1)].concat();
        for piece in [1, 2, 3, 7, 1000, usize::MAX] {
            assert_eq!(passed(Frames::of_request(), &request, piece), Ok(()), "{piece}");
            assert_eq!(passed(Frames::of_one_way(), &control, piece), Ok(()), "{piece}");
        }
    }

    #[test]
    fn a_frame_that_would_be_held_has_a_largest_size() {
        for kind in [HEADERS, SETTINGS, UNKNOWN, 0x4000_0000] {
            for length in [LARGEST + 1, 1 << 40, (1 << 62) - 1] {
                let request = [frame(HEADERS, 10), frame(DATA, 10), header(kind, length)].concat();
                let control = [number(CONTROL), frame(SETTINGS, 2), header(kind, length)].concat();
                for piece in [1, 5, usize::MAX] {
                    let refused = Err(TooLarge { kind, length });
                    assert_eq!(passed(Frames::of_request(), &request, piece), refused, "{kind:#x} {length} {piece}");
                    assert_eq!(passed(Frames::of_one_way(), &control, piece), refused, "{kind:#x} {length} {piece}");
                }
            }
        }
    }

    #[test]
    fn what_is_missing_of_a_frame_is_known_but_for_data() {
        let mut frames = Frames::of_request();
        let missing = [header(HEADERS, 300), vec![0; 299], vec![0; 1], header(DATA, 300), vec![0; 1]];
        assert_eq!(missing.map(|bytes| frames.pass(&bytes)), [Ok(300), Ok(1), Ok(0), Ok(0), Ok(0)]);
    }

    #[test]
    fn data_may_have_any_length_and_other_streams_are_not_read() {
        assert_eq!(passed(Frames::of_request(), &header(DATA, 1 << 61), 1), Ok(()));
        for kind in [0x02, 0x03, 0x21] {
            let stream = [number(kind), header(HEADERS, 1 << 40)].concat();
            assert_eq!(passed(Frames::of_one_way(), &stream, 1), Ok(()), "{kind:#x}");
        }
    }
}
