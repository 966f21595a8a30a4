//! The sum of a transfer of a directory.

use crate::client::source::Source;
use crate::client::watch::Missing;
use crate::failure::{Failure, failure_of};
use crate::moved::{Moved, goodput};
use pcc::units::Rate;
use std::path::Path;

/// The result of a directory's transfer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Files that are at the destination, those that were there before included.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of them that were there before.
    pub resumed_from: u64,
    /// Files that the server gave no digest for.
    pub unverified: u64,
    /// Entries that are not at the destination.
    pub failed: u64,
    /// Whether one of these arrived damaged.
    pub damaged: bool,
    /// Symbolic links and further names of files that are at the destination, those that were there before included.
    pub links: u64,
    /// Files that stay as they are at the destination, whatever the other side has.
    pub left: u64,
    /// In a dry run: files that would be moved.
    pub due: u64,
    /// Their bytes, as far as they are known.
    pub due_bytes: u64,
    /// Entries that the source does not have, and that were deleted or would be.
    pub deleted: u64,
    /// Entries that the source does not have, and that are kept since they are more than may be deleted.
    pub spared: u64,
    /// How long it took.
    pub seconds: f64,
}

impl Tally {
    /// The rate of the bytes that were not there before.
    pub fn goodput(&self) -> Rate {
        goodput(self.bytes, self.resumed_from, self.seconds)
    }

    pub(crate) fn add(&mut self, moved: &Moved) {
        self.files += 1;
        self.bytes += moved.bytes;
        self.resumed_from += moved.resumed_from;
        self.unverified += u64::from(!moved.verified);
    }

    pub(crate) fn add_due(&mut self, bytes: Option<u64>) {
        self.due += 1;
        self.due_bytes = self.due_bytes.saturating_add(bytes.unwrap_or(0));
    }

    /// Counts `entries` that are not at the destination: `file`, or what would have been in it.
    pub(crate) fn fail(&mut self, source: &Source, file: &Path, entries: u64, reason: &anyhow::Error) {
        source.watch().missing(Missing { file, entries, reason });
        self.failed = self.failed.saturating_add(entries);
        self.damaged |= failure_of(reason) == Failure::Integrity;
    }
}

/// A number of entries, in words.
pub fn counted(entries: u64) -> String {
    if entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") }
}
