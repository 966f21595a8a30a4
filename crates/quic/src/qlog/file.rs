//! One file, written by a connection and its PCC, a record at a time.

use super::MOST_BYTES;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A file of qlog records (JSON-SEQ, RFC 7464). Its clones write to the same one.
#[derive(Clone, Debug)]
pub(super) struct TraceFile {
    inner: Arc<Mutex<Inner>>,
    started: Instant,
}

#[derive(Debug)]
struct Inner<W: Write = BufWriter<File>> {
    out: W,
    /// Of a record that is not complete.
    begun: Vec<u8>,
    left: u64,
}

/// The end of a record.
const END: u8 = b'\n';

impl TraceFile {
    /// Times are counted from `started`.
    ///
    /// Errors: there is such a file, or none can be made.
    pub(super) fn create(path: &Path, started: Instant) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // It tells who talked to whom.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let inner = Inner { out: BufWriter::new(options.open(path)?), begun: Vec::new(), left: MOST_BYTES };
        Ok(Self { inner: Arc::new(Mutex::new(inner)), started })
    }

    /// An event of PCC's.
    pub(super) fn event(&self, name: &str, data: Value) {
        let time = self.started.elapsed().as_micros() as f64 / 1e3;
        let event = json!({"time": time, "name": name, "data": data});
        self.inner().record(format!("\u{1e}{event}\n").as_bytes());
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for TraceFile {
    /// A full disk ends the trace, not the connection.
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.inner().write(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner().out.flush()
    }
}

impl<W: Write> Inner<W> {
    /// Part of a record, or of several: a record is written when it is complete.
    fn write(&mut self, text: &[u8]) {
        for part in text.split_inclusive(|byte| *byte == END) {
            self.begun.extend_from_slice(part);
            if part.ends_with(&[END]) {
                let record = core::mem::take(&mut self.begun);
                self.record(&record);
                self.begun = record;
                self.begun.clear();
            }
        }
    }

    /// A whole record; once one finds no room, none does.
    fn record(&mut self, record: &[u8]) {
        let Some(left) = self.left.checked_sub(record.len() as u64) else {
            if self.left > 0 {
                tracing::warn!("a qlog file has {MOST_BYTES} bytes: what happens further is not in it");
            }
            self.left = 0;
            return;
        };
        self.left = left;
        if let Err(error) = self.out.write_all(record) {
            tracing::warn!(%error, "a qlog file ends early");
            self.left = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_whole_whoever_writes_in_between() {
        let mut inner = Inner { out: Vec::new(), begun: Vec::new(), left: 1000 };
        inner.write(b"\x1e{\"a\"");
        inner.record(b"\x1e{\"pcc\":1}\n");
        inner.write(b":1}\n\x1e{\"b\":2}\n");
        assert_eq!(inner.out, b"\x1e{\"pcc\":1}\n\x1e{\"a\":1}\n\x1e{\"b\":2}\n");
    }

    #[test]
    fn a_file_ends_with_the_last_record_that_has_room() {
        let mut inner = Inner { out: Vec::new(), begun: Vec::new(), left: 10 };
        inner.write(b"\x1e{1}\n");
        inner.write(b"\x1e{234567}\n");
        inner.write(b"\x1e{8}\n");
        assert_eq!(inner.out, b"\x1e{1}\n");
    }
}
