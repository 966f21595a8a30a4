//! How many files of a directory are under way at a time, on one connection.

/// Files of any size: enough to hide a round trip for each.
const FEW: usize = 8;

/// Small files of a directory: a round trip costs more than their bytes. `pcc serve` takes twice as many requests at a time, and
/// requests to a server that takes fewer wait here.
pub const SIDE_BY_SIDE: usize = 256;

/// Bytes of files under way beyond which only [`FEW`] are: as many fill a path of 100 Mbit/s and 300 ms.
const BYTES: u64 = 4 << 20;

/// What a listing counts for, and a file whose size nobody told: few of them are under way at a time.
const UNKNOWN: u64 = BYTES / FEW as u64;

/// The files that are under way.
#[derive(Debug, Default)]
pub(crate) struct Concurrency {
    files: usize,
    bytes: u64,
}

impl Concurrency {
    /// Whether one more may begin.
    pub(crate) const fn has_room(&self) -> bool {
        self.files < FEW || (self.files < SIDE_BY_SIDE && self.bytes < BYTES)
    }

    /// One of this size begins.
    pub(crate) fn begin(&mut self, size: Option<u64>) {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(size.unwrap_or(UNKNOWN));
    }

    /// One of this size has ended.
    pub(crate) fn end(&mut self, size: Option<u64>) {
        self.files = self.files.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(size.unwrap_or(UNKNOWN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of this size are under way when no more may begin.
    fn of(size: Option<u64>) -> usize {
        let mut concurrency = Concurrency::default();
        while concurrency.has_room() {
            concurrency.begin(size);
        }
        let files = concurrency.files;
        (0..files).for_each(|_| concurrency.end(size));
        assert_eq!((concurrency.files, concurrency.bytes), (0, 0));
        files
    }

    #[test]
    fn many_small_files_go_at_a_time_and_few_large_ones() {
        assert_eq!([Some(0), Some(2000), Some(16_000)].map(of), [256; 3]);
        assert_eq!([Some(40_000), Some(100_000)].map(of), [105, 42]);
        assert_eq!([Some(1 << 20), Some(u64::MAX / 16), None].map(of), [8; 3]);
    }
}
