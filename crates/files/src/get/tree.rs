//! A whole directory: its listings and its files, several at a time.
//!
//! A listing is read only when it is its turn, and the files it names are fetched before other directories are looked at:
//! so what waits is bounded, however much a server says it has.
//!
//! | file | what it answers |
//! |---|---|
//! | `directory` | where an entry belongs, and how directories are made |
//! | `links` | how links and further names come |

mod directory;
mod links;

use super::already;
use super::extraneous::{self, Extraneous};
use super::linking::{First, Linking, Outcome};
use super::nofollow;
use super::store::Target;
use super::transfer::arrive;
use crate::attributes::Attributes;
use crate::blocking::off_thread;
use crate::choice::{Choice, Look, Step};
use crate::client::concurrency::Concurrency;
use crate::client::listing::{self, Bounds, Entry, Kind, Listing, MOST_ENTRIES};
use crate::client::names::{self, brief};
use crate::client::source::{Source, is_lost};
use crate::disk;
use crate::filename;
use crate::moved::Moved;
use crate::tally::{Tally, counted};
use anyhow::{Context, anyhow};
use core::cell::RefCell;
use core::time::Duration;
use directory::{BadEntry, Directory, InTheWay, child, has_room, is_free, left_out, place};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use links::Links;
use pcc_net::url::Url;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

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

enum Job {
    List(Directory),
    Fetch(Wanted),
    Link(Links),
}

enum Done {
    Linked(Arc<Directory>, anyhow::Result<Vec<(Linking, Outcome)>>),
    Listed(Box<Directory>, anyhow::Result<Listing>),
    Fetched(Wanted, anyhow::Result<Look<Moved>>),
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
    let (mut tree, mut extraneous, begun) = (Tally::default(), Extraneous::default(), Instant::now());
    let walk = &Walk::new(source, into, choice);
    // The last one first: depth before breadth, so that less waits.
    let mut waiting = vec![Job::List(Directory::top(url.clone(), into.to_owned()))];
    let (mut under_way, mut concurrency) = (FuturesUnordered::new(), Concurrency::default());
    // Directories whose listing has not come.
    let mut unlisted = 1;
    loop {
        while concurrency.has_room()
            && let Some(job) = waiting.pop()
        {
            let size = job.size();
            concurrency.begin(size);
            under_way.push(job.carry_out(walk).map(move |done| (size, done)));
        }
        let next = under_way.next().await.map(|(size, done)| {
            concurrency.end(size);
            done
        });
        let is_listing = matches!(next, Some(Done::Listed(..)));
        let further = match next {
            Some(done) => Some(walk.take(done, &mut tree, &mut extraneous, each)?),
            None => walk.last(&mut tree, &mut extraneous, each)?,
        };
        let Some(further) = further else { return Ok(Tally { seconds: begun.elapsed().as_secs_f64(), ..tree }) };
        unlisted += further.iter().filter(|job| matches!(job, Job::List(_))).count();
        waiting.extend(further);
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
            Self::List(directory) => Self::List(directory.cleared(true)),
            Self::Fetch(wanted) => Self::Fetch(Wanted { replaces: true, ..wanted }),
            Self::Link(links) => Self::Link(links.replacing()),
        }
    }

    async fn carry_out(self, walk: &Walk<'_>) -> Done {
        match self {
            Self::List(directory) => {
                let listing = listing::list(walk.source, &directory.url, &walk.bounds).await;
                Done::Listed(Box::new(directory), listing)
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

impl<'a> Walk<'a> {
    fn new(source: &'a Source, into: &'a Path, choice: &'a Choice) -> Self {
        Self {
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
        }
    }

    /// Counts what is done, and tells of it. The jobs that follow from it.
    fn take(
        &self,
        done: Done,
        tree: &mut Tally,
        extraneous: &mut Extraneous,
        each: Each<'_>,
    ) -> anyhow::Result<Vec<Job>> {
        match done {
            Done::Listed(directory, Ok(listing)) => return self.unfold(*directory, listing, tree, extraneous),
            // Without the top there is nothing.
            Done::Listed(directory, Err(error)) if directory.depth > 0 && concerns_one(&error) => {
                tree.fail(self.source, &directory.path, 1, &error);
            }
            Done::Fetched(wanted, Ok(look)) => self.fetched(&wanted, &look, tree, each),
            Done::Fetched(wanted, Err(why)) if self.may_clear(&why, &wanted.path(), wanted.replaces, extraneous) => {
                let path = wanted.path();
                self.held.borrow_mut().push(Held { job: Job::Fetch(wanted), path, entries: 1, why });
            }
            Done::Fetched(wanted, Err(error)) if concerns_one(&error) => {
                self.tell_removed(tree, each);
                tree.fail(self.source, &wanted.path(), 1, &error);
            }
            Done::Linked(directory, Ok(outcomes)) => {
                self.tell_removed(tree, each);
                self.linked(&directory, outcomes, tree, extraneous, each)?;
            }
            Done::Linked(directory, Err(error)) if concerns_one(&error) => {
                self.tell_removed(tree, each);
                tree.fail(self.source, &directory.path, 1, &error);
            }
            Done::Listed(_, Err(error)) | Done::Fetched(_, Err(error)) | Done::Linked(_, Err(error)) => {
                return Err(error);
            }
        }
        Ok(Vec::new())
    }

    fn fetched(&self, wanted: &Wanted, look: &Look<Moved>, tree: &mut Tally, each: Each<'_>) {
        match look {
            Look::There(fetched) => {
                self.tell_removed(tree, each);
                tree.add(fetched);
                each(Step::Complete(&wanted.path(), fetched));
            }
            Look::Spared => {
                self.source.watch().complete(wanted.size, 0);
                tree.left += 1;
            }
            Look::Due(bytes) => {
                tree.add_due(*bytes);
                each(Step::Due(&wanted.path(), *bytes));
            }
        }
    }

    /// The jobs that waited until nothing else was left: further names of files, then entries in whose way something was.
    /// `None` once all is done.
    fn last(&self, tree: &mut Tally, extraneous: &mut Extraneous, each: Each<'_>) -> anyhow::Result<Option<Vec<Job>>> {
        if !self.twins.borrow().is_empty() {
            return Ok(Some(self.twins.take().into_iter().map(Job::Link).collect()));
        }
        let held = self.held.take();
        if self.choice.delete && self.delete(&core::mem::take(extraneous), tree, each)? {
            if !held.is_empty() {
                return Ok(Some(held.into_iter().map(|held| held.job.cleared()).collect()));
            }
        } else {
            held.iter().for_each(|held| tree.fail(self.source, &held.path, held.entries, &held.why));
        }
        self.tell_unseen(tree);
        self.describe(tree);
        Ok(None)
    }

    /// The jobs of a directory, the last first. The top directory is made at once, and so is an empty one. Any other is made
    /// with the first file in it or below. So an endless tree of directories leaves none here.
    fn unfold(
        &self,
        directory: Directory,
        mut listing: Listing,
        tree: &mut Tally,
        extraneous: &mut Extraneous,
    ) -> anyhow::Result<Vec<Job>> {
        let below = directory.path.strip_prefix(self.into).unwrap_or(&directory.path).to_owned();
        self.saw(&below, &listing.entries);
        let is_empty = listing.entries.is_empty() && listing.omitted == 0 && listing.beyond == 0;
        listing.entries.retain(|entry| self.is_wanted(&below, entry));
        if directory.depth == 0
            && let Some(names) = &self.choice.only
            && listing.entries.is_empty()
        {
            return Err(anyhow!("nothing in {} is called like `{}`", directory.url.short(), names.pattern()));
        }
        let is_described = self.source.keeps().attributes() && (directory.depth > 0 || self.choice.only.is_none());
        let described = if is_described { &listing.attributes } else { &Attributes::default() };
        let directory = directory.made_with(described.permissions_of_new_directory());
        if let Err(error) = self.prepare(&directory, &listing, is_empty) {
            return self.unprepared(directory, &listing, error, tree, extraneous).map(|()| Vec::new());
        }
        self.count_unnamed(&directory, &listing, tree);
        if is_described {
            self.described.borrow_mut().push((directory.path.clone(), listing.attributes));
        }
        let taken = (directory.depth == 0).then_some(&self.choice.taken);
        let mut names: HashSet<_> = taken.into_iter().flatten().map(|name| filename::folded(name)).collect();
        let directory = Arc::new(directory);
        let jobs = self.jobs(&directory, &below, listing.entries, &mut names, tree);
        // A pattern or a list leaves open what else the server has.
        let is_untouched = self.choice.dry_run && directory.is_cleared;
        let deletes = self.choice.delete && self.choice.listed.is_none();
        if deletes && !is_untouched && (directory.depth > 0 || self.choice.only.is_none()) {
            extraneous.look(self.into, &below, &names, &self.choice.excluded)?;
        }
        Ok(jobs)
    }

    /// The jobs of a directory's entries, the last first; their names are added to `names`.
    fn jobs(
        &self,
        directory: &Arc<Directory>,
        below: &Path,
        entries: Vec<Entry>,
        names: &mut HashSet<String>,
        tree: &mut Tally,
    ) -> Vec<Job> {
        let shared: Arc<Path> = below.into();
        let (mut files, mut directories, mut links) = (Vec::new(), Vec::new(), Vec::new());
        for entry in entries {
            let placed = place(directory, &entry.name, entry.kind, names);
            match self.link_of(below, &entry).and_then(|link| Ok((placed?, link))) {
                Ok((_, Some(what))) => links.push(Linking { name: entry.name, what }),
                Ok((None, None)) if self.is_twin(directory, &shared, &entry) => {}
                Ok((Some(sub), _)) => {
                    directories.push(Job::List(sub.cleared(directory.is_cleared && self.choice.dry_run)));
                }
                Ok((None, _)) => {
                    self.source.watch().found(entry.size);
                    files.push(Job::Fetch(Wanted::new(directory, entry)));
                }
                Err(why) => {
                    let error = left_out(directory, format!("`{}`", brief(&entry.name)), why);
                    let path = names::check(&entry.name).map(|name| directory.path.join(name));
                    tree.fail(self.source, path.as_ref().unwrap_or(&directory.path), 1, &error);
                }
            }
        }
        let links = (!links.is_empty()).then(|| Links::new(directory, links));
        // Taken from the end: its files in their order, then its directories.
        directories.reverse();
        directories.extend(files.into_iter().rev());
        directories.extend(links.map(Job::Link));
        directories
    }

    /// Notes entries that the server has told of.
    fn saw(&self, below: &Path, entries: &[Entry]) {
        let mut unseen = self.unseen.borrow_mut();
        if !unseen.is_empty() {
            unseen.remove(below);
            for entry in entries {
                unseen.remove(&below.join(&entry.name));
            }
        }
    }

    /// Counts the entries of a directory that cannot be had, or holds it until the way is clear.
    ///
    /// Errors: `error`, if there is nothing without that directory.
    fn unprepared(
        &self,
        directory: Directory,
        listing: &Listing,
        error: anyhow::Error,
        tree: &mut Tally,
        extraneous: &mut Extraneous,
    ) -> anyhow::Result<()> {
        if directory.depth == 0 || disk::concerns_all(&error) {
            return Err(error);
        }
        let (path, entries) = (directory.path.clone(), (listing.entries.len() as u64).max(1));
        let may_clear = self.may_clear(&error, &path, directory.is_cleared, extraneous);
        let why = left_out(&directory, "everything".to_owned(), format!("{error:#}"));
        if may_clear {
            self.held.borrow_mut().push(Held { job: Job::List(directory), path, entries, why });
        } else {
            tree.fail(self.source, &path, entries, &why);
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
            let described = nofollow::to_describe(path).and_then(|dir| attributes.give(&dir, path));
            if let Err(error) =
                described.with_context(|| format!("could not set time and permissions of {}", path.display()))
            {
                tree.fail(self.source, path, 1, &error);
            }
        }
    }

    /// Whether what is in the way of an entry, as `why` says, goes once all else is here; then it is noted as surplus.
    /// Whatever is in the way even then, `is_cleared`, stays.
    fn may_clear(&self, why: &anyhow::Error, path: &Path, is_cleared: bool, extraneous: &mut Extraneous) -> bool {
        let Some(InTheWay { path: blocked, .. }) = why.downcast_ref() else { return false };
        let below = path.strip_prefix(self.into).unwrap_or(path);
        let is_directory = path.symlink_metadata().is_ok_and(|found| found.is_dir());
        let may = self.choice.delete && !is_cleared && blocked == path;
        may && extraneous.replace(below, is_directory, &self.choice.excluded)
    }

    /// Deletes what only this side has, if everything there is known and it is no more than may go; answers whether it did.
    fn delete(&self, extraneous: &Extraneous, tree: &mut Tally, each: Each<'_>) -> anyhow::Result<bool> {
        if tree.failed > 0 {
            if !extraneous.is_empty() {
                self.source.watch().note("nothing was deleted, since entries are missing");
            }
            return Ok(false);
        }
        let Choice { excluded, dry_run, .. } = self.choice;
        if self.choice.max_delete.is_some() {
            let mut count = 0;
            extraneous.tell(self.into, excluded, &mut |_| count += 1)?;
            if self.choice.spares(count) {
                tree.spared = count;
                return Ok(false);
            }
        }
        let told: &mut dyn FnMut(&Path) = &mut |path| {
            tree.deleted += 1;
            each(Step::Deleted(&self.into.join(path)));
        };
        let done = if *dry_run {
            extraneous.tell(self.into, excluded, told)
        } else {
            extraneous.delete(self.into, excluded, told)
        };
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
            let outcome = extraneous::make_way(&top, &below, &excluded, &mut |path| removed.push(path.to_owned()));
            Ok((removed, outcome))
        })
        .await?;
        self.removed.borrow_mut().extend(removed);
        outcome
    }
}

impl Wanted {
    fn new(directory: &Arc<Directory>, entry: Entry) -> Self {
        let modified = entry.modified.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
        Self { directory: directory.clone(), name: entry.name, size: entry.size, modified, replaces: false }
    }

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
