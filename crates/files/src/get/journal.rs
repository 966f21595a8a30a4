//! The knowledge of a partial file: its origin, and the hashes of its beginning, block by block.
//!
//! One JSON object a line: first the [`Header`], then a [`Mark`] at the end of each block and each second in between.
//! A mark covers everything before it, so that the hash which the whole file needs anyway makes them too. Lines are only
//! ever appended, so writing costs nothing however large the file is, and a line that a crash tore is simply not there.
//! Nothing in it is believed: every mark is checked against the file before it counts.

use super::nofollow::{self, Claimed};
use crate::client::names;
use crate::client::request::Version;
use pcc_net::url::Url;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::Path;

/// Bytes between marks: what a damaged byte costs to fetch again.
pub(crate) const BLOCK: u64 = 4 << 20;

/// Bytes of a line: more than the longest URL.
const LONGEST_LINE: u64 = 128 << 10;

/// Where the file comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Bytes between marks, and so the format's version.
    mark_each: u64,
    /// Without query and fragment, which may hold secrets.
    url: String,
    /// Tells URLs apart that differ in what `url` leaves out.
    url_blake3: String,
    /// Strong entity tag: equal only if every byte is.
    pub(crate) etag: String,
    /// Bytes of the whole file.
    pub(crate) size: u64,
}

impl Header {
    /// For a download that can be resumed: of a source with a strong entity tag and a known size.
    pub(crate) fn of(url: &Url, version: &Version) -> Option<Self> {
        Some(Self {
            mark_each: BLOCK,
            url: url.place(),
            url_blake3: blake3::hash(url.short().as_bytes()).to_hex().to_string(),
            etag: version.etag.clone()?,
            size: version.size?,
        })
    }
}

/// The hash of the file up to `end`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// Offset of the byte after the last one it covers.
    pub(crate) end: u64,
    /// BLAKE3 of what it covers.
    #[serde(with = "hexadecimal")]
    pub(crate) blake3: blake3::Hash,
}

mod hexadecimal {
    use blake3::Hash;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(hash: &Hash, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&hash.to_hex())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Hash, D::Error> {
        Hash::from_hex(String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Reads the journal of a partial file of `length` bytes: its header, and the marks at the end of each block and the last
/// one. Marks beyond the file are of no use, so that all of them take 10 MB for each terabyte that is here, whatever the
/// journal's size. `None` if there is none, or one that is not ours.
pub(crate) fn read(path: &Path, length: u64) -> std::io::Result<Option<(Header, Vec<Mark>)>> {
    match nofollow::open_ours(path, OpenOptions::new().read(true))? {
        Claimed::Ours(file) => parse(BufReader::new(file), length),
        Claimed::Others | Claimed::Nothing => Ok(None),
    }
}

pub(crate) fn parse(mut text: impl BufRead, length: u64) -> std::io::Result<Option<(Header, Vec<Mark>)>> {
    let Some(header) = next::<Header>(&mut text)?.filter(|header| header.mark_each == BLOCK) else { return Ok(None) };
    let mut marks: Vec<Mark> = Vec::new();
    while let Some(mark) = next::<Mark>(&mut text)? {
        let before = marks.last().map_or(0, |last| last.end);
        // One beyond the file shows that its end is missing.
        if mark.end <= before || mark.end > header.size || before > length {
            break;
        }
        if !before.is_multiple_of(BLOCK) {
            marks.pop(); // this one covers what that one did
        }
        marks.push(mark);
    }
    Ok(Some((header, marks)))
}

/// The content of the next line; `None` if it is torn, too long or something else.
fn next<T: for<'de> Deserialize<'de>>(text: &mut impl BufRead) -> std::io::Result<Option<T>> {
    let mut line = Vec::new();
    text.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    Ok(line.strip_suffix(b"\n").and_then(|line| serde_json::from_slice(line).ok()))
}

/// Appends to a journal.
#[derive(Debug)]
pub(crate) struct Writer(File);

impl Writer {
    /// Starts the journal anew: `header` and what is known already.
    pub(crate) fn create(path: &Path, header: &Header, marks: &[Mark]) -> std::io::Result<Self> {
        let mut text = line(header)?;
        for mark in marks {
            text.extend(line(mark)?);
        }
        // Under another name first, which the next run finds if this one is killed before the journal has its own.
        let unwritten = names::unwritten(path);
        match std::fs::remove_file(&unwritten) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = nofollow::open(&unwritten, OpenOptions::new().append(true).create_new(true))?;
        file.write_all(&text)?;
        std::fs::rename(&unwritten, path)?;
        Ok(Self(file))
    }

    /// Adds a mark.
    pub(crate) fn add(&mut self, mark: &Mark) -> std::io::Result<()> {
        self.0.write_all(&line(mark)?)
    }
}

fn line(value: &impl Serialize) -> std::io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(size: u64) -> Header {
        let version = Version { etag: Some("\"1\"".to_owned()), size: Some(size), ..Version::default() };
        Header::of(&"https://h/a?token=secret".parse().unwrap(), &version).unwrap()
    }

    fn mark(end: u64) -> Mark {
        Mark { end, blake3: blake3::hash(&end.to_le_bytes()) }
    }

    fn parse(text: &[u8]) -> Option<(Header, Vec<Mark>)> {
        super::parse(text, u64::MAX).unwrap()
    }

    fn journal(marks: &[Mark]) -> Vec<u8> {
        let mut text = line(&header(10 * BLOCK)).unwrap();
        marks.iter().for_each(|mark| text.extend(line(mark).unwrap()));
        text
    }

    #[test]
    fn what_is_written_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j");
        let mut writer = Writer::create(&path, &header(10 * BLOCK), &[mark(BLOCK)]).unwrap();
        writer.add(&mark(BLOCK + 5)).unwrap();
        writer.add(&mark(BLOCK + 9)).unwrap();
        let (read_header, marks) = read(&path, u64::MAX).unwrap().unwrap();
        assert_eq!(read_header, header(10 * BLOCK));
        assert_eq!(marks, [mark(BLOCK), mark(BLOCK + 9)]);
        assert_eq!(read(&dir.path().join("none"), u64::MAX).unwrap(), None);
    }

    #[test]
    fn a_torn_line_is_as_if_never_written() {
        let text = journal(&[mark(BLOCK), mark(2 * BLOCK)]);
        for cut in 0..text.len() {
            match parse(&text[..cut]) {
                None => {}
                Some((_, marks)) => assert!([mark(BLOCK), mark(2 * BLOCK)].starts_with(&marks), "{cut}"),
            }
        }
        assert_eq!(parse(&text[..text.len() - 1]).unwrap().1, [mark(BLOCK)]);
    }

    #[test]
    fn marks_that_no_run_writes_end_the_journal() {
        for next in [0, 7, BLOCK, 10 * BLOCK + 1, u64::MAX] {
            let read = parse(&journal(&[mark(BLOCK), mark(next), mark(2 * BLOCK)])).unwrap().1;
            assert_eq!(read, [mark(BLOCK)], "{next}");
        }
        assert_eq!(parse(&journal(&[mark(7), mark(2 * BLOCK)])).unwrap().1, [mark(2 * BLOCK)]);
    }

    proptest! {
        #[test]
        fn whatever_became_of_lines_its_marks_ascend_within_file(
            ends in prop::collection::vec(0..12 * BLOCK, 0..8),
            cut in any::<prop::sample::Index>(),
            flipped in any::<prop::sample::Index>(),
            with in any::<u8>(),
        ) {
            let mut text = journal(&ends.iter().map(|end| mark(*end)).collect::<Vec<_>>());
            let place = flipped.index(text.len());
            text[place] ^= with;
            text.truncate(cut.index(text.len()) + 1);
            if let Some((header, marks)) = parse(&text) {
                let ends: Vec<_> = marks.iter().map(|mark| mark.end).collect();
                prop_assert!(ends.is_sorted() && ends.iter().all(|end| 0 < *end && *end <= header.size), "{:?}", ends);
                let last = ends.len().saturating_sub(1);
                prop_assert!(ends[..last].iter().all(|end| end.is_multiple_of(BLOCK)), "{:?}", ends);
            }
        }

        #[test]
        fn bytes_that_no_run_wrote_add_no_mark(
            before in prop::collection::vec(any::<u8>(), 0..200),
            behind in prop::collection::vec(any::<u8>(), 0..200),
            marks in 0..4u64,
        ) {
            let known: Vec<_> = (1..=marks).map(|number| mark(number * BLOCK)).collect();
            let ours = journal(&known);
            let then = [ours.clone(), behind].concat();
            prop_assert_eq!(parse(&then), Some((header(10 * BLOCK), known)));
            // In front of the header they are in its line, or are the first.
            prop_assert_eq!(parse(&before), None);
            let blank = before.iter().all(|byte| b" \t\r".contains(byte));
            let first = [before, ours.clone()].concat();
            prop_assert_eq!(parse(&first).is_some(), blank);
        }
    }

    /// Marks without end, and how many were read.
    struct Endless {
        line: Vec<u8>,
        read: usize,
    }

    impl Endless {
        fn new() -> Self {
            let mut header = header(0);
            header.size = u64::MAX;
            Self { line: line(&header).unwrap(), read: 0 }
        }
    }

    impl Read for Endless {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            unreachable!("it has a buffer")
        }
    }

    impl BufRead for Endless {
        fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
            if self.line.is_empty() {
                self.read += 1;
                self.line = line(&mark(self.read as u64 * BLOCK)).unwrap();
            }
            Ok(&self.line)
        }

        fn consume(&mut self, bytes: usize) {
            self.line.drain(..bytes);
        }
    }

    #[test]
    fn a_journal_is_read_no_further_than_its_file_reaches() {
        let mut text = Endless::new();
        let (_, marks) = super::parse(&mut text, 10 * BLOCK + 5).unwrap().unwrap();
        assert_eq!((marks.len(), marks.last().map(|last| last.end)), (11, Some(11 * BLOCK)));
        assert!(text.read <= 12, "{} lines", text.read);
        let endless_line = BufReader::new(std::io::repeat(b'{'));
        assert_eq!(super::parse(endless_line, 1).unwrap(), None);
    }

    #[test]
    fn anything_else_is_not_a_journal() {
        for text in ["", "\n", "{}\n", "null\n", "[1]\n", "\u{fffd}"] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn no_secret_of_the_url_is_written_down() {
        let text = String::from_utf8(journal(&[])).unwrap();
        assert!(text.contains("https://h:443/a\"") && !text.contains("secret"), "{text}");
    }
}
