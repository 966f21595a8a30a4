//! The chunks of a file, as they are told to others: the length of each as a number, and eight bytes of its BLAKE3.

use super::{AVERAGES, Garbled, longest, number, put_number};
use bytes::{Buf, BytesMut};

const NAME: usize = 8;

/// A chunk of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Bytes, 1 and more.
    pub(crate) length: u32,
    /// Eight bytes of its BLAKE3: among a million chunks two different ones have one name once in 30 million files. The file then goes
    /// whole, since its digest is wrong.
    pub(crate) name: u64,
}

impl Chunk {
    /// The chunk with this content.
    pub(crate) fn of(content: &[u8]) -> Self {
        let name = blake3::hash(content).as_bytes().first_chunk().map_or(0, |name| u64::from_le_bytes(*name));
        Self { length: content.len() as u32, name }
    }

    /// Adds it to a list.
    pub(crate) fn put(self, out: &mut Vec<u8>) {
        put_number(out, self.length.into());
        out.extend_from_slice(&self.name.to_le_bytes());
    }
}

/// Reads a list, however it is cut on the way.
#[derive(Debug, Default)]
pub(crate) struct List {
    arrived: BytesMut,
}

impl List {
    /// Takes what arrived.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.arrived.extend_from_slice(bytes);
    }

    /// The next chunk, if all of it is here.
    ///
    /// Errors: it is none.
    pub(crate) fn next(&mut self) -> Result<Option<Chunk>, Garbled> {
        let Some((length, read)) = number(&self.arrived)? else { return Ok(None) };
        if length == 0 || length > longest(*AVERAGES.end()) as u64 {
            return Err(Garbled);
        }
        let Some(name) = self.arrived.get(read..).and_then(|rest| rest.first_chunk::<NAME>()) else { return Ok(None) };
        let chunk = Chunk { length: length as u32, name: u64::from_le_bytes(*name) };
        self.arrived.advance(read + NAME);
        Ok(Some(chunk))
    }

    /// Whether a chunk is incomplete.
    pub(crate) fn is_within(&self) -> bool {
        !self.arrived.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8], cut: usize) -> Result<Vec<Chunk>, Garbled> {
        let (mut list, mut chunks) = (List::default(), Vec::new());
        for part in bytes.chunks(cut) {
            list.push(part);
            while let Some(chunk) = list.next()? {
                chunks.push(chunk);
            }
            assert!(list.arrived.len() < 10 + NAME, "no more is kept than one chunk takes");
        }
        if list.is_within() { Err(Garbled) } else { Ok(chunks) }
    }

    proptest! {
        #[test]
        fn a_list_is_read_as_it_was_told(
            told in prop::collection::vec((1..=longest(*AVERAGES.end()) as u32, any::<u64>()), 0..50), cut in 1..40usize,
        ) {
            let told: Vec<_> = told.into_iter().map(|(length, name)| Chunk { length, name }).collect();
            let mut bytes = Vec::new();
            told.iter().for_each(|chunk| chunk.put(&mut bytes));
            prop_assert_eq!(read(&bytes, cut), Ok(told));
            if !bytes.is_empty() {
                prop_assert_eq!(read(&bytes[..bytes.len() - 1], cut), Err(Garbled));
            }
        }

        #[test]
        fn any_bytes_are_a_list_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 1..40usize) {
            if let Ok(chunks) = read(&bytes, cut) {
                prop_assert!(chunks.iter().all(|chunk| chunk.length > 0));
            }
        }
    }
}
