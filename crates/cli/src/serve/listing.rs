//! What is in a directory, for people and for programs.

use super::path::{SafePath, is_hidden};
use crate::percent;
use cap_std::fs::{Dir, Metadata};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::io;
use std::time::UNIX_EPOCH;

/// What is in a directory.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Sorted by name.
    pub(super) entries: Vec<Entry>,
    /// Names that are not listed: not UTF-8, or more than a listing holds.
    pub(super) omitted: u64,
}

/// Something in a directory.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Entry {
    /// Its name, not encoded.
    pub(crate) name: String,
    /// What it is, links followed.
    #[serde(rename = "type")]
    pub(crate) kind: Kind,
    /// Bytes of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<u64>,
    /// Seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) modified: Option<i64>,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Neither, or a link that leads nowhere or out of the served directory: nothing that could be downloaded.
    #[serde(other)]
    Other,
}

/// Entries in one listing: some 10 MB of text.
const MOST: usize = 100_000;

impl Listing {
    /// Of this directory. Blocks.
    pub(super) fn read(dir: &Dir) -> io::Result<Self> {
        let mut listing = Self::default();
        for entry in dir.entries()? {
            let Ok(name) = entry?.file_name().into_string() else {
                listing.omitted += 1;
                continue;
            };
            if is_hidden(&name) {
                continue;
            }
            if listing.entries.len() < MOST {
                listing.entries.push(Entry::of(dir, name));
            } else {
                listing.omitted += 1;
            }
        }
        listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listing)
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(&self.entries).unwrap_or_default() // strings and numbers only: always works
    }

    /// A page for browsers.
    pub(super) fn to_html(&self, path: &SafePath) -> String {
        let title = escape(&path.shown());
        let mut page = format!(
            "<!doctype html><html><head><meta charset=\"utf-8\"><title>{title}</title><style>\
             body{{font-family:sans-serif;margin:2em}}td{{padding:.1em 1em}}td+td{{text-align:right}}</style></head>\
             <body><h1>{title}</h1><table>\n"
        );
        if path.name().is_some() {
            page.push_str("<tr><td><a href=\"../\">../</a></td></tr>\n");
        }
        for entry in &self.entries {
            let slash = if entry.kind == Kind::Directory { "/" } else { "" };
            let size = entry.size.map(|size| size.to_string()).unwrap_or_default();
            let (link, name) = (escape(&percent::encode_segment(&entry.name)), escape(&entry.name));
            // `./` keeps a colon in the name from being taken for a scheme. Writing to a string cannot fail.
            let _ = writeln!(page, "<tr><td><a href=\"./{link}{slash}\">{name}{slash}</a></td><td>{size}</td></tr>");
        }
        if self.omitted > 0 {
            let _ = writeln!(page, "<tr><td>and {} more</td></tr>", self.omitted);
        }
        page + "</table></body></html>\n"
    }
}

impl Entry {
    fn of(dir: &Dir, name: String) -> Self {
        match dir.metadata(&name) {
            Ok(metadata) if metadata.is_file() => {
                Self { name, kind: Kind::File, size: Some(metadata.len()), modified: modified(&metadata) }
            }
            Ok(metadata) if metadata.is_dir() => {
                Self { name, kind: Kind::Directory, size: None, modified: modified(&metadata) }
            }
            _ => Self { name, kind: Kind::Other, size: None, modified: None },
        }
    }
}

/// `None` for times before 1970, which only wrong clocks set.
fn modified(metadata: &Metadata) -> Option<i64> {
    let since = metadata.modified().ok()?.into_std().duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

fn escape(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut escaped, c| {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;

    fn listed(make: impl Fn(&std::path::Path)) -> Listing {
        let dir = tempfile::tempdir().unwrap();
        make(dir.path());
        Listing::read(&Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap()).unwrap()
    }

    #[cfg(unix)]
    #[test]
    fn files_directories_and_the_rest_are_told_apart() {
        let listing = listed(|dir| {
            std::fs::write(dir.join("b"), "abc").unwrap();
            std::fs::create_dir(dir.join("a")).unwrap();
            std::os::unix::fs::symlink("b", dir.join("c")).unwrap();
            std::os::unix::fs::symlink("nowhere", dir.join("d")).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", dir.join("e")).unwrap();
        });
        let kinds: Vec<_> = listing.entries.iter().map(|e| (e.name.as_str(), e.kind, e.size)).collect();
        let expected = [
            ("a", Kind::Directory, None),
            ("b", Kind::File, Some(3)),
            ("c", Kind::File, Some(3)),
            ("d", Kind::Other, None),
            ("e", Kind::Other, None),
        ];
        assert_eq!(kinds, expected);
    }

    #[cfg(unix)]
    #[test]
    fn unfinished_uploads_are_hidden_and_names_that_are_no_text_counted() {
        let listing = listed(|dir| {
            std::fs::write(dir.join(".pcc-upload-1"), "").unwrap();
            std::fs::write(dir.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff")), "")
                .unwrap();
        });
        assert!(listing.entries.is_empty());
        assert_eq!(listing.omitted, 1);
    }

    #[cfg(unix)]
    #[test]
    fn names_cannot_break_out_of_the_page() {
        let name = "<script>alert('x')</script>\".txt";
        let listing = listed(|dir| std::fs::write(dir.join(name.replace('/', "\u{2044}")), "").unwrap());
        let page = listing.to_html(&SafePath::parse("/a%3Cb/").unwrap());
        assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "{page}");
        assert!(page.contains("<title>/a&lt;b</title>"), "{page}");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_written_is_read_back() {
        let listing = listed(|dir| std::fs::write(dir.join("ä \"1\""), "abc").unwrap());
        let read: Vec<Entry> = serde_json::from_str(&listing.to_json()).unwrap();
        assert_eq!(read, listing.entries);
    }
}
