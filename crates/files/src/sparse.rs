//! Files in which long stretches of zeros take no room.

use std::io;

/// File systems have holes of whole blocks.
const BLOCK: usize = 4096;

/// A file whose end can be moved. New bytes are zeros, and take no room where the file system has holes.
pub(crate) trait Stretch {
    fn stretch(&self, size: u64) -> io::Result<()>;
}

impl Stretch for std::fs::File {
    fn stretch(&self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }
}

impl Stretch for cap_std::fs::File {
    fn stretch(&self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }
}

/// Appends the beginning of `data` to a file that ends at `at`: a stretch of zeros by moving the end, anything else by `write`. Answers how
/// many bytes that were.
pub(crate) fn append(
    file: &impl Stretch,
    data: &[u8],
    at: u64,
    write: impl FnOnce(&[u8], u64) -> io::Result<usize>,
) -> io::Result<usize> {
    let into_block = usize::try_from(at % BLOCK as u64).unwrap_or(0);
    let to_next_block = (BLOCK - into_block) % BLOCK;
    let zeros = if to_next_block == 0 { whole_blocks(data, true) } else { 0 };
    if zeros > 0 {
        file.stretch(at + zeros as u64)?;
        return Ok(zeros);
    }
    // Up to the next block of zeros. The end of the data is written with what is in front of it.
    let blocks = data.get(to_next_block..).unwrap_or_default();
    let until = to_next_block + whole_blocks(blocks, false);
    let until = if until + BLOCK > data.len() { data.len() } else { until };
    write(data.get(..until).unwrap_or(data), at)
}

/// The length of the blocks in front that are zeros, or that are not.
fn whole_blocks(data: &[u8], zeros: bool) -> usize {
    let is_zero = |block: &[u8]| block.iter().all(|byte| *byte == 0);
    data.chunks_exact(BLOCK).take_while(|block| is_zero(block) == zeros).count() * BLOCK
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{Seek, Write};

    /// The same bytes, written in pieces of this size.
    fn written(data: &[u8], piece: usize) -> std::fs::File {
        let mut file = tempfile::tempfile().unwrap();
        let mut at = 0;
        for mut piece in data.chunks(piece) {
            while !piece.is_empty() {
                let done = append(&file, piece, at, |data, at| {
                    let mut file = &file;
                    file.seek(io::SeekFrom::Start(at))?;
                    file.write(data)
                });
                let done = done.unwrap();
                assert!(done > 0);
                at += done as u64;
                piece = &piece[done..];
                assert_eq!(file.metadata().unwrap().len(), at, "what a later run goes on with");
            }
        }
        file.rewind().unwrap();
        file
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn any_file_is_what_was_written(
            runs in prop::collection::vec((any::<bool>(), 1..20_000usize), 0..8),
            piece in 1..30_000usize,
        ) {
            let data: Vec<u8> = runs.iter().flat_map(|(zero, length)| vec![u8::from(!zero); *length]).collect();
            let mut found = Vec::new();
            io::Read::read_to_end(&mut written(&data, piece), &mut found).unwrap();
            prop_assert!(found == data);
        }
    }

    #[cfg(unix)]
    #[test]
    fn zeros_take_no_room() {
        use std::os::unix::fs::MetadataExt;
        let data = [vec![1; 10_000], vec![0; 4_000_000], vec![1; 10_000]].concat();
        assert!(written(&data, 256 << 10).metadata().unwrap().blocks() * 512 < 100_000);
    }
}
