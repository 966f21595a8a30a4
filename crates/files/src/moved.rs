//! A file that a transfer has brought to where it belongs.

use pcc::units::Rate;

/// A file that is complete at its destination.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    /// Its size.
    pub bytes: u64,
    /// Its BLAKE3 at the receiver.
    pub digest: blake3::Hash,
    /// Whether the other side said the same; a server without digests cannot.
    pub verified: bool,
    /// From the first request until the file had its name.
    pub seconds: f64,
    /// Bytes that were there before.
    pub resumed_from: u64,
}

impl Moved {
    /// The rate of the bytes that were not there before.
    pub fn goodput(&self) -> Rate {
        goodput(self.bytes, self.resumed_from, self.seconds)
    }
}

pub(crate) fn goodput(bytes: u64, before: u64, seconds: f64) -> Rate {
    Rate::from_bytes_per_sec(bytes.saturating_sub(before) as f64 / seconds.max(1e-9))
}
