//! Entries of the destination that the source does not have. `--delete` removes them at the end, once every file is there.
//!
//! The server deletes one entry a request, follows no link, and knows which of its clients may ask for that.

use super::exchange::ask;
use super::target::Target;
use super::tree::{DEEPEST, Tree};
use crate::choice::Excluded;
use crate::client::listing::{self, Bounds, Entry, Kind, Listing, MOST_ENTRIES};
use crate::client::names;
use crate::client::source::Source;
use crate::client::trouble::Refused;
use anyhow::ensure;
use futures_util::{StreamExt, stream};
use http::{Method, StatusCode};
use pcc_net::url::Url;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Where an entry is at the server; its path begins below the destination.
pub(super) type Place<'a> = &'a (dyn Fn(&Path) -> anyhow::Result<Target> + Sync);

/// The entries that only the destination has, below it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Extraneous {
    /// Files, links, and whatever else is no directory.
    files: Vec<PathBuf>,
    /// Those above before those below.
    directories: Vec<PathBuf>,
    /// Directories with something that is excluded, or that nobody can name.
    staying: HashSet<PathBuf>,
}

/// The entries of the source.
struct Here<'a> {
    directories: HashSet<&'a Path>,
    /// By directory.
    names: HashMap<&'a Path, HashSet<&'a str>>,
}

impl<'a> Here<'a> {
    fn of(tree: &'a Tree) -> Self {
        let mut names: HashMap<&Path, HashSet<&str>> = HashMap::new();
        let directories = tree.directories.iter().map(PathBuf::as_path);
        for path in tree.files.iter().map(|file| file.path.as_path()).chain(directories.clone()) {
            if let (Some(above), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) {
                names.entry(above).or_default().insert(name);
            }
        }
        Self { directories: directories.collect(), names }
    }
}

impl Here<'_> {
    /// Whether this entry there is in the way of the one at `path`: of a file a directory, of a directory anything else. A link
    /// to a directory may stand for one, and a file replaces any link.
    fn is_kept_out(&self, path: &Path, entry: &Entry) -> bool {
        let is_directory = entry.kind == Kind::Directory;
        if self.directories.contains(path) { !is_directory } else { is_directory && !entry.link }
    }
}

impl Extraneous {
    /// Looks for it, from the destination downwards. In a dry run much of the source may not be there yet.
    ///
    /// Errors: a directory cannot be listed, so that nobody knows.
    pub(super) async fn find(
        source: &Source,
        tree: &Tree,
        excluded: &Excluded,
        dry_run: bool,
        place: Place<'_>,
    ) -> anyhow::Result<Self> {
        let (here, bounds, mut extraneous) = (Here::of(tree), Bounds::default(), Self::default());
        let mut level = vec![PathBuf::new()];
        while let Some(first) = level.first() {
            ensure!(
                first.components().count() <= DEEPEST,
                "the server's directories are nested too deeply: {}",
                first.display()
            );
            let list = |dir: PathBuf| async {
                let listing = async { listing::list(source, &place(&dir)?.directory()?, &bounds).await };
                (listing.await, dir)
            };
            let mut listings = stream::iter(std::mem::take(&mut level)).map(list).buffer_unordered(crate::SIDE_BY_SIDE);
            let mut next = Vec::new();
            while let Some((listing, dir)) = listings.next().await {
                match listing {
                    Err(error) if dry_run && matches!(error.downcast_ref(), Some(Refused::Missing { .. })) => {}
                    listing => {
                        let listing = listing?;
                        ensure!(listing.beyond == 0, "the destination has more than {MOST_ENTRIES} entries");
                        match extraneous.sort(&dir, &listing, &here, excluded, dry_run) {
                            Some(below) => next.extend(below),
                            None => source.watch().note(&format!(
                                "nothing in {} was deleted, since its file system gives files other names",
                                place(&dir)?.url.short()
                            )),
                        }
                    }
                }
            }
            level = next;
        }
        Ok(extraneous)
    }

    /// Sorts what the server lists in `dir`, and answers the directories to look into. `None` if a name is missing that the source
    /// has: a file system that takes `A` for `a` may list it as another, which must not be deleted.
    fn sort(
        &mut self,
        dir: &Path,
        listing: &Listing,
        here: &Here<'_>,
        excluded: &Excluded,
        dry_run: bool,
    ) -> Option<Vec<PathBuf>> {
        let is_here = here.directories.contains(dir);
        let none = HashSet::new();
        let names = here.names.get(dir).unwrap_or(&none);
        let listed: HashSet<_> = listing.entries.iter().map(|entry| entry.name.as_str()).collect();
        if is_here && !dry_run && !names.is_subset(&listed) {
            return None;
        }
        if listing.omitted > 0 {
            self.keep(dir);
        }
        let mut below = Vec::new();
        for entry in &listing.entries {
            let (path, is_directory) = (dir.join(&entry.name), entry.kind == Kind::Directory && !entry.link);
            if names::check(&entry.name).is_err() || excluded.has(&path, is_directory) {
                self.keep(dir);
            } else if is_here && names.contains(entry.name.as_str()) && !here.is_kept_out(&path, entry) {
                below.extend(Some(path).filter(|path| is_directory && here.directories.contains(path.as_path())));
            } else if is_directory {
                self.directories.push(path.clone());
                below.push(path);
            } else {
                self.files.push(path);
            }
        }
        Some(below)
    }

    /// Something in `dir` stays, and so do the directories around it.
    fn keep(&mut self, dir: &Path) {
        self.staying.extend(dir.ancestors().map(Path::to_owned));
    }

    /// The entries that go, in the order in which they can: a directory after its content.
    fn going(&self) -> impl Iterator<Item = (&Path, bool)> {
        let directories = self.directories.iter().rev().filter(|dir| !self.staying.contains(*dir));
        let files = self.files.iter().map(|path| (path.as_path(), false));
        files.chain(directories.map(|dir| (dir.as_path(), true)))
    }

    /// How much would go.
    pub(super) fn count(&self) -> u64 {
        self.going().count() as u64
    }

    /// Tells what would go.
    pub(super) fn tell(&self, place: Place<'_>, told: &dyn Fn(&Url)) -> anyhow::Result<u64> {
        self.going().try_fold(0, |count, (path, _)| {
            told(&place(path)?.url);
            Ok(count + 1)
        })
    }

    /// Has the server delete it; answers how much of it went.
    ///
    /// Errors: the server refused, or was lost. An entry that is gone by then is told.
    pub(super) async fn delete(&self, source: &Source, place: Place<'_>, told: &dyn Fn(&Url)) -> anyhow::Result<u64> {
        let mut count = 0;
        let depth =
            |(path, is_directory): (&Path, bool)| if is_directory { path.components().count() } else { usize::MAX };
        let going: Vec<_> = self.going().collect();
        // Only those of one level side by side: they need not wait for each other.
        for level in going.chunk_by(|one, other| depth(*one) == depth(*other)) {
            let delete = |(path, is_directory): (&Path, bool)| {
                let target = place(path);
                async move {
                    let target = target?;
                    Ok::<_, anyhow::Error>((delete(source, &target, is_directory).await?, target.url))
                }
            };
            let mut deleted = stream::iter(level.iter().copied()).map(delete).buffer_unordered(crate::SIDE_BY_SIDE);
            while let Some(outcome) = deleted.next().await {
                let (is_gone, url) = outcome?;
                if is_gone {
                    count += 1;
                    told(&url);
                } else {
                    let why = "it is behind a link, or holds an unfinished upload or what came just now";
                    source.watch().note(&format!("{} stays: {why}", url.short()));
                }
            }
        }
        Ok(count)
    }
}

/// Whether it is gone, by this request or before.
async fn delete(source: &Source, target: &Target, is_directory: bool) -> anyhow::Result<bool> {
    let url = if is_directory { target.directory()? } else { target.url.clone() };
    let request = target.request(Method::DELETE, &url);
    let expected = [StatusCode::NOT_FOUND, StatusCode::GONE, StatusCode::CONFLICT];
    Ok(ask(source, target, request, &expected).await? != StatusCode::CONFLICT)
}

#[cfg(test)]
mod tests {
    use super::super::tree::File;
    use super::*;
    use proptest::prelude::*;

    /// A source with these; a name that ends in `/` is a directory.
    fn source_of(paths: &[&str]) -> Tree {
        let mut tree = Tree { directories: vec![PathBuf::new()], ..Tree::default() };
        for path in paths {
            match path.strip_suffix('/') {
                Some(dir) => tree.directories.push(dir.into()),
                None => tree.files.push(File { path: path.into(), size: None, link: None }),
            }
        }
        tree
    }

    /// A server's listing: `d/` is a directory, `l@` a link to a file, `l@/` one to a directory.
    fn listing_of(names: &[&str]) -> Listing {
        let entry = |name: &&str| {
            let kind = if name.ends_with('/') { Kind::Directory } else { Kind::File };
            let bare = name.trim_end_matches('/');
            let link = bare.ends_with('@');
            Entry::of(bare.trim_end_matches('@').to_owned(), kind, link)
        };
        Listing { entries: names.iter().map(entry).collect(), ..Listing::default() }
    }

    fn paths(paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn what_the_source_lacks_goes_and_what_is_excluded_stays() {
        let (tree, excluded) = (source_of(&["a", "d/", "d/x"]), Excluded::new(["*.bak"]).unwrap());
        let (here, mut extraneous) = (Here::of(&tree), Extraneous::default());
        let mut sort =
            |dir: &str, names: &[&str]| extraneous.sort(Path::new(dir), &listing_of(names), &here, &excluded, false);
        assert_eq!(sort("", &["a", "b", "c.bak", "d/", "old/", "l@/"]), Some(paths(&["d", "old"])));
        assert_eq!(sort("d", &["x", "y"]), Some(vec![]));
        assert_eq!(sort("old", &["in/", "z", "a"]), Some(paths(&["old/in"])));
        assert_eq!(sort("old/in", &["k.bak", "deep/"]), Some(paths(&["old/in/deep"])));
        assert_eq!(sort("old/in/deep", &[]), Some(vec![]));
        let going: Vec<_> = extraneous.going().map(|(path, _)| path.to_owned()).collect();
        assert_eq!(going, paths(&["b", "l", "d/y", "old/z", "old/a", "old/in/deep"]), "old and old/in hold what stays");
    }

    #[test]
    fn a_directory_behind_a_link_is_not_looked_into() {
        let tree = source_of(&["d/", "d/x"]);
        let (here, mut extraneous) = (Here::of(&tree), Extraneous::default());
        let below = extraneous.sort(Path::new(""), &listing_of(&["d@/"]), &here, &Excluded::default(), false);
        assert_eq!((below, extraneous), (Some(vec![]), Extraneous::default()));
    }

    #[test]
    fn what_is_in_the_way_goes_and_a_link_that_is_not_stays() {
        let (tree, excluded) =
            (source_of(&["a", "b", "d/", "d/x", "e/", "f/", "g"]), Excluded::new(["*.bak"]).unwrap());
        let (here, mut extraneous) = (Here::of(&tree), Extraneous::default());
        let mut sort =
            |dir: &str, names: &[&str]| extraneous.sort(Path::new(dir), &listing_of(names), &here, &excluded, false);
        assert_eq!(sort("", &["a/", "b@/", "d", "e@", "f@/", "g/"]), Some(paths(&["a", "g"])));
        assert_eq!(sort("a", &["in/", "y"]), Some(paths(&["a/in"])));
        assert_eq!(sort("a/in", &["z"]), Some(vec![]));
        assert_eq!(sort("g", &["z.bak"]), Some(vec![]));
        let going: Vec<_> = extraneous.going().map(|(path, _)| path.to_owned()).collect();
        assert_eq!(going, paths(&["d", "e", "a/y", "a/in/z", "a/in", "a"]), "g holds what is excluded");
    }

    #[test]
    fn nothing_goes_where_names_become_others() {
        let tree = source_of(&["A", "b"]);
        let (here, mut extraneous) = (Here::of(&tree), Extraneous::default());
        let below = extraneous.sort(Path::new(""), &listing_of(&["a", "b", "c"]), &here, &Excluded::default(), false);
        assert_eq!((below, extraneous), (None, Extraneous::default()));
    }

    proptest! {
        #[test]
        fn nothing_that_the_source_has_ever_goes(
            ours in prop::collection::hash_set("[ab]{1,2}/?", 0..6),
            theirs in prop::collection::vec("([ab]{1,2}|\\.\\.|a/b|)@?/?", 0..10),
            dry_run in any::<bool>(),
        ) {
            let ours: Vec<_> = ours.iter().map(String::as_str).collect();
            let theirs: Vec<_> = theirs.iter().map(String::as_str).collect();
            let (tree, excluded) = (source_of(&ours), Excluded::new(["bb"]).unwrap());
            let (here, mut extraneous) = (Here::of(&tree), Extraneous::default());
            let below = extraneous.sort(Path::new(""), &listing_of(&theirs), &here, &excluded, dry_run);
            let is_ours = |name: &str, is_directory: bool| {
                let wants_directory = ours.contains(&&*format!("{name}/"));
                is_directory == wants_directory && (wants_directory || ours.contains(&name))
            };
            for (path, is_directory) in extraneous.going() {
                prop_assert!(!is_ours(path.to_str().unwrap(), is_directory), "{:?}", path);
                prop_assert_eq!(path.components().count(), 1, "{:?}", path);
                prop_assert!(names::check(path.to_str().unwrap()).is_ok() && path != Path::new("bb"), "{:?}", path);
            }
            prop_assert!(below.is_some() || extraneous == Extraneous::default());
        }
    }
}
