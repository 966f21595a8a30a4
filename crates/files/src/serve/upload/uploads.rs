//! The server's knowledge of all uploads.

use super::condition::Changes;
use super::finished::Finished;
use super::slots::Slots;
use super::unfinished::Unfinished;
use crate::serve::token::Token;
use core::time::Duration;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Between looks for old unfinished uploads in a directory.
const SWEEP: Duration = Duration::from_secs(3600);

/// Directories whose last look is remembered.
const SWEPT: usize = 4096;

/// The uploads of a server.
#[derive(Debug)]
pub(crate) struct Uploads {
    pub(super) token: Token,
    /// Whether the token is good for deleting, too.
    pub(super) may_delete: bool,
    pub(super) slots: Arc<Slots>,
    pub(super) finished: Finished,
    pub(super) unfinished: Unfinished,
    pub(super) changes: Changes,
    swept: Mutex<HashMap<PathBuf, Instant>>,
}

impl Uploads {
    /// Open to whoever bears the token.
    pub(crate) fn new(token: Token, may_delete: bool) -> Self {
        Self {
            token,
            may_delete,
            slots: Arc::default(),
            finished: Finished::default(),
            unfinished: Unfinished::default(),
            changes: Changes::default(),
            swept: Mutex::default(),
        }
    }

    /// Whether it is time to look for old unfinished uploads in that directory.
    pub(super) fn is_sweep_due(&self, dir: PathBuf) -> bool {
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        if swept.len() >= SWEPT {
            swept.clear();
        }
        let now = Instant::now();
        let last = swept.insert(dir, now);
        last.is_none_or(|last| now - last > SWEEP)
    }
}
