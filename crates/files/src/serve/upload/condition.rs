//! The conditions of a request on the file that it changes. The file is looked at once more right before the
//! change, when no other change can come in between.

use super::Uploads;
use super::blocking;
use super::refused::Refused;
use crate::serve::conditions::{Current, Demands};
use crate::serve::path::SafePath;
use crate::serve::root::{Found, Root};
use crate::serve::service::Service;
use http::HeaderMap;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

/// Who may change what names lead to: one request with demands alone, or those without side by side.
pub(super) type Changes = Arc<RwLock<()>>;

/// The demands of one request on what has this name.
#[derive(Clone)]
pub(super) struct Condition {
    demands: Demands,
    root: Root,
    path: SafePath,
    changes: Changes,
}

impl Condition {
    pub(super) fn of(headers: &HeaderMap, path: &SafePath, service: &Service, uploads: &Uploads) -> Self {
        let (root, changes) = (service.root.clone(), uploads.changes.clone());
        Self { demands: Demands::of(headers), root, path: path.clone(), changes }
    }

    /// Looks whether it is met now.
    ///
    /// Errors: [`Refused::OtherVersion`] if not.
    pub(super) async fn look(&self) -> io::Result<()> {
        if self.demands.is_empty() {
            return Ok(());
        }
        let condition = self.clone();
        blocking(move || condition.check()).await
    }

    /// Does `change` if it is met. Blocks, for as long as others with demands change something.
    ///
    /// Errors: those of the change; [`Refused::OtherVersion`].
    pub(super) fn change<T>(&self, change: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.demands.is_empty() {
            let _side_by_side = self.changes.read().unwrap_or_else(PoisonError::into_inner);
            return change();
        }
        let _alone = self.changes.write().unwrap_or_else(PoisonError::into_inner);
        self.check()?;
        change()
    }

    fn check(&self) -> io::Result<()> {
        let untagged = |modified| Some(Current { etag: None, modified, size: 0 });
        let etag;
        let there = match self.root.find(&self.path) {
            Ok(Found::File(opened)) => {
                etag = opened.version.map(|version| version.etag());
                let modified = opened.version.map(|version| version.modified());
                Some(Current { etag: etag.as_deref(), modified, size: opened.size })
            }
            // Its time is in no answer, so nothing is demanded of it (RFC 9110 §13.1.4).
            Ok(Found::Directory(_)) => untagged(Some(SystemTime::UNIX_EPOCH)),
            Ok(Found::Unmeasured(_) | Found::Other) => untagged(None),
            Err(_) if self.root.dir().symlink_metadata(self.path.to_path()).is_ok() => untagged(None),
            Err(_) => None,
        };
        if self.demands.are_met_by(there) { Ok(()) } else { Err(Refused::OtherVersion.into()) }
    }
}
