//! How many unfinished uploads there are: a client that begins them and goes leaves a file of each for days.

use super::refused::Refused;
use crate::serve::root::Root;
use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Unfinished uploads of a server: 16 clients that each send a directory, with 256 files under way.
pub(super) const MOST: usize = 4096;

/// Their hidden files, as far as the server knows of them: those that it began, and those that it found when it looked into
/// their directory. Those that are gone are looked for when there seem to be too many.
#[derive(Clone, Debug, Default)]
pub(super) struct Unfinished(Arc<Mutex<HashSet<PathBuf>>>);

impl Unfinished {
    /// Notes one that is about to begin. Blocks.
    ///
    /// Errors: [`Refused::Crowded`].
    pub(super) fn begin(&self, root: &Root, hidden: PathBuf) -> io::Result<()> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.retain(|hidden| root.dir().symlink_metadata(hidden).is_ok());
        }
        if known.len() >= MOST && !known.contains(&hidden) {
            return Err(Refused::Crowded.into());
        }
        known.insert(hidden);
        Ok(())
    }

    /// Notes those that were found. They are there, whatever their number is.
    pub(super) fn found(&self, hidden: impl IntoIterator<Item = PathBuf>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MOST.saturating_sub(known.len());
        known.extend(hidden.into_iter().take(room));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_uploads_have_a_bound() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let unfinished = Unfinished::default();
        let begin = |number: usize| unfinished.begin(&root, PathBuf::from(number.to_string()));
        for number in 0..2 * MOST {
            begin(number).expect("those before it left nothing");
        }
        unfinished.0.lock().unwrap().clear();
        for number in 0..MOST {
            std::fs::File::create(dir.path().join(number.to_string())).unwrap();
        }
        unfinished.found((0..MOST).map(|number| PathBuf::from(number.to_string())));
        let refused = begin(MOST).unwrap_err();
        assert_eq!(Refused::within(&refused), Some(Refused::Crowded));
        begin(7).expect("it is one of them");
        std::fs::remove_file(dir.path().join("5")).unwrap();
        begin(MOST).expect("one is finished");
    }
}
