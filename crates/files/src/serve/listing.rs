//! Listings of directories, for people and for programs. They are made while they are sent: little of them is held,
//! however large they are, and however many clients read slowly.

mod page;

use super::body::Pieces;
use super::broken::Broken;
use super::path::is_hidden;
use super::root::Root;
use crate::attributes::{Attributes, seconds};
use crate::extended::{self, Kinds};
use crate::{owners, symlink};
use bytes::BufMut;
use cap_std::fs::{Dir, Metadata, ReadDir};
use core::cell::OnceCell;
use page::Page;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Something in a directory.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Entry {
    /// Its name, not encoded.
    pub(crate) name: String,
    /// The kind of the entry, links followed.
    #[serde(rename = "type")]
    pub(crate) kind: Kind,
    /// Bytes of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<u64>,
    /// Seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) modified: Option<i64>,
    /// Whether it is a link to that.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) link: bool,
    /// The text of a link, for those who ask for links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<String>,
    /// For the same: when the link itself was modified, to the nanosecond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) changed: Option<String>,
    /// For the same: owner and group of the link itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    /// For the same: all names of one file have the same text here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) same: Option<String>,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, for those who ask for links.
    Link,
    /// Neither, or a link that leads nowhere, out of the served directory or back to where it lies: nothing that could be
    /// downloaded, or that a download would ever come to the end of.
    #[serde(other)]
    Other,
}

/// For whom a listing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `{"entries":[…],"omitted":N}`, in the order of the file system.
    Json(&'static str),
    /// A page.
    Html,
}

/// The media types of [`Form::Json`].
const JSON: [&str; 2] = ["application/vnd.pcc.listing+json", "application/json"];

/// The things that a listing tells of links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Links {
    /// Whether they are told as links.
    pub(super) as_links: bool,
    /// Whether the names of one file are told.
    pub(super) names: bool,
    /// Whether those that lead out are told, too.
    pub(super) leading_out: bool,
    /// Whether their owners are told, and by name.
    pub(super) owners: Option<bool>,
}

/// Bytes in a piece, about.
const PIECE: usize = 32 << 10;

/// A directory that is listed, and the way to it.
pub(super) struct Place {
    dir: Dir,
    /// Links lead as far as they do in requests: anywhere below this.
    root: Root,
    path: PathBuf,
    /// The directories on the way, this one included: looked at when a link may lead back to one of them.
    way: OnceCell<Vec<Identity>>,
    links: Links,
}

/// Device and number of a directory.
#[derive(Debug, PartialEq, Eq)]
#[cfg_attr(windows, allow(dead_code, reason = "none is told there"))]
struct Identity(u64, u64);

impl Identity {
    #[cfg(unix)]
    fn of(found: &Metadata) -> Option<Self> {
        use cap_std::fs::MetadataExt as _;
        Some(Self(found.dev(), found.ino()))
    }

    /// Links are rare there, and a download has an end anyway.
    #[cfg(windows)]
    fn of(_: &Metadata) -> Option<Self> {
        None
    }
}

impl Place {
    /// The directory `dir`, which is at `path` below `root`.
    pub(super) fn new(dir: Dir, root: Root, path: PathBuf) -> Self {
        Self { dir, root, path, way: OnceCell::new(), links: Links::default() }
    }

    /// The same, with links told so.
    pub(super) fn with_links(self, links: Links) -> Self {
        Self { links, ..self }
    }

    /// The link with this name, as a link.
    fn link(&self, name: String, found: &Metadata) -> Entry {
        let path = if self.path == Path::new(".") { PathBuf::from(&name) } else { self.path.join(&name) };
        let target =
            self.dir.read_link_contents(&name).ok().and_then(|target| target.into_os_string().into_string().ok());
        let target = target.filter(|target| self.links.leading_out || symlink::stays_inside(&path, target));
        let Some(target) = target else { return Entry { link: true, ..Entry::unknown(name) } };
        let Attributes { modified, owner, group, .. } = Attributes::within(found);
        let owned = |kind, id: Option<u32>| Some(owners::text(kind, id?, self.links.owners?));
        Entry {
            kind: Kind::Link,
            link: true,
            target: Some(target),
            changed: modified.map(seconds),
            owner: owned(owners::Kind::User, owner),
            group: owned(owners::Kind::Group, group),
            ..Entry::unknown(name)
        }
    }

    /// The attributes that `-a` keeps of the directory itself.
    pub(super) fn attributes(&self, kinds: Kinds) -> Attributes {
        let found = self.dir.dir_metadata().map(|found| Attributes::within(&found)).unwrap_or_default();
        // A handle that only names a directory cannot read them.
        let extended = extended::opened(kinds, || self.dir.open(".")).unwrap_or_default();
        Attributes { extended, ..found }.with_room()
    }

    /// The kind of an entry, links followed, and whether it is a link; `None` for an entry that can't be downloaded. Blocks.
    fn look(&self, name: &str) -> (Option<Metadata>, bool) {
        match self.dir.symlink_metadata(name) {
            Ok(found) if found.is_symlink() => (self.led_to(name), true),
            found => (found.ok(), false),
        }
    }

    fn led_to(&self, name: &str) -> Option<Metadata> {
        let led_to = self.root.dir().metadata(self.path.join(name)).ok()?;
        (!led_to.is_dir() || !self.is_on_the_way(&led_to)).then_some(led_to)
    }

    fn is_on_the_way(&self, dir: &Metadata) -> bool {
        let identify = |path: &Path| {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            Identity::of(&self.root.dir().metadata(path).ok()?)
        };
        let way = self.way.get_or_init(|| self.path.ancestors().filter_map(identify).collect());
        Identity::of(dir).is_some_and(|dir| way.contains(&dir))
    }
}

/// A directory's listing on its way to a client.
pub(super) enum Listing {
    Entries(Entries),
    Page(Page),
}

/// The listing for programs.
pub(super) struct Entries {
    place: Place,
    /// `None` after the last.
    names: Option<ReadDir>,
    /// Whether the text began, and whether an entry did.
    begun: bool,
    separate: bool,
    /// Entries that cannot be named, since their names are not UTF-8.
    omitted: u64,
}

impl Form {
    /// The one that a request accepts.
    pub(super) fn accepted(accept: &str) -> Self {
        JSON.into_iter().find(|json| accept.contains(json)).map_or(Self::Html, Self::Json)
    }

    /// The memory that a listing holds at most while it is read, beyond a piece. Unit: bytes.
    pub(super) const fn most_memory(self) -> u64 {
        match self {
            Self::Json(_) => 0,
            Self::Html => page::MOST_MEMORY,
        }
    }

    pub(super) const fn media_type(self) -> &'static str {
        match self {
            Self::Json(json) => json,
            Self::Html => "text/html; charset=utf-8",
        }
    }
}

impl Listing {
    /// The memory that it holds beyond a piece. Unit: bytes.
    pub(super) fn memory(&self) -> u64 {
        match self {
            Self::Entries(_) => 0,
            Self::Page(page) => page.memory(),
        }
    }

    /// The listing of this directory; `title` is its path. Blocks.
    pub(super) fn open(place: Place, form: Form, title: &str) -> io::Result<Self> {
        let names = place.dir.entries()?;
        Ok(match form {
            Form::Json(_) => {
                Self::Entries(Entries { place, names: Some(names), begun: false, separate: false, omitted: 0 })
            }
            Form::Html => Self::Page(Page::read(place, names, title)?),
        })
    }
}

impl Pieces for Listing {
    fn next(&mut self, buffer: &mut Vec<u8>, _size: usize) -> Result<(), Broken> {
        buffer.clear();
        match self {
            Self::Entries(entries) => entries.next(buffer).map_err(Broken::Read),
            Self::Page(page) => {
                page.next(buffer);
                Ok(())
            }
        }
    }
}

impl Entries {
    fn next(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        if !self.begun {
            self.begun = true;
            buffer.put_slice(b"{\"entries\":[");
        }
        while buffer.len() < PIECE {
            let Some(names) = &mut self.names else { return Ok(()) };
            let Some(found) = names.next() else {
                self.names = None;
                buffer.put_slice(format!("],\"omitted\":{}}}\n", self.omitted).as_bytes());
                return Ok(());
            };
            match found?.file_name().into_string() {
                Ok(name) if is_hidden(&name) => {}
                Ok(name) => {
                    if core::mem::replace(&mut self.separate, true) {
                        buffer.put_u8(b',');
                    }
                    serde_json::to_writer(buffer.writer(), &Entry::of(&self.place, name))?;
                }
                Err(_) => self.omitted += 1,
            }
        }
        Ok(())
    }
}

impl Entry {
    /// With nothing known but its name.
    fn unknown(name: String) -> Self {
        Self {
            name,
            kind: Kind::Other,
            size: None,
            modified: None,
            link: false,
            target: None,
            changed: None,
            owner: None,
            group: None,
            same: None,
        }
    }

    fn of(place: &Place, name: String) -> Self {
        if place.links.as_links
            && let Ok(found) = place.dir.symlink_metadata(&name)
            && found.is_symlink()
        {
            return place.link(name, &found);
        }
        let (found, link) = place.look(&name);
        let (kind, size) = match &found {
            Some(metadata) if metadata.is_file() => (Kind::File, Some(metadata.len())),
            Some(metadata) if metadata.is_dir() => (Kind::Directory, None),
            _ => (Kind::Other, None),
        };
        let same = found.as_ref().filter(|_| place.links.names && kind == Kind::File && !link).and_then(identity);
        let modified = found.filter(|_| kind != Kind::Other).and_then(|found| modified(&found));
        Self { kind, size, modified, link, same, ..Self::unknown(name) }
    }
}

/// A text that all names of a file have, if it has several. The numbers of the file system are nobody's business.
fn identity(found: &Metadata) -> Option<String> {
    #[cfg(unix)]
    {
        use cap_std::fs::MetadataExt as _;
        let numbers = [found.dev().to_le_bytes(), found.ino().to_le_bytes()].concat();
        (found.nlink() > 1).then(|| blake3::hash(&numbers).to_hex()[..24].to_owned())
    }
    #[cfg(not(unix))]
    return Some(found).and(None);
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// `None` for times before 1970, which only wrong clocks set.
fn modified(metadata: &Metadata) -> Option<i64> {
    let since = metadata.modified().ok()?.into_std().duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    /// The text of the listing of a directory made so.
    fn listed(form: Form, make: impl Fn(&Path)) -> String {
        let dir = tempfile::tempdir().unwrap();
        make(dir.path());
        let root = Root::open(dir.path()).unwrap();
        let place = Place::new(root.dir().try_clone().unwrap(), root, ".".into());
        let mut listing = Listing::open(place, form, "/a<b").unwrap();
        let (mut text, mut piece) = (Vec::new(), Vec::new());
        loop {
            piece.clear();
            listing.next(&mut piece, 0).unwrap();
            assert!(piece.len() < 2 * PIECE, "{} bytes at once", piece.len());
            if piece.is_empty() {
                return String::from_utf8(text).unwrap();
            }
            text.extend_from_slice(&piece);
        }
    }

    /// Entries by name, and how many are omitted.
    fn entries(make: impl Fn(&Path)) -> (Vec<Entry>, u64) {
        #[derive(Deserialize)]
        struct Read {
            entries: Vec<Entry>,
            omitted: u64,
        }
        let mut read: Read = serde_json::from_str(&listed(Form::accepted("application/json"), make)).unwrap();
        read.entries.sort_by(|a, b| a.name.cmp(&b.name));
        (read.entries, read.omitted)
    }

    #[cfg(unix)]
    #[test]
    fn files_directories_and_the_rest_are_told_apart() {
        let (entries, _) = entries(|dir| {
            std::fs::write(dir.join("b"), "abc").unwrap();
            std::fs::create_dir(dir.join("a")).unwrap();
            std::os::unix::fs::symlink("b", dir.join("c")).unwrap();
            std::os::unix::fs::symlink("nowhere", dir.join("d")).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", dir.join("e")).unwrap();
        });
        let kinds: Vec<_> = entries.iter().map(|e| (e.name.as_str(), e.kind, e.size)).collect();
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
    fn unfinished_uploads_are_hidden_and_odd_names_counted() {
        let no_text = |dir: &Path| {
            std::fs::write(dir.join(".pcc-upload-1"), "").unwrap();
            std::fs::write(dir.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff")), "")
                .unwrap();
        };
        assert_eq!(entries(no_text), (Vec::new(), 1));
        let page = listed(Form::Html, no_text);
        assert!(page.contains("1 more") && !page.contains("upload"), "{page}");
    }

    #[test]
    fn a_directory_of_any_size_is_listed_whole_in_small_pieces() {
        const MANY: usize = 2_000;
        let name = |number: usize| format!("{number:05}{}", "x".repeat(100));
        let (entries, omitted) = entries(|dir| {
            (0..MANY).for_each(|number| std::fs::write(dir.join(name(number)), "").unwrap());
        });
        assert_eq!((entries.len(), omitted), (MANY, 0));
        assert!(entries.iter().enumerate().all(|(number, entry)| entry.name == name(number)));
    }

    #[test]
    fn an_empty_directory_is_listed_too() {
        assert_eq!(entries(|_| {}), (Vec::new(), 0));
        assert!(listed(Form::Html, |_| {}).ends_with("</html>\n"));
    }

    #[cfg(unix)]
    #[test]
    fn names_cannot_break_out_of_the_page() {
        let name = "<script>alert('x')</script>\".txt";
        let page = listed(Form::Html, |dir| {
            std::fs::write(dir.join(name.replace('/', "\u{2044}")), "").unwrap();
        });
        assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "{page}");
        assert!(page.contains("<title>/a&lt;b</title>"), "{page}");
    }

    #[cfg(unix)]
    #[test]
    fn a_page_spells_out_marks_of_direction() {
        let page = listed(Form::Html, |dir| std::fs::write(dir.join("gpj\u{202e}.exe"), "").unwrap());
        assert!(page.contains(">gpj\\u{202e}.exe</a>") && !page.contains('\u{202e}'), "{page}");
        assert!(page.contains("./gpj%E2%80%AE.exe"), "it leads to the file: {page}");
    }

    #[test]
    fn people_read_sizes_and_dates_and_directories_come_first() {
        let page = listed(Form::Html, |dir| {
            std::fs::write(dir.join("a"), vec![0; 1_234_567]).unwrap();
            let file = std::fs::File::options().write(true).open(dir.join("a")).unwrap();
            file.set_modified(UNIX_EPOCH + core::time::Duration::from_secs(86_400)).unwrap();
            std::fs::create_dir(dir.join("b")).unwrap();
        });
        assert!(page.contains("title=\"1234567 bytes\"") && page.contains("1970-01-02 00:00"), "{page}");
        assert!(page.find("b/</a>").unwrap() < page.find("a</a>").unwrap(), "{page}");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_written_is_read_back() {
        let (entries, _) = entries(|dir| std::fs::write(dir.join("ä \"1\""), "abc").unwrap());
        assert_eq!((entries[0].name.as_str(), entries[0].size), ("ä \"1\"", Some(3)));
        assert!(entries[0].modified.is_some());
    }

    #[test]
    fn the_media_type_is_the_one_that_was_asked_for() {
        for (accept, media_type) in [
            ("application/vnd.pcc.listing+json", "application/vnd.pcc.listing+json"),
            ("application/json", "application/json"),
            ("text/html, application/xhtml+xml, */*;q=0.8", "text/html; charset=utf-8"),
            ("", "text/html; charset=utf-8"),
        ] {
            assert_eq!(Form::accepted(accept).media_type(), media_type, "{accept}");
        }
    }
}
