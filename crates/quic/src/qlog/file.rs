//! One file, written by a connection and its PCC, a record at a time.

use super::MOST_BYTES;
use super::header::header;
use noq_proto::{ConnectionId, Side};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Instant, SystemTime};

/// A file of qlog records (JSON-SEQ, RFC 7464). Its clones write to the same one.
#[derive(Clone, Debug)]
pub(super) struct TraceFile {
    inner: Arc<Mutex<Inner>>,
    started: Instant,
}

/// Whether anybody writes to a file.
#[derive(Debug, Default)]
pub(super) struct Writing(Weak<Mutex<Inner>>);

#[derive(Debug)]
struct Inner<W: Write = BufWriter<File>> {
    out: W,
    /// Of a record that is not complete.
    begun: Vec<u8>,
    left: u64,
    /// Of the last event, in ms.
    time: f64,
}

/// The end of a record.
const END: u8 = b'\n';

/// How each event of noq's begins: its time in ms follows. The header has none.
const TIME: &[u8] = b"\x1e{\"time\":";

/// How an event goes on behind its time that tells of a timer, and how one goes on that expires.
const TIMER: &[u8] = b",\"name\":\"quic:timer_updated\"";
const EXPIRED: &[u8] = b"\"event_type\":\"expired\"";

impl Writing {
    pub(super) fn goes_on(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl TraceFile {
    /// Times are counted from the first of the two, which are the same moment.
    ///
    /// Errors: there is such a file, or none can be made.
    pub(super) fn create(
        path: &Path,
        side: Side,
        id: ConnectionId,
        (started, began): (Instant, SystemTime),
    ) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // It tells who talked to whom.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut inner = Inner::new(BufWriter::new(options.open(path)?), MOST_BYTES);
        inner.record(&text(&header(side, id, began)));
        Ok(Self { inner: Arc::new(Mutex::new(inner)), started })
    }

    /// Ends with the last of the file's writers.
    pub(super) fn writing(&self) -> Writing {
        Writing(Arc::downgrade(&self.inner))
    }

    /// An event of PCC's.
    pub(super) fn event(&self, name: &str, data: Value) {
        let now = self.started.elapsed().as_micros() as f64 / 1e3;
        self.inner().event(now, name, data);
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

/// A record with that value.
fn text(value: &Value) -> Vec<u8> {
    format!("\u{1e}{value}\n").into_bytes()
}

impl<W: Write> Inner<W> {
    fn new(out: W, left: u64) -> Self {
        Self { out, begun: Vec::new(), left, time: 0.0 }
    }

    fn event(&mut self, now: f64, name: &str, data: Value) {
        self.time = self.time.max(now);
        let event = text(&json!({"time": self.time, "name": name, "data": data}));
        self.record(&event);
    }

    /// Part of a record of noq's, or of several: a record is passed on when it is complete.
    fn write(&mut self, text: &[u8]) {
        for part in text.split_inclusive(|byte| *byte == END) {
            self.begun.extend_from_slice(part);
            if part.ends_with(&[END]) {
                let record = core::mem::take(&mut self.begun);
                self.pass_on(&record);
                self.begun = record;
                self.begun.clear();
            }
        }
    }

    /// A record of noq's, unless it is a header or tells of a timer that was set or stopped, as two of three do. noq takes the time
    /// of some events before others that it writes first; qlog wants an ascending order, so they have the time of those.
    fn pass_on(&mut self, record: &[u8]) {
        let Some(event) = record.strip_prefix(TIME) else { return };
        let (time, rest) = event.split_at(event.iter().position(|byte| *byte == b',').unwrap_or(event.len()));
        if rest.starts_with(TIMER) && !rest.windows(EXPIRED.len()).any(|part| part == EXPIRED) {
            return;
        }
        let Some(time) = str::from_utf8(time).ok().and_then(|time| time.parse().ok()) else { return };
        if time >= self.time {
            self.time = time;
            self.record(record);
        } else {
            let record = [TIME, self.time.to_string().as_bytes(), rest].concat();
            self.record(&record);
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
        let mut inner = Inner::new(Vec::new(), 1000);
        inner.write(b"\x1e{\"time\":1.5");
        inner.event(2.25, "pcc:x", json!({}));
        inner.write(b",\"a\":1}\n\x1e{\"time\":3.0,\"b\":2}\n");
        let expected = [
            json!({"time": 2.25, "name": "pcc:x", "data": {}}),
            json!({"time": 2.25, "a": 1}),
            json!({"time": 3.0, "b": 2}),
        ];
        assert_eq!(records(&inner.out), expected);
    }

    #[test]
    fn no_event_is_earlier_than_one_before_it() {
        let mut inner = Inner::new(Vec::new(), 1000);
        for time in ["0.007", "5.5", "4.9", "5.125"] {
            inner.write(format!("\u{1e}{{\"time\":{time},\"name\":\"x\"}}\n").as_bytes());
        }
        inner.event(1.0, "y", json!({}));
        let times: Vec<_> = records(&inner.out).iter().map(|record| record["time"].as_f64().unwrap()).collect();
        assert_eq!(times, [0.007, 5.5, 5.5, 5.5, 5.5]);
    }

    #[test]
    fn of_timers_only_the_expired_are_told() {
        let mut inner = Inner::new(Vec::new(), 1000);
        for what in ["set", "cancelled", "expired"] {
            let data = format!("{{\"timer_type\":\"pto\",\"event_type\":\"{what}\"}}");
            inner.write(format!("\u{1e}{{\"time\":1.0,\"name\":\"quic:timer_updated\",\"data\":{data}}}\n").as_bytes());
        }
        let told = String::from_utf8(inner.out).unwrap();
        assert_eq!((told.lines().count(), told.contains("expired")), (1, true), "{told}");
    }

    #[test]
    fn a_file_ends_with_the_last_record_that_has_room() {
        let mut inner = Inner::new(Vec::new(), 30);
        for record in ["{\"time\":1.0,\"a\":1}", "{\"time\":2.0,\"a\":22}", "{\"time\":3,\"a\":3}"] {
            inner.write(format!("\u{1e}{record}\n").as_bytes());
        }
        assert_eq!(records(&inner.out), [json!({"time": 1.0, "a": 1})]);
    }

    #[test]
    fn the_header_of_noq_is_left_out() {
        let mut inner = Inner::new(Vec::new(), 1000);
        inner.write(b"\x1e{\"file_schema\":\"x\",\"trace\":{}}\n");
        assert!(inner.out.is_empty());
    }

    fn records(written: &[u8]) -> Vec<Value> {
        let lines = written.split_inclusive(|byte| *byte == END);
        lines.map(|record| serde_json::from_slice(record.strip_prefix(b"\x1e").unwrap()).unwrap()).collect()
    }
}
