//! Uploads with which only the client that began them could go on: what came through a pipe is nowhere else. A client that
//! leaves says so; one that was killed does not, and neither does one whose network is gone for a while.

use super::blocking;
use super::partial::Partial;
use super::slots::Slots;
use crate::serve::path::SafePath;
use crate::serve::root::Root;
use core::time::Duration;
use std::sync::Arc;

/// An upload that is of no use without its client.
#[derive(Debug)]
pub(super) struct TransientUpload {
    pub(super) root: Root,
    pub(super) slots: Arc<Slots>,
    pub(super) path: SafePath,
    pub(super) id: String,
    /// How long its client tries to come back.
    pub(super) patience: Duration,
}

impl TransientUpload {
    /// Removes what is there of it if no request comes after request `number`.
    pub(super) async fn forget(self, number: u64) {
        tokio::time::sleep(self.patience).await;
        let Self { root, slots, path, id, .. } = self;
        let Some(claim) = slots.claim_after(&path, &id, number) else { return };
        let mut turn = claim.turn().await;
        *turn = None;
        let (sought, sought_id) = (path.clone(), id.clone());
        let removed = blocking(move || {
            let partial = Partial::find(&root, &sought, &sought_id)?;
            if let Some(partial) = &partial {
                partial.discard();
            }
            Ok(partial.is_some())
        });
        match removed.await {
            Ok(true) => tracing::info!(id, "nobody came back for this upload: removed"),
            Ok(false) => {} // it is complete, or was given up
            Err(error) => tracing::debug!(%error, id, "an upload that nobody comes back for stays"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::Attributes;
    use std::io::Write;
    use std::time::Instant;

    struct Bench {
        dir: tempfile::TempDir,
        root: Root,
        slots: Arc<Slots>,
        path: SafePath,
    }

    impl Bench {
        /// With five bytes of an upload.
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = Root::open(dir.path()).unwrap();
            let path = SafePath::parse("/file").unwrap();
            Partial::create(&root, &path, "id", None, Attributes::default()).unwrap().write_all(b"hello").unwrap();
            Self { dir, root, slots: Arc::default(), path }
        }

        /// A request of the upload that leaves its hash; its number.
        async fn request(&self) -> u64 {
            let claim = self.slots.claim(&self.path, "id", Instant::now()).unwrap();
            *claim.turn().await = Some(blake3::Hasher::new());
            claim.number()
        }

        fn upload(&self) -> TransientUpload {
            let (root, slots, path) = (self.root.clone(), self.slots.clone(), self.path.clone());
            TransientUpload { root, slots, path, id: "id".to_owned(), patience: Duration::from_secs(600) }
        }

        fn is_there(&self) -> bool {
            std::fs::read_dir(self.dir.path()).unwrap().count() == 1
        }
    }

    #[tokio::test(start_paused = true)]
    async fn upload_goes_when_its_client_has_not_come_back_and_not_before() {
        let bench = Bench::new();
        let number = bench.request().await;
        let forgetting = tokio::spawn(bench.upload().forget(number));
        tokio::time::sleep(Duration::from_secs(599)).await;
        assert!(bench.is_there());
        forgetting.await.unwrap();
        assert!(!bench.is_there());
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_stays_while_its_client_is_back_however_long() {
        let bench = Bench::new();
        let number = bench.request().await;
        let back = bench.slots.claim(&bench.path, "id", Instant::now()).unwrap();
        bench.upload().forget(number).await;
        assert!(bench.is_there(), "it is at it");
        drop(back);
        bench.upload().forget(number).await;
        assert!(bench.is_there(), "its own time begins when it goes");
    }
}
