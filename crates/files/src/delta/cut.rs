//! Cuts a file into chunks, by its content (FastCDC, USENIX ATC 2016).

use blake3::Hasher;
use core::ops::{Range, RangeInclusive};
use fastcdc::v2020::FastCDC;
use std::io;

/// Mean lengths of chunks that may be asked for, all powers of two. Unit: bytes.
pub(crate) const AVERAGES: RangeInclusive<usize> = (4 << 10)..=(64 << 10);

/// Chunks of an old file, in the mean: their names and places take 16 MiB.
const MOST_CHUNKS: u64 = 1 << 20;

/// Read at a time.
const WINDOW: usize = 1 << 20;

/// The mean length of the chunks for a file of this size: the shortest with which their number is bounded; `None` if none does that.
///
/// With 4 KiB a dump, a mailbox and an image of 100 MB cost 3.4, 2.6 and 7.2 MB, and with 16 KiB 10.5, 3.4 and 8.4.
pub(crate) fn average_for(size: u64) -> Option<usize> {
    let averages = core::iter::successors(Some(*AVERAGES.start()), |average| Some(2 * average));
    averages.take_while(|average| AVERAGES.contains(average)).find(|average| size / *average as u64 <= MOST_CHUNKS)
}

/// No chunk is longer.
pub(crate) const fn longest(average: usize) -> usize {
    4 * average
}

/// No chunk is shorter but the last one.
pub(crate) const fn shortest(average: usize) -> usize {
    average / 4
}

/// The cuts of a file, for a while. It remembers a place in the file, and none of its bytes.
#[derive(Clone, Debug)]
pub(crate) struct Cuts {
    average: usize,
    at: u64,
    /// BLAKE3 of everything before, where that is wanted.
    whole: Option<Hasher>,
}

impl Cuts {
    /// From the beginning; with `digest` everything is hashed on the way.
    pub(crate) fn new(average: usize, digest: bool) -> Self {
        Self { average, at: 0, whole: digest.then(Hasher::new) }
    }

    /// The place behind the last chunk.
    pub(crate) const fn at(&self) -> u64 {
        self.at
    }

    /// BLAKE3 of everything up to there, if that was wanted.
    pub(crate) fn digest(&self) -> Option<blake3::Hash> {
        self.whole.as_ref().map(Hasher::finalize)
    }

    /// The chunks of `data` that begin before `certain`.
    pub(crate) fn each(data: &[u8], average: usize, certain: usize, mut each: impl FnMut(Range<usize>)) {
        for chunk in FastCDC::new(data, shortest(average), average, longest(average)) {
            if chunk.offset >= certain {
                break;
            }
            each(chunk.offset..chunk.offset + chunk.length);
        }
    }

    /// Tells the next chunks to `each`, of about `most` bytes; `false` at the end of the file. `read` appends what follows a place,
    /// as many bytes as are wanted or fewer at the end. Blocks.
    pub(crate) fn go_on(
        &mut self,
        most: u64,
        mut read: impl FnMut(u64, &mut Vec<u8>, usize) -> io::Result<()>,
        mut each: impl FnMut(&[u8]),
    ) -> io::Result<bool> {
        let (begun, longest) = (self.at, longest(self.average));
        // The bytes from `at` on.
        let mut window = Vec::new();
        while self.at - begun < most {
            let wanted = WINDOW.max(2 * longest) - window.len();
            let before = window.len();
            read(self.at + before as u64, &mut window, wanted)?;
            let is_end = window.len() - before < wanted;
            let mut done = 0;
            // Where the window ends is no cut.
            let certain = if is_end { window.len() } else { (window.len() + 1).saturating_sub(longest) };
            Self::each(&window, self.average, certain, |range| {
                done = range.end;
                let content = window.get(range).unwrap_or_default();
                if let Some(whole) = &mut self.whole {
                    whole.update(content);
                }
                each(content);
            });
            self.at += done as u64;
            window.drain(..done);
            if is_end {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(data: &[u8], average: usize, most: u64) -> Vec<usize> {
        let (mut cuts, mut lengths, mut all) = (Cuts::new(average, true), Vec::new(), Vec::new());
        let read = |at: u64, buffer: &mut Vec<u8>, wanted: usize| {
            let rest = &data[at as usize..];
            buffer.extend_from_slice(&rest[..wanted.min(rest.len())]);
            Ok(())
        };
        while cuts
            .go_on(most, read, |chunk| {
                lengths.push(chunk.len());
                all.extend_from_slice(chunk);
            })
            .unwrap()
        {}
        assert!(all == data && cuts.digest() == Some(blake3::hash(data)) && cuts.at() == data.len() as u64);
        lengths
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn chunks_are_the_file_however_it_is_read(
            seed in any::<u64>(), size in 0..3_000_000usize, most in 1..3_000_000u64, plain in any::<bool>(),
        ) {
            let mut data = vec![7; size];
            if !plain {
                Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut data);
            }
            let lengths = cut(&data, 4096, u64::MAX);
            prop_assert_eq!(&cut(&data, 4096, most), &lengths);
            prop_assert!(lengths.iter().all(|length| (1..=longest(4096)).contains(length)));
            let but_last = lengths.split_last().map(|(_, rest)| rest).unwrap_or_default();
            prop_assert!(but_last.iter().all(|length| *length >= shortest(4096)));
        }
    }

    #[test]
    fn chunks_grow_with_the_file_and_their_number_does_not() {
        for (size, average) in [(0, Some(4096)), (4 << 30, Some(4096)), (5 << 30, Some(8192)), (64 << 30, Some(65536))]
        {
            assert_eq!(average_for(size), average, "{size}");
        }
        assert_eq!(average_for(1 << 40), None);
    }
}
