//! The bytes of a file that are asked for, in their order: of each stretch how far it is behind the last one, and its length.

use super::{Garbled, number, put_number};
use bytes::{Buf, BytesMut};
use core::ops::Range;

/// Adds a range that lies behind `last`, the end of the one before it.
pub(crate) fn put_range(out: &mut Vec<u8>, last: u64, range: &Range<u64>) {
    put_number(out, range.start - last);
    put_number(out, range.end - range.start);
}

/// Reads such ranges, however they are cut on the way.
#[derive(Debug)]
pub(crate) struct Ranges {
    arrived: BytesMut,
    last: u64,
    size: u64,
}

impl Ranges {
    /// Reads ranges of a file of that size.
    pub(crate) fn within(size: u64) -> Self {
        Self { arrived: BytesMut::new(), last: 0, size }
    }

    /// Takes what arrived.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.arrived.extend_from_slice(bytes);
    }

    /// The next range, if all of it is here.
    ///
    /// Errors: it is none, or ends behind the file.
    pub(crate) fn next(&mut self) -> Result<Option<Range<u64>>, Garbled> {
        let Some((gap, first)) = number(&self.arrived)? else { return Ok(None) };
        let Some((length, second)) = number(self.arrived.get(first..).unwrap_or_default())? else { return Ok(None) };
        let start = self.last.checked_add(gap).ok_or(Garbled)?;
        let end = start.checked_add(length).filter(|end| *end <= self.size && length > 0).ok_or(Garbled)?;
        self.arrived.advance(first + second);
        self.last = end;
        Ok(Some(start..end))
    }

    /// Whether a range is incomplete.
    pub(crate) fn is_within(&self) -> bool {
        !self.arrived.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8], size: u64, cut: usize) -> Result<Vec<Range<u64>>, Garbled> {
        let (mut ranges, mut found) = (Ranges::within(size), Vec::new());
        for part in bytes.chunks(cut) {
            ranges.push(part);
            while let Some(range) = ranges.next()? {
                found.push(range);
            }
            assert!(ranges.arrived.len() <= 20, "no more is kept than one range takes");
        }
        if ranges.is_within() { Err(Garbled) } else { Ok(found) }
    }

    proptest! {
        #[test]
        fn ranges_are_read_as_they_were_asked_for(
            steps in prop::collection::vec((0..1u64 << 40, 1..1u64 << 40), 0..50), cut in 1..40usize,
        ) {
            let (mut bytes, mut asked, mut last) = (Vec::new(), Vec::new(), 0);
            for (gap, length) in steps {
                let range = last + gap..last + gap + length;
                put_range(&mut bytes, last, &range);
                last = range.end;
                asked.push(range);
            }
            prop_assert_eq!(read(&bytes, last, cut), Ok(asked));
            prop_assert!(last == 0 || read(&bytes, last - 1, cut) == Err(Garbled), "behind the end");
        }

        #[test]
        fn any_bytes_are_ranges_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..200), size in any::<u64>(), cut in 1..40usize,
        ) {
            if let Ok(ranges) = read(&bytes, size, cut) {
                prop_assert!(ranges.iter().all(|range| range.start < range.end && range.end <= size));
                prop_assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start), "in their order");
            }
        }
    }
}
