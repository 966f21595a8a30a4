//! Files that changed a little: which parts of the new one the old one has.
//!
//! | file | what it answers |
//! |---|---|
//! | `cut` | where a file is cut, by its content |
//! | `list` | the chunks of a file, as they are told to others |
//! | `old` | where a chunk is in the file that is here already |
//! | `ranges` | which bytes of the new file are asked for |
//!
//! One side tells the chunks of its file: length and name of each. The other looks for these names among the chunks of its own. Chunks
//! are cut where the content says so, hence bytes that come or go shift no boundary but those around them. Nobody keeps anything for a
//! stranger: the side that is asked reads its file and tells, and the side that asks looks up. The BLAKE3 of the whole file
//! decides in the end, so a name need not be safe against forgers.

mod cut;
mod list;
#[cfg(not(fuzzing))]
mod old;
mod ranges;

pub(crate) use cut::{AVERAGES, Cuts, average_for, longest, shortest};
pub(crate) use list::{Chunk, List};
#[cfg(not(fuzzing))]
pub(crate) use old::Old;
pub(crate) use ranges::{Ranges, put_range};

use std::io;

/// Whether to look for parts that are there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deltas {
    /// Where it pays: the file goes whole until both were read, and from there on as parts if that saves more than it costs. A network that
    /// brings more than a tenth of what reading does gets it whole.
    #[default]
    WhereTheyPay,
    /// In any case, before anything is sent.
    Always,
    /// Never: files go whole.
    Never,
}

/// A smaller file is not looked at: it takes a few round trips.
pub(crate) const LEAST: u64 = 256 << 10;

/// The mean lengths of chunks, as a server tells them.
pub(crate) const OFFERED_CHUNKS: &str = "4096-65536";

/// The network may bring one byte for so many that are read of the old file. Beyond that the reading of both files, in vain, might cost more than
/// a tenth of the time: it takes a processor from a transfer that has no other to spare.
pub(crate) const READ_FOR_ONE: u64 = 10;

/// Bytes that are none of the forms in here.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("what arrived is no list of chunks or ranges")]
pub(crate) struct Garbled;

impl From<Garbled> for io::Error {
    fn from(garbled: Garbled) -> Self {
        Self::new(io::ErrorKind::InvalidData, garbled)
    }
}

/// A number in seven bits a byte, the lowest first; the highest bit says that more follow (LEB128).
fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The number at the beginning of `bytes`, and how many bytes it takes; `None` if more are to come.
fn number(bytes: &[u8]) -> Result<Option<(u64, usize)>, Garbled> {
    let mut found = 0u64;
    for (place, byte) in bytes.iter().enumerate() {
        let bits = u64::from(byte & 0x7f);
        let shifted = bits.checked_shl(7 * place as u32).filter(|shifted| shifted >> (7 * place) == bits);
        found |= shifted.ok_or(Garbled)?;
        if byte & 0x80 == 0 {
            return Ok(Some((found, place + 1)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_number_is_read_as_it_was_written(written in any::<u64>(), shift in 0..64u32, more in any::<u8>()) {
            let (written, mut bytes) = (written >> shift, Vec::new());
            put_number(&mut bytes, written);
            let length = bytes.len();
            for part in 0..length {
                prop_assert_eq!(number(&bytes[..part]), Ok(None));
            }
            bytes.push(more);
            prop_assert_eq!(number(&bytes), Ok(Some((written, length))));
        }

        #[test]
        fn any_bytes_are_a_number_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..14)) {
            if let Ok(Some((_, length))) = number(&bytes) {
                prop_assert!(length <= 10 && length <= bytes.len());
            }
        }
    }
}
