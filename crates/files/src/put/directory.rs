//! How a whole directory gets there.

use super::content::Content;
use super::look::look;
use super::surplus::{Place, Surplus};
use super::target::Target;
use super::tree;
use super::upload;
use crate::attributes::Attributes;
use crate::choice::{Choice, Look, Step};
use crate::failure::{Failure, failure_of};
use crate::get::abreast::Abreast;
use crate::get::source::Source;
use crate::tally::Tally;
use anyhow::{Context, anyhow};
use core::future::ready;
use futures_util::stream::{self, FuturesUnordered};
use futures_util::{StreamExt, TryStreamExt};
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
    let (root, excluded, begun) = (dir.to_owned(), choice.excluded.clone(), std::time::Instant::now());
    let listed = tokio::task::spawn_blocking(move || tree::list(&root, &excluded)).await;
    let tree = listed.context("a thread for files failed")?;
    let mut sent = Tally::default();
    for (file, reason) in &tree.skipped {
        sent.fail(source, file, 1, &anyhow!(reason.clone()));
    }
    let to = |path: &Path, is_new: bool| -> anyhow::Result<Target> {
        let names = path.components().map(|part| part.as_os_str().to_str().context("its name is not UTF-8"));
        let url = names.map(|name| name.map(str::to_owned)).try_fold(url.clone(), |url, name| below(&url, &name?))?;
        Ok(Target { url, token: token.to_owned(), is_new })
    };
    tree.files.iter().for_each(|file| source.watch().found(file.size));
    source.watch().found_all();
    let to = &to;
    let make = |sub: &PathBuf| {
        let sub = sub.clone();
        async move { Ok::<_, anyhow::Error>(upload::make_directory(source, &to(&sub, false)?).await?.then_some(sub)) }
    };
    let wanted = if choice.dry_run { &[][..] } else { &tree.directories };
    let made = stream::iter(wanted).map(make).buffer_unordered(crate::SIDE_BY_SIDE);
    let new: &HashSet<PathBuf> = &made.try_filter_map(|sub| ready(Ok(sub))).try_collect().await?;
    let send = &async |file: &tree::File| {
        let outcome = async {
            let target = to(&file.path, file.path.parent().is_some_and(|dir| new.contains(dir)))?;
            let content = Content::file(&dir.join(&file.path), &target.url)?;
            let found = if choice.dry_run {
                look(source, &content, &target.url).await?
            } else {
                Look::There(upload::upload(source, content, &target).await?)
            };
            if let Look::There(uploaded) = &found {
                source.watch().complete(file.size, uploaded.bytes);
            }
            Ok::<_, anyhow::Error>((found, target.url))
        };
        outcome.await.with_context(|| format!("{} is not there", file.path.display()))
    };
    let (mut waiting, mut under_way, mut abreast) = (tree.files.iter(), FuturesUnordered::new(), Abreast::default());
    loop {
        while abreast.has_room()
            && let Some(file) = waiting.next()
        {
            abreast.begin(file.size);
            under_way.push(async move { (file, send(file).await) });
        }
        let Some((tree::File { path: file, size }, outcome)) = under_way.next().await else { break };
        abreast.end(*size);
        match outcome {
            Ok((Look::There(uploaded), to)) => {
                sent.add(&uploaded);
                each(Step::Complete(&to, &uploaded));
            }
            Ok((Look::Due(bytes), to)) => {
                sent.add_due(bytes);
                each(Step::Due(&to, bytes));
            }
            Err(error) if matches!(failure_of(&error), Failure::Unreachable | Failure::Usage) => return Err(error),
            Err(error) => sent.fail(source, &dir.join(file), 1, &error),
        }
    }
    if choice.delete {
        delete(source, &tree, choice, &|path: &Path| to(path, false), each, &mut sent).await?;
    }
    if source.archives() && !choice.dry_run {
        describe(source, dir, &tree, to, &mut sent).await?;
    }
    Ok(Tally { seconds: begun.elapsed().as_secs_f64(), ..sent })
}

/// Deletes what only the server has, if all that the source has is known and there, and it is no more than may go.
async fn delete(
    source: &Source,
    tree: &tree::Tree,
    choice: &Choice,
    place: Place<'_>,
    each: &(dyn Fn(Step<'_, Url>) + Sync),
    sent: &mut Tally,
) -> anyhow::Result<()> {
    if sent.failed > 0 {
        source.watch().note(&nothing_deleted(tree));
        return Ok(());
    }
    let surplus = Surplus::find(source, tree, &choice.excluded, choice.dry_run, place).await?;
    let told = |url: &Url| each(Step::Deleted(url));
    let count = surplus.count();
    if choice.spares(count) {
        sent.spared = count;
    } else {
        sent.deleted =
            if choice.dry_run { surplus.tell(place, &told)? } else { surplus.delete(source, place, &told).await? };
    }
    Ok(())
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
    to: &impl Fn(&Path, bool) -> anyhow::Result<Target>,
    sent: &mut Tally,
) -> anyhow::Result<()> {
    let describe = |sub: &PathBuf| {
        let sub = sub.clone();
        async move {
            let described = async {
                let attributes = Attributes::of(&tokio::fs::metadata(dir.join(&sub)).await?);
                upload::describe_directory(source, &to(&sub, false)?, attributes).await
            };
            (described.await, sub)
        }
    };
    for depth in (0..=tree::DEEPEST).rev() {
        let level = tree.directories.iter().filter(|sub| sub.components().count() == depth);
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
