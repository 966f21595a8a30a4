//! A whole directory: its listings and its files, several at a time.
//!
//! A listing is read only when it is its turn, and the files it names are fetched before other directories are looked at:
//! so what waits is bounded, however much a server says it has.

use super::already;
use super::linking::{self, First, Linking, What};
use super::place_error::PlaceError;
use super::plain;
use super::store::Target;
use super::surplus::{self, Surplus};
use super::transfer::arrive;
use crate::attributes::Attributes;
use crate::blocking::off_thread;
use crate::choice::{Choice, Look, Step};
use crate::client::abreast::Abreast;
use crate::client::listing::{self, Bounds, Entry, Kind, Listing, MOST_ENTRIES};
use crate::client::names::{self, brief};
use crate::client::source::{Source, is_lost};
use crate::counted::counted;
use crate::disk;
use crate::filename;
use crate::moved::Moved;
use crate::tally::Tally;
use anyhow::{Context, anyhow};
use core::cell::RefCell;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use pcc_net::percent;
use pcc_net::url::Url;
use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Levels of directories: a server that links to itself has an end.
const DEEPEST: usize = 64;

/// Characters of what a server calls a file that has several names.
const MOST_OF_SAME: usize = 64;

/// A directory here and there.
#[derive(Debug)]
struct Directory {
    url: Url,
    path: PathBuf,
    /// Levels above it.
    depth: usize,
    made: AtomicBool,
    /// Whether what was in its way counts as gone. A dry run leaves that there, and does not look at it.
    is_cleared: bool,
}

impl Directory {
    fn new(url: Url, path: PathBuf, depth: usize) -> Self {
        Self { url, path, depth, made: AtomicBool::new(false), is_cleared: false }
    }

    /// Makes sure that it is here, and those above it up to the one that was asked for.
    fn make(&self) -> anyhow::Result<()> {
        if !self.made.load(Ordering::Relaxed) {
            let levels: Vec<_> = self.path.ancestors().take(self.depth + 1).collect();
            levels.into_iter().rev().try_for_each(make_dir)?;
            self.made.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// A file to be fetched.
struct Wanted {
    directory: Arc<Directory>,
    name: String,
    size: Option<u64>,
    /// When it was modified there.
    modified: Option<SystemTime>,
    /// Whether a directory of that name is to go once the file has come.
    replaces: bool,
}

/// Links of a directory, or further names in it.
struct Links {
    directory: Arc<Directory>,
    links: Vec<Linking>,
    /// Whether directories of these names are to go.
    replaces: bool,
}

enum Job {
    List(Directory),
    Fetch(Wanted),
    Link(Links),
}

enum Done {
    Linked(Arc<Directory>, anyhow::Result<Vec<(Linking, linking::Outcome)>>),
    Listed(Directory, anyhow::Result<Listing>),
    Fetched(Wanted, anyhow::Result<Look<Moved>>),
}

/// Something else has the name here: a file that of a directory, or the other way round.
#[derive(Debug, thiserror::Error)]
#[error("{} is in the way: it is {is}", path.display())]
struct InTheWay {
    path: PathBuf,
    is: &'static str,
}

/// An entry in whose way something is that goes once all else is here.
struct Held {
    job: Job,
    path: PathBuf,
    entries: u64,
    why: anyhow::Error,
}

/// The listener for each entry.
pub(super) type Each<'a> = &'a (dyn Fn(Step<'_, Path>) + Sync);

/// The source of the entries, and their destination.
struct Walk<'a> {
    source: &'a Source,
    into: &'a Path,
    choice: &'a Choice,
    bounds: Bounds,
    /// Directories, those above before those below, and what they get once nothing more comes into them.
    described: RefCell<Vec<(PathBuf, Attributes)>>,
    held: RefCell<Vec<Held>>,
    /// The first names of files that have several, by what the server calls them, below the destination.
    firsts: RefCell<HashMap<String, First>>,
    /// The other names: they come once all files are here.
    twins: RefCell<Vec<Links>>,
    /// Entries that somebody listed, and that the server has not told of.
    unseen: RefCell<HashSet<PathBuf>>,
    /// Entries that were removed for a file, and of which nobody was told yet.
    removed: RefCell<Vec<PathBuf>>,
}

/// Fetches what is below `url` into the directory `into`; `each` hears of each file that is complete.
///
/// Errors: what ends everything. Changes of single entries are counted in [`Tally`].
pub(super) async fn fetch_tree(
    source: &Source,
    url: &Url,
    into: &Path,
    choice: &Choice,
    each: Each<'_>,
) -> anyhow::Result<Tally> {
    let (mut tree, mut surplus, begun) = (Tally::default(), Surplus::default(), Instant::now());
    let walk = &Walk {
        source,
        into,
        choice,
        bounds: Bounds::default(),
        described: RefCell::default(),
        held: RefCell::default(),
        firsts: RefCell::default(),
        twins: RefCell::default(),
        unseen: choice.listed.as_ref().map(|listed| listed.paths().clone()).unwrap_or_default().into(),
        removed: RefCell::default(),
    };
    // The last one first: depth before breadth, so that less waits.
    let mut waiting = vec![Job::List(Directory::new(url.clone(), into.to_owned(), 0))];
    let (mut under_way, mut abreast) = (FuturesUnordered::new(), Abreast::default());
    // Directories whose listing has not come.
    let mut unlisted = 1;
    loop {
        while abreast.has_room()
            && let Some(job) = waiting.pop()
        {
            let size = job.size();
            abreast.begin(size);
            under_way.push(job.carry_out(walk).map(move |done| (size, done)));
        }
        let next = under_way.next().await.map(|(size, done)| {
            abreast.end(size);
            done
        });
        let is_listing = matches!(next, Some(Done::Listed(..)));
        match next {
            None if !walk.twins.borrow().is_empty() => waiting.extend(walk.twins.take().into_iter().map(Job::Link)),
            None => {
                let held = walk.held.take();
                if choice.delete && walk.delete(&core::mem::take(&mut surplus), &mut tree, each)? {
                    waiting.extend(held.into_iter().map(|held| held.job.cleared()));
                } else {
                    held.iter().for_each(|held| tree.fail(source, &held.path, held.entries, &held.why));
                }
                if waiting.is_empty() {
                    walk.tell_unseen(&mut tree);
                    walk.describe(&mut tree);
                    return Ok(Tally { seconds: begun.elapsed().as_secs_f64(), ..tree });
                }
                unlisted += waiting.iter().filter(|job| matches!(job, Job::List(_))).count();
            }
            Some(Done::Fetched(wanted, Ok(Look::There(fetched)))) => {
                walk.tell_removed(&mut tree, each);
                tree.add(&fetched);
                each(Step::Complete(&wanted.path(), &fetched));
            }
            Some(Done::Fetched(wanted, Ok(Look::Spared))) => {
                source.watch().complete(wanted.size, 0);
                tree.left += 1;
            }
            Some(Done::Fetched(wanted, Ok(Look::Due(bytes)))) => {
                tree.add_due(bytes);
                each(Step::Due(&wanted.path(), bytes));
            }
            Some(Done::Fetched(wanted, Err(why)))
                if walk.may_clear(&why, &wanted.path(), wanted.replaces, &mut surplus) =>
            {
                let path = wanted.path();
                walk.held.borrow_mut().push(Held { job: Job::Fetch(wanted), path, entries: 1, why });
            }
            Some(Done::Linked(directory, Ok(outcomes))) => {
                walk.tell_removed(&mut tree, each);
                walk.linked(&directory, outcomes, &mut tree, &mut surplus, each)?;
            }
            Some(Done::Linked(directory, Err(error))) if concerns_one(&error) => {
                walk.tell_removed(&mut tree, each);
                tree.fail(source, &directory.path, 1, &error);
            }
            Some(Done::Listed(directory, Ok(listing))) => {
                let below = walk.unfold(directory, listing, &mut tree, &mut surplus)?;
                unlisted += below.iter().filter(|job| matches!(job, Job::List(_))).count();
                waiting.extend(below);
            }
            // Without the top there is nothing.
            Some(Done::Listed(Directory { depth: 0, .. }, Err(error))) => return Err(error),
            Some(Done::Listed(Directory { path, .. }, Err(error))) if concerns_one(&error) => {
                tree.fail(source, &path, 1, &error);
            }
            Some(Done::Fetched(wanted, Err(error))) if concerns_one(&error) => {
                walk.tell_removed(&mut tree, each);
                tree.fail(source, &wanted.path(), 1, &error);
            }
            Some(Done::Listed(_, Err(error)) | Done::Fetched(_, Err(error)) | Done::Linked(_, Err(error))) => {
                return Err(error);
            }
        }
        unlisted -= usize::from(is_listing);
        if is_listing && unlisted == 0 {
            source.watch().found_all();
        }
    }
}

/// Whether the others can still be had: the server is there, and neither this disk nor this process is at its end.
fn concerns_one(error: &anyhow::Error) -> bool {
    !is_lost(error) && !disk::concerns_all(error)
}

/// An entry that is not fetched.
#[derive(Debug, thiserror::Error)]
#[error("left out {what} in {directory}: {why}")]
struct BadEntry {
    what: String,
    directory: String,
    why: String,
}

impl Job {
    /// Bytes that come, as far as the server has told.
    fn size(&self) -> Option<u64> {
        match self {
            Self::List(_) | Self::Link(_) => None,
            Self::Fetch(wanted) => wanted.size,
        }
    }

    /// The same once what was in its way is gone.
    fn cleared(self) -> Self {
        match self {
            Self::List(directory) => Self::List(Directory { is_cleared: true, ..directory }),
            Self::Fetch(wanted) => Self::Fetch(Wanted { replaces: true, ..wanted }),
            Self::Link(links) => Self::Link(Links { replaces: true, ..links }),
        }
    }

    async fn carry_out(self, walk: &Walk<'_>) -> Done {
        match self {
            Self::List(directory) => {
                let listing = listing::list(walk.source, &directory.url, &walk.bounds).await;
                Done::Listed(directory, listing)
            }
            Self::Link(links) => {
                let directory = links.directory.clone();
                Done::Linked(directory, links.make(walk).await)
            }
            Self::Fetch(wanted) => {
                let fetched = wanted.fetch(walk).await;
                Done::Fetched(wanted, fetched)
            }
        }
    }
}

impl Walk<'_> {
    /// The entries of a directory, the last first. The top directory is made at once, and so is an empty one. Any other is made
    /// with the first file in it or below. So an endless tree of directories leaves none here.
    fn unfold(
        &self,
        directory: Directory,
        mut listing: Listing,
        tree: &mut Tally,
        surplus: &mut Surplus,
    ) -> anyhow::Result<Vec<Job>> {
        let below = directory.path.strip_prefix(self.into).unwrap_or(&directory.path).to_owned();
        if let mut unseen = self.unseen.borrow_mut()
            && !unseen.is_empty()
        {
            unseen.remove(&below);
            for entry in &listing.entries {
                unseen.remove(&below.join(&entry.name));
            }
        }
        let is_empty = listing.entries.is_empty() && listing.omitted == 0 && listing.beyond == 0;
        listing.entries.retain(|entry| self.is_wanted(&below, entry));
        if directory.depth == 0
            && let Some(names) = &self.choice.only
            && listing.entries.is_empty()
        {
            return Err(anyhow!("nothing in {} is called like `{}`", directory.url.short(), names.pattern()));
        }
        if let Err(error) = self.prepare(&directory, &listing, is_empty) {
            if directory.depth == 0 || disk::concerns_all(&error) {
                return Err(error);
            }
            let (path, entries) = (directory.path.clone(), (listing.entries.len() as u64).max(1));
            let may_clear = self.may_clear(&error, &path, directory.is_cleared, surplus);
            let why = left_out(&directory, "everything".to_owned(), format!("{error:#}"));
            if may_clear {
                self.held.borrow_mut().push(Held { job: Job::List(directory), path, entries, why });
            } else {
                tree.fail(self.source, &path, entries, &why);
            }
            return Ok(Vec::new());
        }
        self.count_unnamed(&directory, &listing, tree);
        if self.source.keeps().attributes() && (directory.depth > 0 || self.choice.only.is_none()) {
            self.described.borrow_mut().push((directory.path.clone(), listing.attributes));
        }
        let directory = Arc::new(directory);
        let taken = (directory.depth == 0).then_some(&self.choice.taken);
        let mut names: HashSet<_> = taken.into_iter().flatten().map(|name| filename::folded(name)).collect();
        let shared: Arc<Path> = below.as_path().into();
        let (mut files, mut directories, mut links) = (Vec::new(), Vec::new(), Vec::new());
        for entry in listing.entries {
            let placed = place(&directory, &entry.name, entry.kind, &mut names);
            match self.link_of(&below, &entry).and_then(|link| Ok((placed?, link))) {
                Ok((_, Some(what))) => links.push(Linking { name: entry.name, what }),
                Ok((None, None)) if self.is_twin(&directory, &shared, &entry) => {}
                Ok((Some(sub), _)) => {
                    let is_cleared = directory.is_cleared && self.choice.dry_run;
                    directories.push(Job::List(Directory { is_cleared, ..sub }));
                }
                Ok((None, _)) => {
                    self.source.watch().found(entry.size);
                    let (directory, size) = (directory.clone(), entry.size);
                    let modified =
                        entry.modified.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
                    files.push(Job::Fetch(Wanted { directory, name: entry.name, size, modified, replaces: false }));
                }
                Err(why) => {
                    let error = left_out(&directory, format!("`{}`", brief(&entry.name)), why);
                    let path = names::check(&entry.name).map(|name| directory.path.join(name));
                    tree.fail(self.source, path.as_ref().unwrap_or(&directory.path), 1, &error);
                }
            }
        }
        // A pattern or a list leaves open what else the server has.
        let is_untouched = self.choice.dry_run && directory.is_cleared;
        let deletes = self.choice.delete && self.choice.listed.is_none();
        if deletes && !is_untouched && (directory.depth > 0 || self.choice.only.is_none()) {
            surplus.look(self.into, &below, &names, &self.choice.excluded)?;
        }
        // Taken from the end: its files in their order, then its directories.
        directories.reverse();
        directories.extend(files.into_iter().rev());
        directories.extend((!links.is_empty()).then_some(Job::Link(Links { directory, links, replaces: false })));
        Ok(directories)
    }

    /// The link that this entry of the directory `below` the top is, where links are kept. Or why it is left out.
    fn link_of(&self, below: &Path, entry: &Entry) -> Result<Option<What>, String> {
        let keeps = self.source.keeps();
        if !keeps.links || !(entry.link || entry.kind == Kind::Link) {
            return Ok(None);
        }
        match (&entry.target, entry.kind) {
            (Some(target), Kind::Link) => {
                linking::check(&below.join(&entry.name), target, keeps.links_out)?;
                let attributes = Attributes { mode: None, ..keeps.of(entry.attributes(), false) };
                Ok(Some(What::Link(target.clone(), attributes)))
            }
            (_, Kind::File | Kind::Directory) => Err("it is a link, and the `pcc` of the server is too old to say where to: renew it \
                 there, or add --no-links to have what it leads to"
                .to_owned()),
            _ => Err("it is a link that leads out of what the server serves, or to a name that is not UTF-8; over ssh a link may lead out"
                .to_owned()),
        }
    }

    /// Notes an entry that is a further name of a file, where these are kept.
    fn is_twin(&self, directory: &Arc<Directory>, below: &Arc<Path>, entry: &Entry) -> bool {
        let Some(same) = entry.same.as_ref().filter(|_| self.source.keeps().hard_links && entry.kind == Kind::File)
        else {
            return false;
        };
        let mut firsts = self.firsts.borrow_mut();
        let Some(first) = firsts.get(same) else {
            firsts.insert(
                same.chars().take(MOST_OF_SAME).collect(),
                First { below: below.clone(), name: entry.name.as_str().into() },
            );
            return false;
        };
        let links = vec![Linking { name: entry.name.clone(), what: What::SameAs(first.clone()) }];
        self.twins.borrow_mut().push(Links { directory: directory.clone(), links, replaces: false });
        true
    }

    /// Counts links that are here, and notes what is in their way.
    fn linked(
        &self,
        directory: &Arc<Directory>,
        outcomes: Vec<(Linking, linking::Outcome)>,
        tree: &mut Tally,
        surplus: &mut Surplus,
        each: Each<'_>,
    ) -> anyhow::Result<()> {
        for (linking, outcome) in outcomes {
            let path = directory.path.join(&linking.name);
            match outcome {
                Ok(None) => tree.left += 1,
                Ok(Some(changes)) => {
                    tree.links += 1;
                    if changes {
                        each(Step::Linked(&path));
                    }
                }
                Err(linking::Refused::InTheWay) => {
                    let why = InTheWay { path: path.clone(), is: "a directory" }.into();
                    let job = Job::Link(Links { directory: directory.clone(), links: vec![linking], replaces: false });
                    if self.may_clear(&why, &path, false, surplus) {
                        self.held.borrow_mut().push(Held { job, path, entries: 1, why });
                    } else {
                        tree.fail(self.source, &path, 1, &why);
                    }
                }
                Err(linking::Refused::Other(error)) if concerns_one(&error) => tree.fail(self.source, &path, 1, &error),
                Err(linking::Refused::Other(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether this entry of the directory `below` the top is to be had at all.
    fn is_wanted(&self, below: &Path, entry: &Entry) -> bool {
        let is_top = below.as_os_str().is_empty();
        let is_named = !is_top || self.choice.only.as_ref().is_none_or(|names| names.has(&entry.name));
        is_named && !self.choice.leaves_out(&below.join(&entry.name), entry.kind == Kind::Directory)
    }

    /// Sees to the directory here, and to room for what comes into it.
    fn prepare(&self, directory: &Directory, listing: &Listing, is_empty: bool) -> anyhow::Result<()> {
        if self.choice.dry_run {
            return if directory.is_cleared { Ok(()) } else { is_free(&directory.path) };
        }
        match directory.depth {
            0 => self.has_room(directory, listing).and_then(|()| directory.make()),
            _ if is_empty => directory.make(),
            _ => is_free(&directory.path).and_then(|()| self.has_room(directory, listing)),
        }
    }

    fn has_room(&self, directory: &Directory, listing: &Listing) -> anyhow::Result<()> {
        // Nobody knows how much of a file is holes.
        if self.source.keeps().sparse { Ok(()) } else { has_room(directory, listing) }
    }

    /// Counts entries of which nothing is known but that they are there.
    fn count_unnamed(&self, directory: &Directory, listing: &Listing, tree: &mut Tally) {
        let no_text = "a listing has no names that are not UTF-8: whoever runs the server can rename them".to_owned();
        let too_many = format!("one download has at most {MOST_ENTRIES}: fetch parts of it");
        for (entries, why) in [(listing.omitted, no_text), (listing.beyond, too_many)] {
            if entries > 0 {
                tree.fail(self.source, &directory.path, entries, &left_out(directory, counted(entries), why));
            }
        }
    }

    /// Gives the directories that are here the times and the permissions that they have at the server, the lowest first: one that
    /// may not be entered any more cannot hinder that.
    fn describe(&self, tree: &mut Tally) {
        if self.choice.dry_run {
            return;
        }
        for (path, attributes) in self.described.take().iter().rev().filter(|(path, _)| path.is_dir()) {
            let described = plain::to_describe(path).and_then(|dir| attributes.give(&dir));
            if let Err(error) =
                described.with_context(|| format!("could not set time and permissions of {}", path.display()))
            {
                tree.fail(self.source, path, 1, &error);
            }
        }
    }

    /// Whether what is in the way of an entry, as `why` says, goes once all else is here; then it is noted as surplus.
    /// Whatever is in the way even then, `is_cleared`, stays.
    fn may_clear(&self, why: &anyhow::Error, path: &Path, is_cleared: bool, surplus: &mut Surplus) -> bool {
        let Some(InTheWay { path: blocked, .. }) = why.downcast_ref() else { return false };
        let below = path.strip_prefix(self.into).unwrap_or(path);
        let is_directory = path.symlink_metadata().is_ok_and(|found| found.is_dir());
        let may = self.choice.delete && !is_cleared && blocked == path;
        may && surplus.replace(below, is_directory, &self.choice.excluded)
    }

    /// Deletes what only this side has, if everything there is known and it is no more than may go; answers whether it did.
    fn delete(&self, surplus: &Surplus, tree: &mut Tally, each: Each<'_>) -> anyhow::Result<bool> {
        if tree.failed > 0 {
            if !surplus.is_empty() {
                self.source.watch().note("nothing was deleted, since entries are missing");
            }
            return Ok(false);
        }
        let Choice { excluded, dry_run, .. } = self.choice;
        if self.choice.max_delete.is_some() {
            let mut count = 0;
            surplus.tell(self.into, excluded, &mut |_| count += 1)?;
            if self.choice.spares(count) {
                tree.spared = count;
                return Ok(false);
            }
        }
        let told: &mut dyn FnMut(&Path) = &mut |path| {
            tree.deleted += 1;
            each(Step::Deleted(&self.into.join(path)));
        };
        let done =
            if *dry_run { surplus.tell(self.into, excluded, told) } else { surplus.delete(self.into, excluded, told) };
        done.map(|()| true)
    }

    /// Counts what is in the list of files and not at the server.
    fn tell_unseen(&self, tree: &mut Tally) {
        for path in self.unseen.take() {
            let error = anyhow!("{} is in the list of files and not at the server", path.display());
            tree.fail(self.source, &self.into.join(path), 1, &error);
        }
    }

    /// Tells what was removed for a file.
    fn tell_removed(&self, tree: &mut Tally, each: Each<'_>) {
        for path in self.removed.take() {
            tree.deleted += 1;
            each(Step::Deleted(&self.into.join(path)));
        }
    }

    /// Removes the directory that is in the way of a file which has come.
    async fn make_way(&self, path: &Path) -> anyhow::Result<()> {
        let (top, excluded) = (self.into.to_owned(), self.choice.excluded.clone());
        let below = path.strip_prefix(self.into).unwrap_or(path).to_owned();
        let (removed, outcome) = off_thread(move || {
            let mut removed = Vec::new();
            let outcome = surplus::make_way(&top, &below, &excluded, &mut |path| removed.push(path.to_owned()));
            Ok((removed, outcome))
        })
        .await?;
        self.removed.borrow_mut().extend(removed);
        outcome
    }
}

fn left_out(directory: &Directory, what: String, why: String) -> anyhow::Error {
    BadEntry { what, directory: directory.url.short(), why }.into()
}

/// Whether there is room for what is missing of the files that are listed with their sizes.
fn has_room(directory: &Directory, listing: &Listing) -> anyhow::Result<()> {
    let length = |path: &Path| path.symlink_metadata().ok().filter(std::fs::Metadata::is_file).map(|file| file.len());
    let missing = |(name, size): (&str, u64)| {
        let path = directory.path.join(name);
        match length(&path) {
            // It may be the same.
            Some(here) if here == size => 0,
            _ => size.saturating_sub(length(&names::part_and_journal(&path).0).unwrap_or(0)),
        }
    };
    let files = listing.entries.iter().filter(|entry| entry.kind == Kind::File);
    let sized = files.filter_map(|entry| Some((names::check(&entry.name).ok()?, entry.size?)));
    let needed = sized.map(missing).fold(0, u64::saturating_add);
    disk::has_room_at(&directory.path, needed).with_context(|| {
        let path = directory.path.display();
        format!("could not download all of {path}: make room or choose another place with -o, and run again")
    })
}

/// Where an entry belongs: `None` for a file in `directory`. Or why it is left out.
fn place(
    directory: &Directory,
    name: &str,
    kind: Kind,
    names: &mut HashSet<String>,
) -> Result<Option<Directory>, String> {
    let name = names::check(name).map_err(|bad| bad.to_string())?;
    if !names.insert(filename::folded(name)) {
        return Err("another entry or source has that name already, or one that is the same on this system".to_owned());
    }
    match kind {
        Kind::File | Kind::Link => Ok(None),
        Kind::Directory if directory.depth + 1 >= DEEPEST => Err(format!("it is more than {DEEPEST} levels deep")),
        Kind::Directory => {
            let (url, path) = (child(&directory.url, name, "/")?, directory.path.join(name));
            Ok(Some(Directory::new(url, path, directory.depth + 1)))
        }
        Kind::Other => {
            Err("it is neither a file nor a directory that the server can read, or a link out of what it serves, or back to where it lies"
                .to_owned())
        }
    }
}

/// The URL of an entry.
fn child(url: &Url, name: &str, end: &str) -> Result<Url, String> {
    let path = format!("{}{}{end}", url.encoded_path(), percent::encode_segment(name));
    path.parse().map(|path| url.with_path(path)).map_err(|_| "its path is too long".to_owned())
}

/// Makes sure that there is a directory, and not a link to one: below the place that was asked for, names are the
/// server's choice.
fn make_dir(path: &Path) -> anyhow::Result<()> {
    match std::fs::create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(error).with_context(|| PlaceError::Directory(path.to_owned()))
        }
        _ => is_free(path),
    }
}

/// Whether a directory is there, or could be made.
fn is_free(path: &Path) -> anyhow::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.is_dir() => Err(InTheWay { path: path.to_owned(), is: "not a directory" }.into()),
        _ => Ok(()),
    }
}

impl Links {
    async fn make(self, walk: &Walk<'_>) -> anyhow::Result<Vec<(Linking, linking::Outcome)>> {
        let Self { directory, links, replaces } = self;
        if !walk.choice.dry_run {
            directory.make()?;
        }
        if replaces && !walk.choice.dry_run {
            for linking in &links {
                let path = directory.path.join(&linking.name);
                if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                    walk.make_way(&path).await?;
                }
            }
        }
        let below = directory.path.strip_prefix(walk.into).unwrap_or(&directory.path).to_owned();
        let (top, choice) = (walk.into.to_owned(), walk.choice.clone());
        let is_rehearsed = choice.dry_run && (replaces || directory.is_cleared);
        off_thread(move || {
            let make = |linking: Linking| {
                let outcome =
                    if is_rehearsed { Ok(Some(true)) } else { linking::make(&top, &below, &linking, &choice) };
                (linking, outcome)
            };
            Ok(links.into_iter().map(make).collect())
        })
        .await
    }
}

impl Wanted {
    fn path(&self) -> PathBuf {
        self.directory.path.join(&self.name)
    }

    async fn fetch(&self, walk: &Walk<'_>) -> anyhow::Result<Look<Moved>> {
        let (source, path, dry_run) = (walk.source, self.path(), walk.choice.dry_run);
        if dry_run && (self.replaces || self.directory.is_cleared) {
            return Ok(Look::Due(self.size));
        }
        if walk.choice.spared.any() {
            let there = tokio::fs::symlink_metadata(&path).await.ok().map(|found| found.modified().ok());
            if walk.choice.spared.has(there, self.modified) {
                return Ok(Look::Spared);
            }
        }
        let bad = |why| BadEntry { what: format!("`{}`", self.name), directory: self.directory.url.short(), why };
        let url = child(&self.directory.url, &self.name, "").map_err(bad)?;
        let is_taken = tokio::fs::symlink_metadata(&path).await.is_ok_and(|here| here.is_dir());
        if is_taken && !self.replaces {
            return Err(InTheWay { path, is: "a directory" }.into());
        }
        let fetched = match already::look(source, &url, &path, self.size, dry_run).await? {
            Look::There(fetched) => {
                source.watch().kept(fetched.bytes);
                fetched
            }
            due if dry_run => return Ok(due),
            Look::Due(_) | Look::Spared => {
                self.directory.make()?;
                let arrived = arrive(source, &url, &Target::File(path.clone())).await?;
                if is_taken {
                    walk.make_way(&path).await?;
                }
                arrived.publish(walk.choice.backup.clone()).await?
            }
        };
        source.watch().complete(self.size, fetched.bytes);
        Ok(Look::There(fetched))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top() -> Directory {
        Directory::new("https://h/top/".parse().unwrap(), "here".into(), 0)
    }

    fn place_of(name: &str, kind: Kind, depth: usize) -> Result<Option<PathBuf>, String> {
        let top = Directory { depth, ..top() };
        Ok(place(&top, name, kind, &mut HashSet::new())?.map(|sub| {
            assert_eq!((sub.path.parent(), sub.depth), (Some(Path::new("here")), depth + 1));
            assert!(sub.url.encoded_path().starts_with("/top/") && sub.url.encoded_path().ends_with('/'));
            sub.path.file_name().map(PathBuf::from).unwrap()
        }))
    }

    #[test]
    fn entries_stay_in_the_directory() {
        assert_eq!(place_of("a b", Kind::File, 0), Ok(None));
        assert_eq!(place_of("sub", Kind::Directory, 0), Ok(Some("sub".into())));
        for name in ["..", "../x", "/etc/passwd", "a/b", "", ".", "a\0"] {
            assert!(place_of(name, Kind::File, 0).is_err(), "{name:?}");
            assert!(place_of(name, Kind::Directory, 0).is_err(), "{name:?}");
        }
        assert!(place_of("x", Kind::Other, 0).unwrap_err().contains("neither"));
        assert!(place_of("x", Kind::Directory, DEEPEST).unwrap_err().contains("levels"));
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
    fn a_name_listed_twice_counts_once() {
        let mut names = HashSet::new();
        assert!(place(&top(), "a", Kind::File, &mut names).is_ok());
        assert!(place(&top(), "a", Kind::File, &mut names).is_err());
    }
}
