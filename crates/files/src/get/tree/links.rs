//! Links and further names, as the entries of directories.

use super::super::extraneous::Extraneous;
use super::super::linking::{self, First, Linking, What};
use super::directory::{Directory, InTheWay};
use super::{Each, Held, Job, Walk, concerns_one};
use crate::attributes::Attributes;
use crate::blocking::off_thread;
use crate::choice::Step;
use crate::client::listing::{Entry, Kind};
use crate::tally::Tally;
use std::path::Path;
use std::sync::Arc;

/// Characters of what a server calls a file that has several names.
const MOST_OF_SAME: usize = 64;

/// Links of a directory, or further names in it.
pub(super) struct Links {
    pub(super) directory: Arc<Directory>,
    links: Vec<Linking>,
    /// Whether directories of these names are to go.
    replaces: bool,
}

impl Walk<'_> {
    /// The link that this entry of the directory `below` the top is, where links are kept. Or why it is left out.
    pub(super) fn link_of(&self, below: &Path, entry: &Entry) -> Result<Option<What>, String> {
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
    pub(super) fn is_twin(&self, directory: &Arc<Directory>, below: &Arc<Path>, entry: &Entry) -> bool {
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
        self.twins.borrow_mut().push(Links::new(directory, links));
        true
    }

    /// Counts links that are here, and notes what is in their way.
    pub(super) fn linked(
        &self,
        directory: &Arc<Directory>,
        outcomes: Vec<(Linking, linking::Outcome)>,
        tree: &mut Tally,
        extraneous: &mut Extraneous,
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
                    let job = Job::Link(Links::new(directory, vec![linking]));
                    if self.may_clear(&why, &path, false, extraneous) {
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
}

impl Links {
    pub(super) fn new(directory: &Arc<Directory>, links: Vec<Linking>) -> Self {
        Self { directory: directory.clone(), links, replaces: false }
    }

    /// The same, where directories of their names are to go.
    pub(super) fn replacing(self) -> Self {
        Self { replaces: true, ..self }
    }

    pub(super) async fn make(self, walk: &Walk<'_>) -> anyhow::Result<Vec<(Linking, linking::Outcome)>> {
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
