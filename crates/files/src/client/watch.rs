//! The reports of a transfer on itself while it runs.

use core::time::Duration;
use std::path::Path;

/// A file that begins to arrive.
#[derive(Clone, Copy, Debug)]
pub struct Started<'a> {
    /// Where it comes from, without secrets.
    pub url: &'a str,
    /// Where it goes; `None` for standard output.
    pub file: Option<&'a Path>,
    /// Bytes of the whole, if the server says so.
    pub size: Option<u64>,
    /// Bytes that were there already.
    pub resumed_from: u64,
}

/// Entries of a directory that are not where they should be.
#[derive(Clone, Copy, Debug)]
pub struct Missing<'a> {
    /// The path of each on this side; for those without a name here, the directory around them.
    pub file: &'a Path,
    /// How many.
    pub entries: u64,
    /// Why, with the name.
    pub reason: &'a anyhow::Error,
}

/// Hears of what happens.
pub trait Watch: Send + Sync {
    /// A file begins.
    fn started(&self, _started: Started<'_>) {}
    /// A directory holds a file of this size. It is told of before any of its files begins.
    fn found(&self, _size: Option<u64>) {}
    /// All files that a directory holds were found.
    fn found_all(&self) {}
    /// This number of bytes was there already: a file that does not begin, or parts of an older version of one.
    fn kept(&self, _bytes: u64) {}
    /// A file of a directory is complete; the listing may have had another size.
    fn complete(&self, _listed: Option<u64>, _bytes: u64) {}
    /// If the command is interrupted, what of this file has arrived is lost.
    fn transient(&self) {}
    /// This number of bytes arrived since the last report.
    fn moved(&self, bytes: u64);
    /// The disk kept the network waiting.
    fn disk_waited(&self, _time: Duration) {}
    /// Standard input kept the network waiting.
    fn input_waited(&self, _time: Duration) {}
    /// The `attempt`-th attempt in a row failed; the next comes after `wait`.
    fn retry(&self, _attempt: u32, _wait: Duration, _reason: &anyhow::Error) {}
    /// Something is missing, while the rest goes on.
    fn missing(&self, _missing: Missing<'_>) {}
    /// Something the user should know.
    fn note(&self, _text: &str) {}
}

/// Hears of everything and tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Watch for Silent {
    fn moved(&self, _bytes: u64) {}
}
