//! A whole directory: its listings, then its files, several at a time.

use super::names;
use super::request::{self, Changed, Refused};
use super::source::{Source, is_lost};
use super::store::Target;
use super::transfer::{Fetched, transfer};
use crate::exit::{Failure, failure_of};
use crate::filename;
use crate::percent;
use crate::url::Url;
use anyhow::{Context, anyhow};
use futures_util::StreamExt;
use futures_util::stream;
use serde::Deserialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Files under way at a time, on one connection: enough to fill the path with small ones.
const AT_A_TIME: usize = 8;

/// Bytes of one directory's listing.
const LARGEST_LISTING: usize = 64 << 20;

/// Levels of directories: a server that links to itself has an end.
const DEEPEST: usize = 64;

/// Files and directories in all.
const MOST_ENTRIES: usize = 4_000_000;

/// What a directory download came to.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Files that are here now, those that were here before included.
    pub(super) files: u64,
    /// Their bytes.
    pub(super) bytes: u64,
    /// Bytes that were here before.
    pub(super) resumed_from: u64,
    /// Files the server gave no digest for.
    pub(super) unverified: u64,
    /// What could not be had, and why.
    pub(super) failures: Vec<anyhow::Error>,
}

/// One line of a listing.
#[derive(Debug, Deserialize)]
struct Entry {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    size: Option<u64>,
}

/// A directory's listing: with what could not be listed, or without.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Listing {
    Plain(Vec<Entry>),
    Counted {
        entries: Vec<Entry>,
        /// Entries whose names are no text, or that are too many.
        #[serde(default)]
        omitted: u64,
    },
}

/// A file to be fetched.
struct Wanted {
    url: Url,
    path: PathBuf,
    size: Option<u64>,
}

/// A file that is here: how, and whether it was before.
struct Got {
    fetched: Fetched,
    path: PathBuf,
}

/// Fetches what is below `url` into the directory `into`; `done` hears of each file that is complete.
///
/// Errors: what ends everything. What concerns single entries is in [`Tree::failures`].
pub(super) async fn fetch_tree(
    source: &Source,
    url: &Url,
    into: &Path,
    done: &(dyn Fn(&Path, &Fetched) + Send + Sync),
) -> anyhow::Result<Tree> {
    make_dir(into)?;
    let mut tree = Tree::default();
    let wanted = walk(source, url, into, &mut tree).await?;
    let mut under_way =
        stream::iter(wanted.into_iter().map(|wanted| fetch_one(source, wanted))).buffer_unordered(AT_A_TIME);
    while let Some(outcome) = under_way.next().await {
        match outcome {
            Ok(Got { fetched, path }) => {
                tree.files += 1;
                tree.bytes += fetched.bytes;
                tree.resumed_from += fetched.resumed_from;
                tree.unverified += u64::from(!fetched.verified);
                done(&path, &fetched);
            }
            Err(error) if concerns_one_file(&error) => fail(source, &mut tree, error),
            Err(error) => return Err(error),
        }
    }
    Ok(tree)
}

fn fail(source: &Source, tree: &mut Tree, error: anyhow::Error) {
    source.watch().note(&format!("{error:#}"));
    tree.failures.push(error);
}

/// Whether the others can still be had.
fn concerns_one_file(error: &anyhow::Error) -> bool {
    !is_lost(error)
        && (error.downcast_ref::<Refused>().is_some()
            || error.downcast_ref::<Changed>().is_some()
            || error.downcast_ref::<BadEntry>().is_some()
            || failure_of(error) == Failure::Integrity)
}

/// An entry that is not fetched.
#[derive(Debug, thiserror::Error)]
#[error("left out `{name}` in {directory}: {why}")]
struct BadEntry {
    name: String,
    directory: String,
    why: String,
}

/// Everything below `url`, the directories made here.
async fn walk(source: &Source, url: &Url, into: &Path, tree: &mut Tree) -> anyhow::Result<Vec<Wanted>> {
    let mut wanted = Vec::new();
    let mut seen = 0;
    let mut level = vec![(url.clone(), into.to_owned())];
    for depth in 0.. {
        if level.is_empty() {
            break;
        }
        let listings = stream::iter(core::mem::take(&mut level))
            .map(|(url, dir)| async move { (list(source, &url).await, url, dir) })
            .buffered(AT_A_TIME)
            .collect::<Vec<_>>()
            .await;
        for (listing, url, dir) in listings {
            let entries = match listing {
                Ok(Listing::Plain(entries) | Listing::Counted { entries, omitted: 0 }) => entries,
                Ok(Listing::Counted { entries, omitted }) => {
                    let why = "the server cannot list them".to_owned();
                    let bad = BadEntry { name: format!("{omitted} entries"), directory: url.short(), why };
                    fail(source, tree, bad.into());
                    entries
                }
                // Without the top there is nothing.
                Err(error) if depth > 0 && concerns_one_file(&error) => {
                    fail(source, tree, error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            seen += entries.len();
            if seen > MOST_ENTRIES {
                return Err(anyhow!("{} holds more than {MOST_ENTRIES} entries: fetch parts of it", url.short()));
            }
            let mut names = HashSet::new();
            for entry in entries {
                match place(&url, &dir, &entry, &mut names, depth) {
                    Ok(Place::File(found)) => wanted.push(found),
                    Ok(Place::Directory(url, dir)) => level.push((url, dir)),
                    Err(why) => {
                        let bad = BadEntry { name: names::shown(&entry.name), directory: url.short(), why };
                        fail(source, tree, bad.into());
                    }
                }
            }
        }
    }
    Ok(wanted)
}

enum Place {
    File(Wanted),
    Directory(Url, PathBuf),
}

/// Where an entry belongs, or why it is left out.
fn place(url: &Url, dir: &Path, entry: &Entry, names: &mut HashSet<String>, depth: usize) -> Result<Place, String> {
    let name = names::check(&entry.name).map_err(|bad| bad.to_string())?;
    if !names.insert(filename::folded(name)) {
        return Err("the server lists it twice, or it is the same as another one on this system".to_owned());
    }
    let child = |end: &str| {
        let path = format!("{}{}{end}", url.encoded_path(), percent::encode_segment(name));
        path.parse().map(|path| url.with_path(path)).map_err(|_| "its path is too long".to_owned())
    };
    match entry.kind.as_str() {
        "file" => Ok(Place::File(Wanted { url: child("")?, path: dir.join(name), size: entry.size })),
        "directory" if depth + 1 >= DEEPEST => Err(format!("it is more than {DEEPEST} levels deep")),
        "directory" => {
            let path = dir.join(name);
            make_dir(&path).map_err(|error| format!("{error:#}"))?;
            Ok(Place::Directory(child("/")?, path))
        }
        _ => Err("it is neither a file nor a directory that the server can read".to_owned()),
    }
}

/// Makes sure that there is a directory, and not a link to one: below the place that was asked for, names are the
/// server's choice.
fn make_dir(path: &Path) -> anyhow::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(anyhow!("{} is in the way: it is not a directory", path.display())),
        Err(_) => std::fs::create_dir(path).with_context(|| {
            format!("could not make the directory {}: choose a place that can be written with -o", path.display())
        }),
    }
}

async fn list(source: &Source, url: &Url) -> anyhow::Result<Listing> {
    let text = loop {
        let session = source.session().await?;
        match request::listing(&session, url, LARGEST_LISTING).await {
            Ok(text) => break text,
            Err(trouble) => source.pause(trouble).await?,
        }
    };
    source.progressed();
    serde_json::from_slice(&text).with_context(|| {
        format!("{} is no directory that can be listed: only `pcc serve` lists directories for programs", url.short())
    })
}

async fn fetch_one(source: &Source, wanted: Wanted) -> anyhow::Result<Got> {
    let Wanted { url, path, size } = wanted;
    let here = tokio::fs::symlink_metadata(&path).await.ok();
    if here.as_ref().is_some_and(|here| here.is_dir()) {
        let (name, directory) = (path.display().to_string(), url.short());
        return Err(BadEntry { name, directory, why: "a directory of that name is in the way".to_owned() }.into());
    }
    if size.is_some()
        && here.filter(|here| here.is_file()).map(|here| here.len()) == size
        && let Some(fetched) = already(source, &url, &path).await?
    {
        return Ok(Got { fetched, path });
    }
    let fetched = transfer(source, &url, &Target::File(path.clone())).await?;
    Ok(Got { fetched, path })
}

/// The file, if it is here already, byte for byte.
async fn already(source: &Source, url: &Url, path: &Path) -> anyhow::Result<Option<Fetched>> {
    let begun = std::time::Instant::now();
    let path = path.to_owned();
    let hashed = tokio::task::spawn_blocking(move || {
        let mut hasher = blake3::Hasher::new();
        let file = std::fs::File::open(path)?;
        hasher.update_reader(file)?;
        std::io::Result::Ok((hasher.count(), hasher.finalize()))
    });
    let Ok((bytes, digest)) = hashed.await.context("a thread for files failed")? else { return Ok(None) };
    let same = super::transfer::ask(source, url, true).await?.digest == Some(digest);
    let seconds = begun.elapsed().as_secs_f64();
    Ok(same.then_some(Fetched { bytes, digest, verified: true, seconds, resumed_from: bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place_of(name: &str, kind: &str, depth: usize) -> Result<Option<PathBuf>, String> {
        let dir = tempfile::tempdir().unwrap();
        let entry = Entry { name: name.to_owned(), kind: kind.to_owned(), size: None };
        let url = "https://h/top/".parse().unwrap();
        Ok(match place(&url, dir.path(), &entry, &mut HashSet::new(), depth)? {
            Place::File(wanted) => {
                assert_eq!(wanted.path.parent(), Some(dir.path()));
                assert!(wanted.url.encoded_path().starts_with("/top/"));
                None
            }
            Place::Directory(url, path) => {
                assert!(path.is_dir() && url.encoded_path().ends_with('/'));
                path.file_name().map(PathBuf::from)
            }
        })
    }

    #[test]
    fn entries_stay_in_the_directory() {
        assert_eq!(place_of("a b", "file", 0), Ok(None));
        assert_eq!(place_of("sub", "directory", 0), Ok(Some("sub".into())));
        for name in ["..", "../x", "/etc/passwd", "a/b", "", ".", "a\0"] {
            assert!(place_of(name, "file", 0).is_err(), "{name:?}");
            assert!(place_of(name, "directory", 0).is_err(), "{name:?}");
        }
        assert!(place_of("x", "socket", 0).unwrap_err().contains("neither"));
        assert!(place_of("x", "directory", DEEPEST).unwrap_err().contains("levels"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_a_directory_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join("sub")).unwrap();
        assert!(make_dir(&dir.path().join("sub")).is_err());
    }

    #[test]
    fn listings_are_read_with_and_without_a_count_of_what_they_leave_out() {
        let entries = r#"[{"name":"a","type":"file","size":3,"modified":1},{"name":"d","type":"directory"}]"#;
        assert!(matches!(serde_json::from_str(entries), Ok(Listing::Plain(list)) if list.len() == 2));
        let counted = format!(r#"{{"entries":{entries},"omitted":2}}"#);
        assert!(matches!(serde_json::from_str(&counted), Ok(Listing::Counted { omitted: 2, .. })));
        for wrong in ["", "{}", "[1]", r#"[{"name":1,"type":"file"}]"#, "<html>"] {
            assert!(serde_json::from_str::<Listing>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_listed_twice_counts_once() {
        let dir = tempfile::tempdir().unwrap();
        let entry = Entry { name: "a".to_owned(), kind: "file".to_owned(), size: Some(1) };
        let url = "https://h/".parse().unwrap();
        let mut names = HashSet::new();
        assert!(place(&url, dir.path(), &entry, &mut names, 0).is_ok());
        assert!(place(&url, dir.path(), &entry, &mut names, 0).is_err());
    }
}
