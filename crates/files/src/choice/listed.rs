//! The entries that somebody names one by one, as rsync's `--files-from` does.

use crate::error::{Error, Result};
use crate::failure::Failure;
use anyhow::anyhow;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Paths below the directory that is moved. A directory among them stands for everything in it.
#[derive(Clone, Debug)]
pub struct Listed {
    named: Arc<HashSet<PathBuf>>,
    /// The directories on the way to them.
    on_the_way: Arc<HashSet<PathBuf>>,
}

impl Listed {
    /// The paths of a text with one in each line. Empty lines count for nothing, nor do those that begin with `#` or `;`.
    ///
    /// Errors: a path leads out of the directory; or there is none.
    pub fn lines(text: &str) -> Result<Self> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', ';']));
        let named = lines.map(path).collect::<Result<HashSet<_>>>()?;
        if named.is_empty() {
            return Err(anyhow!("the list of files names none").context(Failure::Usage).into());
        }
        let above = named.iter().flat_map(|path| path.ancestors().skip(1)).map(Path::to_owned);
        Ok(Self { on_the_way: Arc::new(above.collect()), named: Arc::new(named) })
    }

    pub(crate) fn has(&self, path: &Path) -> bool {
        self.on_the_way.contains(path) || path.ancestors().any(|path| self.named.contains(path))
    }

    /// The paths as they were named.
    pub(crate) fn paths(&self) -> &HashSet<PathBuf> {
        &self.named
    }
}

/// A slash in front counts for nothing, as for rsync.
fn path(line: &str) -> Result<PathBuf> {
    let mut path = PathBuf::new();
    for part in Path::new(line).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => {
                let why = anyhow!("`{line}` in the list of files leads out of the directory that is moved");
                return Err(Error::from(why.context(Failure::Usage)));
            }
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_its_paths_their_content_and_the_way_to_them() {
        let listed = Listed::lines("# these\na/b\n/c\n\n./d/e/\n").unwrap();
        for (path, is_in) in
            [("a", true), ("a/b", true), ("a/b/x", true), ("a/x", false), ("c", true), ("d/e/f", true), ("e", false)]
        {
            assert_eq!(listed.has(Path::new(path)), is_in, "{path}");
        }
        assert!(Listed::lines(".").unwrap().has(Path::new("anything")));
    }

    #[test]
    fn a_list_that_leads_out_or_is_empty_is_refused() {
        for wrong in ["../x", "a/../../x", "", "# nothing"] {
            assert!(Listed::lines(wrong).is_err(), "{wrong}");
        }
    }
}
