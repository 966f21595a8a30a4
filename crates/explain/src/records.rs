//! A trace's text in records: JSON text sequences (RFC 7464), a JSON object a line, or one JSON document with an array of events.
//!
//! A document's text up to its array `events` is a record too, closed as JSON wants it.

use std::io::{self, BufRead};

/// The longest record that is read. Unit: bytes.
pub const LONGEST: usize = 1 << 20;

/// JSON in a record may be nested so deeply.
const DEEPEST: usize = 64;

/// The array `events` of a document lies at most so deep: `{"traces":[{"events":[`.
const DEEPEST_EVENTS: usize = 4;

/// Begins a record of a JSON text sequence.
const SEPARATOR: u8 = 0x1e;

/// A part of a trace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// JSON, as far as its brackets tell.
    Whole(&'a [u8]),
    /// No JSON, too long, nested too deeply, or cut off.
    Broken,
}

/// Reads records one after the other.
#[derive(Debug)]
pub(crate) struct Records<R> {
    from: R,
    cut: Cutter,
    /// The text of the latest record was passed on.
    is_told: bool,
}

impl<R: BufRead> Records<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, cut: Cutter::default(), is_told: false }
    }

    /// The next record; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        if core::mem::take(&mut self.is_told) {
            self.cut.text.clear();
        }
        let found = loop {
            let bytes = match self.from.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if bytes.is_empty() {
                break self.cut.end();
            }
            let found = bytes.iter().enumerate().find_map(|(at, byte)| Some((at + 1, self.cut.take(*byte)?)));
            let taken = found.as_ref().map_or(bytes.len(), |(taken, _)| *taken);
            self.from.consume(taken);
            if let Some((_, found)) = found {
                break Some(found);
            }
        };
        self.is_told = matches!(found, Some(Found::Whole));
        Ok(found.map(|found| match found {
            Found::Whole => Record::Whole(&self.cut.text),
            Found::Broken => Record::Broken,
        }))
    }
}

/// A record that a byte ends.
#[derive(Clone, Copy, Debug)]
enum Found {
    Whole,
    Broken,
}

/// Finds where records end.
#[derive(Debug, Default)]
struct Cutter {
    /// The record so far.
    text: Vec<u8>,
    /// The brackets that are open.
    open: Vec<u8>,
    /// Records are that deep: in a document they are in its array of events.
    outside: usize,
    /// Something other than a space before this byte.
    before: u8,
    string: Text,
    /// Where the latest string is in the text.
    latest: (usize, usize),
    /// There was a record.
    is_begun: bool,
    /// Skips until the next separator or line.
    is_lost: bool,
    /// The document's events are over.
    is_done: bool,
}

/// Whether a string is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Text {
    #[default]
    No,
    Open,
    /// Behind a backslash.
    Escaped,
}

impl Cutter {
    /// Nothing is open, as at the start.
    fn reset(&mut self) {
        self.text.clear();
        self.open.clear();
        (self.outside, self.before, self.string) = (0, 0, Text::No);
    }

    fn is_between(&self) -> bool {
        self.open.len() == self.outside && self.string == Text::No
    }

    /// Loses what was begun, and all until the next line or separator.
    fn lose(&mut self) -> Option<Found> {
        self.reset();
        self.is_lost = true;
        None
    }

    fn take(&mut self, byte: u8) -> Option<Found> {
        if self.is_done {
            return None;
        }
        if self.is_lost {
            self.is_lost = byte != SEPARATOR && byte != b'\n';
            return (!self.is_lost).then_some(Found::Broken);
        }
        match (byte, self.string) {
            // Neither stands in JSON.
            (SEPARATOR, _) | (b'\n', Text::Open | Text::Escaped) => {
                let is_cut = !self.is_between() || self.outside > 0;
                self.reset();
                return is_cut.then_some(Found::Broken);
            }
            (_, Text::Escaped) => self.string = Text::Open,
            (b'\\', Text::Open) => self.string = Text::Escaped,
            (b'"', Text::Open) => {
                self.string = Text::No;
                self.latest.1 = self.text.len();
            }
            (_, Text::Open) => {}
            (_, Text::No) => return self.outside_a_string(byte),
        }
        self.push(byte)
    }

    fn outside_a_string(&mut self, byte: u8) -> Option<Found> {
        if byte.is_ascii_whitespace() || self.is_between() && byte == b',' {
            return if self.is_between() { None } else { self.push(byte) };
        }
        let before = core::mem::replace(&mut self.before, byte);
        match byte {
            b'{' | b'[' => self.opens(byte, before),
            b'}' | b']' => self.closes(byte),
            _ if self.is_between() => self.lose(),
            b'"' => {
                self.string = Text::Open;
                self.latest.0 = self.text.len() + 1;
                self.push(byte)
            }
            _ => self.push(byte),
        }
    }

    fn opens(&mut self, byte: u8, before: u8) -> Option<Found> {
        if !self.is_between() && !b":,[".contains(&before) {
            // The record before it was cut off, as by a sender that was killed.
            let (outside, open) = (self.outside, self.open[..self.outside].to_vec());
            self.reset();
            (self.outside, self.open) = (outside, open);
            self.open.push(byte);
            self.text.push(byte);
            self.before = byte;
            return Some(Found::Broken);
        }
        if self.open.len() >= DEEPEST {
            return self.lose();
        }
        let is_header = byte == b'[' && before == b':' && self.ends_a_header();
        self.open.push(byte);
        self.text.push(byte);
        if !is_header {
            return None;
        }
        self.text.extend(self.open.iter().rev().map(|open| if *open == b'{' { b'}' } else { b']' }));
        (self.outside, self.is_begun) = (self.open.len(), true);
        Some(Found::Whole)
    }

    /// Whether the array `events` of a document begins here.
    fn ends_a_header(&self) -> bool {
        let (from, to) = self.latest;
        !self.is_begun && self.open.len() < DEEPEST_EVENTS && self.text.get(from..to) == Some(b"events")
    }

    fn closes(&mut self, byte: u8) -> Option<Found> {
        let opened = self.open.pop();
        if opened != Some(if byte == b'}' { b'{' } else { b'[' }) {
            return self.lose();
        }
        if self.open.len() < self.outside {
            self.is_done = true;
            return None;
        }
        self.push(byte);
        if self.open.len() > self.outside {
            return None;
        }
        self.is_begun = true;
        if self.text.len() <= LONGEST {
            return Some(Found::Whole);
        }
        self.text.clear();
        Some(Found::Broken)
    }

    /// Keeps nothing more of a record that is too long.
    fn push(&mut self, byte: u8) -> Option<Found> {
        if self.text.len() <= LONGEST {
            self.text.push(byte);
        }
        None
    }

    fn end(&mut self) -> Option<Found> {
        let is_cut = !self.is_done && (self.is_lost || !self.is_between() || self.outside > 0);
        self.reset();
        self.is_lost = false;
        is_cut.then_some(Found::Broken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records of a text, with `-` for each that is broken.
    fn cut(text: impl AsRef<[u8]>) -> Vec<String> {
        let mut records = Records::new(std::io::BufReader::with_capacity(7, text.as_ref()));
        let mut found = Vec::new();
        while let Some(record) = records.next().unwrap() {
            found.push(match record {
                Record::Whole(text) => String::from_utf8(text.to_vec()).unwrap(),
                Record::Broken => "-".to_owned(),
            });
        }
        found
    }

    #[test]
    fn sequences_lines_and_documents_have_the_same_records() {
        let (head, one, two) = (r#"{"a":{"b":"]\"}"}}"#, r#"{"time":1,"d":[{}]}"#, r#"[2,"x"]"#);
        let all = [head, one, two];
        assert_eq!(cut(format!("\x1e{head}\n\x1e{one}\n\x1e{two}\n")), all);
        assert_eq!(cut(format!("{head}\n{one}\r\n{two}")), all);
        let document = format!(
            r#"{{"v":1,"traces":[{{"c":"d","events": [ {one},
            {two} ],"e":[1]}},{{"events":[3]}}]}}"#
        );
        assert_eq!(cut(document), [r#"{"v":1,"traces":[{"c":"d","events": []}]}"#, one, two]);
    }

    #[test]
    fn a_broken_record_costs_no_other() {
        assert_eq!(cut("\x1e{\"a\":\n\x1e{\"b\":1}\n"), ["-", "{\"b\":1}"]);
        assert_eq!(
            cut("{\"a\":1\n{\"b\":2}\n{\"c\":\"x\n{\"d\":3}\nno json\n[4]"),
            ["-", "{\"b\":2}", "-", "{\"d\":3}", "-", "[4]"]
        );
        assert_eq!(cut("{\"a\":1}\n{\"b\":"), ["{\"a\":1}", "-"]);
        assert_eq!(cut("{\"a\":1]\n[2]"), ["-", "[2]"]);
        assert_eq!(cut(b"\x00\xff\x80"), ["-"]);
        assert!(cut("").is_empty());
    }

    #[test]
    fn a_record_too_long_or_too_deep_is_broken_and_not_kept() {
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(LONGEST));
        assert_eq!(cut(format!("{long}\n[1]")), ["-", "[1]"]);
        let deep = "[".repeat(DEEPEST + 1);
        assert_eq!(cut(format!("{deep}\n[1]")), ["-", "[1]"]);
    }
}
