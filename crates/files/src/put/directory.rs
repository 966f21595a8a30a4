//! How a whole directory gets there.

use super::content::Content;
use super::exchange::InTheWay;
use super::extraneous::{Extraneous, Place};
use super::features;
use super::link;
use super::look::{is_spared, look};
use super::target::Target;
use super::tree;
use super::upload;
use crate::attributes::Attributes;
use crate::choice::{Choice, Look, Step};
use crate::client::concurrency::Concurrency;
use crate::client::source::Source;
use crate::extended::{self, Kinds};
use crate::failure::{Failure, failure_of};
use crate::moved::Moved;
use crate::tally::Tally;
use anyhow::{Context, anyhow};
use futures_util::StreamExt;
use futures_util::stream::{self, FuturesUnordered};
use http::uri::PathAndQuery;
use pcc_net::url::Url;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Descriptors for files that are under way, each of which stays open, and all else.
#[cfg(unix)]
const DESCRIPTORS: u64 = 128 + crate::SIDE_BY_SIDE as u64;

/// Has the system allow as many as are needed: some allow 256 unless a process asks for more.
#[cfg(unix)]
fn allow_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let found = getrlimit(Resource::Nofile);
    if found.current.is_some_and(|current| current < DESCRIPTORS) {
        let current = Some(found.maximum.map_or(DESCRIPTORS, |most| most.min(DESCRIPTORS)));
        // Where it is refused, a file that cannot be opened says so.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, ..found });
    }
}

#[cfg(not(unix))]
fn allow_descriptors() {}

/// Uploads a directory with what is chosen of it.
///
/// An error ends everything. Problems of single entries are counted in [`Tally`], and told to the watch.
pub(crate) async fn directory(
    source: &Source,
    dir: &Path,
    url: &Url,
    token: &str,
    choice: &Choice,
    each: &(dyn Fn(Step<'_, Url>) + Sync),
) -> anyhow::Result<Tally> {
    allow_descriptors();
    let begun = std::time::Instant::now();
    let (root, chosen, keeps) = (dir.to_owned(), choice.clone(), source.keeps().clone());
    let listed = tokio::task::spawn_blocking(move || tree::list(&root, &chosen, &keeps)).await;
    let tree = listed.context("a thread for files failed")?;
    let mut sent = Tally::default();
    for (file, reason) in &tree.skipped {
        sent.fail(source, file, 1, &anyhow!(reason.clone()));
    }
    let to = |path: &Path, is_new: bool| -> anyhow::Result<Target> {
        let names = path.components().map(|part| part.as_os_str().to_str().context("its name is not UTF-8"));
        let url = names.map(|name| name.map(str::to_owned)).try_fold(url.clone(), |url, name| below(&url, &name?))?;
        Ok(Target { url, token: token.to_owned(), is_new, backup: choice.backup.clone() })
    };
    check(source, &to(Path::new(""), false)?, choice).await?;
    for path in choice.listed.iter().flat_map(|listed| listed.paths()) {
        if dir.join(path).symlink_metadata().is_err() {
            sent.fail(source, &dir.join(path), 1, &anyhow!("{} is in the list of files and not here", path.display()));
        }
    }
    tree.files.iter().for_each(|file| source.watch().found(file.size));
    source.watch().found_all();
    if tree.files.iter().any(|file| file.link.is_some()) && !choice.dry_run {
        features::require(source, &to(Path::new(""), false)?, "links", "links (-l, -H)").await?;
    }
    let sending = Sending { source, dir, top: url, choice, to: &to, each };
    let (directories, files) = (tree.directories.iter().collect(), tree.files.iter().collect());
    let mut missing = sending.send(directories, files, &mut sent).await?;
    // A list leaves open what else there is.
    let deletes = choice.delete && choice.listed.is_none();
    if deletes && sent.failed == 0 && missing.is_in_the_way() {
        let goes_on = sending.delete(&tree, &mut sent).await?;
        if goes_on && !missing.is_empty() {
            missing = sending.replace(missing, &tree, &mut sent).await?;
        }
    } else if deletes {
        source.watch().note(&nothing_deleted(&tree));
    }
    let lacking: HashSet<&Path> = missing.directories.iter().map(|(sub, _)| sub.as_path()).collect();
    missing.tell(source, dir, &tree, &mut sent);
    if source.keeps().attributes() && !choice.dry_run {
        describe(source, dir, &tree, &lacking, &to, &mut sent).await?;
    }
    Ok(Tally { seconds: begun.elapsed().as_secs_f64(), ..sent })
}

/// The source of the entries, and their destination.
struct Sending<'a, To> {
    source: &'a Source,
    dir: &'a Path,
    top: &'a Url,
    choice: &'a Choice,
    to: &'a To,
    each: &'a (dyn Fn(Step<'_, Url>) + Sync),
}

/// The outcome of an entry.
enum Sent {
    File(Look<Moved>),
    /// It is a link there, or a further name; and whether it was none.
    Link(bool),
}

/// The entries that did not get there, and why.
#[derive(Default)]
struct Missing<'a> {
    /// With everything in them.
    directories: Vec<(&'a PathBuf, anyhow::Error)>,
    files: Vec<(&'a tree::File, anyhow::Error)>,
}

impl Missing<'_> {
    fn is_empty(&self) -> bool {
        self.directories.is_empty() && self.files.is_empty()
    }

    /// Whether nothing else is wrong than that other entries have these names.
    fn is_in_the_way(&self) -> bool {
        let errors = self.directories.iter().map(|(_, error)| error).chain(self.files.iter().map(|(_, error)| error));
        errors.into_iter().all(|error| error.downcast_ref::<InTheWay>().is_some())
    }

    fn tell(self, source: &Source, dir: &Path, tree: &tree::Tree, sent: &mut Tally) {
        for (sub, error) in self.directories {
            let files = tree.files.iter().filter(|file| file.path.starts_with(sub)).count() as u64;
            let error = error.context(format!("nothing of {} is there", sub.display()));
            sent.fail(source, &dir.join(sub), files.max(1), &error);
        }
        for (file, error) in self.files {
            sent.fail(source, &dir.join(&file.path), 1, &error);
        }
    }
}

impl<To: Fn(&Path, bool) -> anyhow::Result<Target> + Sync> Sending<'_, To> {
    /// Makes the directories and sends the files; `sent` counts what is there.
    ///
    /// Errors: what ends everything. The top directory is all of it.
    async fn send<'a>(
        &self,
        directories: Vec<&'a PathBuf>,
        files: Vec<&'a tree::File>,
        sent: &mut Tally,
    ) -> anyhow::Result<Missing<'a>> {
        let mut missing = Missing::default();
        let new = &if self.choice.dry_run { HashSet::new() } else { self.make_all(directories, &mut missing).await? };
        // The one above says what is wrong.
        let lacking: HashSet<&Path> = missing.directories.iter().map(|(sub, _)| sub.as_path()).collect();
        let is_below = |path: &Path| path.ancestors().skip(1).any(|above| lacking.contains(above));
        missing.directories.retain(|(sub, _)| !is_below(sub));
        // A file is there before it gets another name.
        let (names, files): (Vec<_>, Vec<_>) = files
            .into_iter()
            .filter(|file| !is_below(&file.path))
            .partition(|file| matches!(file.link, Some(tree::Link::SameAs(_))));
        for files in [files, names] {
            self.send_files(files, new, sent, &mut missing).await?;
        }
        Ok(missing)
    }

    /// Makes these, side by side, those above before those below: for one below the server would make the one above, with the usual
    /// permissions. Answers which are new.
    ///
    /// Errors: as of [`Self::send`].
    async fn make_all<'a>(
        &self,
        mut directories: Vec<&'a PathBuf>,
        missing: &mut Missing<'a>,
    ) -> anyhow::Result<HashSet<&'a Path>> {
        let depth = |sub: &&PathBuf| sub.components().count();
        directories.sort_by_key(depth);
        let mut new: HashSet<&Path> = HashSet::new();
        for level in directories.chunk_by(|one, other| depth(one) == depth(other)) {
            let make = async |sub: &'a PathBuf| (sub, self.make(sub).await);
            let mut made = stream::iter(level.iter().copied()).map(make).buffer_unordered(crate::SIDE_BY_SIDE);
            while let Some((sub, outcome)) = made.next().await {
                match outcome {
                    Ok(true) => drop(new.insert(sub)),
                    Ok(false) => {}
                    Err(error) if ends_all(&error) || sub.as_os_str().is_empty() => return Err(error),
                    Err(error) => missing.directories.push((sub, error)),
                }
            }
        }
        Ok(new)
    }

    /// Sends these, side by side.
    async fn send_files<'a>(
        &self,
        files: Vec<&'a tree::File>,
        new: &HashSet<&Path>,
        sent: &mut Tally,
        missing: &mut Missing<'a>,
    ) -> anyhow::Result<()> {
        let (mut waiting, mut under_way, mut concurrency) =
            (files.into_iter(), FuturesUnordered::new(), Concurrency::default());
        loop {
            while concurrency.has_room()
                && let Some(file) = waiting.next()
            {
                concurrency.begin(file.size);
                let is_new = file.path.parent().is_some_and(|dir| new.contains(dir));
                under_way.push(async move { (file, self.send_file(file, is_new).await) });
            }
            let Some((file, outcome)) = under_way.next().await else { return Ok(()) };
            concurrency.end(file.size);
            match outcome {
                Ok((Sent::Link(changes), to)) => {
                    sent.links += 1;
                    if changes {
                        (self.each)(Step::Linked(&to));
                    }
                }
                Ok((Sent::File(Look::There(uploaded)), to)) => {
                    sent.add(&uploaded);
                    (self.each)(Step::Complete(&to, &uploaded));
                }
                Ok((Sent::File(Look::Spared), _)) => sent.left += 1,
                Ok((Sent::File(Look::Due(bytes)), to)) => {
                    sent.add_due(bytes);
                    (self.each)(Step::Due(&to, bytes));
                }
                Err(error) if ends_all(&error) => return Err(error),
                Err(error) => missing.files.push((file, error)),
            }
        }
    }

    /// Whether it was not there.
    async fn make(&self, sub: &Path) -> anyhow::Result<bool> {
        upload::make_directory(self.source, &(self.to)(sub, false)?, sub.as_os_str().is_empty()).await
    }

    async fn send_file(&self, file: &tree::File, is_new: bool) -> anyhow::Result<(Sent, Url)> {
        let outcome = async {
            let target = (self.to)(&file.path, is_new)?;
            if let Some(link) = &file.link {
                let path = self.dir.join(&file.path);
                let changes = link::send(self.source, self.top, &path, &target, link, self.choice.dry_run).await?;
                self.source.watch().complete(file.size, 0);
                return Ok((Sent::Link(changes), target.url));
            }
            let content = Content::file(&self.dir.join(&file.path), &target.url)?;
            let found = if is_spared(self.source, &content, &target, self.choice.spared).await? {
                Look::Spared
            } else if self.choice.dry_run {
                look(self.source, &content, &target).await?
            } else {
                Look::There(upload::upload(self.source, content, &target).await?)
            };
            match &found {
                Look::There(uploaded) => self.source.watch().complete(file.size, uploaded.bytes),
                Look::Spared => self.source.watch().complete(file.size, 0),
                Look::Due(_) => {}
            }
            Ok::<_, anyhow::Error>((Sent::File(found), target.url))
        };
        outcome.await.with_context(|| format!("{} is not there", file.path.display()))
    }

    /// Deletes what only the server has, and what is in the way of what is to come, if it is no more than may go; answers
    /// whether it did.
    async fn delete(&self, tree: &tree::Tree, sent: &mut Tally) -> anyhow::Result<bool> {
        let Choice { excluded, dry_run, .. } = self.choice;
        let place: Place<'_> = &|path: &Path| (self.to)(path, false);
        let extraneous = Extraneous::find(self.source, tree, excluded, *dry_run, place).await?;
        let told = |url: &Url| (self.each)(Step::Deleted(url));
        let count = extraneous.count();
        if self.choice.spares(count) {
            sent.spared = count;
            return Ok(false);
        }
        sent.deleted = if *dry_run {
            extraneous.tell(place, &told)?
        } else {
            extraneous.delete(self.source, place, &told).await?
        };
        Ok(true)
    }

    /// Sends what something else was in the way of.
    async fn replace<'a>(
        &self,
        missing: Missing<'a>,
        tree: &'a tree::Tree,
        sent: &mut Tally,
    ) -> anyhow::Result<Missing<'a>> {
        let is_missing = |path: &Path| missing.directories.iter().any(|(sub, _)| path.starts_with(sub));
        let directories = tree.directories.iter().filter(|sub| is_missing(sub)).collect();
        let below = tree.files.iter().filter(|file| is_missing(&file.path));
        let files: Vec<_> = below.chain(missing.files.iter().map(|(file, _)| *file)).collect();
        if !self.choice.dry_run {
            return self.send(directories, files, sent).await;
        }
        for file in files {
            sent.add_due(file.size);
            (self.each)(Step::Due(&(self.to)(&file.path, false)?.url, file.size));
        }
        Ok(Missing::default())
    }
}

/// Whether the server can do what is chosen.
pub(super) async fn check(source: &Source, target: &Target, choice: &Choice) -> anyhow::Result<()> {
    if choice.dry_run {
        return Ok(());
    }
    if choice.backup.is_some() {
        features::require(source, target, "backup", "--backup").await?;
    }
    if source.keeps().extended() != Kinds::default() {
        features::require(source, target, "xattrs", "-X and -A").await?;
    }
    Ok(())
}

/// Whether the others cannot be sent either.
fn ends_all(error: &anyhow::Error) -> bool {
    matches!(failure_of(error), Failure::Unreachable | Failure::Usage)
}

/// Why nothing was deleted; a link is named, since it stays in the way of each further run.
fn nothing_deleted(tree: &tree::Tree) -> String {
    let text = "nothing was deleted, since entries are missing";
    match tree.links.as_slice() {
        [] => text.to_owned(),
        [link] => format!("{text}: the link {} is not sent; exclude it", link.display()),
        [link, rest @ ..] => {
            format!("{text}: the link {} and {} more are not sent; exclude them", link.display(), rest.len())
        }
    }
}

/// Gives the directories there the times and the permissions of those here, the lowest first: one that may not be entered any more
/// cannot hinder that.
async fn describe(
    source: &Source,
    dir: &Path,
    tree: &tree::Tree,
    lacking: &HashSet<&Path>,
    to: &impl Fn(&Path, bool) -> anyhow::Result<Target>,
    sent: &mut Tally,
) -> anyhow::Result<()> {
    let describe = |sub: &PathBuf| {
        let sub = sub.clone();
        async move {
            let described = async {
                let (path, kinds) = (dir.join(&sub), source.keeps().extended());
                let found = Attributes::of(&tokio::fs::metadata(&path).await?);
                let extended = extended::opened(kinds, || std::fs::File::open(&path))?;
                let all = Attributes { extended, ..found }.with_room();
                all.extended.warn_unknown(kinds, &path.display());
                let attributes = source.keeps().of(all, true);
                upload::describe_directory(source, &to(&sub, false)?, attributes).await
            };
            (described.await, sub)
        }
    };
    for depth in (0..=tree::DEEPEST).rev() {
        let is_there = |sub: &Path| !sub.ancestors().any(|above| lacking.contains(above));
        let level = tree.directories.iter().filter(|sub| sub.components().count() == depth && is_there(sub));
        let mut described = stream::iter(level).map(describe).buffer_unordered(crate::SIDE_BY_SIDE);
        while let Some((outcome, sub)) = described.next().await {
            match outcome {
                Ok(()) => {}
                Err(error) if failure_of(&error) == Failure::Unreachable => return Err(error),
                Err(error) => {
                    let reason = error.context("could not set time and permissions there");
                    sent.fail(source, &dir.join(&sub), 1, &reason);
                }
            }
        }
    }
    Ok(())
}

/// The entry `name` of a directory's URL.
pub(crate) fn below(url: &Url, name: &str) -> anyhow::Result<Url> {
    let dir = url.encoded_path().trim_end_matches('/');
    let path = format!("{dir}/{}", pcc_net::percent::encode_segment(name));
    Ok(url.with_path(PathAndQuery::try_from(path).with_context(|| format!("`{name}` cannot stand in a URL"))?))
}

/// The last part of a path, also of `.` and `dir/..`.
pub(crate) fn name_of(path: &Path) -> anyhow::Result<String> {
    let named = match path.file_name() {
        Some(name) => Some(name.to_owned()),
        None => path.canonicalize().ok().and_then(|path| path.file_name().map(ToOwned::to_owned)),
    };
    let name = named.and_then(|name| name.into_string().ok());
    name.with_context(|| format!("{} has no name for the URL: write one there", path.display()))
}
