//! The listing that browsers show.

use super::{Entry, Kind, PIECE, Place};
use crate::serve::path::is_hidden;
use bytes::BufMut;
use cap_std::fs::ReadDir;
use core::time::Duration;
use pcc::units::Bytes;
use pcc_net::{escape_for_terminal, percent};
use std::io;
use std::time::UNIX_EPOCH;
use std::vec::IntoIter;

/// Entries of a page: more than people look through. Programs get them all.
const MOST: usize = 10_000;

/// Memory of a page's names while it is read: each has up to 255 bytes and its place in the list. Unit: bytes.
pub(in crate::serve) const MOST_MEMORY: u64 = (MOST * (255 + size_of::<(bool, String)>())) as u64;

/// A page on its way.
pub(in crate::serve) struct Page {
    place: Place,
    /// Goes in front of the first row.
    head: Option<String>,
    /// Whether it is a directory, and the name: directories first.
    names: IntoIter<(bool, String)>,
    /// Goes behind the last.
    foot: Option<String>,
}

impl Page {
    /// Blocks.
    pub(super) fn read(place: Place, found: ReadDir, title: &str) -> io::Result<Self> {
        let (mut names, mut more) = (Vec::new(), 0u64);
        for entry in found {
            let entry = entry?;
            match entry.file_name().into_string() {
                Ok(name) if is_hidden(&name) => {}
                Ok(name) if names.len() < MOST => {
                    let is_file = !place.look(&name).0.is_some_and(|metadata| metadata.is_dir());
                    names.push((is_file, name));
                }
                _ => more += 1,
            }
        }
        names.sort_unstable();
        let foot = match more {
            0 => String::new(),
            more => format!("<tr><td>and {more} more that are not shown here</td></tr>\n"),
        };
        let foot = Some(foot + "</table></body></html>\n");
        Ok(Self { place, head: Some(head(title)), names: names.into_iter(), foot })
    }

    /// The bytes of its names. Unit: bytes.
    pub(super) fn memory(&self) -> u64 {
        let each = |(_, name): &(bool, String)| name.capacity() + size_of::<(bool, String)>();
        self.names.as_slice().iter().map(each).sum::<usize>() as u64
    }

    /// The next rows. Blocks.
    pub(super) fn next(&mut self, buffer: &mut Vec<u8>) {
        if let Some(head) = self.head.take() {
            buffer.put_slice(head.as_bytes());
        }
        while buffer.len() < PIECE {
            match self.names.next() {
                Some((_, name)) => buffer.put_slice(row(&Entry::of(&self.place, name)).as_bytes()),
                None => return buffer.put_slice(self.foot.take().unwrap_or_default().as_bytes()),
            }
        }
    }
}

fn head(title: &str) -> String {
    let title_text = escape(title);
    let up = if title == "/" { "" } else { "<tr><td><a href=\"../\">../</a></td></tr>\n" };
    format!(
        "<!doctype html><html><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{title_text}</title><style>\
         body{{font-family:sans-serif;margin:2em}}th,td{{padding:.1em 1em .1em 0;text-align:left}}\
         td:first-child{{overflow-wrap:anywhere}}\
         td+td{{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}}th+th{{text-align:right}}</style>\
         </head><body><h1>{title_text}</h1><table>\n<tr><th>Name</th><th>Size</th><th>Modified (UTC)</th></tr>\n{up}"
    )
}

fn row(entry: &Entry) -> String {
    let slash = if entry.kind == Kind::Directory { "/" } else { "" };
    let size = entry
        .size
        .map_or_else(|| "<td></td>".to_owned(), |size| format!("<td title=\"{size} bytes\">{}</td>", Bytes::new(size)));
    let modified = entry.modified.map(date).unwrap_or_default();
    let (link, name) = (escape(&percent::encode_segment(&entry.name)), escape(&entry.name));
    // `./` keeps a colon in the name from being taken for a scheme.
    format!("<tr><td><a href=\"./{link}{slash}\">{name}{slash}</a></td>{size}<td>{modified}</td></tr>\n")
}

/// To the minute.
fn date(seconds: i64) -> String {
    let time = u64::try_from(seconds).ok().and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
    // RFC 3339, of which people need the first 16 characters; it has no years beyond 9999.
    let text =
        time.filter(|_| seconds < 253_402_300_800).map(|time| humantime::format_rfc3339_seconds(time).to_string());
    text.and_then(|text| text.get(..16).map(|minute| minute.replace('T', " "))).unwrap_or_default()
}

/// A name as text or in an attribute. Characters that no page shows, or that turn the direction of reading, are spelled out.
fn escape(text: &str) -> String {
    pcc_report::escape::escape(&escape_for_terminal(text))
}
